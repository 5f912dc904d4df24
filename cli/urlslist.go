package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/api/urllist"
	"crawlnode/cli/command"
	flags "crawlnode/cli/remote"
	"crawlnode/crawl"
)

// urlsListVerb lists stored URLs, of a cluster or of data directories whose nodes do not run. A
// list is written as it is read, one page at a time, so memory does not grow with its length, here
// or on the nodes.
type urlsListVerb struct {
	source   `embed:""`
	State    string `group:"scope" enum:"queued,done,failed,skipped,broken," default:"" placeholder:"queued|done|failed|skipped|broken" help:"Only URLs in this state; broken: those that failed, and those that were answered with 4xx or 5xx. Default: all."`
	Host     string `group:"scope" placeholder:"HOST" help:"Only URLs of this host."`
	Match    string `group:"scope" placeholder:"PATTERN" help:"Only URLs that match this pattern, written as for --include: glob:, regex:, host: or prefix:."`
	Contains string `group:"scope" placeholder:"TEXT" help:"Only URLs with this part, in upper or lower case."`
	Status   string `group:"scope" placeholder:"N|Nxx" help:"Only URLs whose last answer had this status, such as 404, or this class, such as 4xx."`
	Changed  bool   `group:"scope" help:"Only pages whose content was another one at a later visit than the first."`
	Since    string `group:"scope" placeholder:"TIME|DURATION" help:"With --changed: only those that changed since then, such as 2026-11-28T12:00:00Z, 2026-11-28, 24h or 7d."`
	Referrer bool   `group:"output" help:"Also the page on which each URL was found first. With --state broken, or failed, this lists the broken links."`
	Limit    int    `group:"limits" placeholder:"N" help:"End after so many URLs. Default: all."`
	Output   string `short:"o" group:"output" enum:"text,json,csv" default:"text" placeholder:"text|json|csv" help:"text, json (one object a line) or csv."`
}

// Help gives the examples of the verb and says what it lists.
func (*urlsListVerb) Help() string {
	return command.Examples(
		"crawlnode urls list --state failed",
		"crawlnode urls list --host docs.example.org -o csv > urls.csv",
		"crawlnode urls list --status 404 --data-dir crawlnode-data/n1 -o json",
		"crawlnode urls list --state broken --referrer --data-dir crawlnode-data/n1",
		"crawlnode urls list --changed --since 7d") + `

It lists every URL that the cluster knows: queued, done (it got an answer, of
whatever status), failed (given up), skipped (robots.txt, a budget or a changed
scope refused it in its turn). --state broken has the URLs that links lead to in
vain, whether they failed or were answered with 4xx or 5xx; one page that links
there is known of each, that on which it was found first. --state failed with
--referrer is the older form of it. Links that were out of scope when they were
found are counted in crawlnode status and stored nowhere, so they are in no list.

Any node answers for all. The order is that of the partitions, in each that of
the hosts, in each host a fixed order without meaning. The list is read while
the crawl goes on, each part as it is at its time: every URL that was there at
the beginning is listed once, also when its partition moves to another node, and
a URL that comes meanwhile may be missing. With --state, one that changes its
state meanwhile may be missing too. Partitions that cannot be read are tried
again for 15 s; what is missing then is named, and the exit code is 4.

In text the time is that of the last fetch, of a queued URL that of its next try,
with --changed that of the change. A page has changed when its content is another
one than at the visit before, when it is gone, and when it is there again; with
revisits (--recrawl) the rule of --recrawl-changed counts.
In csv a field that a spreadsheet would take for a formula begins with '.`
}

// Run lists until all is written.
func (v *urlsListVerb) Run(ctx context.Context, env *Env) int {
	switch {
	case v.Since != "" && !v.Changed:
		return env.Fail(command.ExitUsage, "--since is about changes: give --changed with it")
	case v.Since != "" && v.badSince() != nil:
		return env.Fail(command.ExitUsage, "--since: %v", v.badSince())
	case v.Limit < 0:
		return env.Fail(command.ExitUsage,
			"--limit: %d is less than nothing: give a number of URLs, or leave it out", v.Limit)
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	from, code := v.Open(env)
	if from == nil {
		return code
	}
	err := v.write(ctx, env, from.ListURLs)
	if n := from.Node; n != nil && err == nil {
		if v.Limit == 0 {
			if err = n.Verify(); err != nil {
				err = fmt.Errorf("the list may lack URLs: %w", err)
			}
		}
		if read, left := n.Partitions(); err == nil && left > 0 {
			env.Fail(0, "%d partitions were read; %d more are here only as copies and were left out: "+
				"give the directories of the nodes that hold them, or --copies", read, left)
		}
	}
	if err = errors.Join(err, from.Close()); err != nil {
		return env.Fail(listCode(err, from.ExitCode(err)), "%v", flags.OrDataDir(err))
	}
	return command.ExitOK
}

// badSince is what is wrong with --since, or nil.
func (v *urlsListVerb) badSince() error {
	_, err := urllist.ParseSince(v.Since, time.Now())
	return err
}

// query is what is wanted. It was checked.
func (v *urlsListVerb) query() crawl.URLQuery {
	q := crawl.URLQuery{State: v.State, Host: v.Host, Contains: v.Contains, Match: v.Match,
		Status: v.Status, Limit: v.Limit, Changed: v.Changed, Referrer: v.Referrer}
	if v.Since != "" {
		q.Since, _ = urllist.ParseSince(v.Since, time.Now())
	}
	return q
}

// write writes the pages to standard output.
func (v *urlsListVerb) write(ctx context.Context, env *Env, page urllist.Fetch) error {
	emit := v.textWriter(env.Stdout, command.IsTerminal(env.Stdout))
	switch v.Output {
	case "json":
		emit = urllist.JSONWriter(env.Stdout)
	case "csv":
		var err error
		if emit, err = urllist.CSVWriter(env.Stdout); err != nil {
			return err
		}
	}
	err := urllist.Walk(ctx, page, v.query(), urllist.Patience, emit)
	if ctx.Err() != nil {
		return errListInterrupted
	}
	return err
}

var errListInterrupted = errors.New("interrupted: the list is not complete")

// listCode is the exit code of a list that was not written whole; otherwise is that of the source.
func listCode(err error, otherwise int) int {
	lacks := (*urllist.Incomplete)(nil)
	switch {
	case errors.Is(err, errListInterrupted):
		return command.ExitInterrupted
	case errors.Is(err, crawl.ErrBadQuery):
		return command.ExitUsage
	case errors.As(err, &lacks):
		return command.ExitCluster
	}
	return otherwise
}
