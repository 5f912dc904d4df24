package integration

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// soon is the time after the answer to a change within which every node obeys it. A machine that
// gives a process no time for a while gets three times that while more: see obeyed.
const soon = 2 * time.Second

// holdups measures how late this process is woken while a test runs: the nodes beside it are woken
// as late.
type holdups struct {
	mu   sync.Mutex
	late []holdup // those over 100 ms
}

type holdup struct{ from, until time.Duration } // since the start of the web

func (w *ruleWeb) holdups() *holdups {
	h := &holdups{}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for last := w.now(); ; last = w.now() {
			select {
			case <-tick.C:
			case <-stop:
				return
			}
			if now := w.now(); now-last > 100*time.Millisecond {
				h.mu.Lock()
				h.late = append(h.late, holdup{last, now})
				h.mu.Unlock()
			}
		}
	})
	w.t.Cleanup(func() { close(stop); wg.Wait() })
	return h
}

// obeyed is when every node must obey a version: soon after the answer, and later by three times
// the longest hold-up that began before.
func (h *holdups) obeyed(v *ruleVersion) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	longest := time.Duration(0)
	for _, l := range h.late {
		if l.until >= v.sent && l.from <= v.taken+soon {
			longest = max(longest, l.until-l.from)
		}
	}
	return v.taken + soon + 3*longest
}

// ruleVersion is one text of rules, and when it held.
type ruleVersion struct {
	number      int
	delay       time.Duration
	cookies     bool
	sent, taken time.Duration // since the start of the web: when it was sent, and answered
}

func (v *ruleVersion) rules(zone string) string {
	mode := "off"
	if v.cookies {
		mode = "host"
	}
	return fmt.Sprintf(`
- match: domain:%s
  delay: %v
  user-agent: Rule%d/1 (+https://example.org)
  headers: {X-Rule: "%[3]d", X-Old-%[3]d: "1"}
  cookies: %s
  auth: {basic: secret:login%[3]d}
`, zone, v.delay, v.number, mode)
}

// wrong says what of a request does not follow a version.
func (v *ruleVersion) wrong(q *ruleRequest) string {
	login := fmt.Appendf(nil, "user%d:pass%[1]d", v.number)
	for _, c := range []struct{ name, want string }{
		{"X-Rule", fmt.Sprint(v.number)}, {fmt.Sprint("X-Old-", v.number), "1"},
		{"User-Agent", fmt.Sprintf("Rule%d/1 (+https://example.org)", v.number)},
		{"Authorization", "Basic " + base64.StdEncoding.EncodeToString(login)},
	} {
		if got := q.header.Get(c.name); got != c.want {
			return fmt.Sprintf("%s is %q, want %q", c.name, got, c.want)
		}
	}
	for name := range q.header {
		if strings.HasPrefix(name, "X-Old-") && name != fmt.Sprint("X-Old-", v.number) {
			return "it has " + name
		}
	}
	if got := q.header.Get("Cookie"); got != "" && !v.cookies {
		return "its cookie is " + got
	}
	return ""
}

// endlessSite has pages without end. Each answer sets a cookie that the next request shows, if
// cookies are kept.
func endlessSite(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(rw, r)
		return
	}
	rw.Header().Set("Set-Cookie", "seen=yes; Path=/")
	var n int
	_, _ = fmt.Sscanf(r.URL.Path, "/p%d", &n) // "/" is 0
	showPage(rw, fmt.Sprintf(`<title>%d</title><a href="/p%d">a</a> <a href="/p%d">b</a>`, n, 2*n+1,
		2*n+2))
}

// TestSitesChangeEverywhere: changed rules hold at every node 2 s after the answer to the change,
// while one node is killed, another joins, and the killed one comes back with the rules of before
// on its disk. Judged at the web server, at each request: delay, headers, user agent, cookies,
// credentials.
func TestSitesChangeEverywhere(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const zone, hosts = "change.test", 32
	w := newRuleWeb(t, "127.41.0.1", endlessSite)
	late := w.holdups()
	var names, seeds []string
	for i := range hosts {
		names = append(names, fmt.Sprintf("h%d.%s", i, zone))
	}
	names = append(names, "other.test")
	port := w.local(names...)
	for _, name := range names {
		seeds = append(seeds, fmt.Sprintf("http://%s:%d/", name, port))
	}
	secrets := secretFile(t, filepath.Join(t.TempDir(), "secrets"),
		"login1=user1:pass1\nlogin2=user2:pass2\nlogin3=user3:pass3\nlogin4=user4:pass4\n")

	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", w.dns, "--delay", "100ms",
		"--cookies", "off", "--partitions", "512", "--secrets", secrets, "--store", "none")
	c.addReady(3)
	c.converged(time.Minute)
	var versions []*ruleVersion
	change := func(n *node, delay time.Duration, cookies bool) *ruleVersion {
		t.Helper()
		v := &ruleVersion{number: len(versions) + 1, delay: delay, cookies: cookies, sent: w.now()}
		n.putSites(v.rules(zone))
		v.taken = w.now()
		t.Logf("version %d, delay %v, was answered after %v", v.number, v.delay, v.taken-v.sent)
		versions = append(versions, v)
		return v
	}
	v := change(c.nodes[0], 100*time.Millisecond, false)
	c.nodes[0].seed(seeds...)
	c.obeys(w, v, late, zone)

	v = change(c.nodes[1], 1500*time.Millisecond, true)
	c.obeys(w, v, late, zone)
	if !slices.ContainsFunc(w.requests(),
		func(q ruleRequest) bool { return q.header.Get("Cookie") == "seen=yes" }) {
		t.Error("with cookies: host no request has one")
	}

	lost := c.nodes[2]
	lost.signal(syscall.SIGKILL)
	<-lost.done
	c.add()
	// The fourth joins, and the third has version 2.
	v = change(c.nodes[0], 200*time.Millisecond, false)
	c.nodes[3].ready()
	lost.start()
	lost.ready()
	c.converged(2 * time.Minute)
	c.obeys(w, v, late, zone)
	holders := map[string]bool{}
	for _, name := range names[:hosts] {
		holders[c.nodes[0].holderOf(name)] = true
	}
	if len(holders) != 4 {
		t.Errorf("the hosts are spread over %v only", holders)
	}
	v = change(c.nodes[3], time.Second, true)
	c.obeys(w, v, late, zone)
	ended := w.now()
	c.stop()
	judgeVersions(t, w, versions, late, zone, ended)
}

// obeys waits until each host of a zone has been asked by a version when no other one holds any
// more.
func (c *cluster) obeys(w *ruleWeb, v *ruleVersion, late *holdups, zone string) {
	c.t.Helper()
	until(c.t, time.Minute, func() string {
		by, after := map[string]bool{}, late.obeyed(v)
		for _, q := range w.requests() {
			if q.start > after && q.header.Get("X-Rule") == fmt.Sprint(v.number) {
				by[q.host] = true
			}
		}
		if hosts := w.names(zone); len(by) < len(hosts) {
			return fmt.Sprintf("requests by version %d at %d hosts of %d", v.number, len(by), len(hosts))
		}
		return ""
	})
}

// names are the names of a zone that the web knows.
func (w *ruleWeb) names(zone string) (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.addrs {
		if strings.HasSuffix(name, "."+zone) {
			names = append(names, name)
		}
	}
	return names
}

// judgeVersions requires of each request to a zone that it follows, as a whole, rules that may hold
// at its time, and the delay from the request before it.
func judgeVersions(t *testing.T, w *ruleWeb, versions []*ruleVersion, holdups *holdups, zone string,
	ended time.Duration) {
	t.Helper()
	byHost := map[string][]ruleRequest{}
	judged := make([]int, len(versions)+1)       // requests that had to follow a version
	late := make([]time.Duration, len(versions)) // from an answer to the last request by older rules
	complaints := 0
	complain := func(format string, args ...any) {
		t.Helper()
		if complaints++; complaints <= 12 {
			t.Errorf(format, args...)
		}
	}
	for _, q := range w.requests() {
		byHost[q.host] = append(byHost[q.host], q)
		if !strings.HasSuffix(q.host, "."+zone) {
			if q.header.Get("X-Rule") != "" || q.header.Get("Authorization") != "" {
				complain("%s has no rules, and its request at %v has %v", q.url(), q.start, q.header)
			}
			continue
		}
		for i, v := range versions {
			if older := q.header.Get("X-Rule") < fmt.Sprint(v.number); older && q.start > v.taken {
				late[i] = max(late[i], q.start-v.taken)
			}
		}
		var texts []string
		may := 0
		for i, v := range versions {
			if q.start < v.sent || i+1 < len(versions) && q.start > holdups.obeyed(versions[i+1]) {
				continue
			}
			may = v.number
			texts = append(texts, fmt.Sprintf("version %d: %s", v.number, v.wrong(&q)))
		}
		if len(texts) == 1 {
			judged[may]++
		}
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.HasSuffix(text, ": ") }) {
			complain("%s from %s at %v: %q", q.url(), q.from, q.start, texts)
		}
	}
	tightest := map[int]time.Duration{}
	for _, seen := range byHost {
		if !strings.HasSuffix(seen[0].host, "."+zone) {
			continue
		}
		slices.SortFunc(seen, func(a, b ruleRequest) int { return int(a.start - b.start) })
		for i := 1; i < len(seen); i++ {
			q, gap, owed := seen[i], seen[i].start-seen[i-1].end, time.Duration(1<<62)
			last := 0
			for j, v := range versions {
				if q.start >= v.sent && (j+1 == len(versions) || q.start <= holdups.obeyed(versions[j+1])) &&
					v.delay < owed {
					owed, last = v.delay, v.number
				}
			}
			if least, ok := tightest[last]; !ok || gap < least {
				tightest[last] = gap
			}
			if gap < owed {
				complain("%s at %v comes %v after %s, the delay is %v", q.url(), q.start, gap, seen[i-1].url(),
					owed)
			}
		}
	}
	t.Logf("requests that had to follow a version: %v; the smallest gap of each: %v; from its answer "+
		"to the last request by older rules: %v", judged[1:], tightest, late)
	for _, v := range versions {
		if judged[v.number] < 20 {
			t.Errorf("only %d requests had to follow version %d, until %v", judged[v.number], v.number,
				ended)
		}
	}
}
