package cli

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"crawlnode/cli/command"
	"crawlnode/local/closedport"
	"crawlnode/simweb"
)

// interrupted runs a command, sends SIGINT when it has written a text to standard error, and
// returns what it did and how long it took from then on.
func interrupted(t *testing.T, until string, args ...string) (result, time.Duration) {
	t.Helper()
	errout := &watchedBuffer{want: until, seen: make(chan struct{})}
	return interruptedWhen(t, errout.seen, errout, args...)
}

// interruptedWhen is interrupted at a moment that a channel tells.
func interruptedWhen(
	t *testing.T,
	now <-chan struct{},
	errout *watchedBuffer,
	args ...string,
) (result, time.Duration) {
	t.Helper()
	signals := make(chan os.Signal, 1)
	out := &bytes.Buffer{}
	ended := make(chan int, 1)
	go func() {
		ended <- Main(context.Background(), args,
			Env{Stdin: strings.NewReader(""), Stdout: out, Stderr: errout,
				Lookup: func(string) (string, bool) { return "", false }, Signals: signals,
				Executable: os.Args[0], Version: "test"})
	}()
	select {
	case <-now:
	case code := <-ended:
		t.Errorf("it has ended with %d too early:\n%s", code, errout.text())
		return result{code: code}, 0
	}
	begun := time.Now()
	signals <- syscall.SIGINT
	code := <-ended
	return result{code, out.String(), errout.text()}, time.Since(begun)
}

// chainWeb serves pages of which each links to the next one. The channel is closed when the fifth
// is asked for.
func chainWeb(t *testing.T, pages int) (*httptest.Server, <-chan struct{}) {
	t.Helper()
	fifth := make(chan struct{})
	var once sync.Once
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
		if err != nil || n < 1 || n > pages {
			http.NotFound(w, r)
			return
		}
		if n == 5 {
			once.Do(func() { close(fifth) })
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a href="/%d">next</a>`, n+1)
	}))
	t.Cleanup(web.Close)
	return web, fifth
}

const signalsHead = `# A signal at every moment

SIGINT while a command does something: the exit code, and the time from the signal to the end. Nothing is lost: what was acknowledged is on disk, and the same command goes on (exit code 5
says that there is something to go on with). Before a node runs: TestSignalsBeforeTheNodeRuns. A second and a third signal: TestSignals. What a crawl that was interrupted has fetched and
missed, as its web server saw it: TestCrawlInterrupted. A node that joins, drains or replays its store beside others: [signals-cluster.md](signals-cluster.md).

    go test ./cli -count=1 -run '^TestSignalsAtEveryMoment$' -wronguses

| moment | code | seconds |
|---|---|---|
`

// TestSignalsAtEveryMoment: the first signal ends a command politely while it waits for a name, a
// server or a cluster, and the same command resumes. Signals before the node runs are those of
// TestSignalsBeforeTheNodeRuns, during a crawl those of TestCrawlInterrupted, and a second one
// that of TestSignals.
func TestSignalsAtEveryMoment(t *testing.T) {
	t.Parallel()
	web, server := serveWeb(t, simweb.Config{Seed: 12, Hosts: 1, PagesPerHost: 3, PageBytes: 500})
	over := nodeFlags(t, server)
	run(t, "", append([]string{"crawl", web.Seeds()[0]}, over...)...).want(t, command.ExitOK,
		"ended: frontier_exhausted", "")
	hang := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(hang); silent.Close() })
	names, err := net.ListenPacket("udp", "127.0.0.1:0") // a name server that never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = names.Close() })
	nobody := closedport.Reserve(t).Addr
	flags := func(args ...string) []string {
		return append(args, nodeFlags(t, server)...)
	}
	var rows outcomeRows
	t.Cleanup(func() {
		rows.publish(t, "signals.md", signalsHead)
	})
	chain, fifth := chainWeb(t, 1000)
	fetching := replaced(append([]string{"crawl", chain.URL + "/1"}, nodeFlags(t, server)...),
		"--delay", "50ms")
	for _, tc := range []struct {
		name  string
		until string // what stands on standard error then; "": the fifth page is asked for
		args  []string
		code  int
		says  string // beside until
	}{
		{"a crawl that looks a name up", "no page yet: ",
			replaced(flags("crawl", "http://nosuch.invalid/"), "--dns", names.LocalAddr().String()),
			command.ExitInterrupted, ""},
		{"a crawl that waits for a server", "asking 127.0.0.1 for robots.txt", flags("crawl", silent.URL+"/"), command.ExitInterrupted, ""},
		{"a crawl that fetches", "", fetching, command.ExitInterrupted, ""},
		{"a crawl that is over", "this crawl ended", append([]string{"crawl", web.Seeds()[0]}, over...), command.ExitOK, ""},
		{"a node that has just started", "stop ", flags("start"), command.ExitOK, ""},
		{"a node that nobody lets join", "stop ", flags("start", "--join", nobody), command.ExitOK, ""},
		{"a node that joins where nobody answers", "an address of --join is of no use",
			flags("start", "--join", nobody), command.ExitOK, "nothing listens there: start that node"},
		{"a node that joins an unknown name", "an address of --join is of no use",
			flags("start", "--join", "nosuch.invalid:27296"), command.ExitOK, "its name has no address now"},
	} {
		t.Run(strings.ReplaceAll(tc.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			errout := &watchedBuffer{want: tc.until, seen: make(chan struct{})}
			now := (<-chan struct{})(errout.seen)
			if tc.until == "" {
				now = fifth
			}
			r, took := interruptedWhen(t, now, errout, tc.args...)
			if r.code != tc.code || took > slack(10*time.Second) {
				t.Errorf("exit code %d %v after the signal, want %d:\n%s%s", r.code, took, tc.code, r.errout,
					r.out)
			}
			if !strings.Contains(r.errout, tc.says) {
				t.Errorf("it does not say %q:\n%s", tc.says, r.errout)
			}
			rows.add("| %s | %d | %.1f |", tc.name, r.code, took.Seconds())
		})
	}
	t.Run("a-status-that-is-watched", func(t *testing.T) {
		t.Parallel()
		begun := time.Now()
		signals := make(chan os.Signal, 1)
		signals <- syscall.SIGINT
		if code := Main(t.Context(), []string{"status", "--watch", "--addr",
			nobody}, Env{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{},
			Lookup: func(string) (string, bool) { return "", false }, Signals: signals,
			Executable: "crawlnode", Version: "test"}); code != command.ExitOK {
			t.Errorf("exit code %d", code)
		}
		rows.add("| a status that is watched | %d | %.1f |", command.ExitOK, time.Since(begun).Seconds())
	})
	if testing.Short() {
		return // what follows starts processes
	}
	t.Run("a-demo", func(t *testing.T) {
		t.Parallel()
		r, took := interrupted(t, "n1: up", "demo", "--partitions", "512")
		if r.code != command.ExitError || took > slack(10*time.Second) {
			t.Errorf("exit code %d after %v:\n%s", r.code, took, r.errout)
		}
		rows.add("| a demo | %d | %.1f |", r.code, took.Seconds())
	})
}
