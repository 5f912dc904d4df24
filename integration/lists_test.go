package integration

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

// listURLs runs urls list and returns the states of the URLs. No URL may be listed twice.
func listURLs(t *testing.T, args ...string) map[string]string {
	t.Helper()
	listed, err := tryList(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return listed
}

// errIncomplete is a list that names the partitions that it lacks: a take-over took longer than the
// command asks again.
var errIncomplete = errors.New("the list is not complete, as it says")

// tryList is listURLs for any goroutine.
func tryList(t *testing.T, args ...string) (map[string]string, error) {
	code, stdout, stderr := run(t, "", append([]string{"urls", "list", "-o", "json"}, args...)...)
	if code == 4 && strings.Contains(stderr, "the list is not complete: it lacks URLs of partition") {
		return nil, errIncomplete
	}
	if code != 0 || stderr != "" {
		return nil, fmt.Errorf("urls list %v ends with %d: %s", args, code, stderr)
	}
	listed := map[string]string{}
	for line := range strings.Lines(stdout) {
		var l crawl.URLLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if listed[l.URL] != "" {
			return nil, fmt.Errorf("%s is listed twice: %s and %s", l.URL, listed[l.URL], l.State)
		}
		listed[l.URL] = l.State
	}
	return listed, nil
}

// lacking returns the URLs that are not listed as done.
func lacking(listed map[string]string, urls []string) (missing []string) {
	for _, u := range urls {
		if listed[u] != crawl.ListDone {
			missing = append(missing, u)
		}
	}
	return missing
}

// Three nodes are stopped at once in the middle of a crawl, by one of them, and started again:
// nothing is lost, and no visit was open at the end: in between, the data directories together list
// every URL that the web has answered.
func TestStopAllAndStartAgain(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const hosts, delay = 30, 400 * time.Millisecond // the order comes in the middle, however fast the machine is
	web, srv := serveSimweb(t,
		simweb.Config{
			Seed:         31,
			Hosts:        hosts,
			PagesPerHost: 40,
			Skew:         -1,
			Delay:        delay,
		}.Quirky())
	c := simCluster(t, srv, delay)
	c.addReady(3)
	c.converged(30 * time.Second)
	view := c.view()
	c.nodes[0].seed(web.Seeds()...)
	atPage(t, web, 300)
	asked := time.Now()
	c.stopAll(c.nodes[1])
	took := time.Since(asked)
	args := []string{}
	for _, n := range c.nodes {
		if code := n.exit(t, 10*time.Second); code != 0 {
			t.Errorf("%s: exit code %d\n%s", n.name, code, tail(n.log, 10))
		}
		args = append(args, "--data-dir", n.dir)
	}
	atStop := web.Progress()
	if atStop >= reachableCount(web) {
		t.Errorf("the crawl was over when the nodes were stopped: the web is too small for this test")
	}
	done := 0
	for _, state := range listURLs(t, args...) {
		if state == crawl.ListDone {
			done++
		}
	}
	// A visit that has not ended after three seconds, on a busy machine, is cut: one a host at the most.
	if lost := atStop - done; lost > 0 && (took < 3*time.Second || lost > hosts) {
		t.Errorf("the directories list %d URLs as done, the web has answered %d pages; the stop took %v",
			done, atStop, took)
	}
	for _, n := range c.nodes {
		n.start()
	}
	c.finished(3 * time.Minute)
	report := web.Report()
	// On a busy machine a node that starts late loses its partitions to the others, and gets them
	// back. Each start is one view.
	if err := report.ErrOfMoves(c.moves(view, len(c.nodes), 1)); err != nil {
		t.Error(err)
	}
	if missing := lacking(listURLs(t, "--addr", c.nodes[2].http), reachable(web)); len(missing) > 0 {
		t.Errorf("%d pages are not listed as done, such as %s", len(missing), missing[0])
	}
	if code, stdout, _ := run(t, "", "stop", "--timeout", stopTimeout, "--data-dir",
		c.nodes[0].dir); code != 0 {
		t.Errorf("stop --data-dir ends with %d: %s", code, stdout)
	}
	c.stop()
	t.Logf("stopped at %d of %d pages, in %v", atStop, reachableCount(web),
		took.Round(time.Millisecond))
}

func reachableCount(web *simweb.Web) int { return len(reachable(web)) }

// Lists are made again and again while a node joins, one is killed and one drains: each has every
// page once.
func TestListWhileNodesComeAndGo(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{Seed: 32, Hosts: 40, PagesPerHost: 25, Skew: -1}.Quirky())
	c := simCluster(t, srv, 0)
	c.addReady(3)
	c.converged(30 * time.Second)
	c.nodes[0].seed(web.Seeds()...)
	c.finished(2 * time.Minute)
	want := reachable(web)

	type outcome struct {
		lists int
		err   error
	}
	stop, over := make(chan struct{}), make(chan outcome, 1)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				over <- outcome{n, nil}
				return
			default:
			}
			listed, err := tryList(t, "--addr", c.nodes[0].http)
			if errors.Is(err, errIncomplete) {
				continue
			}
			if missing := lacking(listed, want); err == nil && len(missing) > 0 {
				err = fmt.Errorf("list %d lacks %d pages of %d, such as %s", n, len(missing), len(want),
					missing[0])
			}
			if err != nil {
				over <- outcome{n, err}
				return
			}
		}
	}()
	c.addReady(1)
	c.whole(time.Minute)
	c.nodes[1].signal(syscall.SIGKILL)
	<-c.nodes[1].done
	c.converged(time.Minute)
	if code, stdout, stderr := run(t, "", "stop", "--timeout", stopTimeout, "--addr",
		c.nodes[2].http); code != 0 {
		t.Errorf("stop ends with %d: %s%s", code, stdout, stderr)
	}
	c.converged(time.Minute)
	close(stop)
	o := <-over
	if o.err != nil {
		t.Error(o.err)
	}
	if missing := lacking(listURLs(t, "--addr", c.nodes[0].http), want); len(missing) > 0 {
		t.Errorf("the last list lacks %d pages, such as %s", len(missing), missing[0])
	}
	code, stdout, stderr := run(t, "", "urls", "list", "--state", "done", "-o", "csv", "--addr",
		c.nodes[3].http)
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if code != 0 || err != nil || len(rows) <= len(want) {
		t.Errorf("the CSV has %d rows for %d pages: exit code %d, %v, %s", len(rows), len(want), code,
			err, stderr)
	}
	c.stop()
	t.Logf("%d lists of %d pages", o.lists, len(want))
}
