package integration

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

// exampleWorker runs one of the examples against a node until the crawl has ended, or it is killed.
type exampleWorker struct {
	cmd  *exec.Cmd
	out  *os.File
	done chan struct{}
	err  error // after done
}

func startWorker(t *testing.T, program, example, name string, n *node) *exampleWorker {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		unable(t, "needs %s to run the examples of workers: %v", program, err)
	}
	out, err := os.CreateTemp(t.TempDir(), name)
	if err != nil {
		t.Fatal(err)
	}
	w := &exampleWorker{
		cmd:  exec.Command(path, "../examples/"+example, "http://"+n.http, name),
		out:  out,
		done: make(chan struct{}),
	}
	w.cmd.Stdout, w.cmd.Stderr = out, out
	w.cmd.SysProcAttr = diesWithTest(false)
	started := make(chan error)
	spawner() <- func() { started <- w.cmd.Start() }
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	go func() {
		w.err = w.cmd.Wait()
		once.Do(func() { close(w.done) })
	}()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it has ended, or is to
		<-w.done
		_ = out.Close()
		if t.Failed() {
			text, _ := os.ReadFile(out.Name())
			t.Logf("%s:\n%s", name, text)
		}
	})
	return w
}

// workersOf are the figures about workers, as a node tells them.
func workersOf(n *node) (crawl.WorkersStatus, error) {
	var s struct{ Workers crawl.WorkersStatus }
	err := n.decode("/status", &s)
	return s.Workers, err
}

// TestWorkersUnderKills has the examples in Python and JavaScript crawl from three nodes that fetch
// no page, and kills a worker and then a node with leased URLs. The web server sees every page, no
// host asked by two, and a page twice only if the killed worker had it: results of URLs that the
// killed node had leased count at the nodes that have taken over.
func TestWorkersUnderKills(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const delay, lease = 100 * time.Millisecond, 90 * time.Second // a busy worker reports late
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         21,
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
	// Each asks a node that is not killed; the killed node's URLs come through the others.
	survivors := []*exampleWorker{startWorker(t, "python3", "worker.py", "python", c.nodes[0]),
		startWorker(t, "node", "worker.mjs", "node", c.nodes[1])}
	victim := startWorker(t, "python3", "worker.py", "victim", c.nodes[1])
	pages := len(reachable(web))
	atPage(t, web, pages/5)
	stopped := time.Now()
	// so that it has leased URLs for sure
	if err := victim.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := victim.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-victim.done
	atPage(t, web, pages*2/5)
	c.nodes[2].signal(syscall.SIGKILL)
	<-c.nodes[2].done
	killed := time.Now()
	c.finished(4 * time.Minute)
	for _, w := range survivors {
		select {
		case <-w.done:
			if w.err != nil {
				t.Errorf("%s: %v", w.cmd.Args, w.err)
			}
		case <-time.After(slack(time.Minute)):
			t.Errorf("%s has not ended with the crawl", w.cmd.Args)
		}
	}
	again := 0 // fetches beyond the first of a page
	for _, u := range reachable(web) {
		visits := web.Visits(u)
		if again += len(visits) - 1; len(visits) < 2 {
			continue
		}
		// The victim fetched it before it was stopped, and its lease ended.
		if first, second := visits[0].At, visits[1].At; first.After(stopped.Add(time.Second)) ||
			second.Before(stopped) || len(visits) > 2 {
			t.Errorf("%s was fetched %d times, first %v and then %v after the worker was killed; "+
				"the node was killed %v after it",
				u, len(visits), first.Sub(stopped), second.Sub(stopped), killed.Sub(stopped))
		}
	}
	if r := web.Report(); r.ErrButDuplicates() != nil {
		t.Error(r.ErrButDuplicates())
	} else {
		t.Logf("%d pages, %d fetched again after a kill, smallest gap %v", r.Pages, again, r.SmallestGap)
	}
	t.Logf("%d leases ended without all their results", expiredLeases(t, c.nodes[0]))
}
