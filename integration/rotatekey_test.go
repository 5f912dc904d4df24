package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"crawlnode/simweb"
)

// Five nodes get another key during the crawl. Every page is fetched once, and a client with both
// keys can call each node at all times. In the end the old key is refused, even by a node that
// starts with it, since that node has stored the new key.
func TestRotateKeyWhileCrawling(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const delay = 200 * time.Millisecond
	web, srv := serveSimweb(t,
		simweb.Config{Seed: 182, Hosts: 30, PagesPerHost: 150, Skew: -1, Delay: delay})
	c := simCluster(t, srv, delay, "--log-format", "json").keyed()
	c.addReady(5)
	c.converged(time.Minute)
	view := c.view()
	c.nodes[0].seed(web.Seeds()...)
	atPage(t, web, 500)

	old, next := c.key, newSecret(t)
	probes := c.probe(old, next)
	began := time.Now()
	code, stdout, stderr := run(t, "", "nodes", "rotate-key", next.file, "--addr", c.nodes[1].http,
		"--cluster-key-file", old.file)
	took := time.Since(began)
	if code != 0 || !strings.Contains(stdout, "the key is "+next.Fingerprint()) {
		t.Fatalf("rotate-key: exit code %d\n%s%s", code, stdout, stderr)
	}
	c.key = next
	for _, n := range c.nodes { // the node that was asked may be a step ahead of the others
		until(t, 5*time.Second, func() string {
			if _, err := n.askWith(old); err == nil {
				return n.name + " answers who has the old key"
			}
			return ""
		})
	}
	atEnd := web.Progress()
	asked, failed := probes()
	if failed > 0 {
		t.Errorf("%d of %d calls of who has both keys have failed", failed, asked)
	}
	strangersCallWith(t, c, old)

	c.finished(4 * time.Minute)
	report := web.Report()
	if atEnd >= report.Reachable*9/10 {
		t.Errorf("the crawl was nearly over (%d of %d pages) when the key was new: "+
			"the web is too small for this test", atEnd, report.Reachable)
	}
	if err := report.ErrOfMoves(c.moves(view, 0, 0)); err != nil {
		t.Error(err)
	}
	n := c.nodes[4] // its command still names the old file
	n.signal(syscall.SIGKILL)
	<-n.done
	n.start()
	n.ready()
	c.converged(time.Minute)
	if log := tail(n.log, 2000); !strings.Contains(log, "replace its --cluster-key-file") {
		t.Errorf("a node that starts with the old file does not say so:\n%s", log)
	}
	c.stop()
	t.Logf("%d pages, %d when the key was new, which took %v; %d calls meanwhile, %d failed; "+
		"smallest gap %v",
		report.Pages, atEnd, took.Round(time.Millisecond), asked, failed, report.SmallestGap)
}

// askWith asks a node for its status with a key.
func (n *node) askWith(key *secret) (code int, err error) {
	req, err := http.NewRequest(http.MethodGet, "https://"+n.http+"/api/v1/stats", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+key.APIToken())
	resp, err := key.client.Do(req)
	if err != nil {
		return 0, err
	}
	_ = resp.Body.Close() // only the code counts
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, fmt.Errorf("%s answers %d", n.name, resp.StatusCode)
	}
	return resp.StatusCode, nil
}

// probe asks all nodes again and again, with one key and, when that fails, with the other.
// end stops it and counts.
func (c *cluster) probe(keys ...*secret) (end func() (asked, failed int)) {
	stop := make(chan struct{})
	var mu sync.Mutex // guards the counts
	var asked, failed int
	var wg sync.WaitGroup
	for _, n := range c.nodes {
		wg.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				var err error
				for _, k := range keys {
					if _, err = n.askWith(k); err == nil {
						break
					}
				}
				mu.Lock()
				if asked++; err != nil {
					failed++
					c.t.Log(err)
				}
				mu.Unlock()
			}
		})
	}
	return func() (int, int) {
		close(stop)
		wg.Wait()
		return asked, failed
	}
}

// strangersCallWith makes the calls of nodes with a key that is not valid any more.
func strangersCallWith(t *testing.T, c *cluster, key *secret) {
	t.Helper()
	for _, n := range c.nodes {
		pool := key.pool("stranger", "0123456789abcdef0123456789abcdef")
		everyCallFails(t, n.name+" with the old key", pool, n.target(),
			func(err error) bool { return strings.Contains(err.Error(), "another cluster key") })
		pool.Close()
	}
}
