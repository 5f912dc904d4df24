package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"crawlnode/cli/command"
)

// Verb measures what a page costs with everything on: a synthetic web in
// one process, each node in another, no delay.
type Verb struct {
	webSize   `embed:""`
	webWire   `embed:""`
	nodeFlags `embed:""`
	Profile   string        `hidden:"" placeholder:"DIR" help:"Let the first node write its profiles into DIR."`
	Probe     bool          `help:"Ask for /status and /metrics all the time, and tell what they took, and the most goroutines and files."`
	Against   []string      `sep:"none" placeholder:"OTHER" help:"Measure something else as well, by turns, and tell the ratio of the CPU per page: wget2, scrapy, another crawlnode (a path), or the same with other flags (nodes=1,store=none); repeatable."`
	Pairs     int           `default:"7" help:"With --against: runs of each."`
	Output    string        `short:"o" enum:"text,json" default:"text" help:"text or json."`
	Timeout   time.Duration `default:"10m" help:"Give up a run after this time."`
}

// nodeFlags says what runs.
type nodeFlags struct {
	Nodes  int      `default:"1" help:"Nodes of the cluster, all on this machine. CPU and allocations are summed over them."`
	Copies int      `name:"replication" default:"2" help:"As in start; with one node there is one copy."`
	Store  string   `default:"warc" enum:"warc,none" help:"As in start."`
	Bare   bool     `help:"As in start: no fingerprints of texts, no index."`
	Set    []string `sep:"none" placeholder:"FLAG=VALUE" help:"Another flag of start, such as delay=1s; repeatable."`
}

// Help gives the examples of the verb.
func (*Verb) Help() string {
	return command.Examples("crawlnode bench",
		"crawlnode bench --nodes 3 --against nodes=1 --pairs 7 -o json",
		"crawlnode bench --against wget2",
		"crawlnode bench --tls --conn-requests 5 --against tls=false",
		"crawlnode bench --profile profiles && go tool pprof -top profiles/cpu.pprof")
}

// measurement is what was measured. CPU and allocations are those of the nodes'
// processes, summed; memory, goroutines and files are those of the largest.
// What another crawler does not tell is 0.
type measurement struct {
	Nodes          int     `json:"nodes"`
	Pages          int64   `json:"pages"`
	Seconds        float64 `json:"seconds"` // from the first seed to the end of the crawl
	PagesPerSecond float64 `json:"pages_per_second"`
	// without the first and the last tenth of the pages
	SteadyPerSecond    float64 `json:"steady_pages_per_second"`
	CPUMicrosPerPage   float64 `json:"cpu_microseconds_per_page"`
	AllocationsPerPage float64 `json:"allocations_per_page"`
	PeakRssAnonBytes   int64   `json:"peak_rss_anon_bytes"`

	LinksPerPage      float64 `json:"links_per_page"`
	ForwardedPerPage  float64 `json:"links_forwarded_per_page"`
	SuppressedPerPage float64 `json:"links_suppressed_per_page"` // known to have been forwarded before

	// As the web saw it.
	Missing     int `json:"missing"`
	Duplicates  int `json:"duplicates"`
	Connections int `json:"connections"`
	Handshakes  int `json:"tls_handshakes"` // full ones
	Resumed     int `json:"tls_resumed"`
	HTTP2       int `json:"http2_requests"`

	Traffic *traffic     `json:"between_nodes,omitempty"` // nil with one node
	Probe   *probeResult `json:"probe,omitempty"`
}

// text is the result in a line or two.
func (r *measurement) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d pages in %.1fs, nodes %d: %.0f pages/s, %.0f when under way, "+
		"%.0f us CPU and %.0f allocations a page, %.0f MiB anonymous memory at most; %d missing, "+
		"%d twice",
		r.Pages, r.Seconds, r.Nodes, r.PagesPerSecond, r.SteadyPerSecond, r.CPUMicrosPerPage,
		r.AllocationsPerPage,
		float64(r.PeakRssAnonBytes)/(1<<20), r.Missing, r.Duplicates)
	fmt.Fprintf(&b, "; a page: %.1f links, %.2f forwarded, %.2f not forwarded again; %d connections",
		r.LinksPerPage, r.ForwardedPerPage, r.SuppressedPerPage, r.Connections)
	if r.Handshakes+r.Resumed > 0 {
		fmt.Fprintf(&b, ", %d full and %d resumed handshakes, %d requests over HTTP/2", r.Handshakes,
			r.Resumed, r.HTTP2)
	}
	if r.Traffic != nil {
		b.WriteString("; " + r.Traffic.text())
	}
	if r.Probe != nil {
		b.WriteString("; " + r.Probe.text())
	}
	return b.String()
}

// Run measures, and compares if that is wanted.
func (v *Verb) Run(ctx context.Context, env *command.Env) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	own, err := v.own(env)
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	var text string
	var result any
	if len(v.Against) == 0 {
		r, err := v.measure(ctx, env, own)
		if err != nil {
			return env.Fail(command.ExitError, "bench: %v", err)
		}
		text, result = r.text(), r
	} else {
		others, err := own.others(v.Against)
		if err != nil {
			return env.Fail(command.ExitUsage, "%v", err)
		}
		c, err := v.compare(ctx, env, own, others)
		if err != nil {
			return env.Fail(command.ExitError, "bench: %v", err)
		}
		text, result = c.text(), c.shape()
	}
	if v.Output == "json" {
		_ = json.NewEncoder(env.Stdout).Encode(result) // the reader has gone
	} else {
		fmt.Fprintln(env.Stdout, text)
	}
	return command.ExitOK
}
