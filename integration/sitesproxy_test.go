package integration

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSitesProxy: the hosts of one domain are crawled through a proxy, in both of its ways, all
// others directly. The proxy ends half-way: no page fails, the health names the proxy, and once it
// is back every page is fetched.
func TestSitesProxy(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const pages = 100 // many more than are fetched before the test sees the fifteenth
	w := newRuleWeb(t, "127.44.0.1", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/p%d", &n) // "/" is 0
		html := fmt.Sprintf("<title>%d</title>", n)
		for _, next := range []int{2*n + 1, 2*n + 2} {
			if next < pages {
				html += fmt.Sprintf(`<a href="/p%d">next</a> `, next)
			}
		}
		showPage(rw, html)
	})
	authority := newAuthority(t)
	w.overTLS(authority)
	names := []string{"a.far.test", "b.far.test", "c.far.test", "near.test", "far.test.near.test"}
	port := w.local(names...)
	_, secure, _ := net.SplitHostPort(w.secure)
	// The web is at other addresses of loopback than the proxy, which connects from one of its own.
	route := func(target string) string {
		host, port, _ := net.SplitHostPort(target)
		if port == secure {
			return w.secure
		}
		if net.ParseIP(host) == nil { // a name, in absolute form
			host = w.addr(host).String()
		}
		return net.JoinHostPort(host, port)
	}
	p := newRuleProxy(t, "erin:pr0xy", route)
	p.from = net.IPv4(127, 44, 200, 1)

	dir := t.TempDir()
	secrets := secretFile(t, filepath.Join(dir, "secrets"), "proxy=erin:pr0xy\n")
	rules := secretFile(t, filepath.Join(dir, "rules.yaml"), fmt.Sprintf(`
- match: domain:far.test
  proxy: http://secret:proxy@%s
- match: host:b.far.test
  proxy: socks5://secret:proxy@%[1]s
`, p.addr))
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", w.dns, "--delay", "100ms",
		"--partitions", "512", "--retries", "0", "--secrets", secrets, "--sites", rules)
	n := c.place()
	n.wrap = []string{"env", "SSL_CERT_FILE=" + authority.file}
	n.start()
	n.ready()
	seeds := []string{"https://c.far.test:" + secure + "/"}
	want := map[string]bool{}
	for _, name := range names {
		if name != "c.far.test" {
			seeds = append(seeds, fmt.Sprintf("http://%s:%d/", name, port))
		}
		for i := range pages {
			path := fmt.Sprint("/p", i)
			if i == 0 {
				path = "/"
			}
			want[name+path] = true
		}
	}
	n.seed(seeds...)
	far := func() (count int) {
		for _, q := range w.requests() {
			if strings.HasSuffix(q.host, ".far.test") {
				count++
			}
		}
		return count
	}
	until(t, time.Minute, func() string {
		if got := far(); got < 15 {
			return fmt.Sprintf("%d requests through the proxy", got)
		}
		return ""
	})
	p.close()
	half := far()
	n.reasonOf("proxy_failing", p.addr)
	until(t, time.Minute, func() string { // what is asked directly goes on
		for name := range want {
			if !strings.HasSuffix(name, ".test/") && strings.Contains(name, "near.test/") &&
				w.paths()[name] == 0 {
				return name + " is missing"
			}
		}
		return ""
	})
	if got := far(); got > half+3 || got >= 3*pages {
		t.Errorf("%d requests came to hosts behind the proxy when it had ended, %d before", got, half)
	}
	var failed struct {
		URLs []struct{ URL, Reason string }
	}
	if err := n.decode("/api/v1/urls?state=failed&limit=10", &failed); err != nil ||
		len(failed.URLs) > 0 {
		t.Errorf("failed while the proxy was away: %+v, %v", failed.URLs, err)
	}
	p.open()
	c.finished(2 * time.Minute)
	if err := n.decode("/api/v1/urls?state=failed&limit=10", &failed); err != nil ||
		len(failed.URLs) > 0 {
		t.Errorf("failed at the end: %+v, %v", failed.URLs, err)
	}
	c.stop()
	got := w.paths()
	for name := range want {
		if got[name] == 0 || got[name] > 2 { // what was on its way when the proxy ended comes again
			t.Errorf("%s was asked for %d times", name, got[name])
		}
	}
	schemes := map[string]int{}
	for _, q := range w.requests() {
		through := q.from == p.from.String()
		if through != strings.HasSuffix(q.host, ".far.test") {
			t.Errorf("%s came from %s", q.url(), q.from)
		}
		if through {
			schemes[q.scheme]++
		}
		if q.header.Get("Proxy-Authorization") != "" {
			t.Errorf("%s has the proxy's password", q.url())
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ways := map[string]int{}
	for _, head := range p.heads {
		way, _, _ := strings.Cut(head, " ")
		ways[way]++
	}
	if schemes["http"] < 2*pages || schemes["https"] < pages || ways["CONNECT"] == 0 ||
		ways["GET"] < pages {
		t.Errorf("through the proxy: %v, %v", schemes, ways)
	}
	for _, login := range p.told {
		if login != p.login {
			t.Errorf("the proxy was told %q", login)
		}
	}
}
