package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"crawlnode/cli/command"
	"crawlnode/cli/process"
	"crawlnode/crawl"
	"crawlnode/simweb"
)

// Verb shows a cluster at work, and judges it at the web server's side.
type Verb struct {
	WebSeed uint64        `name:"seed" group:"scope" placeholder:"N" default:"1" help:"Chooses the synthetic web."`
	Delay   time.Duration `group:"politeness" placeholder:"DURATION" default:"50ms" help:"Promised gap between two requests to one host."`
	Timeout time.Duration `group:"limits" placeholder:"DURATION" default:"60s" help:"Give up after this time."`
	// Some 1,500 pages by default; the largest host has some 200.
	Hosts        int `hidden:"" default:"60" help:"Hosts of the web."`
	PagesPerHost int `hidden:"" default:"25" help:"Mean number of pages of a host."`
	Partitions   int `hidden:"" default:"1024" help:"As in start."`
}

// Help gives the examples of the verb.
func (*Verb) Help() string {
	return command.Examples("crawlnode demo", "crawlnode demo --seed 7") +
		"\n\nNeeds no internet and no root, listens on loopback only, and leaves nothing behind."
}

// demo is one run.
type demo struct {
	*Verb
	env      *command.Env
	launcher process.Launcher
	web      *simweb.Web
	watch    *watch
	doors    []netip.AddrPort // name servers, one for each node
	line     *command.Progress
	nodes    []*process.Node // all that were started

	pages    int       // fetched, when last looked at
	lastPage time.Time // when pages changed last

	crawlTook time.Duration
	shown     string // what became of the application's pages
}

// Run runs the demonstration and judges it.
func (v *Verb) Run(ctx context.Context, env *command.Env) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, v.Timeout)
	defer cancelTimeout()
	dir, err := os.MkdirTemp("", "crawlnode-demo-")
	if err != nil {
		return env.Fail(command.ExitError,
			"demo: %v: the demonstration needs a folder for its files; "+
				"set TMPDIR to one that can be written",
			err)
	}
	defer os.RemoveAll(dir)
	d := &demo{
		Verb:     v,
		env:      env,
		launcher: process.Launcher{Executable: env.Executable, Dir: dir},
		line:     command.NewProgress(env.Stderr),
	}
	err = d.play(ctx)
	d.line.End()
	if err != nil {
		return env.Fail(command.ExitError, "demo: %v", err)
	}
	return d.judge()
}

// play builds the web, runs the scenes, and leaves nothing running.
func (d *demo) play(ctx context.Context) error {
	d.watch = newWatch()
	web, err := simweb.New(simweb.Config{
		Seed: d.WebSeed, Hosts: d.Hosts, PagesPerHost: d.PagesPerHost, LinksPerPage: 12, PageBytes: 6000,
		Delay:     d.Delay,
		Redirects: 30, Missing: 20, Private: 30, Hidden: 20, Charsets: 40, Gzip: 500,
		Doors: nodeCount, OnRequest: d.watch.note,
	})
	if err != nil {
		return err
	}
	server, err := web.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	d.web, d.doors = web, server.Doors
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := server.Run(serving); err != nil {
			fmt.Fprintln(d.env.Stderr, err)
		}
	})
	defer wg.Wait()
	defer stop()
	defer func() {
		for _, n := range d.nodes {
			n.Close()
		}
	}()
	if err := d.scenes(ctx); err != nil {
		return err
	}
	return d.shows(ctx)
}

// nodeCount is three, and one that joins after one of them was killed.
const nodeCount = 4

// scenes plays the demonstration: three nodes and seeds; half-way through the crawl one
// node is killed and its data deleted; another one joins; the crawl ends.
func (d *demo) scenes(ctx context.Context) error {
	d.say("three nodes on loopback, a web of %d hosts, %v between two requests to one host", d.Hosts,
		d.Delay)
	first, err := d.start(ctx, "n1", "--partitions", strconv.Itoa(d.Partitions))
	if err != nil {
		return err
	}
	second, err := d.start(ctx, "n2", "--join", first.Gossip)
	if err != nil {
		return err
	}
	victim, err := d.start(ctx, "n3", "--join", first.Gossip)
	if err != nil {
		return err
	}
	if err := d.whole(ctx, first, 3); err != nil {
		return err
	}
	began := time.Now()
	if err := d.seed(ctx, second); err != nil {
		return err
	}
	reachable := d.web.Report().Reachable
	if err := d.crawlUntil(ctx, reachable/2, reachable); err != nil {
		return err
	}
	if err := d.loseNode(ctx, victim, first); err != nil {
		return err
	}
	late, err := d.start(ctx, "n4", "--join", first.Gossip+","+second.Gossip)
	if err != nil {
		return err
	}
	// The nodes stay when the crawl has ended: otherwise the last one could find no
	// node left to join.
	for _, n := range []*process.Node{first, second, late} {
		if err := d.waitFinished(ctx, n, reachable); err != nil {
			return err
		}
	}
	d.say("%s, %s and %s say that the crawl has ended", first.Name, second.Name, late.Name)
	d.crawlTook = d.lastPage.Sub(began)
	return nil
}

// start starts a node and waits until it takes part.
func (d *demo) start(ctx context.Context, name string, more ...string) (*process.Node, error) {
	args := append([]string{
		"--allow-net", "127.0.0.0/8", "--dns", d.doors[len(d.nodes)].String(), "--delay",
		d.Delay.String(), "--log-level", "warn",
	}, more...)
	n, err := d.launcher.StartNode(name, args...)
	if err != nil {
		return nil, err
	}
	d.nodes = append(d.nodes, n)
	if err := n.WaitReady(ctx); err != nil {
		return nil, err
	}
	d.say("%s: up, status at http://%s/", name, n.HTTP)
	return n, nil
}

// whole waits until asked sees so many members, and every partition is where the
// table says, with its copy.
func (d *demo) whole(ctx context.Context, asked *process.Node, members int) error {
	return d.until(ctx, asked, func(st *crawl.Status) bool {
		return st.Cluster.Members.Alive == members && st.Ring.Converged &&
			st.Ring.Served == st.Ring.Partitions &&
			st.Ring.UnderReplicated == 0 && st.Ring.Offline == 0
	}, "the cluster does not converge")
}

// until asks a node again and again.
func (d *demo) until(
	ctx context.Context,
	asked *process.Node,
	done func(*crawl.Status) bool,
	why string,
) error {
	for {
		st, err := asked.API.Status(ctx, false)
		if err == nil && done(st) {
			return nil
		}
		if asked.Ended() || !command.Pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("%s; the last lines of %s:\n%s", why, asked.Name, asked.LastLines())
		}
	}
}

// seed hands the start pages to one node; it knows whose they are.
func (d *demo) seed(ctx context.Context, n *process.Node) error {
	var seeds []crawl.Seed
	for _, url := range d.web.Seeds() {
		seeds = append(seeds, crawl.Seed{URL: url})
	}
	report, err := n.API.AddSeeds(ctx, seeds)
	if err != nil {
		return err
	}
	if report.Accepted != len(seeds) {
		return fmt.Errorf("%d of %d seeds were accepted: %+v", report.Accepted, len(seeds), report)
	}
	d.say("%d seeds handed to %s", len(seeds), n.Name)
	return nil
}

// crawlUntil watches the web server until so many pages were fetched.
func (d *demo) crawlUntil(ctx context.Context, pages, reachable int) error {
	for d.web.Progress() < pages {
		d.drawProgress(reachable)
		for _, n := range d.nodes {
			if n.Ended() {
				return fmt.Errorf("%s has ended early:\n%s", n.Name, n.LastLines())
			}
		}
		if !command.Pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("%d of %d pages were fetched: %w", d.web.Progress(), reachable, ctx.Err())
		}
	}
	return nil
}

// loseNode kills a node and deletes its data, and waits until others have taken
// its hosts over.
func (d *demo) loseNode(ctx context.Context, victim, asked *process.Node) error {
	door := slices.Index(d.nodes, victim)
	orphans := d.watch.kill(door, time.Now())
	victim.Kill()
	if err := os.RemoveAll(filepath.Join(d.launcher.Dir, victim.Name)); err != nil {
		return err
	}
	d.say("%s: SIGKILL after %d pages, while it crawled %d hosts; its data directory is deleted",
		victim.Name, d.web.Progress(), orphans)
	if err := d.whole(ctx, asked, 2); err != nil {
		return err
	}
	if took := d.watch.tookOver(); took > 0 {
		d.say("%s is out; another node asked for the first of its hosts after %v, "+
			"and every partition has two copies again", victim.Name, took.Round(10*time.Millisecond))
	}
	return nil
}

// waitFinished waits until a node says that the crawl has ended, and why.
func (d *demo) waitFinished(ctx context.Context, n *process.Node, reachable int) error {
	for {
		d.drawProgress(reachable)
		st, err := n.API.Status(ctx, true)
		if err == nil && st.Crawl.State == crawl.CrawlFinished {
			if r := st.Crawl.FinishReason; r == nil || *r != crawl.FinishExhausted {
				return fmt.Errorf("%s has ended for another reason than %s: %+v", n.Name, crawl.FinishExhausted,
					st.Crawl)
			}
			return nil
		}
		if n.Ended() {
			return fmt.Errorf("%s has ended early:\n%s", n.Name, n.LastLines())
		}
		if !command.Pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%d of %d pages were fetched, and %s does not say that the crawl has ended: "+
				"%w; its last lines:\n%s",
				d.web.Progress(), reachable, n.Name, ctx.Err(), n.LastLines())
		}
	}
}

// drawProgress draws how far the crawl is, and notes when the last page came.
func (d *demo) drawProgress(reachable int) {
	pages := d.web.Progress()
	if pages != d.pages {
		d.pages, d.lastPage = pages, time.Now()
	}
	d.line.Draw("%d of %d pages", pages, reachable)
}

// say prints a line of the story.
func (d *demo) say(format string, args ...any) {
	d.line.End()
	fmt.Fprintf(d.env.Stderr, format+"\n", args...)
}

// judge prints the figures as the web server saw them. The exit code is 0 only
// if everything holds that the demo promises.
func (d *demo) judge() int {
	report, takeover, excused := d.web.Report(), d.watch.tookOver(), d.watch.excused()
	took := takeover.Round(10 * time.Millisecond).String()
	if takeover == 0 { // only in a web so small that its hosts were done
		took = "nothing was left to do on the killed node's hosts"
	}
	rate := float64(report.Pages) / d.crawlTook.Seconds()
	for _, r := range [][2]string{
		{"pages fetched / reachable", fmt.Sprintf("%d / %d", report.Pages, report.Reachable)},
		{"pages per second", fmt.Sprintf("%.0f", rate)},
		{"smallest gap at one host", fmt.Sprintf("%v (promised: %v)", report.SmallestGap.Round(10*time.Microsecond), d.Delay)},
		{"URLs lost", fmt.Sprint(report.Missing)},
		{"URLs fetched twice", fmt.Sprintf("%d (%d were in flight or just done on the killed node)", report.Duplicates, excused)},
		{"time to take over", took},
		{"shown to a browser", d.shown},
	} {
		fmt.Fprintf(d.env.Stdout, "%-26s %s\n", r[0], r[1])
	}
	err := report.ErrButDuplicates()
	if report.Duplicates > excused {
		err = errors.Join(err, fmt.Errorf(
			"%d URLs were fetched twice, such as %s; only %d were in flight or just done on the killed node",
			report.Duplicates, report.DuplicateExamples[0], excused))
	}
	if report.SmallestGap >= 0 && report.SmallestGap < d.Delay {
		err = errors.Join(err, fmt.Errorf("the smallest gap, %v at %s, is below the promised %v",
			report.SmallestGap, report.GapHost, d.Delay))
	}
	if err != nil {
		return d.env.Fail(command.ExitError, "%v", err)
	}
	fmt.Fprintln(d.env.Stdout, "everything holds")
	return command.ExitOK
}
