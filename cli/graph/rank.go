package graph

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"crawlnode/cli/command"
	"crawlnode/importance/pagerank"
	"crawlnode/local/files"
	"crawlnode/output/linkgraph"
)

// Verbs are the verbs about the graph of links.
type Verbs struct {
	Rank RankVerb `cmd:"" help:"Compute the exact PageRank of link files or WARC files."`
}

// Help gives the examples of the verbs.
func (*Verbs) Help() string { return (*RankVerb)(nil).Help() }

// RankVerb computes PageRank.
type RankVerb struct {
	Files  []string `arg:"" name:"file" help:"Lists of links that --derive links has written (plain, .gz or .zst), or WARC files (.warc, .warc.gz, .warc.zst). - is standard input."`
	By     string   `group:"output" enum:"page,host" default:"page" placeholder:"page|host" help:"Rank pages or hosts. By host, lists of hosts (--derive hosts) can be read as well."`
	Output string   `short:"o" group:"output" enum:"text,csv,json" default:"text" placeholder:"text|csv|json" help:"text, csv or json."`
	Top    int      `short:"n" group:"output" placeholder:"N" default:"20" help:"How many to print, the most important first; 0: all."`

	Assets       bool `group:"scope" help:"Count links to images, scripts and style sheets too."`
	SkipNoFollow bool `name:"skip-nofollow" group:"scope" help:"Leave out links with rel=nofollow."`

	Damping       float64 `group:"limits" placeholder:"D" default:"0.85" help:"Probability of following a link instead of going to any page, below 1."`
	Tolerance     float64 `group:"limits" placeholder:"T" default:"1e-9" help:"End when all ranks together change by less in a step."`
	MaxIterations int     `name:"max-iterations" group:"limits" placeholder:"N" default:"500" help:"End after so many steps in any case, with a warning."`
	TempDir       string  `name:"temp-dir" group:"limits" placeholder:"DIR" help:"Folder for the sorted links, about 4 bytes for each, and the URLs. Default: the system's."`
}

// Help gives the examples of the verb and says what it does.
func (*RankVerb) Help() string {
	return command.Examples(
		"crawlnode graph rank n1/derived/links-20260102030405-00000-n1.jsonl.gz -n 100",
		"crawlnode graph rank --by host links.jsonl.gz -o csv --top 0") + `

It needs no node. Give the files of all nodes of a crawl. The ranks sum to 1. A
page passes 0.85 of its rank along its links in equal parts; the rest, and what
a page without links has, goes to all pages alike. Links to the page itself do
not count, and several to the same page count once. Redirects are links in WARC
files; lists of links do not have them.

The column rank is 1 for the most important and 0 for the least: the share of
pages that are less important. Memory grows with the pages, by about 150 bytes
each, not with the links.`
}

// Run computes and prints.
func (v *RankVerb) Run(ctx context.Context, env *command.Env) int {
	if v.Top < 0 {
		return env.Fail(command.ExitUsage, "--top: %d: give a number, or 0 for all", v.Top)
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	line := command.NewProgress(env.Stderr)
	err := v.rank(ctx, env, line)
	line.End()
	switch {
	case err == nil:
		return command.ExitOK
	case ctx.Err() != nil:
		return env.Fail(command.ExitInterrupted, "interrupted; the same command begins anew")
	case files.NoRoom(err):
		return env.Fail(command.ExitStorage, "%v: the sorted links take about 4 bytes for each "+
			"and the URLs their length; --temp-dir names a folder with more room", err)
	}
	if _, isPath := errors.AsType[*fs.PathError](err); isPath && !errors.Is(err, fs.ErrNotExist) {
		return env.Fail(command.ExitStorage, "%v", err)
	}
	return env.Fail(command.ExitUsage, "%v", err)
}

func (v *RankVerb) rank(ctx context.Context, env *command.Env, line *command.Progress) error {
	options := pagerank.Options{
		Damping:       v.Damping,
		Tolerance:     v.Tolerance,
		MaxIterations: v.MaxIterations,
	}
	if err := options.Check(); err != nil {
		return err
	}
	meter := &meter{ctx: ctx, line: line, total: linkgraph.Size(v.Files)}
	b, err := linkgraph.NewBuilder(linkgraph.Options{
		Dir:          v.TempDir,
		Hosts:        v.By == "host",
		Assets:       v.Assets,
		SkipNoFollow: v.SkipNoFollow,
		Progress:     meter.read,
	})
	if err != nil {
		return err
	}
	err = v.ranked(b, options, meter, env)
	return errors.Join(err, b.Close())
}

// ranked reads the files, ranks what they hold, and prints it.
func (v *RankVerb) ranked(
	b *linkgraph.Builder,
	options pagerank.Options,
	meter *meter,
	env *command.Env,
) error {
	for _, path := range v.Files {
		meter.file = path
		var err error
		if path == "-" {
			err = b.ReadStream(env.Stdin, "standard input")
		} else {
			err = b.Read(path)
		}
		if err != nil {
			return err
		}
	}
	meter.line.Draw("sorting %d links", b.Counts().Links)
	g, err := b.Finish()
	if err != nil {
		return err
	}
	if missing := b.Counts().Missing; missing > 0 {
		env.Fail(0, "%d duplicates have no links here: the pages to which they refer are in files "+
			"that were not named", missing)
	}
	if g.Nodes() == 0 {
		return errors.New("no links: the files are empty, or have only links that do not count " +
			"(--assets counts images, scripts and style sheets)")
	}
	options.Progress = meter.iterated
	result, err := pagerank.Compute(g, options)
	if err != nil {
		return err
	}
	meter.line.Draw("%d %ss, %d links, %d iterations", g.Nodes(), v.By, result.Links,
		result.Iterations)
	meter.line.End()
	if !result.Converged {
		env.Fail(0, "the ranks still changed by %.3g after %d iterations; --max-iterations allows more",
			result.Change, result.Iterations)
	}
	p := printer{verb: v, graph: g, result: result}
	return p.print(env.Stdout)
}

// meter draws how far the work is, a few times a second.
type meter struct {
	ctx         context.Context //nolint:containedctx // it lives as long as the command
	line        *command.Progress
	file        string
	done, total int64
	drawn       time.Time
}

// due reports whether the line should be drawn again.
func (m *meter) due() bool {
	if now := time.Now(); now.Sub(m.drawn) >= 200*time.Millisecond {
		m.drawn = now
		return true
	}
	return false
}

// read counts bytes of the files.
func (m *meter) read(bytes int64) error {
	m.done += bytes
	if m.due() {
		if m.total > 0 {
			m.line.Draw("%3d %% read: %s", min(100*m.done/m.total, 100), m.file)
		} else {
			m.line.Draw("%d MiB read: %s", m.done>>20, m.file)
		}
	}
	return context.Cause(m.ctx)
}

// iterated counts steps.
func (m *meter) iterated(iteration int, change float64) error {
	if m.due() {
		m.line.Draw("iteration %d: the ranks changed by %.2g", iteration, change)
	}
	return context.Cause(m.ctx)
}
