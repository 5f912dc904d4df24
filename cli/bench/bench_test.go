package bench

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/cli/command"
)

func TestVariants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := filepath.Join(dir, "crawlnode-before")
	equals := filepath.Join(dir, "a=b")
	if err := os.WriteFile(equals, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	base := Verb{
		webWire:   webWire{Agent: "crawlnode"},
		nodeFlags: nodeFlags{Nodes: 3, Copies: 2, Store: "warc", Set: []string{"delay=1s"}},
		Pairs:     1,
	}
	for _, c := range []struct {
		against string
		nodes   int
		args    string // of its nodes, and of its web
		err     string

		executable string // "": the same
	}{
		{against: "nodes=1", nodes: 1, args: "--replication 2 --delay=1s"},
		{against: "replication=1,store=none", nodes: 3, args: "--replication 2 --delay=1s --replication=1 --store=none"},
		{against: "bare=true", nodes: 3, args: "--bare --delay=1s"},
		{against: "tls=true,conn-requests=5", nodes: 3, args: "--tls=true --agent crawlnode --http1=false --conn-requests 5"},
		{against: "gzip=900", nodes: 3, args: "--gzip 900"},
		{against: other, nodes: 3, args: "--delay=1s", executable: other},
		{against: equals, nodes: 3, args: "--delay=1s", executable: equals},
		{against: "upload=s3://bucket/prefix,delay=2s", nodes: 3, args: "--delay=1s --upload=s3://bucket/prefix --delay=2s"},
		{against: "sink=file:/tmp/x", nodes: 3, args: "--delay=1s --sink=file:/tmp/x"},
		{against: filepath.Join(dir, "none"), err: "no such file"},
		{against: "wget", err: "not wget2, not scrapy, not a path and not FLAG=VALUE"},
		{against: "nodes=0", err: "at least 1"},
		{against: "nodes=many", err: "many"},
		{against: "--delay=0", err: "is not FLAG=VALUE"},
	} {
		own, err := base.own(&command.Env{Executable: "crawlnode"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := own.against(c.against)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("against %s: error %v, want %q", c.against, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("against %s: %v", c.against, err)
			continue
		}
		args := strings.Join(append(got.nodeArgs(&webAddresses{DNS: "d"}), got.webArgs()...), " ")
		if got.Nodes != c.nodes || !strings.Contains(args, c.args) {
			t.Errorf("against %s: %d nodes, %s; want %d, %s", c.against, got.Nodes, args, c.nodes, c.args)
		}
		if want := cmp.Or(c.executable, "crawlnode"); got.executable != want {
			t.Errorf("against %s: runs %s, want %s", c.against, got.executable, want)
		}
		if !slices.Equal(own.Set, []string{"delay=1s"}) || own.Nodes != 3 || own.TLS {
			t.Errorf("against %s has changed what it is compared with: %+v", c.against, own)
		}
	}
}

// wget2 loses pages on connections of HTTP/2 that end, and Scrapy has no way to a web of https, so
// nothing could be compared.
func TestOtherCrawlersHaveLimits(t *testing.T) {
	t.Parallel()
	v := variant{webWire: webWire{TLS: true, ConnRequests: 5}}
	if _, err := v.wget2(); err == nil || !strings.Contains(err.Error(), "--http1") {
		t.Errorf("error %v, want one that names --http1", err)
	}
	if _, err := v.scrapy(); err == nil || !strings.Contains(err.Error(), "--tls") {
		t.Errorf("error %v, want one that names --tls", err)
	}
}

// What the flags say of a web is what its process is told.
func TestWebFlags(t *testing.T) {
	t.Parallel()
	s := webSize{SizeSpread: 1.3, NaturalText: true, Gzip: 900}
	args := strings.Join(s.args(), " ")
	for _, want := range []string{"--size-spread 1.3", "--natural-text=true", "--gzip 900"} {
		if !strings.Contains(args, want) {
			t.Errorf("arguments %q lack %q", args, want)
		}
	}
}

// The numbers are those of tables of the sign test's interval.
func TestStatistics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, cut     int
		confidence float64
	}{{1, 0, 0}, {2, 0, 0.5}, {5, 0, 0.9375}, {6, 0, 0.96875}, {7, 0, 0.984375}, {9, 1, 0.9609375},
		{20, 5, 0.9586105}} {
		k, confidence := medianInterval(c.n)
		if k != c.cut || confidence < c.confidence-1e-6 || confidence > c.confidence+1e-6 {
			t.Errorf("of %d: %d cut off with %v, want %d with %v", c.n, k, confidence, c.cut, c.confidence)
		}
	}
	got := statisticOf([]float64{9, 1, 8, 2, 7, 3, 6, 4, 5})
	if want := (statistic{
		Median:     5,
		Min:        1,
		Max:        9,
		Low:        2,
		High:       8,
		Confidence: 0.9609375,
	}); got != want {
		t.Errorf("statistic %+v, want %+v", got, want)
	}
	if got := statisticOf([]float64{4, 1, 3, 2}).Median; got != 2.5 {
		t.Errorf("median %v, want 2.5", got)
	}
}

// Several others are compared with the same runs of this, in the same turns.
func TestComparisons(t *testing.T) {
	t.Parallel()
	run := func(micros float64) measurement {
		return measurement{CPUMicrosPerPage: micros, PagesPerSecond: 1000}
	}
	all := comparisons{{Against: "nodes=1"}, {Against: "wget2"}}
	for _, turn := range [][3]float64{{300, 200, 100}, {600, 200, 150}, {400, 100, 100}} {
		for i, c := range all {
			if line := c.add(run(turn[0]), run(turn[i+1])); !strings.Contains(line, "against "+c.Against) {
				t.Errorf("%q names not %s", line, c.Against)
			}
		}
	}
	for i, want := range []float64{3, 4} {
		if all[i].sumUp(); all[i].Ratio.Median != want {
			t.Errorf("against %s: median ratio %v, want %v", all[i].Against, all[i].Ratio.Median, want)
		}
	}
	if lines := strings.Split(all.text(), "\n"); len(lines) != 2 {
		t.Errorf("%d lines, want one for each comparison:\n%s", len(lines), all.text())
	}
	if one, ok := all[:1].shape().(*comparison); !ok || one.Against != "nodes=1" {
		t.Errorf("one comparison alone is %T, want the object of it", all[:1].shape())
	}
	if _, ok := all.shape().(comparisons); !ok {
		t.Errorf("two comparisons are %T, want an array", all.shape())
	}
	if _, err := (variant{nodeFlags: nodeFlags{Nodes: 1}}).others([]string{"nodes=2",
		"nodes=0"}); err == nil || !strings.Contains(err.Error(), "nodes=0") {
		t.Errorf("error %v, want one that names the wrong one", err)
	}
}

func TestSteadyRate(t *testing.T) {
	t.Parallel()
	at := func(seconds float64, pages int64) progressPoint {
		return progressPoint{time.Duration(seconds * float64(time.Second)), pages}
	}
	for _, c := range []struct {
		name string
		seen []progressPoint
		want float64
	}{
		{"nothing", nil, 0},
		{"over at once", []progressPoint{at(0, 0), at(1, 100)}, 0},
		{"slow at both ends", []progressPoint{at(0, 0), at(5, 10), at(6, 50), at(7, 90), at(20, 100)}, 40},
	} {
		if got := steadyRate(c.seen); got != c.want {
			t.Errorf("%s: %v pages/s, want %v", c.name, got, c.want)
		}
	}
}

func TestPossibleRate(t *testing.T) {
	t.Parallel()
	what := func(latency time.Duration, hosts int, set ...string) *variant {
		return &variant{
			webSize:   webSize{Hosts: hosts},
			webWire:   webWire{Latency: latency},
			nodeFlags: nodeFlags{Nodes: 2, Set: set},
		}
	}
	for _, c := range []struct {
		what *variant
		want float64
	}{
		{what(0, 10), 0},
		{what(200*time.Millisecond, 1200, "delay=1s"), 1000},
		{what(200*time.Millisecond, 1200, "delay=1s", "fetchers=50"), 500},
		{what(200*time.Millisecond, 60), 100}, // the delay follows the latency
	} {
		var r probeResult
		if r.possible(c.what); r.PossiblePerSecond < c.want-0.01 || r.PossiblePerSecond > c.want+0.01 {
			t.Errorf("%+v: %v pages/s, want %v", c.what.nodeFlags, r.PossiblePerSecond, c.want)
		}
	}
}

func TestMetric(t *testing.T) {
	t.Parallel()
	text := []byte("# HELP a b\na_total{x=\"y\"} 5\na_total 1.5e+06\n")
	if got, err := metric(text, "a_total"); err != nil || got != 1.5e6 {
		t.Errorf("%v %v", got, err)
	}
	if _, err := metric(text, "b"); err == nil {
		t.Error("found what is not there")
	}
}
