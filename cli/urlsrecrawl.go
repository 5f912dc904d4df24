package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dustin/go-humanize/english"

	"crawlnode/api/client"
	"crawlnode/api/urllist"
	"crawlnode/cli/command"
	"crawlnode/cli/seedlist"
	"crawlnode/crawl"
)

// urlsRecrawlVerb has known URLs fetched again now. URLs are given, or found by reading the list of
// stored URLs page by page; the URLs of each page are sent to the cluster before the next page is
// read, so memory does not grow with the number of URLs.
type urlsRecrawlVerb struct {
	remote `embed:""`
	URLs   []string `arg:"" optional:"" name:"url" help:"Known URLs; - reads them from standard input, one a line."`
	Host   string   `group:"scope" placeholder:"HOST" help:"All URLs of this host that were fetched or given up."`
	Match  string   `group:"scope" placeholder:"PATTERN" help:"All such URLs that match this pattern, written as for --include: glob:, regex:, host: or prefix:. With --host: of that host."`
}

// Help gives the examples of the verb and says what it does.
func (*urlsRecrawlVerb) Help() string {
	return command.Examples(
		"crawlnode urls recrawl https://docs.example.org/guide/",
		"crawlnode urls recrawl --host docs.example.org --addr 127.0.0.1:27305",
		"crawlnode urls recrawl --match 'regex:/news/'",
	) + `

The URLs go back into the queues of their hosts, ahead of new ones, with the
validators of their last fetch: a server may answer that nothing has changed
(304). They need no --recrawl, and are fetched before their planned visit. Delays,
robots.txt, scope and limits hold as always. A crawl that has finished, or that
waits, goes on.

URLs that wait for a fetch already stay where they are. Unknown URLs are not
added; crawlnode seeds add does that. With --host and --match, URLs that were
never fetched because robots.txt or a budget refused them are left out.

Any node answers for all. The answer comes when the URLs are stored safely;
giving the command again is harmless. The exit code is 2 when nothing matches.`
}

// Run hands the URLs back.
func (v *urlsRecrawlVerb) Run(ctx context.Context, env *Env) int {
	filtered := v.Host != "" || v.Match != ""
	switch {
	case filtered && len(v.URLs) > 0:
		return env.Fail(command.ExitUsage, "give URLs, or --host and --match, not both")
	case !filtered && len(v.URLs) == 0:
		return env.Fail(command.ExitUsage,
			"no URL was given: name some, or all of a host with --host HOST, "+
				"or those of a pattern with --match PATTERN")
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	seeds, code := v.seeds(ctx, env)
	if code != command.ExitOK {
		return code
	}
	c, err := v.dial(env)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	defer c.Close()
	b := &recrawling{env: env, c: c}
	if filtered {
		q := crawl.URLQuery{Host: v.Host, Match: v.Match}
		err = urllist.Walk(ctx, c.ListURLs, q, urllist.Patience,
			func(lines []crawl.URLLine) error { return b.lines(ctx, lines) })
	} else {
		err = b.named(ctx, seeds)
	}
	if !b.none() {
		fmt.Fprintf(env.Stdout, "urls: %d queued again, %d waiting already\n", b.queued, b.waiting)
	}
	switch lacks := (*urllist.Incomplete)(nil); {
	case ctx.Err() != nil:
		return env.Fail(command.ExitInterrupted,
			"interrupted: the other URLs were not queued; give the command again")
	case errors.As(err, &lacks):
		return env.Fail(command.ExitCluster, "%v; give the command again", err)
	case err != nil:
		return env.Fail(answerCode(err), "%v", err)
	}
	return b.code(v)
}

// seeds reads the URLs that were named.
func (v *urlsRecrawlVerb) seeds(ctx context.Context, env *Env) ([]seedlist.Entry, int) {
	var urls, files []string
	for _, url := range v.URLs {
		if url == "-" {
			files = append(files, url)
			continue
		}
		urls = append(urls, url)
	}
	seeds, err := seedlist.ReadUnless(ctx.Done(), env, urls, files)
	if err != nil {
		return nil, env.Fail(seedlist.ExitCode(err), "%v", err)
	}
	for i := range seeds {
		if seedlist.LacksScheme(seeds[i].URL) {
			return nil, env.Fail(command.ExitUsage,
				"%s: has no scheme: write https://%s or http://%s, as crawlnode urls list shows it",
				seeds[i].URL, seeds[i].URL, seeds[i].URL)
		}
		seeds[i].Again, seeds[i].Known = true, true
	}
	return seeds, command.ExitOK
}

// recrawling hands URLs back and counts them.
type recrawling struct {
	env             *Env
	c               *client.Client
	queued, waiting int
	refused         int // out of scope by now
}

// recrawlBusyFor is how long a batch is sent again while the cluster cannot store it: a move, or a
// node that has just died.
const recrawlBusyFor = 30 * time.Second

// send hands a batch back. Sending it again is harmless.
func (b *recrawling) send(ctx context.Context, seeds []crawl.Seed) (crawl.SeedReport, error) {
	for until := time.Now().Add(recrawlBusyFor); ; {
		r, err := b.c.AddSeeds(ctx, seeds)
		failed := (*client.Error)(nil)
		busy := errors.As(err, &failed) && failed.Code == http.StatusServiceUnavailable
		if !busy || !time.Now().Before(until) || !command.Pause(ctx, time.Second) {
			b.queued += r.Accepted
			b.waiting += r.Duplicates
			return r, err
		}
		b.queued += r.Accepted // of the parts that were stored; they count as waiting the next time
		b.waiting -= r.Accepted
	}
}

// lines hands back those of a page of the list that were tried.
func (b *recrawling) lines(ctx context.Context, lines []crawl.URLLine) error {
	var seeds []crawl.Seed
	for i := range lines {
		switch lines[i].State {
		case crawl.ListQueued:
			b.waiting++
		case crawl.ListDone, crawl.ListFailed:
			seeds = append(seeds, crawl.Seed{URL: lines[i].URL, Again: true, Known: true})
		}
	}
	if len(seeds) == 0 {
		return nil
	}
	r, err := b.send(ctx, seeds)
	b.refused += r.OutOfScope
	return err
}

// recrawlNamedMost is how many of the named URLs that were refused are looked at one by one.
const recrawlNamedMost = 1000

// named hands back URLs that a person named, and tells which of them are not known.
func (b *recrawling) named(ctx context.Context, seeds []seedlist.Entry) error {
	r, err := b.send(ctx, seedlist.Plain(seeds))
	seedlist.Complain(b.env, seeds, r.Invalid)
	if err != nil || r.OutOfScope == 0 {
		return err
	}
	left := r.OutOfScope
	refused := b.env.Errors()
	defer refused.End()
	for i := range seeds[:min(len(seeds), recrawlNamedMost)] {
		report, err := b.c.ExplainURL(ctx, seeds[i].URL, -1)
		switch {
		case err != nil:
			return err
		case report.URL == nil || report.Unanswered != nil:
		case report.Record == nil:
			left--
			refused.Add(func() string {
				return seeds[i].URL + ": is not known, so it is not fetched again; crawlnode seeds add adds it"
			})
		case !report.Scope.Admit:
			left--
			b.refused++
			refused.Add(func() string { return seeds[i].URL + ": is out of scope: " + report.Scope.Rule })
		}
	}
	b.refused += left
	return nil
}

// none reports whether nothing was there to be fetched again.
func (b *recrawling) none() bool { return b.queued+b.waiting == 0 }

// code is the exit code when everything was handed back.
func (b *recrawling) code(v *urlsRecrawlVerb) int {
	switch {
	case !b.none():
		if b.refused > 0 && v.Host+v.Match != "" {
			b.env.Fail(0, "%s out of scope by now and left out",
				english.Plural(int(b.refused), "URL is", "URLs are"))
		}
		return command.ExitOK
	case b.refused > 0 && v.Host+v.Match != "":
		return b.env.Fail(command.ExitUsage, "nothing was queued: the %s out of scope by now",
			english.Plural(int(b.refused), "URL that matches is", "URLs that match are"))
	case v.Host != "" && v.Match != "":
		return b.env.Fail(command.ExitUsage, "nothing matched: no URL of host %s that matches %s was "+
			"fetched yet; crawlnode urls list --host %s shows what is known", v.Host, v.Match, v.Host)
	case v.Host != "":
		return b.env.Fail(command.ExitUsage,
			"nothing matched: no URL of host %s was fetched yet; crawlnode hosts show %s shows what "+
				"is known",
			v.Host, v.Host)
	case v.Match != "":
		return b.env.Fail(command.ExitUsage, "nothing matched: no URL that matches %s was fetched yet; "+
			"crawlnode urls list --match shows what is known", v.Match)
	}
	return b.env.Fail(command.ExitUsage, "nothing was queued: none of the URLs is known")
}
