package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"crawlnode/crawl"
)

// openTerminal makes a pseudo-terminal of some columns. What is written to the
// terminal is collected until the test asks for it.
func openTerminal(t *testing.T, columns uint16) (terminal *os.File, written func() string) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(&b, control) }) // ends with an error when the terminal is closed
	var once sync.Once
	end := func() { once.Do(func() { _ = terminal.Close(); wg.Wait(); _ = control.Close() }) }
	t.Cleanup(end)
	return terminal, func() string { end(); return b.String() }
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := newProgress(&b) // no terminal
	p.draw("1 page")
	fmt.Fprintln(p, "a line")
	p.end()
	if got := b.String(); got != "a line\n" {
		t.Errorf("wrote %q where no terminal is", got)
	}
	b.Reset()
	p = &progress{out: &b, live: true, width: func() int { return 12 }}
	p.draw("100 pages")
	p.draw("1 page")
	fmt.Fprintln(p, "a warning")
	p.draw("%s", strings.Repeat("é", 40))
	p.end()
	want := "\r100 pages\r1 page   \r      \ra warning\n1 page\r" + strings.Repeat("é", 11) + "\n"
	if got := b.String(); got != want {
		t.Errorf("drew %q, want %q", got, want)
	}
}

func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	terminal, written := openTerminal(t, 20)
	p := newProgress(terminal)
	if !isTerminal(p) {
		t.Error("the line on a terminal is no terminal")
	}
	p.draw("%s", strings.Repeat("x", 50))
	p.end()
	if got := written(); got != "\r"+strings.Repeat("x", 19)+"\r\n" {
		t.Errorf("drew %q", got)
	}
}

// TestStatusWatch redraws in place on a terminal, and writes block after block
// elsewhere.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	addr := fakeAddr(t)
	watch := func(w io.Writer, output string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		blocks := 0
		if code := Main(ctx, []string{"status", "--watch", "--interval", "1ms", "--addr", addr, "-o", output}, Env{
			Stdin: strings.NewReader(""), Stdout: writerFunc(w, func() {
				if blocks++; blocks == 3 {
					cancel()
				}
			}), Stderr: io.Discard, Lookup: func(string) (string, bool) { return "", false }, Executable: "crawlnode", Version: "1.2.3",
		}); code != exitOK {
			t.Errorf("exit code %d", code)
		}
	}
	var b bytes.Buffer
	watch(&b, "text")
	if got := b.String(); strings.Count(got, "\n\ncrawlnode ") != 2 || strings.Contains(got, "\x1b") {
		t.Errorf("no blocks: %q", got)
	}
	b.Reset()
	watch(&b, "json")
	if lines := strings.Split(strings.TrimSpace(b.String()), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[2], `{"api_version":"v1"`) {
		t.Errorf("not a line each: %q", lines)
	}
	var screen bytes.Buffer
	screen.WriteString("a\nb\n")
	terminal, _ := openTerminal(t, 80)
	(&statusVerb{}).redraw(&Env{Stdout: terminal}, &screen)
	if got := screen.String(); got != "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J" {
		t.Errorf("redraws by %q", got)
	}
}

// writerFunc writes to w and then calls f.
func writerFunc(w io.Writer, f func()) io.Writer { return &countedWriter{w, f} }

type countedWriter struct {
	io.Writer
	after func()
}

func (c *countedWriter) Write(b []byte) (int, error) {
	defer c.after()
	return c.Writer.Write(b)
}

// TestSummary reads what a person is told at the end.
func TestSummary(t *testing.T) {
	t.Parallel()
	st := &crawl.Status{
		Throughput: crawl.ThroughputStatus{PagesTotal: 1234, BytesInTotal: 5 << 20},
		Fetch: crawl.FetchStatus{Responses: crawl.ResponseCounts{C2xx: 1200, C4xx: 34}, ErrorsTotal: 3, ErrorsByCategory: crawl.ErrorCounts{DNS: 1, Timeout: 2},
			SkippedByReason: crawl.SkippedCounts{Robots: 7, OutOfScope: 1000}},
		Frontier: crawl.FrontierStatus{DuplicatesTotal: 5000},
		Output:   crawl.OutputStatus{RecordsTotal: 1240, WARCFiles: 2, WARCBytesTotal: 3 << 20},
	}
	for _, tc := range []struct {
		code   int
		reason string
		want   []string
	}{
		{exitOK, "max_pages", []string{"pages: 1,234 in ", "answers: 1200 2xx, 0 3xx, 34 4xx, 0 5xx\n", "errors: 3 (dns 1, timeout 2)\n", "skipped: 1,007 (out of scope 1,000, robots 7)\n",
			"duplicates: 5,000 links to known URLs", "archive: 1,240 records; 2 files (3.0 MiB) in data/warc\n", "ended: max_pages\n"}},
		{exitInterrupted, "", []string{"ended: interrupted: the same command goes on"}},
		{exitSafety, "", []string{"ended: the disk is nearly full"}},
	} {
		var out bytes.Buffer
		w := &crawlWatch{env: &Env{Stdout: &out}, started: time.Now().Add(-time.Second), last: st}
		w.info.DataDir = "data"
		w.summary(tc.code, tc.reason)
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing in\n%s", want, out.String())
			}
		}
	}
}

// TestDiskFull waits before it calls a disk full for good.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tc := range []struct {
		code string
		ago  time.Duration
		want bool
	}{
		{crawl.ReasonLowDisk, fullFor, true}, {crawl.ReasonLowDisk, fullFor - time.Second, false}, {crawl.ReasonInsecure, time.Hour, false},
	} {
		st := &crawl.Status{Cluster: crawl.ClusterStatus{Health: crawl.Health{Reasons: []crawl.HealthReason{{Code: tc.code, Since: now.Add(-tc.ago)}}}}}
		if got := diskFull(st, now); got != tc.want {
			t.Errorf("%s since %v: %v", tc.code, tc.ago, got)
		}
	}
}
