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

// benchVerb measures what a page costs with everything on: a synthetic web in
// one process, each node in another, no delay.
type benchVerb struct {
	webSize   `embed:""`
	profiling `embed:""`
	Store     string        `default:"warc" enum:"warc,none" help:"As in start."`
	Nodes     int           `default:"1" help:"Nodes of the cluster, all on this machine. CPU and allocations are summed over them."`
	Copies    int           `name:"replication" default:"2" help:"As in start; with one node there is one copy."`
	Output    string        `short:"o" enum:"text,json" default:"text" help:"text or json."`
	Timeout   time.Duration `default:"10m" help:"Give up after this time."`
}

// Help gives the examples of the verb.
func (*benchVerb) Help() string {
	return examples("crawlnode bench", "crawlnode bench --nodes 3 --replication 1 -o json", "crawlnode bench --profile profiles && go tool pprof -top profiles/cpu.pprof")
}

// benchResult is what was measured. CPU and allocations are those of the nodes'
// processes, summed; memory is that of the largest.
type benchResult struct {
	Nodes              int     `json:"nodes"`
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
	env   *Env
	dir   string
	web   webAddresses
	nodes []*nodeProcess
}

func (v *benchVerb) run(ctx context.Context, env *Env) int {
	if v.Nodes < 1 {
		return env.fail(exitUsage, "--nodes is %d, and at least 1 is needed", v.Nodes)
	}
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
		fmt.Fprintf(env.Stdout, "%d pages in %.1fs, nodes %d: %.0f pages/s, %.0f us CPU and %.0f allocations a page, %.0f MiB anonymous memory at most; %d missing, %d twice\n",
			result.Pages, result.Seconds, result.Nodes, result.PagesPerSecond, result.CPUMicrosPerPage, result.AllocationsPerPage,
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
	defer b.close()
	if err := v.startNodes(ctx, b); err != nil {
		return benchResult{}, err
	}
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

// startNodes starts one node after another, and returns when each partition
// has all its copies: moving them is not what is measured.
func (v *benchVerb) startNodes(ctx context.Context, b *bench) error {
	args := []string{"--allow-net", "127.0.0.0/8", "--dns", b.web.DNS, "--delay", "0", "--store", v.Store, "--log-level", "warn",
		"--replication", strconv.Itoa(v.Copies)}
	for i := range v.Nodes {
		own := args
		if i > 0 {
			own = append(own[:len(own):len(own)], "--join", b.nodes[0].gossip)
		} else if v.Profile != "" {
			own = append(own[:len(own):len(own)], "--profile", v.Profile)
		}
		n, err := startNode(b.env, b.dir, "n"+strconv.Itoa(i+1), own...)
		if err != nil {
			return err
		}
		b.nodes = append(b.nodes, n)
		if err := n.waitReady(ctx); err != nil {
			return err
		}
	}
	for {
		st, err := b.nodes[0].api.Status(ctx, false)
		if err != nil {
			return err
		}
		if st.Cluster.Members.Alive == v.Nodes && st.Ring.Converged && !st.Ring.Handoff.Active && st.Ring.UnderReplicated == 0 {
			return nil
		}
		if !pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("the nodes do not settle: %w", ctx.Err())
		}
	}
}

func (b *bench) close() {
	for _, n := range b.nodes {
		n.close()
	}
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
	result := benchResult{Nodes: len(b.nodes)}
	before, err := b.figures(ctx)
	if err != nil {
		return result, err
	}
	began := time.Now()
	var seeds []crawl.Seed
	for _, url := range b.web.Seeds {
		seeds = append(seeds, crawl.Seed{URL: url})
	}
	if _, err := b.nodes[0].api.AddSeeds(ctx, seeds); err != nil {
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
	b.nodes[0].signal(syscall.SIGTERM) // it writes its profiles; the others may be killed
	return result, b.nodes[0].wait(ctx)
}

// waitFinished polls until the crawl has ended, and notes the most memory seen.
func (b *bench) waitFinished(ctx context.Context, result *benchResult) (*crawl.Status, error) {
	line := newProgress(b.env.Stderr)
	defer line.end()
	for {
		st, err := b.nodes[0].api.Status(ctx, len(b.nodes) == 1)
		if err != nil {
			return nil, fmt.Errorf("%w; the node's last words:\n%s", err, b.nodes[0].lastWords())
		}
		for _, n := range b.nodes {
			result.PeakRssAnonBytes = max(result.PeakRssAnonBytes, rssAnon(n.cmd.Process.Pid))
		}
		line.draw("%d pages", st.Throughput.PagesTotal)
		if st.Crawl.State == crawl.CrawlFinished {
			return st, nil
		}
		if !pause(ctx, 200*time.Millisecond) {
			return nil, fmt.Errorf("the crawl has not ended: %w", ctx.Err())
		}
	}
}

// figures are what the nodes' processes say of themselves in their metrics,
// summed.
type figures struct{ cpu, mallocs float64 }

func (b *bench) figures(ctx context.Context) (figures, error) {
	var sum figures
	for _, n := range b.nodes {
		text, err := n.api.Metrics(ctx)
		if err != nil {
			return sum, err
		}
		for name, into := range map[string]*float64{"process_cpu_seconds_total": &sum.cpu, "go_memstats_mallocs_total": &sum.mallocs} {
			value, err := metric(text, name)
			if err != nil {
				return sum, err
			}
			*into += value
		}
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
