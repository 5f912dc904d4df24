package cli

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"crawlnode/cli/command"
	"crawlnode/config"
	"crawlnode/simweb"
)

// testSignals are the signals of a process that a test started.
func testSignals() <-chan os.Signal {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	return signals
}

// serveWeb serves a small synthetic web until the test ends.
func serveWeb(t *testing.T, c simweb.Config) (*simweb.Web, *simweb.Server) {
	t.Helper()
	web, err := simweb.New(c)
	if err != nil {
		t.Fatal(err)
	}
	server, err := web.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := server.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return web, server
}

// nodeFlags are those of a node that crawls a synthetic web.
func nodeFlags(t *testing.T, server *simweb.Server) []string {
	return []string{
		"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--data-dir",
		filepath.Join(t.TempDir(), "data"),
		"--allow-net", "127.0.0.0/8", "--dns", server.DNS.String(), "--delay", "5ms",
	}
}

// TestCrawl crawls a small web to its end and finds all of it, politely.
func TestCrawl(t *testing.T) {
	t.Parallel()
	web, server := serveWeb(t,
		simweb.Config{Seed: 3, Hosts: 4, PagesPerHost: 8, PageBytes: 2000, Delay: 5 * time.Millisecond})
	args := append([]string{"crawl"}, web.Seeds()...)
	args = append(args, nodeFlags(t, server)...)
	r := run(t, "", args...)
	r.want(t, command.ExitOK, "ended: frontier_exhausted", "")
	if report := web.Report(); report.Err() != nil {
		t.Errorf("%v\n%+v\n%s", report.Err(), report, r.errout)
	}
	// as it says at the end
	run(t, "", "cat", web.Seeds()[0], "--data-dir", args[slices.Index(args, "--data-dir")+1]).want(t,
		command.ExitOK, "<html", "")
	again := run(t, "", args...) // the same command finds nothing new
	again.want(t, command.ExitOK, "ended: frontier_exhausted", "")
	if report := web.Report(); report.Duplicates > 0 {
		t.Errorf("the second run fetched %d pages again", report.Duplicates)
	}
}

// TestCrawlGoesOn gives a crawl that has ended one more site. Both take longer than a
// node waits before it exits.
func TestCrawlGoesOn(t *testing.T) {
	t.Parallel()
	const delay = 100 * time.Millisecond
	web, server := serveWeb(t,
		simweb.Config{Seed: 6, Hosts: 2, PagesPerHost: 30, Skew: -1, PageBytes: 1000, Delay: delay})
	flags := replaced(nodeFlags(t, server), "--delay", delay.String())
	for _, seeds := range [][]string{web.Seeds()[:1], web.Seeds()} {
		run(t, "", append(append([]string{"crawl"}, seeds...), flags...)...).want(t, command.ExitOK,
			"ended: frontier_exhausted", "")
	}
	if report := web.Report(); report.Err() != nil {
		t.Errorf("%v\n%+v", report.Err(), report)
	}
}

// TestCrawlInterrupted stops a crawl politely and goes on with the same command.
func TestCrawlInterrupted(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 2)
	settings := filepath.Join(t.TempDir(), "crawlnode.yaml")
	if err := os.WriteFile(settings, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var once sync.Once // the first page turns into signals
	web, server := serveWeb(t,
		simweb.Config{Seed: 5, Hosts: 3, PagesPerHost: 15, PageBytes: 1000, Delay: 5 * time.Millisecond,
			OnRequest: func(r simweb.Request) {
				if r.Status == 200 && !strings.HasSuffix(r.URL, "/robots.txt") {
					once.Do(func() {
						if err := os.WriteFile(settings, []byte("log-level: info\n"), 0o600); err != nil {
							t.Error(err)
						}
						signals <- syscall.SIGHUP // which is shown at the level "info" only
						signals <- syscall.SIGTERM
					})
				}
			}})
	args := append([]string{"crawl"}, web.Seeds()...)
	args = append(append(args, nodeFlags(t, server)...), "--config", settings)
	var out, errout bytes.Buffer
	code := Main(t.Context(), args, Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errout, Signals: signals,
		Lookup: func(string) (string, bool) { return "", false }, Executable: os.Args[0], Version: "test",
	})
	result{code, out.String(), errout.String()}.want(t, command.ExitInterrupted,
		"interrupted: the same command goes on", "settings reloaded")
	run(t, "", args...).want(t, command.ExitOK, "ended: frontier_exhausted", "")
	report := web.Report()
	if err := report.ErrButDuplicates(); err != nil {
		t.Errorf("%v\n%+v", err, report)
	}
}

// TestCrawlOfNothing ends with the code for bad seeds.
func TestCrawlOfNothing(t *testing.T) {
	t.Parallel()
	_, server := serveWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 1})
	run(t, "", append([]string{"crawl", "ftp://a.example/"}, nodeFlags(t, server)...)...).
		want(t, command.ExitUsage, "", `seed: "ftp://a.example/":`)
}

// TestSignals runs a node and stops it politely and at once.
//
//race:meets
func TestSignals(t *testing.T) {
	t.Parallel()
	_, server := serveWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 1})
	for _, tc := range []struct {
		name    string
		signals []os.Signal
		code    int
	}{
		{"polite", []os.Signal{syscall.SIGHUP, syscall.SIGTERM}, command.ExitOK},
		{"forced", []os.Signal{syscall.SIGINT, syscall.SIGINT, syscall.SIGINT}, command.ExitForced},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			signals := make(chan os.Signal, 4)
			errout := &watchedBuffer{want: "stop", seen: make(chan struct{})}
			env := Env{
				Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: errout,
				Lookup: func(string) (string, bool) { return "", false }, Signals: signals,
				Executable: "crawlnode", Version: "test",
			}
			ended := make(chan int, 1)
			dir, secrets := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "secrets")
			if err := os.WriteFile(secrets, []byte("a=hunter2\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { awaitUnlocked(t, dir) }) // a process that is forced ends with what still runs
			go func() {
				ended <- Main(context.Background(), append(append([]string{"start", "--name",
					"n1"}, nodeFlags(t, server)...), "--data-dir", dir, "--secrets", secrets), env)
			}()
			<-errout.seen // the banner stands there
			for _, sig := range tc.signals {
				signals <- sig
			}
			if code := <-ended; code != tc.code {
				t.Errorf("exit code %d, want %d:\n%s", code, tc.code, errout.text())
			}
			if i := slices.Index(tc.signals, os.Signal(syscall.SIGHUP)); i >= 0 &&
				!strings.Contains(errout.text(), "settings reloaded") {
				t.Errorf("SIGHUP was not obeyed:\n%s", errout.text())
			} else if again := strings.Contains(errout.text(), "the secrets were read again"); again !=
				(i >= 0) ||
				strings.Contains(errout.text(), "hunter2") {
				t.Errorf("the secrets were read again: %v:\n%s", again, errout.text())
			}
			for _, want := range []string{"node", "cluster", "dashboard", "gossip", "rpc", "data",
				"security", "add a node", "add work"} {
				if !strings.Contains(errout.text(), "  "+want+" ") {
					t.Errorf("the banner lacks %q:\n%s", want, errout.text())
				}
			}
		})
	}
}

// awaitUnlocked waits until no node uses a data directory.
func awaitUnlocked(t *testing.T, dir string) {
	t.Helper()
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Error(err)
		return
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Error(err)
	}
}

// watchedBuffer closes seen when it has been given want.
type watchedBuffer struct {
	mu   sync.Mutex // guards b
	b    bytes.Buffer
	want string
	seen chan struct{}
	once sync.Once
}

func (w *watchedBuffer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.b.Write(p)
	if strings.Contains(w.b.String(), w.want) {
		w.once.Do(func() { close(w.seen) })
	}
	return n, err
}

func (w *watchedBuffer) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// TestDemo runs the demonstration on a small web.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("on request: starts four processes and moves a cluster's partitions three times")
	}
	t.Parallel()
	r := run(t, "", "demo", "--hosts", "12", "--pages-per-host", "12", "--delay", "30ms",
		"--partitions", "512", "--timeout", "3m")
	r.want(t, command.ExitOK, "everything holds", "")
	t.Logf("%s%s", r.errout, r.out)
}

// TestReload takes the log level over from the file and names what has to wait.
func TestReload(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "node.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	env := &Env{Stderr: &b, Lookup: func(string) (string, bool) { return "", false }}
	v := &startVerb{}
	v.ConfigFile = file
	write("fetchers: 9\n")
	cfg, err := v.Load(env, v.Flags())
	if err != nil {
		t.Fatal(err)
	}
	s := &session{
		env:    env,
		cfg:    cfg,
		reload: func() (config.Config, error) { return v.Load(env, v.Flags()) },
	}
	s.log, s.level = newLogger(env, &s.cfg)
	for _, step := range []struct{ file, want, level string }{
		{"fetchers: 9\nlog-level: warn\n", "", "WARN"}, // which the message is not shown at
		{"fetchers: 10\nlog-level: debug\n", "settings=[fetchers]", "DEBUG"},
		{"fetchers: 9\nlog-level: debug\n", "settings reloaded", "DEBUG"},
		{"fetchers: many\nlog-level: info\n", "the settings were not reloaded", "DEBUG"},
	} {
		b.Reset()
		write(step.file)
		s.obeyReload()
		if got := strings.ReplaceAll(b.String(), `"settings":["fetchers"]`,
			"settings=[fetchers]"); !strings.Contains(got, step.want) ||
			s.level.Level().String() != step.level {
			t.Errorf("%q: level %v, want %s, and %q in %s", step.file, s.level.Level(), step.level,
				step.want, got)
		}
	}
}
