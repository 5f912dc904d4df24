package integration

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/simweb"
)

var pythonSites = flag.Bool("pythonsites", false,
	"TestPythonWorkerCrawlsRealSites: append the figures to docs/results/pythonsites.md")

// python starts a program in Python with the client of clients/python, which is to end by itself.
// The environment has env as well.
func python(t *testing.T, env []string, argv ...string) *exampleWorker {
	t.Helper()
	return pythonWith(t, nil, nil, env, argv...)
}

// pythonWith is python with a standard input and output, which it closes; nil: none, and a file
// that is logged when the test fails.
func pythonWith(t *testing.T, stdin, stdout *os.File, env []string, argv ...string) *exampleWorker {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		unable(t, "needs python3: %v", err)
	}
	client, err := filepath.Abs("../clients/python")
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.CreateTemp(t.TempDir(), "python")
	if err != nil {
		t.Fatal(err)
	}
	w := &exampleWorker{cmd: exec.Command(path, argv...), out: out, done: make(chan struct{})}
	w.cmd.Stdout, w.cmd.Stderr = out, out
	for _, f := range []*os.File{stdin, stdout} {
		if f != nil {
			defer f.Close() // the program has its own by then
		}
	}
	if stdin != nil {
		w.cmd.Stdin = stdin
	}
	if stdout != nil {
		w.cmd.Stdout = stdout
	}
	// Compiled files do not go beside the sources.
	w.cmd.Env = append(append(os.Environ(), "PYTHONPATH="+client, "PYTHONDONTWRITEBYTECODE=1"), env...)
	w.cmd.SysProcAttr = diesWithTest(false)
	started := make(chan error)
	spawner() <- func() { started <- w.cmd.Start() }
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	go func() {
		w.err = w.cmd.Wait()
		close(w.done)
	}()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it has ended, or is to
		<-w.done
		_ = out.Close()
		if t.Failed() {
			t.Logf("%v:\n%s", argv, w.said(t))
		}
	})
	return w
}

// said is what the program has written.
func (w *exampleWorker) said(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(w.out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ends waits until the program has ended without an error.
func (w *exampleWorker) ends(t *testing.T, within time.Duration) {
	t.Helper()
	select {
	case <-w.done:
		if w.err != nil {
			t.Fatalf("%v: %v\n%s", w.cmd.Args, w.err, w.said(t))
		}
	case <-time.After(slack(within)):
		t.Fatalf("%v has not ended\n%s", w.cmd.Args, w.said(t))
	}
}

// TestPythonUnits runs the client's own tests: documents, errors, hostile answers, the operations
// of docs/openapi.json that it uses, types, and whether what is generated is current.
func TestPythonUnits(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	w := pythonWith(t, nil, nil, nil, "-m", "unittest", "discover", "-s", "../clients/python/tests",
		"-t", "../clients/python")
	w.ends(t, 4*time.Minute)
}

// tokens are tokens of the cluster's key, one of each role.
func (c *cluster) tokens(roles ...string) (tokens []string) {
	c.t.Helper()
	for _, role := range roles {
		code, token, stderr := run(c.t, "", "keygen", "--role", role, c.key.file)
		if code != 0 {
			c.t.Fatal(stderr)
		}
		tokens = append(tokens, strings.TrimSpace(token))
	}
	return tokens
}

// TestPythonCallsUnderKills makes each call of the client to a cluster with a key. The node that it
// was given is killed during the crawl: the calls and the events go on at the others.
func TestPythonCallsUnderKills(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const delay = 40 * time.Millisecond // calls.py raises it to 60 ms
	web, srv := serveSimweb(t, simweb.Config{Seed: 33, Hosts: 12, PagesPerHost: 40, Delay: delay})
	c := simCluster(t, srv, delay, "--partitions", "512", "--index", "on").keyed()
	c.addReady(3)
	c.converged(time.Minute)
	tokens := c.tokens("admin", "read")
	other := &cluster{t: t, key: newSecret(t)}
	in, toProgram, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromProgram, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w := pythonWith(t, in, out, []string{"CRAWLNODE_TOKEN=" + tokens[0], "READ_TOKEN=" + tokens[1],
		"OTHER_TOKEN=" + other.tokens("admin")[0]},
		append([]string{"testdata/python/calls.py", c.nodes[2].http, c.nodes[0].http, srv.HTTP.String()},
			web.Seeds()...)...)
	lines, read := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(read)
		defer close(lines)
		for s := bufio.NewScanner(fromProgram); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() { // with the program the reader ends
		_ = w.cmd.Process.Kill()
		_ = toProgram.Close()
		for range lines {
		}
		<-read
		_ = fromProgram.Close()
	})
	said := func(word string) string {
		t.Helper()
		for late := time.After(slack(3 * time.Minute)); ; {
			select {
			case line, ok := <-lines:
				t.Log(line)
				if !ok {
					t.Fatalf("the program has ended before it said %q", word)
				}
				if strings.HasPrefix(line, word) {
					return line
				}
			case <-late:
				t.Fatalf("the program does not say %q", word)
			}
		}
	}
	answer := func() {
		t.Helper()
		if _, err := io.WriteString(toProgram, "\n"); err != nil {
			t.Fatal(err)
		}
	}
	said("seeded")
	answer()
	atPage(t, web, len(reachable(web))/3)
	c.nodes[2].signal(syscall.SIGKILL)
	<-c.nodes[2].done
	said("finished")
	if r := web.Report(); r.ErrButDuplicates() != nil {
		t.Error(r.ErrButDuplicates())
	} else {
		t.Logf("%d pages, smallest gap %v", r.Pages, r.SmallestGap)
	}
	answer()
	if line := said("compared"); line == "compared 0" {
		t.Error("no content was compared")
	}
	answer()
	w.ends(t, time.Minute)
}

// TestPythonExamples runs the crawl of examples/crawl.py as its text says.
func TestPythonExamples(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{Seed: 34, Hosts: 5, PagesPerHost: 10, Skew: -1})
	c := simCluster(t, srv, 0, "--partitions", "512", "--index", "on")
	c.addReady(1)
	w := python(t, []string{"CRAWLNODE_ADDR=" + c.nodes[0].http}, "../examples/crawl.py",
		web.Seeds()[0])
	w.ends(t, 4*time.Minute)
	text := w.said(t)
	for _, want := range []string{"max_depth was 0 and is 20", "crawl_finished", "text/html",
		"pages found", " 200 "} {
		if !strings.Contains(text, want) {
			t.Errorf("examples/crawl.py does not print %q:\n%s", want, text)
		}
	}
}

// TestPythonWorkersUnderKills has two workers of the client crawl from three nodes that fetch no
// page, one with urllib. Each knows one node, which is killed: it goes on at the others. The web
// server sees every page once, and no host asked by two.
func TestPythonWorkersUnderKills(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const delay, lease = 100 * time.Millisecond, 2 * time.Minute // far longer than a take-over
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         35,
		Hosts:        30,
		PagesPerHost: 20,
		Delay:        delay,
		Changes:      simweb.Changes{Mean: 24 * time.Hour},
	})
	c := simCluster(t, srv, delay, "--partitions", "512", "--fetch", "off", "--lease", lease.String(),
		"--store", "none")
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	const whole = "import crawlnode, sys; " +
		"print(crawlnode.Client(sys.argv[1]).work(crawlnode.fetch_page))"
	workers := []*exampleWorker{
		python(t, nil, "../examples/worker_client.py", c.nodes[2].http, "urllib"),
		python(t, nil, "-c", whole, c.nodes[2].http),
	}
	atPage(t, web, len(reachable(web))/3)
	c.nodes[2].signal(syscall.SIGKILL)
	<-c.nodes[2].done
	c.finished(4 * time.Minute)
	for _, w := range workers {
		w.ends(t, time.Minute)
		t.Log(w.said(t))
	}
	for _, u := range reachable(web) {
		if visits := web.Visits(u); len(visits) != 1 {
			t.Errorf("%s was fetched %d times", u, len(visits))
		}
	}
	if r := web.Report(); r.Err() != nil {
		t.Error(r.Err())
	} else {
		t.Logf("%d pages, smallest gap %v", r.Pages, r.SmallestGap)
	}
}

// TestPythonWorkerCrawlsRealSites has one worker of the client crawl three real sites, each on an
// address of its own, from three nodes that fetch no page. The node that it was given, which holds
// the largest site, is killed in between. By the web server's log each page was asked for once.
func TestPythonWorkerCrawlsRealSites(t *testing.T) {
	needsProcesses(t)
	const delay, lease = 10 * time.Millisecond, 2 * time.Minute // a busy worker reports late
	s, seeds, want := sitesForWorkers(t)
	c := newCluster(t, "--dns", s.dns, "--allow-net", "127.0.0.0/8", "--delay", delay.String(),
		"--partitions", "512", "--fetch", "off", "--lease", lease.String(), "--store", "none")
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(seeds...)
	doomed, others := c.holderOf(s.all[0].host())
	start, load := time.Now(), loadAverage()
	w := python(t, nil, "../examples/worker_client.py", doomed.http, "python")
	s.atArrival(t, len(want)/3)
	doomed.signal(syscall.SIGKILL)
	<-doomed.done
	c.finished(10 * time.Minute)
	took := time.Since(start)
	w.ends(t, time.Minute)
	arrivals := s.arrivals(t)
	smallest := judgePoliteness(t, arrivals, delay)
	again := judgeWorkersArrivals(t, s, arrivals, want, time.Now()) // no page was asked for twice
	if ended := expiredLeases(t, others[0]); ended > 0 {
		t.Logf("%d leases ended without all their results: their answers were lost with the node", ended)
	}
	if t.Failed() || !*pythonSites {
		return
	}
	t.Log(w.said(t))
	appendResult(t, "pythonsites.md", pythonSitesHead, fmt.Sprintf(
		"%d | %d | %d | %v of %v | %.0f s | %s, %s |", len(want), len(arrivals), again, smallest, delay,
		took.Seconds(), load, loadAverage()))
}

const pythonSitesHead = `# Real sites, fetched by a worker in Python

Three sites from packages of Debian (sqlite3-doc, debian-policy, gnuplot-doc), each on a loopback address of its own, served by nginx, whose log is judged. Three nodes
with ` + "`--fetch off`" +
	` lease to one worker, examples/worker_client.py, which knows one of them. That node, which holds the largest site, is killed by SIGKILL when a third of the
pages was answered. Each page was answered once. Requests are pages, other files, links that lead nowhere, and robots.txt, which each holder of a host reads. Appended by

    go test ./integration -count=1 -v -timeout 40m -run '^TestPythonWorkerCrawlsRealSites$' -pythonsites

| date | commit | pages | requests | asked for again | smallest gap | time | load before, after |
|---|---|---|---|---|---|---|---|
`
