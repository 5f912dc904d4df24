package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"crawlnode/cli/command"
	"crawlnode/cli/process"
	"crawlnode/crawl"
	"crawlnode/simweb"
)

// run is one crawl of one web.
type run struct {
	launcher process.Launcher // of the nodes
	stderr   io.Writer
	what     *variant
	web      webAddresses
	nodes    []*process.Node

	authority string // the file with the certificate of a web of https, or ""
}

// wgetRuns is how often wget2 may try: version 1.99 crashes in every other run with compressed
// pages over https.
const wgetRuns = 10

// measure measures a crawler, wget2 until a run of it is whole.
func (v *Verb) measure(ctx context.Context, env *command.Env, what variant) (measurement, error) {
	for try := 1; ; try++ {
		result, err := v.measureOnce(ctx, env, what)
		if err == nil || what.other != wget2 || try == wgetRuns || ctx.Err() != nil {
			return result, err
		}
		fmt.Fprintf(env.Stderr, "wget2 again: %.200s\n", err)
	}
}

// measureOnce runs a web and a crawler on it, ends both, and fails when not all was
// fetched: then there is nothing to compare.
func (v *Verb) measureOnce(
	ctx context.Context,
	env *command.Env,
	what variant,
) (result measurement, err error) {
	ctx, cancel := context.WithTimeout(ctx, v.Timeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "crawlnode-bench-")
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(dir)
	web, err := startWeb(process.Launcher{Executable: env.Executable, Dir: dir}, what.webArgs())
	if err != nil {
		return result, err
	}
	defer web.close()
	b := &run{
		launcher: process.Launcher{Executable: what.executable, Dir: dir},
		stderr:   env.Stderr,
		what:     &what,
	}
	if err := web.read(&b.web); err != nil {
		return result, err
	}
	if err := b.trust(); err != nil {
		return result, err
	}
	defer b.close()
	switch what.other {
	case wget2:
		result, err = b.runWget(ctx)
	case scrapy:
		result, err = b.runScrapy(ctx)
	default:
		result, err = v.runNodes(ctx, b)
	}
	if err != nil {
		return result, err
	}
	_ = web.stdin.Close() // it then prints its report and ends
	var report simweb.Report
	if err := web.read(&report); err != nil {
		return result, err
	}
	result.judged(&report)
	if report.Missing > 0 {
		return result, fmt.Errorf("%d of %d reachable pages were not fetched, such as %s", report.Missing,
			report.Reachable, strings.Join(report.MissingExamples, " "))
	}
	return result, nil
}

// judged adds what the web saw. Pages are the web's: another crawler counts in
// another way, or not at all.
func (r *measurement) judged(report *simweb.Report) {
	if r.Pages == 0 {
		pages := float64(max(report.Pages+report.Duplicates, 1))
		r.Pages = int64(pages)
		r.PagesPerSecond, r.CPUMicrosPerPage = pages/r.Seconds, r.CPUMicrosPerPage/pages
	}
	r.Missing, r.Duplicates = report.Missing, report.Duplicates
	r.Connections, r.Handshakes, r.Resumed, r.HTTP2 = report.Connections, report.Handshakes,
		report.Resumed, report.HTTP2
}

// trust lets the crawler trust the authority of a web of https.
func (b *run) trust() error {
	if b.web.Authority == "" {
		return nil
	}
	b.authority = filepath.Join(b.launcher.Dir, "authority.pem")
	b.launcher.Variables = append(b.launcher.Variables, "SSL_CERT_FILE="+b.authority)
	return os.WriteFile(b.authority, []byte(b.web.Authority), 0o644)
}

// runNodes starts the nodes, lets them crawl, and ends the first, which may be
// writing profiles.
func (v *Verb) runNodes(ctx context.Context, b *run) (result measurement, err error) {
	if err := v.startNodes(ctx, b); err != nil {
		return result, err
	}
	var p *probe
	if v.Probe {
		p = startProbe(ctx, b)
		defer p.stop()
	}
	if result, err = b.crawl(ctx); err != nil {
		return result, err
	}
	if p != nil {
		if result.Probe, err = p.stop(); err != nil {
			return result, err
		}
		result.Probe.possible(b.what)
	}
	b.nodes[0].Signal(syscall.SIGTERM) // it writes its profiles; the others may be killed
	return result, b.nodes[0].Wait(ctx)
}

// startNodes starts one node after another, and returns when each partition
// has all its copies: moving them is not what is measured.
func (v *Verb) startNodes(ctx context.Context, b *run) error {
	args := b.what.nodeArgs(&b.web)
	for i := range b.what.Nodes {
		own := args
		if i > 0 {
			own = append(own[:len(own):len(own)], "--join", b.nodes[0].Gossip)
		} else if v.Profile != "" {
			own = append(own[:len(own):len(own)], "--profile", v.Profile)
		}
		n, err := b.launcher.StartNode("n"+strconv.Itoa(i+1), own...)
		if err != nil {
			return err
		}
		b.nodes = append(b.nodes, n)
		if err := n.WaitReady(ctx); err != nil {
			return err
		}
	}
	for {
		st, err := b.nodes[0].API.Status(ctx, false)
		if err != nil {
			return err
		}
		if st.Cluster.Members.Alive == b.what.Nodes && st.Ring.Converged && !st.Ring.Handoff.Active &&
			st.Ring.UnderReplicated == 0 {
			return nil
		}
		if !command.Pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("the nodes do not converge: %w", ctx.Err())
		}
	}
}

func (b *run) close() {
	for _, n := range b.nodes {
		n.Close()
	}
}

// crawl hands the seeds in, waits for the end, and takes the figures before
// the node is told to go.
func (b *run) crawl(ctx context.Context) (measurement, error) {
	result := measurement{Nodes: len(b.nodes)}
	before, err := b.figures(ctx)
	if err != nil {
		return result, err
	}
	began := time.Now()
	var seeds []crawl.Seed
	for _, url := range b.web.Seeds {
		seeds = append(seeds, crawl.Seed{URL: url})
	}
	if _, err := b.nodes[0].API.AddSeeds(ctx, seeds); err != nil {
		return result, err
	}
	st, err := b.waitFinished(ctx, began, &result)
	if err != nil {
		return result, err
	}
	took := time.Since(began)
	after, err := b.figures(ctx)
	if err != nil {
		return result, err
	}
	pages := float64(max(st.Throughput.PagesTotal, 1))
	result.Pages, result.Seconds, result.PagesPerSecond = int64(pages), took.Seconds(),
		pages/took.Seconds()
	result.CPUMicrosPerPage = (after.cpu - before.cpu) * 1e6 / pages
	result.AllocationsPerPage = (after.mallocs - before.mallocs) / pages
	if len(b.nodes) > 1 {
		result.Traffic = &traffic{}
		for i := range b.nodes {
			result.Traffic.add(after.expositions[i], 1/pages)
			result.Traffic.add(before.expositions[i], -1/pages)
		}
	}
	result.LinksPerPage = float64(st.Links.Found) / pages
	result.ForwardedPerPage, result.SuppressedPerPage = float64(st.Links.Forwarded)/pages,
		float64(st.Links.SuppressedBySentCache)/pages
	return result, nil
}

// waitFinished polls until the crawl has ended, and notes the most memory seen
// and how fast it was.
func (b *run) waitFinished(
	ctx context.Context,
	began time.Time,
	result *measurement,
) (*crawl.Status, error) {
	line := command.NewProgress(b.stderr)
	defer line.End()
	var seen []progressPoint
	for {
		st, err := b.nodes[0].API.Status(ctx, len(b.nodes) == 1)
		if err != nil {
			return nil, fmt.Errorf("%w; the node's last lines:\n%s", err, b.nodes[0].LastLines())
		}
		for _, n := range b.nodes {
			result.PeakRssAnonBytes = max(result.PeakRssAnonBytes, rssAnon(n.Cmd.Process.Pid))
		}
		line.Draw("%d pages", st.Throughput.PagesTotal)
		seen = append(seen, progressPoint{time.Since(began), st.Throughput.PagesTotal})
		if st.Crawl.State == crawl.CrawlFinished {
			result.SteadyPerSecond = steadyRate(seen)
			return st, nil
		}
		if !command.Pause(ctx, 200*time.Millisecond) {
			return nil, fmt.Errorf("the crawl has not ended: %w", ctx.Err())
		}
	}
}

// progressPoint is how far a crawl was at a moment.
type progressPoint struct {
	at    time.Duration
	pages int64
}

// steadyRate is the pages a second between a tenth and nine tenths of all pages;
// 0 when the crawl was over before that could be seen.
func steadyRate(seen []progressPoint) float64 {
	if len(seen) == 0 {
		return 0
	}
	total := seen[len(seen)-1].pages
	var first, last *progressPoint
	for i := range seen {
		if p := &seen[i]; first == nil && p.pages >= total/10 {
			first = p
		} else if p.pages <= total-total/10 {
			last = p
		}
	}
	if first == nil || last == nil || last.at <= first.at {
		return 0
	}
	return float64(last.pages-first.pages) / (last.at - first.at).Seconds()
}

// figures are what the nodes' processes say of themselves in their metrics,
// summed.
type figures struct {
	cpu, mallocs float64
	expositions  [][]byte
}

func (b *run) figures(ctx context.Context) (figures, error) {
	var sum figures
	for _, n := range b.nodes {
		text, err := n.API.Metrics(ctx)
		if err != nil {
			return sum, err
		}
		for name, into := range map[string]*float64{
			"process_cpu_seconds_total": &sum.cpu,
			"go_memstats_mallocs_total": &sum.mallocs,
		} {
			value, err := metric(text, name)
			if err != nil {
				return sum, err
			}
			*into += value
		}
		sum.expositions = append(sum.expositions, text)
	}
	return sum, nil
}

// metric finds one sample without labels in a Prometheus exposition.
func metric(exposition []byte, name string) (float64, error) {
	for line := range bytes.Lines(exposition) {
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			return strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		}
	}
	return 0, fmt.Errorf("the node's metrics lack %s", name)
}
