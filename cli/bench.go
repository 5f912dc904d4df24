package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

// benchVerb measures what a page costs a node with everything on: a synthetic
// web in one process, a node in another, no delay.
type benchVerb struct {
	webSize   `embed:""`
	profiling `embed:""`
	Store     string        `default:"warc" enum:"warc,none" help:"As in start."`
	Output    string        `short:"o" enum:"text,json" default:"text" help:"text or json."`
	Timeout   time.Duration `default:"10m" help:"Give up after this time."`
}

// Help gives the examples of the verb.
func (*benchVerb) Help() string {
	return examples("crawlnode bench", "crawlnode bench --hosts 400 --pages-per-host 100 -o json", "crawlnode bench --profile profiles && go tool pprof -top profiles/cpu.pprof")
}

// benchResult is what was measured. CPU, allocations and memory are those of
// the node's process alone.
type benchResult struct {
	Pages              int64   `json:"pages"`
	Seconds            float64 `json:"seconds"` // from the first seed to the end of the crawl
	PagesPerSecond     float64 `json:"pages_per_second"`
	CPUMicrosPerPage   float64 `json:"cpu_microseconds_per_page"`
	AllocationsPerPage float64 `json:"allocations_per_page"`
	PeakRssAnonBytes   int64   `json:"peak_rss_anon_bytes"`
	Missing            int     `json:"missing"`
	Duplicates         int     `json:"duplicates"`
}

// bench is one run.
type bench struct {
	env  *Env
	dir  string
	web  webAddresses
	node *nodeProcess
}

func (v *benchVerb) run(ctx context.Context, env *Env) int {
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, v.Timeout)
	defer cancelTimeout()
	dir, err := os.MkdirTemp("", "crawlnode-bench-")
	if err != nil {
		return env.fail(exitError, "%v", err)
	}
	defer os.RemoveAll(dir)
	result, err := v.measure(ctx, &bench{env: env, dir: dir})
	if err != nil {
		return env.fail(exitError, "bench: %v", err)
	}
	if v.Output == "json" {
		_ = json.NewEncoder(env.Stdout).Encode(result) // the reader has gone
	} else {
		fmt.Fprintf(env.Stdout, "%d pages in %.1fs: %.0f pages/s, %.0f us CPU and %.0f allocations a page, %.0f MiB anonymous memory at most; %d missing, %d twice\n",
			result.Pages, result.Seconds, result.PagesPerSecond, result.CPUMicrosPerPage, result.AllocationsPerPage,
			float64(result.PeakRssAnonBytes)/(1<<20), result.Missing, result.Duplicates)
	}
	if result.Missing > 0 {
		return env.fail(exitError, "bench: %d reachable pages were not fetched", result.Missing)
	}
	return exitOK
}

// measure runs both processes and ends them.
func (v *benchVerb) measure(ctx context.Context, b *bench) (benchResult, error) {
	web, err := startWeb(b.env, b.dir, v.webArgs())
	if err != nil {
		return benchResult{}, err
	}
	defer web.close()
	if err := web.read(&b.web); err != nil {
		return benchResult{}, err
	}
	args := []string{"--allow-net", "127.0.0.0/8", "--dns", b.web.DNS, "--delay", "0", "--store", v.Store, "--log-level", "warn"}
	if v.Profile != "" {
		args = append(args, "--profile", v.Profile)
	}
	b.node, err = startNode(b.env, b.dir, "bench", args...)
	if err != nil {
		return benchResult{}, err
	}
	defer b.node.close()
	result, err := b.crawl(ctx)
	if err != nil {
		return result, err
	}
	_ = web.stdin.Close() // makes it say how it judges, and end
	var report simweb.Report
	if err := web.read(&report); err != nil {
		return result, err
	}
	result.Missing, result.Duplicates = report.Missing, report.Duplicates
	return result, nil
}

func (v *benchVerb) webArgs() []string {
	return []string{
		"simweb", "--seed", strconv.FormatUint(v.WebSeed, 10), "--hosts", strconv.Itoa(v.Hosts),
		"--pages-per-host", strconv.Itoa(v.PagesPerHost), "--links", strconv.Itoa(v.Links), "--page-bytes", strconv.Itoa(v.PageBytes),
	}
}

// webProcess is the simweb verb in a process of its own.
type webProcess struct {
	*process
	stdin  *os.File // the web ends when this is closed
	stdout *os.File
	lines  *bufio.Reader // of stdout
}

func startWeb(env *Env, dir string, args []string) (*webProcess, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close() // the child has its own descriptor
	stdout, childOut, err := os.Pipe()
	if err != nil {
		_ = stdin.Close() // nobody has it
		return nil, err
	}
	defer childOut.Close() // as above
	w := &webProcess{stdin: stdin, stdout: stdout, lines: bufio.NewReader(stdout)}
	if w.process, err = startProcess(env, dir, "simweb", childIn, childOut, args...); err != nil {
		_, _ = stdin.Close(), stdout.Close() // nobody has them
		return nil, err
	}
	return w, nil
}

// read reads one line of JSON that the web prints.
func (w *webProcess) read(into any) error {
	line, err := w.lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		return fmt.Errorf("the web did not say what was expected: %w:\n%s", err, w.lastWords())
	}
	return nil
}

func (w *webProcess) close() {
	w.kill()
	_, _ = w.stdin.Close(), w.stdout.Close() // the child is gone
}

// crawl hands the seeds in, waits for the end, and takes the figures before
// the node is told to go.
func (b *bench) crawl(ctx context.Context) (benchResult, error) {
	var result benchResult
	if err := b.node.waitReady(ctx); err != nil {
		return result, err
	}
	before, err := b.figures(ctx)
	if err != nil {
		return result, err
	}
	began := time.Now()
	var seeds []crawl.Seed
	for _, url := range b.web.Seeds {
		seeds = append(seeds, crawl.Seed{URL: url})
	}
	if _, err := b.node.api.AddSeeds(ctx, seeds); err != nil {
		return result, err
	}
	st, err := b.waitFinished(ctx, &result)
	if err != nil {
		return result, err
	}
	took := time.Since(began)
	after, err := b.figures(ctx)
	if err != nil {
		return result, err
	}
	pages := float64(max(st.Throughput.PagesTotal, 1))
	result.Pages, result.Seconds, result.PagesPerSecond = st.Throughput.PagesTotal, took.Seconds(), pages/took.Seconds()
	result.CPUMicrosPerPage = (after.cpu - before.cpu) * 1e6 / pages
	result.AllocationsPerPage = (after.mallocs - before.mallocs) / pages
	b.node.signal(syscall.SIGTERM)
	return result, b.node.wait(ctx)
}

// waitFinished polls until the crawl has ended, and notes the most memory seen.
func (b *bench) waitFinished(ctx context.Context, result *benchResult) (*crawl.Status, error) {
	line := newProgress(b.env.Stderr)
	defer line.end()
	for {
		st, err := b.node.api.Status(ctx, true)
		if err != nil {
			return nil, fmt.Errorf("%w; the node's last words:\n%s", err, b.node.lastWords())
		}
		result.PeakRssAnonBytes = max(result.PeakRssAnonBytes, rssAnon(b.node.cmd.Process.Pid))
		line.draw("%d pages", st.Throughput.PagesTotal)
		if st.Crawl.State == crawl.CrawlFinished {
			return st, nil
		}
		if !pause(ctx, 200*time.Millisecond) {
			return nil, fmt.Errorf("the crawl has not ended: %w", ctx.Err())
		}
	}
}

// figures are what a process says of itself in its metrics.
type figures struct{ cpu, mallocs float64 }

func (b *bench) figures(ctx context.Context) (figures, error) {
	text, err := b.node.api.Metrics(ctx)
	if err != nil {
		return figures{}, err
	}
	var f figures
	for name, into := range map[string]*float64{"process_cpu_seconds_total": &f.cpu, "go_memstats_mallocs_total": &f.mallocs} {
		if *into, err = metric(text, name); err != nil {
			return f, err
		}
	}
	return f, nil
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

// rssAnon is the anonymous memory of a process in bytes, 0 when the system does
// not say (Linux does, in /proc).
func rssAnon(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "RssAnon:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64) // 0 when it is no number
			return kib << 10
		}
	}
	return 0
}
