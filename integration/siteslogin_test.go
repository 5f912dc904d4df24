package integration

import (
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

// loginSite is a host whose pages need a session, which its log-in page gives to who has the cookie
// of the cookie file. Everybody else gets 403.
type loginSite struct {
	mu       sync.Mutex // guards the rest
	sessions int        // given
	served   []string   // paths of pages that were shown
	refused  []string   // requests without what they need
}

const loginPages = 24

func (s *loginSite) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	cookies := map[string]string{}
	for _, c := range r.Cookies() {
		cookies[c.Name] = c.Value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.URL.Path == "/robots.txt", r.URL.Path == "/sitemap.xml":
		http.NotFound(rw, r)
	case cookies["gate"] != "open":
		s.refused = append(s.refused, r.URL.Path+" without the cookie file's")
		http.Error(rw, "no gate", http.StatusForbidden)
	case r.URL.Path == "/":
		s.sessions++
		rw.Header().Set("Set-Cookie", "session=valid; Path=/; HttpOnly")
		var links strings.Builder
		for i := range loginPages {
			fmt.Fprintf(&links, `<a href="/p%d">%[1]d</a> `, i)
		}
		showPage(rw, "<title>welcome</title>"+links.String())
	case cookies["session"] != "valid":
		s.refused = append(s.refused, r.URL.Path+" without a session")
		http.Error(rw, "log in first", http.StatusForbidden)
	default:
		s.served = append(s.served, r.URL.Path)
		showPage(rw, "<title>"+r.URL.Path+"</title>")
	}
}

// shown is how many pages were shown, and what was refused.
func (s *loginSite) shown() (pages int, refused []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.served), slices.Clone(s.refused)
}

// TestSitesLogin: a crawl logs in once. The node with the session is killed before the next page,
// and another one goes on with the session; so does a cluster that was stopped and started.
func TestSitesLogin(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	site := &loginSite{}
	w := newRuleWeb(t, "127.42.0.1", site.ServeHTTP)
	const name = "login.test"
	port := w.local(name)
	dir := t.TempDir()
	secretFile(t, filepath.Join(dir, "cookies.txt"), "# Netscape HTTP Cookie File\n"+
		strings.Join([]string{name, "FALSE", "/", "FALSE", "0", "gate", "open"}, "\t")+"\n")
	secrets := secretFile(t, filepath.Join(dir, "secrets"), "members=cookies.txt\n")
	const rules = "- match: host:" + name +
		"\n  cookies: host\n  cookies-file: secret:members\n  delay: 10s\n"
	file := secretFile(t, filepath.Join(dir, "rules.yaml"), rules)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", w.dns, "--delay", "100ms",
		"--partitions", "512", "--secrets", secrets, "--sites", file)
	c.addReady(3)
	c.converged(time.Minute)
	c.whole(time.Minute)
	c.nodes[0].seed(fmt.Sprintf("http://%s:%d/", name, port))
	at := slices.IndexFunc(c.nodes, func(n *node) bool { return n.name == c.nodes[0].holderOf(name) })
	holder, other := c.nodes[at], c.nodes[(at+1)%3]
	until(t, time.Minute, func() string {
		var queued struct{ URLs []struct{ URL string } }
		err := other.decode(fmt.Sprintf("/api/v1/urls?state=queued&limit=100&host=%s", name), &queued)
		if err != nil || len(queued.URLs) < loginPages-1 { // the log-in has happened, and is stored
			return fmt.Sprintf("the log-in page has led to %d others: %v", len(queued.URLs), err)
		}
		return ""
	})
	c.whole(time.Minute)
	holder.signal(syscall.SIGKILL)
	<-holder.done
	before, _ := site.shown()
	until(t, time.Minute, func() string {
		pages, refused := site.shown()
		if len(refused) > 0 {
			t.Fatalf("after the node with the session was killed: %q", refused)
		}
		if pages <= before {
			return "no page has come since the node with the session was killed"
		}
		return ""
	})

	c.stop()
	before, _ = site.shown()
	for _, n := range c.nodes {
		n.start()
	}
	for _, n := range c.nodes {
		n.ready()
	}
	c.nodes[0].putSites(strings.Replace(rules, "10s", "50ms", 1))
	c.finished(2 * time.Minute)
	c.stop()
	pages, refused := site.shown()
	if len(refused) > 0 || site.sessions > 1 || pages != loginPages || before >= loginPages {
		t.Errorf("%d log-ins, %d pages of %d, %d of them before the restart; refused: %q; requests:\n%s",
			site.sessions, pages, loginPages, before, refused, w.story())
	}
}
