package cli

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"crawlnode/api"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/node"
)

// crawlVerb runs one node until its crawl has ended.
type crawlVerb struct {
	layered    `embed:""`
	URLs       []string          `arg:"" name:"url" help:"Where to begin."`
	Node       config.Node       `embed:""`
	Scope      config.Scope      `embed:""`
	Politeness config.Politeness `embed:""`
	Output     config.Output     `embed:""`
	Limits     config.Limits     `embed:""`
}

// Help gives the examples of the verb.
func (*crawlVerb) Help() string {
	return examples(
		"crawlnode crawl https://docs.example.org/ --contact me@example.org --max-pages 500",
		"crawlnode crawl https://a.example.org/ https://b.example.org/ --contact me@example.org --data-dir archive",
	) + "\n\nWithout --data-dir the pages lie under crawlnode-data/crawl-<first host>. The same command goes on where the last one was stopped."
}

func (v *crawlVerb) run(ctx context.Context, env *Env) int {
	flags := config.Config{Node: v.Node, Scope: v.Scope, Politeness: v.Politeness, Output: v.Output, Limits: v.Limits}
	flags.ExitWhenDone = true
	flags.Seeds = append(flags.Seeds, v.URLs...)
	forced := []string{"exit-when-done", "seed"}
	if flags.Name == "" {
		flags.Name = crawlName(v.URLs[0])
		forced = append(forced, "name")
	}
	if !v.given["log-level"] {
		flags.LogLevel = "warn" // the progress line says the rest
		forced = append(forced, "log-level")
	}
	cfg, err := v.load(env, flags, forced...)
	if err != nil {
		return env.fail(exitUsage, "%v", err)
	}
	seeds, err := readSeeds(env, cfg.Seeds, cfg.SeedFiles)
	if err != nil {
		return env.fail(exitUsage, "%v", err)
	}
	watch := &crawlWatch{env: env, started: time.Now()}
	s := &session{env: env, cfg: cfg, seeds: seeds, mustFinish: true, beside: watch.run, onOpen: watch.open}
	code := s.run(ctx)
	watch.summary(code, s.finished)
	return code
}

// crawlName names the node after the first site.
func crawlName(first string) string {
	host := "site"
	if u, err := url.Parse(first); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	return config.NameFrom("crawl-" + host)
}

// crawlWatch shows how far the crawl is.
type crawlWatch struct {
	env     *Env
	started time.Time
	info    node.Info
	last    *crawl.Status // the newest status; read only after run has ended
}

func (w *crawlWatch) open(info node.Info) {
	w.info = info
	fmt.Fprintf(w.env.Stderr, "crawlnode %s: %s, status at http://%s/status\n", api.Escape(w.env.Version), api.Escape(info.DataDir), info.HTTP)
}

// run keeps the newest status and draws it, until the node has ended.
func (w *crawlWatch) run(ctx context.Context, n *node.Node) {
	line := newProgress(w.env.Stderr)
	defer line.end()
	for running := true; running; {
		running = pause(ctx, 250*time.Millisecond)
		st, err := n.Status(context.WithoutCancel(ctx), false)
		if err != nil {
			continue
		}
		w.last = st
		line.draw("%s pages, %.1f/s, %s queued, %d in flight, %s", api.Count(st.Throughput.PagesTotal), st.Throughput.PagesPerSecond.Now,
			api.Count(st.Frontier.Queued), st.Frontier.InFlight, time.Since(w.started).Round(time.Second))
	}
}

// summary says what was done and where it lies.
func (w *crawlWatch) summary(code int, reason string) {
	st := w.last
	if st == nil {
		return // the node did not come up; the error stands there already
	}
	took := time.Since(w.started).Seconds()
	fmt.Fprintf(w.env.Stdout, "pages: %d in %.1fs (%.1f/s), %s received\n", st.Throughput.PagesTotal, took,
		float64(st.Throughput.PagesTotal)/max(took, 0.001), api.Bytes(st.Throughput.BytesInTotal))
	r := st.Fetch.Responses
	fmt.Fprintf(w.env.Stdout, "answers: %d 2xx, %d 3xx, %d 4xx, %d 5xx; %d failed requests; %d links left out by robots.txt\n",
		r.C2xx, r.C3xx, r.C4xx, r.C5xx, st.Fetch.ErrorsTotal, st.Fetch.SkippedByReason.Robots)
	if st.Output.RecordsTotal > 0 {
		fmt.Fprintf(w.env.Stdout, "archive: %d records in %s%cwarc\n", st.Output.RecordsTotal, w.info.DataDir, os.PathSeparator)
	}
	switch {
	case reason != "":
		fmt.Fprintln(w.env.Stdout, "ended: "+reason)
	case code == exitInterrupted:
		fmt.Fprintln(w.env.Stdout, "interrupted: the same command goes on from here")
	}
}
