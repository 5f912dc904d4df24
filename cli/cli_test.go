//race:marked

package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawlnode/api"
	"crawlnode/cli/command"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/node"
	"crawlnode/security/keyfile"
)

// runAsCommand, in the environment, makes the test binary behave as the
// command, so that the verbs that start nodes find one.
const runAsCommand = "TEST_BINARY_IS_CRAWLNODE"

func TestMain(m *testing.M) {
	if os.Getenv(runAsCommand) != "" {
		os.Exit(Main(context.Background(), os.Args[1:], Env{
			Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Lookup: os.LookupEnv,
			Signals: testSignals(), Executable: os.Args[0], Version: "test",
		}))
	}
	// for the processes that the tests start
	_ = os.Setenv(runAsCommand, "1")
	// of object stores on loopback
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID":     "key",
		"AWS_SECRET_ACCESS_KEY": "secret",
	} {
		_ = os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

// patience bounds the waits for things that take seconds on a machine that has nothing else to do.
const patience = 15 * time.Minute

// result is what a command did.
type result struct {
	code        int
	out, errout string
}

// run runs one command line with an empty environment.
func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return runWith(t, nil, stdin, args...)
}

func runWith(t *testing.T, env map[string]string, stdin string, args ...string) result {
	t.Helper()
	return runWithin(t.Context(), env, stdin, args...)
}

func runWithin(ctx context.Context, env map[string]string, stdin string, args ...string) result {
	var out, errout bytes.Buffer
	code := Main(ctx, args, Env{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errout,
		Lookup:     func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Environ:    environ(env),
		Executable: os.Args[0], Version: "1.2.3",
	})
	return result{code, out.String(), errout.String()}
}

// environ is an environment in the form of os.Environ.
func environ(env map[string]string) []string {
	var all []string
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	return all
}

func (r result) want(t *testing.T, code int, out, errout string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.out, out) || !strings.Contains(r.errout, errout) {
		t.Errorf("exit code %d, want %d\nout: %s\nwant %q\nerr: %s\nwant %q", r.code, code, r.out, out,
			r.errout, errout)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	r := run(t, "", "version")
	r.want(t, command.ExitOK, "crawlnode 1.2.3 go", "")
	protocol, format := node.Versions()
	r.want(t, command.ExitOK, fmt.Sprintf(", protocol %d, data format %d\n", protocol, format), "")
}

// TestStartHasEverySetting ties the flags of start to package config.
func TestStartHasEverySetting(t *testing.T) {
	t.Parallel()
	help := run(t, "", "start", "--help").out
	for _, name := range config.Names() {
		if !strings.Contains(help, "--"+name) {
			t.Errorf("start has no --%s", name)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(file, []byte("fetcher: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args string
		want string
	}{
		{"--dealy 3s", `did you mean "--delay"?`},
		{"bogus", "unexpected argument bogus"},
		{"start --delay soon", `--delay: "soon" is not a duration: write a number and a unit, such as 500ms, 30s or 2h`},
		{"--config /nowhere/node.yaml", "--config: open /nowhere/node.yaml"},
		{"--cluster-key-file /nowhere/key", "make one with: crawlnode keygen"},
		{"status --interval 0s --watch", "--interval"},
		{"completion tcsh", "bash"},
		{"--http 0.0.0.0:1", "--insecure"},
		{"--http 0.0.0.0:1", "--cluster-key-file"},
		{"--delay 0", "--allow-net"},
		{"--delay 0 --partitions 7", "--partitions: 7 is too small"},
		{"--config " + file, `unknown key "fetcher"; did you mean "fetchers"?`},
		{"--seed http://a.example/", "--contact: is required"},
		{"--seeds /nowhere/seeds.txt --contact me@example.org",
			"/nowhere/seeds.txt: no such file or directory: give a file with one URL a line, or -"},
		{"crawl", "no URL was given"},
		{"crawl http://a.example/", "--contact: is required"},
		{"crawl http://a.example/ --join 127.0.0.1:1", "unknown flag --join"},
		{"seeds add", "no URL was given"},
		{"seeds add -f /nowhere/seeds.txt", "/nowhere/seeds.txt"},
		{"status -o xml", "text"},
		{"status --check happy", "--check"},
		{"--join=", "--join: is empty"},
		{"--seed=", "--seed: is empty"},
		{"--name n2 --data-dir=", "--data-dir: is empty"},
		{"crawl http://a.example/ --contact=", "--contact: is empty"},
		{"pause --addr=", "--addr: is empty"},
		{"keygen key --role=", "--role: is empty"},
		{"help bogus", "unexpected argument bogus"},
	} {
		run(t, "", strings.Fields(tc.args)...).want(t, command.ExitUsage, "", tc.want)
	}
	run(t, "", "start", "--join", "", "--data-dir", t.TempDir()).want(t, command.ExitUsage, "",
		"--join: is empty: is a variable not set?")
	// they empty what a file says
	run(t, "", "config", "print", "--derive", "", "--user-agent", "").want(t, command.ExitOK, "", "")
	runWith(t, map[string]string{"CRAWLNODE_FETCHERS": "many"}, "", "start").want(t, command.ExitUsage,
		"", `CRAWLNODE_FETCHERS (for --fetchers): "many"`)
	runWith(t, map[string]string{"CRAWLNODE_CONFIG": file}, "", "start").want(t, command.ExitUsage, "",
		"unknown key")
}

// fakeNode is what stands behind the API in these tests.
type fakeNode struct{ api.Backend }

func (fakeNode) Status(context.Context, bool) (*crawl.Status, error) {
	return &crawl.Status{
		APIVersion: "v1",
		ServedBy:   "n1",
		Cluster:    crawl.ClusterStatus{Name: "default", Health: crawl.Health{Level: "ok"}},
	}, nil
}
func (fakeNode) Ready() (bool, string)         { return false, "still joining" }
func (fakeNode) RecordChange(crawl.AuditEntry) {}
func (fakeNode) CrawlConfig(context.Context) (crawl.CrawlReport, error) {
	return crawl.CrawlReport{}, nil
}
func (fakeNode) Metrics() http.Handler { return http.NotFoundHandler() }
func (fakeNode) AddSeeds(_ context.Context, seeds []crawl.Seed) (r crawl.SeedReport, _ error) {
	for _, s := range seeds {
		switch {
		case strings.HasPrefix(s.URL, "bad"):
			r.Invalid = append(r.Invalid, crawl.SeedError{Line: s.Line, Input: s.URL, Error: "no scheme"})
		case strings.HasPrefix(s.URL, "out"):
			r.OutOfScope++
		case s.Again:
			r.Duplicates++
		default:
			r.Accepted++
		}
	}
	return r, nil
}

func (fakeNode) RemoveSeeds(
	_ context.Context,
	seeds []crawl.Seed,
) (r crawl.RemovalReport, _ error) {
	for _, s := range seeds {
		switch state := strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/"); state {
		case crawl.RemovalDone, crawl.RemovalInFlight, crawl.RemovalTooLate, crawl.RemovalUnknown:
			r.Add(s.URL, state)
		default:
			r.Invalid = append(r.Invalid, crawl.SeedError{Line: s.Line, Input: s.URL, Error: "no URL"})
		}
	}
	return r, nil
}

// TestSeedsRemove: each URL is told, and which cluster and node have answered.
func TestSeedsRemove(t *testing.T) {
	t.Parallel()
	addr := fakeAddr(t)
	file := filepath.Join(t.TempDir(), "seeds.txt")
	if err := os.WriteFile(file, []byte("http://removed/\nbad\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := "cluster default, node n1 at " + addr + "\n"
	for _, tc := range []struct {
		args, stdin string
		code        int
		out, errout string
	}{
		{"http://removed/ http://unknown/", "", command.ExitOK,
			"http://removed/: removed\nhttp://unknown/: is not known: nothing to remove\n" +
				"seeds: 1 removed, 0 in flight, 0 done, 1 unknown, 0 invalid\n", at},
		{"http://in_flight/", "", command.ExitOK, "http://in_flight/: is being fetched, and stays\n", at},
		{"-", "http://done/\n", command.ExitOK, "http://done/: was fetched, given up or refused before, and stays\n", at},
		{"-f " + file, "", command.ExitOK, "seeds: 1 removed, 0 in flight, 0 done, 0 unknown, 1 invalid\n", file + `:2: "bad": no URL`},
		{"bad", "", command.ExitUsage, "0 unknown, 1 invalid\n", `seed: "bad": no URL`},
		{"", "", command.ExitUsage, "", "no URL was given"},
	} {
		args := append([]string{"seeds", "remove", "--addr", addr}, strings.Fields(tc.args)...)
		run(t, tc.stdin, args...).want(t, tc.code, tc.out, tc.errout)
	}
	run(t, "", "seeds", "add", "http://a/", "--addr", addr).want(t, command.ExitOK,
		"seeds: 1 accepted", at)
}

// scopedNode is a fake node with these settings.
type scopedNode struct {
	fakeNode
	settings crawl.SettingsReport
}

func (n scopedNode) CrawlConfig(context.Context) (crawl.CrawlReport, error) {
	return crawl.CrawlReport{Settings: n.settings}, nil
}

// TestSeedsRemoveTooLate: when a removal comes too late, the scope keeps the site of the page, and
// the command that leaves it out keeps what the crawl excludes already.
func TestSeedsRemoveTooLate(t *testing.T) {
	t.Parallel()
	const late, flight, gone = "http://done/", "http://in_flight/", "http://removed/"
	for _, tc := range []struct {
		scope   string
		exclude []string
		urls    string
		want    string // of the command; "": none is named
	}{
		{"host", nil, late, "'exclude=http://done/*'"},
		{"domain", []string{"regex:/cal/'", "*.zip"}, late + " " + late + " " + flight + " " + gone,
			`'exclude=regex:/cal/'\''' 'exclude=*.zip' 'exclude=http://done/*' ` +
				`'exclude=http://in_flight/*'`},
		{"host", []string{"http://done/*"}, late, ""},
		{"page", nil, late, ""},
		{"host", nil, gone, ""},
	} {
		node := scopedNode{settings: crawl.SettingsReport{{Name: "scope", Value: tc.scope},
			{Name: "exclude", Value: tc.exclude}, {Name: "assets", Value: crawl.AssetsOff}}}
		server := httptest.NewServer(api.New(node, api.Options{}))
		t.Cleanup(server.Close)
		addr := server.Listener.Addr().String()
		r := run(t, "", append([]string{"seeds", "remove", "--addr", addr},
			strings.Fields(tc.urls)...)...)
		if tc.want == "" {
			if strings.Contains(r.out, "crawl-config") {
				t.Errorf("%+v: %s", tc, r.out)
			}
			continue
		}
		r.want(t, command.ExitOK, "keeps its site in the scope ("+tc.scope+")", "")
		r.want(t, command.ExitOK,
			"to leave the site out: crawlnode crawl-config set "+tc.want+" --addr "+addr+"\n", "")
	}
}

func fakeAddr(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(api.New(fakeNode{}, api.Options{}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestStatus(t *testing.T) {
	t.Parallel()
	addr := fakeAddr(t)
	run(t, "", "status", "--addr", addr).want(t, command.ExitOK, "cluster     default", "")
	run(t, "", "status", "--addr", addr, "-o", "json").want(t, command.ExitOK, `"served_by": "n1"`, "")
	run(t, "", "status", "--addr", addr, "--check", "ready").want(t, command.ExitError,
		"still joining", "")
	run(t, "", "status", "--addr", addr, "--check", "healthy").want(t, command.ExitOK, "ok", "")
	run(t, "", "status", "--addr", "127.0.0.1:1").want(t, command.ExitError, "",
		"without a node, --data-dir DIR answers")
}

func TestSeedsAdd(t *testing.T) {
	t.Parallel()
	addr := fakeAddr(t)
	file := filepath.Join(t.TempDir(), "seeds.txt")
	if err := os.WriteFile(file, []byte("# seeds\nhttp://a/\n\nbad\x1b\nhttp://b/\n"), 0o600); err !=
		nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer // as Windows writes lines, behind a mark of UTF-8
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte("\ufeffhttp://a/\r\n\r\nhttp://b/\r\n")); err != nil ||
		z.Close() != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(t.TempDir(), "seeds.gz")
	if err := os.WriteFile(packed, zipped.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	const cdx = `a 20260101000000 {"url":"http://a/","status":"200"}
b 20260101000000 {"url":"bad","status":"200"}
none
c 20260101000000 {"url":"http://c/","status":"301"}
`
	for _, tc := range []struct {
		args, stdin string
		code        int
		out, errout string
	}{
		{"http://a/", "", command.ExitOK, "seeds: 1 accepted, 0 duplicate, 0 invalid\n", ""},
		{"http://a/ --again", "", command.ExitOK, "seeds: 0 accepted, 1 duplicate, 0 invalid\n", ""},
		{"http://a/ out", "", command.ExitOK, "seeds: 1 accepted, 0 duplicate, 0 invalid, 1 out of scope\n", ""},
		{"-f " + file, "", command.ExitOK, "seeds: 2 accepted, 0 duplicate, 1 invalid\n", file + `:4: "bad\x1b": no scheme`},
		{"-", "bad\nhttp://c/\n", command.ExitOK, "seeds: 1 accepted, 0 duplicate, 1 invalid\n", `standard input:1: "bad": no scheme`},
		// https is guessed
		{"a.test -", "b.test:81/x\n", command.ExitOK, "seeds: 2 accepted, 0 duplicate, 0 invalid\n", ""},
		{"bad bad2", "", command.ExitUsage, "seeds: 0 accepted, 0 duplicate, 2 invalid\n", `seed: "bad2": no scheme`},
		{"-f " + packed, "", command.ExitOK, "seeds: 2 accepted, 0 duplicate, 0 invalid\n", ""},
		{"-", "", command.ExitOK, "seeds: 0 accepted, 0 duplicate, 0 invalid\n", ""},
		{"--from-cdx -", cdx, command.ExitOK,
			"index: 3 captures, 1 of other statuses, 0 of the same URL as before\n" +
				"seeds: 1 accepted, 0 duplicate, 2 invalid\n",
			`standard input:2: "bad": no scheme`},
		{"--from-cdx - --again --status 301", cdx, command.ExitUsage,
			"seeds: 0 accepted, 1 duplicate, 1 invalid\n", "standard input:3: it has 1 of the 6 fields"},
		{"--from-cdx -", "none\n", command.ExitUsage, "seeds: 0 accepted, 0 duplicate, 1 invalid\n",
			"standard input:1: it has 1 of the 6 fields"},
		{"--from-cdx - --status 200,9", cdx, command.ExitUsage, "",
			`--status: "9" is not a status from 100 to 599: write a list such as 200,301-308,404`},
		{"--status 200 http://a/", "", command.ExitUsage, "", "give one with --from-cdx FILE"},
		{"--from-cdx - http://a/", cdx, command.ExitUsage, "", "--from-cdx stands alone"},
		{"--from-cdx /nonexistent.cdxj", "", command.ExitUsage, "", "/nonexistent.cdxj: no such file"},
	} {
		args := append([]string{"seeds", "add", "--addr", addr}, strings.Fields(tc.args)...)
		run(t, tc.stdin, args...).want(t, tc.code, tc.out, tc.errout)
	}
	run(t, "", "seeds", "add", "http://a/", "--addr", "127.0.0.1:1").want(t, command.ExitError, "",
		"nobody answers")
	run(t, cdx, "seeds", "add", "--from-cdx", "-", "--addr", "127.0.0.1:1").want(t, command.ExitError,
		"", "nobody answers")
}

func TestCrawlName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://Docs.example.org:8080/x": "crawl-docs.example.org", "http://[::1]/": "crawl---1",
		"nonsense": "crawl-site",
	} {
		if got := crawlName(in); got != want {
			t.Errorf("crawlName(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestKeygen makes a key once and never writes over one.
func TestKeygen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cluster.key")
	for i, want := range []int{command.ExitOK, command.ExitUsage} {
		var out, errs bytes.Buffer
		env := Env{
			Stdin:  strings.NewReader(""),
			Stdout: &out,
			Stderr: &errs,
			Lookup: func(string) (string, bool) { return "", false },
		}
		if got := Main(t.Context(), []string{"keygen", file}, env); got != want {
			t.Errorf("run %d: exit code %d, want %d: %s", i+1, got, want, errs.String())
		}
	}
	access, err := keyfile.LoadAccess(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag, file string
		code       int
		out, err   string
	}{
		{"--token", file, command.ExitOK, access.Token + "\n", ""},
		{"--token", file + ".none", command.ExitUsage, "", "make one with"},
		{"--keep", filepath.Join(file+".none", "key"), command.ExitUsage, "", "make its folder first"},
		{"--keep", file, command.ExitOK, "it stays", ""},
		{"--keep", file + ".new", command.ExitOK, "a new cluster key", ""},
		{"--role=read", file, command.ExitOK, "cn1.read.", "role read, until"},
		{"--role=root", file, command.ExitUsage, "", "read, operate or admin"},
		{"--role=read", file + ".none", command.ExitUsage, "", "make one with"},
	} {
		run(t, "", "keygen", c.flag, c.file).want(t, c.code, c.out, c.err)
	}
	if again, err := keyfile.LoadAccess(file); err != nil || again.Token != access.Token {
		t.Errorf("the key was changed: %v", err)
	}
}
