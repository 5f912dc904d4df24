package searchquality

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/search/index"
)

var (
	millionPages = flag.Int("search.million", 0,
		"pages of TestMillion, which fills three nodes with them; "+
			"1000000 for the figures in docs/results/search.md")
	millionIn = flag.String("search.million.in", "",
		"folder that TestMillion keeps its three indexes in; one that it has filled is used again")
	millionAsked = flag.Int("search.million.asked", 1000, "questions of TestMillion, of each kind")
)

// millionNodes are the nodes of TestMillion. Each partition has two of them, as --replicas has it
// by default.
const millionNodes = 3

// TestMillion: three processes answer questions as nodes do, by search and HTTP, each out of an
// index that the test has filled. Whole answers are the same on each node. It logs what questions
// take, alone and several at once, how many answers were not whole as a node was late, and the
// memory of each process.
func TestMillion(t *testing.T) {
	if os.Getenv(nodeVariable) != "" {
		serveMillion(t)
		return
	}
	if *millionPages == 0 {
		t.Log("no -search.million: nothing to ask")
		return
	}
	s := NewZipf(50_000)
	if *preparedIn != "" {
		var docs []index.Document
		if err := Documents(*preparedIn, 5000,
			func(d []index.Document) error { docs = append(docs, d...); return nil }); err != nil {
			t.Fatal(err)
		}
		s = NewSynthetic(docs)
	}
	dir := *millionIn
	if dir == "" {
		dir = t.TempDir()
	}
	if _, err := os.Stat(filepath.Join(dir, "filled")); err != nil {
		fillMillion(t, s, dir)
	}
	nodes := startMillion(t, dir)
	r := rand.New(rand.NewPCG(7, 8))
	texts := make([]string, *millionAsked)
	for i := range texts {
		texts[i] = s.Question(r, *millionPages, *syntheticWords)
	}
	alike(t, nodes, texts[:min(200, len(texts))])
	for i := range 20 { // connections, and what is read first
		nodes[i%millionNodes].ask(t, texts[i%len(texts)])
	}
	aloneMillion(t, nodes, texts)
	for _, n := range []int{2, 8} {
		began, used := time.Now(), usedBy(nodes)
		var group sync.WaitGroup
		for k := range n {
			group.Go(func() {
				for i := k; i < len(texts); i += n {
					nodes[i%millionNodes].ask(t, texts[i])
				}
			})
		}
		group.Wait()
		took := time.Since(began)
		t.Logf("%d at once: %.0f questions/s, %v of processor each", n,
			float64(len(texts))/took.Seconds(),
			((usedBy(nodes) - used) / time.Duration(len(texts))).Round(10*time.Microsecond))
	}
	for i, n := range nodes {
		t.Logf("node %d: %d answers were not whole; %s", i, n.partly.Load(), memoryOf(n.cmd.Process.Pid))
	}
}

// fillMillion fills an index for each node with the pages of its partitions, and waits until
// nothing is merged any more.
func fillMillion(t *testing.T, s *Synthetic, dir string) {
	began, used := time.Now(), processor()
	var indexes [millionNodes]*index.Index
	for k := range indexes {
		x, _, err := index.Open(filepath.Join(dir, fmt.Sprint(k), "index"), index.Options{})
		if err != nil {
			t.Fatal(err)
		}
		indexes[k] = x
	}
	for i := 0; i < *millionPages; {
		var batches [millionNodes]index.Batch
		for range 8000 { // each batch is synced to disk
			if i == *millionPages {
				break
			}
			d := s.Document(i, *syntheticWords)
			i++
			for _, k := range holdersOf(d.Partition) {
				batches[k].Put = append(batches[k].Put, d)
			}
		}
		var group sync.WaitGroup
		for k, x := range indexes {
			group.Go(func() {
				if err := x.Apply(context.Background(), batches[k]); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if i%80_000 == 0 {
			t.Logf("%d pages after %v, %v of processor", i, time.Since(began).Round(time.Second),
				(processor() - used).Round(time.Second))
		}
	}
	for k, x := range indexes {
		for size := x.Size(); ; size = x.Size() { // what merges go on
			if time.Sleep(time.Second / 4); x.Size() == size {
				t.Logf("node %d: %+v", k, size)
				break
			}
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("filled after %v, %v of processor", time.Since(began).Round(time.Second),
		(processor() - used).Round(time.Second))
	if err := os.WriteFile(filepath.Join(dir, "filled"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// holdersOf are the nodes that have a partition, its holder first.
func holdersOf(p uint32) []int { return []int{int(p) % millionNodes, int(p+1) % millionNodes} }

// millionNode is a process of TestMillion.
type millionNode struct {
	cmd    *exec.Cmd
	url    string
	partly atomic.Int64 // answers that were not whole
}

// startMillion starts the nodes, and tells them of each other.
func startMillion(t *testing.T, dir string) (nodes []*millionNode) {
	var inputs []io.Writer
	for k := range millionNodes {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMillion$", "-test.timeout=0")
		cmd.Env = append(os.Environ(), nodeVariable+"="+filepath.Join(dir, fmt.Sprint(k)),
			numberVariable+"="+fmt.Sprint(k))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatalf("node %d has not started: %v", k, err)
		}
		go func() { _, _ = io.Copy(io.Discard, out) }()
		nodes, inputs = append(nodes, &millionNode{cmd: cmd, url: "http://" + strings.TrimSpace(line)}),
			append(inputs, in)
	}
	for _, in := range inputs {
		for _, n := range nodes {
			fmt.Fprintln(in, n.url)
		}
	}
	for _, n := range nodes {
		for began := time.Now(); ; {
			if r, err := n.get("page"); err == nil && r.Coverage == 1 {
				break
			} else if time.Since(began) > time.Minute {
				t.Fatalf("the node has not opened its index: %v, %+v", err, r)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nodes
}

// get asks the node a question.
func (n *millionNode) get(text string) (*crawl.SearchReport, error) {
	resp, err := http.Get(n.url + "/search?" + url.Values{"query": {text}}.Encode())
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, b)
	}
	if err != nil {
		return nil, err
	}
	r := &crawl.SearchReport{}
	return r, json.Unmarshal(b, r)
}

func (n *millionNode) ask(t *testing.T, text string) *crawl.SearchReport {
	r, err := n.get(text)
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return &crawl.SearchReport{}
	}
	if r.Coverage != 1 {
		n.partly.Add(1)
	}
	return r
}

// alike asks all nodes the same questions: the first ten results are the same. What differs is
// asked again, since the statistics of a node that is late are missing in the scores.
func alike(t *testing.T, nodes []*millionNode, texts []string) {
	same, found := 0, 0
	for _, text := range texts {
		equal, have := alikeOnce(t, nodes, text)
		if have {
			found++
		}
		if equal {
			same++
			continue
		}
		again := 0
		for ; again < 20 && !equal; again++ {
			equal, _ = alikeOnce(t, nodes, text)
		}
		if t.Logf("%q: the nodes differed in the first ten; again %d times", text, again); !equal {
			t.Errorf("%q has not the same first ten on all nodes", text)
		}
	}
	t.Logf("%d of %d questions have the same first ten on all nodes at once, %d have any", same,
		len(texts), found)
}

func alikeOnce(t *testing.T, nodes []*millionNode, text string) (same, found bool) {
	first := links(nodes[0].ask(t, text))
	return !slices.ContainsFunc(nodes[1:],
		func(n *millionNode) bool { return !slices.Equal(first, links(n.ask(t, text))) }), len(first) > 0
}

func links(r *crawl.SearchReport) (out []string) {
	for _, h := range r.Results {
		out = append(out, h.Link)
	}
	return out
}

// aloneMillion asks one question after the other, and logs how long they took, by the clock and by
// the processor.
func aloneMillion(t *testing.T, nodes []*millionNode, texts []string) {
	type taken struct {
		text        string
		clock, cpu  time.Duration
		total       int64
		interpreted string
	}
	var all []taken
	for i, text := range texts {
		used, began := usedBy(nodes), time.Now()
		r := nodes[i%millionNodes].ask(t, text)
		clock := time.Since(began)
		all = append(all, taken{text, clock, usedBy(nodes) - used, r.Total, r.Interpreted})
	}
	at := func(permille int, by func(taken) time.Duration) time.Duration {
		slices.SortFunc(all, func(a, b taken) int { return int(by(a) - by(b)) })
		return by(all[min(len(all)*permille/1000, len(all)-1)]).Round(10 * time.Microsecond)
	}
	clock, cpu := func(a taken) time.Duration { return a.clock },
		func(a taken) time.Duration { return a.cpu }
	t.Logf("%d questions alone, by the clock: p50 %v, p90 %v, p99 %v, most %v", len(all),
		at(500, clock), at(900, clock), at(990, clock), at(1000, clock))
	sum := time.Duration(0)
	for _, a := range all {
		sum += a.cpu
	}
	t.Logf("by the processor, on all nodes: mean %v, p50 %v, p90 %v, p99 %v, most %v",
		(sum / time.Duration(len(all))).Round(10*time.Microsecond), at(500, cpu), at(900, cpu),
		at(990, cpu), at(1000, cpu))
	for _, a := range all[max(0, len(all)-15):] {
		t.Logf("  %q: %v of processor, %v, %d documents, %s", a.text, a.cpu.Round(time.Millisecond/10),
			a.clock.Round(time.Millisecond/10), a.total, a.interpreted)
	}
}

// usedBy is the time of the processor that nodes have taken.
func usedBy(nodes []*millionNode) (sum time.Duration) {
	for _, n := range nodes {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", n.cmd.Process.Pid))
		for _, path := range tasks {
			var ns int64
			if b, err := os.ReadFile(path); err == nil {
				_, _ = fmt.Sscan(string(b), &ns)
			}
			sum += time.Duration(ns)
		}
	}
	return sum
}
