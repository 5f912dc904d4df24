package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/cli/seedlist"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/node"
	"crawlnode/web/statuses"
)

// submit gives the seeds to the node of this process, in parts, each until it
// is acknowledged. It returns false when the node ended before.
func (s *session) submit(ctx context.Context) (crawl.SeedReport, bool) {
	const batch = 1000
	var total crawl.SeedReport
	if len(s.seeds) > 0 {
		s.auditSeeds(ctx)
	}
	for rest := seedlist.Plain(s.seeds); len(rest) > 0; {
		part := rest[:min(batch, len(rest))]
		report, err := s.node.AddSeeds(ctx, part)
		switch {
		case ctx.Err() != nil:
			return total, false
		case errors.Is(err, node.ErrUsage), errors.Is(err, crawl.ErrRefused):
			s.log.Error("the seeds were refused", "error", err)
			return total, true
		case err != nil:
			s.log.Warn("the seeds are not stored yet, trying again", "error", err)
			if !command.Pause(ctx, time.Second) {
				return total, false
			}
			continue
		}
		addReport(&total, report)
		rest = rest[len(part):]
	}
	return total, true
}

// auditSeeds has the seeds of this start in the audit, as those that come over the network are.
func (s *session) auditSeeds(ctx context.Context) {
	e := crawl.AuditEntry{
		At:     time.Now().UTC(),
		Role:   crawl.RoleAdmin.String(),
		What:   "start with seeds",
		New:    crawl.SeedsAdded(len(s.seeds), s.seeds[0].URL),
		Status: http.StatusOK,
	}
	if report, err := s.node.CrawlConfig(ctx); err == nil {
		e.Old = report.State
	}
	s.node.RecordChange(e)
}

func addReport(total *crawl.SeedReport, r crawl.SeedReport) {
	total.Accepted += r.Accepted
	total.Duplicates += r.Duplicates
	total.OutOfScope += r.OutOfScope
	total.Invalid = append(total.Invalid, r.Invalid...)
}

// readURLs reads the URLs of the arguments, of which - is standard input, and of files.
func readURLs(ctx context.Context, env *Env, args, files []string) ([]seedlist.Entry, int) {
	var urls []string
	for _, url := range args {
		if url == "-" {
			files = append(files, url)
			continue
		}
		urls = append(urls, url)
	}
	seeds, err := seedlist.ReadUnless(ctx.Done(), env, urls, files)
	if err != nil {
		return nil, env.Fail(seedlist.ExitCode(err), "--file: %v", err)
	}
	if len(seeds) == 0 && len(files) == 0 {
		return nil, env.Fail(command.ExitUsage, "no URL was given: name some, or a file with -f FILE")
	}
	seedlist.GuessSchemes(seeds)
	return seeds, command.ExitOK
}

// where says which cluster and node have answered: a person may have several. It is no part of the
// result, and one that is not known is not worth an error.
func where(ctx context.Context, env *Env, c *client.Client) {
	st, err := c.Status(ctx, false)
	if err != nil {
		return
	}
	fmt.Fprintf(env.Stderr, "cluster %s, node %s at %s\n", plaintext.Escape(st.Cluster.Name),
		plaintext.Escape(st.ServedBy), plaintext.Escape(c.Address()))
}

// seedsRemoveVerb takes URLs out of the queue.
type seedsRemoveVerb struct {
	remote `embed:""`
	URLs   []string `arg:"" optional:"" name:"url" help:"URLs; - reads them from standard input, one a line."`
	File   []string `short:"f" group:"scope" sep:"none" placeholder:"FILE" help:"File with one URL a line; repeatable."`
}

// Help gives the examples of the verb.
func (*seedsRemoveVerb) Help() string {
	return command.Examples(
		"crawlnode seeds remove https://wrong.example.org/ --addr 127.0.0.1:27305",
		"crawlnode seeds remove -f seeds.txt",
	) + `

Any queued URL can be removed, whether it was a seed or a link. What is fetched
already, or is being fetched, stays, and the scope keeps its site: the answer names
the command that leaves the site out. A removed URL is not queued again by links;
seeds add brings it back.`
}

// removalWords are what the states of removals say to a person.
var removalWords = map[string]string{
	crawl.RemovalDone:     "removed",
	crawl.RemovalInFlight: "is being fetched, and stays",
	crawl.RemovalTooLate:  "was fetched, given up or refused before, and stays",
	crawl.RemovalUnknown:  "is not known: nothing to remove",
}

// Run asks for the removal, and says of each URL what became of it.
func (v *seedsRemoveVerb) Run(ctx context.Context, env *Env) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	seeds, code := readURLs(ctx, env, v.URLs, v.File)
	if code != command.ExitOK {
		return code
	}
	c, err := v.dial(env)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	defer c.Close()
	report, err := c.RemoveSeeds(ctx, seedlist.Plain(seeds))
	seedlist.Complain(env, seeds, report.Invalid)
	for _, u := range report.URLs {
		fmt.Fprintf(env.Stdout, "%s: %s\n", plaintext.Escape(u.URL), removalWords[u.State])
	}
	if err != nil {
		return env.Fail(answerCode(err), "%v", err)
	}
	where(ctx, env, c)
	fmt.Fprintf(env.Stdout, "seeds: %d removed, %d in flight, %d done, %d unknown, %d invalid\n",
		report.Removed, report.InFlight, report.Done, report.Unknown, len(report.Invalid))
	v.sayWhatStays(ctx, env, c, report.URLs)
	if len(report.Invalid) > 0 && len(report.URLs) == 0 {
		return command.ExitUsage
	}
	return command.ExitOK
}

// sayWhatStays says how to leave out the sites of URLs that the removal came too late for: a seed
// that was fetched has brought its site into the scope, which keeps it. The command has the
// excludes that the crawl has, because what it sets replaces them.
func (v *seedsRemoveVerb) sayWhatStays(
	ctx context.Context, env *Env, c *client.Client, removals []crawl.Removal,
) {
	var sites []string
	for _, r := range removals {
		u, err := url.Parse(r.URL)
		if err != nil || r.State != crawl.RemovalTooLate && r.State != crawl.RemovalInFlight {
			continue
		}
		if site := u.Scheme + "://" + u.Host + "/*"; !slices.Contains(sites, site) {
			sites = append(sites, site)
		}
	}
	if len(sites) == 0 {
		return
	}
	r, err := c.CrawlConfig(ctx)
	if err != nil { // it is no part of the result
		return
	}
	excludes := r.Settings.List("exclude")
	left := slices.DeleteFunc(sites, func(s string) bool { return slices.Contains(excludes, s) })
	if len(left) == 0 || r.Settings.Text("scope") == "page" { // links of that page are not followed
		return
	}
	command := "crawlnode crawl-config set"
	for _, e := range slices.Concat(excludes, left) {
		command += " " + config.InShell("exclude="+e)
	}
	fmt.Fprintf(env.Stdout,
		"what was fetched keeps its site in the scope (%s), and the crawl goes on there;"+
			" to leave the site out: %s\n", plaintext.Escape(r.Settings.Text("scope")),
		plaintext.Escape(command+v.SameNode(env)))
}

// seedsVerbs are the verbs about seeds.
type seedsVerbs struct {
	Add    seedsAddVerb    `cmd:"" help:"Add URLs; answers when they are stored safely."`
	Remove seedsRemoveVerb `cmd:"" help:"Remove URLs from the queue that are not fetched yet."`
}

// Help gives the examples of the verbs.
func (*seedsVerbs) Help() string { return (*seedsAddVerb)(nil).Help() }

// seedsAddVerb hands seeds to a running cluster.
type seedsAddVerb struct {
	remote   `embed:""`
	URLs     []string `arg:"" optional:"" name:"url" help:"URLs; - reads them from standard input, one a line."`
	File     []string `short:"f" group:"scope" sep:"none" placeholder:"FILE" help:"File with one URL a line; repeatable."`
	FromCDX  []string `name:"from-cdx" group:"scope" sep:"none" placeholder:"FILE" help:"Index of an archive, whose URLs are added: CDXJ, as of crawlnode export cdxj, pywb or Common Crawl, or CDX; plain or .gz; - is standard input; repeatable."`
	Status   string   `group:"scope" placeholder:"LIST" help:"With --from-cdx: which captures count, by their statuses, such as 200,301-308,404 (default: 200)."`
	Priority *float64 `group:"scope" placeholder:"0..1" help:"Which come first: 1 does, 0 is last."`
	Again    bool     `group:"scope" help:"Fetch URLs that are known already once more."`
}

// Help gives the examples of the verb.
func (*seedsAddVerb) Help() string {
	return command.Examples(
		"crawlnode seeds add https://docs.example.org/ --addr 127.0.0.1:27305",
		"crawlnode seeds add -f seeds.txt",
		"crawlnode seeds add --from-cdx cdx-00000.gz --status 200,301-308",
	) + `

With --from-cdx the URLs come from the indexes of other crawls, however long. A revisit
without a status counts as 200, because it repeats an answer with a payload; any other
line without one is left out. Lines that are none are named, and the others added.`
}

// defaultCDXStatuses are the captures that count in an index: pages that were there.
const defaultCDXStatuses = "200"

func (v *seedsAddVerb) Run(ctx context.Context, env *Env) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	if len(v.FromCDX) > 0 {
		return v.addIndexes(ctx, env)
	}
	if v.Status != "" {
		return env.Fail(command.ExitUsage,
			"--status is about the captures of an index: give one with --from-cdx FILE")
	}
	seeds, code := readURLs(ctx, env, v.URLs, v.File)
	if code != command.ExitOK {
		return code
	}
	v.mark(seeds)
	c, err := v.dial(env)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	defer c.Close()
	report, err := c.AddSeeds(ctx, seedlist.Plain(seeds))
	seedlist.Complain(env, seeds, report.Invalid)
	if err != nil {
		return env.Fail(answerCode(err), "%v", err)
	}
	where(ctx, env, c)
	return sayAdded(env, &report, int64(len(report.Invalid)))
}

// mark gives seeds what the flags say of all.
func (v *seedsAddVerb) mark(seeds []seedlist.Entry) {
	for i := range seeds {
		seeds[i].Priority, seeds[i].Again = v.Priority, v.Again
	}
}

// sayAdded says what became of seeds, and returns the exit code.
func sayAdded(env *Env, report *crawl.SeedReport, invalid int64) int {
	line := fmt.Sprintf("seeds: %d accepted, %d duplicate, %d invalid", report.Accepted,
		report.Duplicates, invalid)
	if report.OutOfScope > 0 {
		line += fmt.Sprintf(", %d out of scope", report.OutOfScope)
	}
	fmt.Fprintln(env.Stdout, line)
	if invalid > 0 && report.Accepted == 0 {
		return command.ExitUsage
	}
	return command.ExitOK
}

// addIndexes adds the URLs of indexes. They may be more than fit into memory, so they are read and
// added by and by; what was added before an error stays, and the same command adds the rest.
func (v *seedsAddVerb) addIndexes(ctx context.Context, env *Env) int {
	if len(v.URLs)+len(v.File) > 0 {
		return env.Fail(command.ExitUsage,
			"--from-cdx stands alone: add the other URLs by a command of their own")
	}
	take, err := statuses.Parse(cmp.Or(v.Status, defaultCDXStatuses), statuses.Least,
		"a list such as 200,301-308,404")
	if err != nil {
		return env.Fail(command.ExitUsage, "--status: %v", err)
	}
	c, err := v.dial(env)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	defer c.Close()
	var total crawl.SeedReport
	var refused error
	bad := env.Errors()
	add := func(seeds []seedlist.Entry) error {
		v.mark(seeds)
		report, err := c.AddSeeds(ctx, seedlist.Plain(seeds))
		for _, wrong := range report.Invalid {
			bad.Add(func() string { return seedlist.Complaint(seeds, wrong) })
		}
		report.Invalid = nil
		addReport(&total, report)
		refused = err
		return err
	}
	counts, err := seedlist.FromIndexes(ctx, env, v.FromCDX, &take, bad, add)
	bad.End()
	switch {
	case ctx.Err() != nil:
		return env.Fail(command.ExitInterrupted, "stopped by a signal after %d seeds were accepted; "+
			"the same command adds the rest", total.Accepted)
	case refused != nil:
		return env.Fail(answerCode(refused), "after %d seeds were accepted: %v",
			total.Accepted, refused)
	case err != nil:
		return env.Fail(command.ExitUsage, "--from-cdx, after %d seeds were accepted: %v",
			total.Accepted, err)
	}
	where(ctx, env, c)
	fmt.Fprintf(env.Stdout,
		"index: %s captures, %s of other statuses, %s of the same URL as before\n",
		plaintext.Count(counts.Captures), plaintext.Count(counts.Left),
		plaintext.Count(counts.Repeated))
	return sayAdded(env, &total, bad.Count())
}
