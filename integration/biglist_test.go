package integration

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A measurement, not a test of every day:
//
//	go test ./integration -count=1 -timeout 30m -v -run '^TestBigList$' -biglist 1000000
var bigListURLs = flag.Int("biglist", 0,
	"run TestBigList with this many URLs, on a fiftieth as many hosts")

// bigListMemory bounds the anonymous memory of the client, and what a list adds to that of the
// node.
const bigListMemory = 150 << 20

// TestBigList lists a large frontier, of a node that crawls and of its data directory, and reads a
// page back. The figures go to docs/results/lists.md.
func TestBigList(t *testing.T) {
	onRequest(t, *bigListURLs != 0, "a measurement of minutes; see the comment")
	r := &bigRun{
		t:     t,
		urls:  *bigListURLs * 9 / 10,
		done:  *bigListURLs / 10,
		hosts: max(*bigListURLs/50, 1),
	}
	dir := t.TempDir()
	r.web = startBigWeb(t, r.hosts, keptPort(t, dir))
	c := r.cluster(dir)
	r.filled = filepath.Join(dir, "filled")
	r.found(c)
	r.fill(filepath.Join(c.dir, "n1"))
	n := c.add()
	n.ready()
	r.web.waitRequest(t, n)
	time.Sleep(10 * time.Second) // to full speed; no event marks that
	quiet := r.speed(5 * time.Second)
	before := rssAnon(n.cmd.Process.Pid)
	for _, args := range [][]string{{"-o", "json"}, {"-o", "text"}, {"-o", "csv", "--state", "queued"},
		{"--state", "failed"}, {"--contains", "//h7.", "--limit", "10"}} {
		pages, began := r.web.pages.Load(), time.Now()
		l := r.list(n, append(args, "--addr", n.http)...)
		l.note(t, "one node, crawling", args, fmt.Sprintf("%d, before %d | %.0f, %.0f",
			max(l.nodeRSS, rssAnon(n.cmd.Process.Pid))>>20, before>>20,
			float64(r.web.pages.Load()-pages)/time.Since(began).Seconds(), quiet))
		if l.nodeRSS-before > bigListMemory || l.clientRSS > bigListMemory {
			t.Errorf("RssAnon: %d MiB more at the node, %d MiB at the client", (l.nodeRSS-before)>>20,
				l.clientRSS>>20)
		}
	}
	began := time.Now()
	code, _, stderr := run(t, "", "cat", r.web.url(0, 0), "--headers", "--addr", n.http)
	appendResult(t, "lists.md", "", fmt.Sprintf(
		"one node, crawling | `cat` of a page, exit code %d | | | %.2f | | | | |", code,
		time.Since(began).Seconds()))
	if code != 0 {
		t.Errorf("cat: exit code %d\n%s", code, stderr)
	}
	n.signal(syscall.SIGTERM)
	n.exit(t, time.Minute)
	for _, args := range [][]string{{"-o", "json"}, {"--state", "failed"}} {
		r.list(nil, append(args, "--data-dir", n.dir)...).note(t, "its data directory, stopped", args,
			" | ")
	}
}

// speed is the pages a second over a while.
func (r *bigRun) speed(over time.Duration) float64 {
	pages := r.web.pages.Load()
	time.Sleep(over) // what is measured
	return float64(r.web.pages.Load()-pages) / over.Seconds()
}

// listFigures are what one list took.
type listFigures struct {
	lines              int
	first, whole       time.Duration
	clientRSS, nodeRSS int64 // RssAnon, the most
}

// note appends a row to docs/results/lists.md.
func (f listFigures) note(t *testing.T, source string, args []string, node string) {
	t.Helper()
	first, rss := "–", "–" // of a list with a line, whose memory was sampled
	if f.lines > 0 {
		first, rss = f.first.Round(time.Millisecond).String(), fmt.Sprint(f.clientRSS>>20)
	}
	appendResult(t, "lists.md", "", fmt.Sprintf("%s | `%s` | %s | %d | %.1f | %.0f | %s | %s |",
		source, strings.Join(args, " "), first, f.lines, f.whole.Seconds(),
		float64(f.lines)/f.whole.Seconds(), rss, node))
}

// list runs urls list; a node's memory is sampled meanwhile.
func (r *bigRun) list(n *node, args ...string) (f listFigures) {
	t := r.t
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"urls", "list"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReaderSize(out, 1<<16)
	for {
		_, err := lines.ReadSlice('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if f.lines++; f.lines == 1 {
			f.first = time.Since(began)
		}
		if f.lines%20_000 == 1 {
			f.clientRSS = max(f.clientRSS, rssAnon(cmd.Process.Pid))
			if n != nil {
				f.nodeRSS = max(f.nodeRSS, rssAnon(n.cmd.Process.Pid))
			}
		}
	}
	f.whole = time.Since(began)
	if err := cmd.Wait(); err != nil {
		t.Errorf("urls list %v: %v", args, err)
	}
	return f
}
