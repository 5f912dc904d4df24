package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
)

// Settings that are changed at one node apply on all three, and events report them: a raised limit
// resumes the crawl, a longer delay applies from then on at every host, robots.txt is obeyed until
// that is switched off, and URLs that the scope now excludes are not fetched. Checked at the web
// server.
func TestSettingsChangeLive(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const before, after, limit = 30 * time.Millisecond, 700 * time.Millisecond, 60
	w := startPoliteWeb(t, 23, 36, 36, temper{pages: 12}) // enough hosts for each node to hold some
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", w.dns, "--delay", before.String(),
		"--max-pages", fmt.Sprint(limit))
	c.addReady(3)
	c.converged(time.Minute)
	news := c.nodes[1].follow()
	c.nodes[0].seed(append(w.seeds(), w.hosts[0].url("/no"))...)
	c.finished(time.Minute)
	for _, n := range c.nodes {
		if got := pagesTotal(t, n); got != limit {
			t.Errorf("%s: %d pages, the limit is %d", n.name, got, limit)
		}
	}
	served, excluded := pagesServed(w), askedFor(w, "/p7")

	if got := c.nodes[1].set("delay="+
		after.String(), "exclude=*/p7"); got.State != crawl.CrawlFinished {
		t.Errorf("after a longer delay: %+v", got)
	}
	if got := c.nodes[2].set("max-pages=0"); got.State != crawl.CrawlRunning ||
		got.Settings.Text("delay") != after.String() {
		t.Errorf("after the limit was lifted: %+v", got)
	}
	changed := time.Now()
	c.finished(2 * time.Minute)
	w.judgeDelay(t, changed, after)
	if got := askedFor(w, "/no"); got != 0 {
		t.Errorf("a page that robots.txt forbids was asked for %d times", got)
	}
	if got := pagesServed(w) - served; got < 60 {
		t.Errorf("only %d pages after the limit was lifted", got)
	}
	c.oneHostOfEach(w)
	news.want("crawl_started", "crawl_finished", "settings_changed", "settings_changed",
		"crawl_started", "crawl_finished")

	c.nodes[0].set("robots=ignore", "delay="+before.String())
	c.nodes[1].again(w.hosts[0].url("/no"))
	until(t, time.Minute, func() string {
		if askedFor(w, "/no") == 0 {
			return "the page that robots.txt forbids was not asked for, " +
				"and robots.txt does not count any more"
		}
		return ""
	})
	c.finished(time.Minute)
	if got := askedFor(w, "/p7"); got != excluded {
		t.Errorf("what is excluded was asked for")
	}
	c.refuses()
	c.whole(time.Minute)
	c.nodes[2].signal(syscall.SIGKILL)
	<-c.nodes[2].done
	news.want("settings_changed", "seeds_added", "node_failed", "partitions_served")
	c.stop()
}

// set changes settings as a person would, who repeats the command when some nodes did not confirm
// in time.
func (n *node) set(changes ...string) (report crawl.CrawlReport) {
	n.c.t.Helper()
	until(n.c.t, time.Minute, func() string {
		report = crawl.CrawlReport{}
		code, stdout, stderr := run(n.c.t, "",
			append([]string{"crawl-config", "set", "-o", "json", "--addr", n.http}, changes...)...)
		if err := json.Unmarshal([]byte(stdout), &report); code != 0 || err != nil {
			n.c.t.Fatalf("crawl-config set %v: exit code %d, %v\n%s%s", changes, code, err, stdout, stderr)
		}
		if len(report.Untold) > 0 {
			return fmt.Sprintf("crawl-config set %v: not confirmed by %v", changes, report.Untold)
		}
		return ""
	})
	return report
}

// refuses tries what must not be changed.
func (c *cluster) refuses() {
	c.t.Helper()
	for _, s := range []struct {
		change, says string
		code         int
	}{
		{"partitions=2048", "partitions: is fixed by the founding node", 4},
		{"delai=1s", `did you mean "delay"?`, 2},
		{"allow-net=", "robots: ignore is allowed only for hosts inside --allow-net", 2},
	} {
		code, _, stderr := run(c.t, "", "crawl-config", "set", "--addr", c.nodes[0].http, s.change)
		if code != s.code || !strings.Contains(stderr, s.says) {
			c.t.Errorf("%s: exit code %d, want %d and %q\n%s", s.change, code, s.code, s.says, stderr)
		}
	}
}

// oneHostOfEach checks that each node fetches for some host, so that what is judged
// at the hosts is judged of every node.
func (c *cluster) oneHostOfEach(w *politeWeb) {
	c.t.Helper()
	holders := map[string]bool{}
	for _, h := range w.hosts {
		var report crawl.HostReport
		if err := c.nodes[0].decode("/api/v1/hosts/"+h.name, &report); err != nil {
			c.t.Fatal(err)
		}
		holders[report.Holder.Name] = true
	}
	if len(holders) != len(c.nodes) {
		c.t.Errorf("the hosts are spread over %v only", holders)
	}
}

// judgeDelay wants the delay between any two requests to a host of which the second
// came after a moment, give or take what was handed out by then.
func (w *politeWeb) judgeDelay(t *testing.T, since time.Time, delay time.Duration) {
	t.Helper()
	judged, tightest := 0, time.Hour
	for _, h := range w.hosts {
		h.mu.Lock()
		seen := slices.Clone(h.seen)
		h.mu.Unlock()
		slices.SortFunc(seen, byStart)
		for i := 1; i < len(seen); i++ {
			gap := seen[i].start.Sub(seen[i-1].end)
			if seen[i].start.Before(since) {
				continue
			}
			judged++
			if tightest = min(tightest, gap); gap < delay {
				t.Errorf("%s%s came %v after the request before it, the delay is %v since %v", h.name,
					seen[i].path, gap, delay, seen[i].start.Sub(since))
			}
		}
	}
	t.Logf("%d gaps after the change, the smallest %v", judged, tightest)
	if judged < 60 {
		t.Errorf("only %d gaps could be judged", judged)
	}
}

// pagesServed counts the answers but robots.txt.
func pagesServed(w *politeWeb) (count int) {
	for _, h := range w.hosts {
		h.mu.Lock()
		for _, q := range h.seen {
			if q.path != "/robots.txt" {
				count++
			}
		}
		h.mu.Unlock()
	}
	return count
}

// askedFor counts the requests for a path, over all hosts.
func askedFor(w *politeWeb, path string) (count int) {
	for _, h := range w.hosts {
		h.mu.Lock()
		count += h.asked[path]
		h.mu.Unlock()
	}
	return count
}

// newsReader follows a node's events.
type newsReader struct {
	t      *testing.T
	events chan crawl.Event // closed with the stream
}

func (n *node) follow() *newsReader {
	t := n.c.t
	t.Helper()
	resp, err := http.Get("http://" + n.http + "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	r := &newsReader{t: t, events: make(chan crawl.Event, 1000)}
	go func() {
		defer close(r.events)
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			data, ok := strings.CutPrefix(s.Text(), "data: ")
			var e crawl.Event
			if ok && json.Unmarshal([]byte(data), &e) == nil {
				r.events <- e
			}
		}
	}()
	return r
}

// want waits for events with these codes, in this order; others may be between.
func (r *newsReader) want(codes ...string) {
	r.t.Helper()
	var told []string
	for deadline := time.After(slack(time.Minute)); len(codes) > 0; {
		select {
		case e, ok := <-r.events:
			if !ok {
				r.t.Fatalf("the stream has ended; told: %v, missing: %v", told, codes)
			}
			if told = append(told, e.Code); e.Code == codes[0] {
				codes = codes[1:]
			}
		case <-deadline:
			r.t.Fatalf("told: %v, missing: %v", told, codes)
		}
	}
}
