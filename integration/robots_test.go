package integration

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What the crawler may fetch of a host, as its robots.txt has it.
const (
	fetchAll   = "/ /open /private"
	fetchRules = "/ /open" // by rulesFile
	fetchNone  = ""
)

const rulesFile = "User-agent: crawlnode\nDisallow: /private\n"

// robotsHost is one host with an address of its own. Its start page links to
// /open and /private.
type robotsHost struct {
	name   string
	want   string // the pages that may be fetched
	robots func(site *robotsSite, h *robotsHost, w http.ResponseWriter, r *http.Request)
	// asked is how often its robots.txt has to be asked for at least.
	asked int
	more  int // further pages of the start page, so that the host is busy

	// Guarded by the site's mu:
	addr    string
	decided bool // what its robots.txt says was answered
	files   int
	got     map[string]int
	ended   time.Time // of the last answer
	left    bool      // whoever asked went before the end of the last answer
	open    bool
}

// robotsSite serves the hosts and checks the requests on their side.
type robotsSite struct {
	t     *testing.T
	delay time.Duration
	hosts []*robotsHost
	done  chan struct{} // lets hanging answers go

	mu   sync.Mutex // guards what the hosts and errs say
	errs []string
}

// newRobotsSite serves each host at an address of the net 127.N.0.0/16, all on one
// port.
func newRobotsSite(t *testing.T, n int, delay time.Duration, hosts []*robotsHost) *robotsSite {
	t.Helper()
	s := &robotsSite{t: t, delay: delay, hosts: hosts, done: make(chan struct{})}
	port := "0"
	var servers sync.WaitGroup
	var stop []*http.Server
	for i, h := range hosts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.%d.0.%d:%s", n, i+1, port))
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		h.addr, h.got = l.Addr().String(), map[string]int{}
		srv := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(h, w, r) }),
		}
		servers.Go(func() { _ = srv.Serve(l) }) // ends with Close
		stop = append(stop, srv)
	}
	t.Cleanup(func() {
		close(s.done)
		for _, srv := range stop {
			_ = srv.Close() // whoever is still connected has what was wanted
		}
		servers.Wait()
	})
	return s
}

// url is an address at the host of that name.
func (s *robotsSite) url(name, path string) string {
	i := slices.IndexFunc(s.hosts, func(h *robotsHost) bool { return h.name == name })
	return "http://" + s.hosts[i].addr + path
}

func (s *robotsSite) fault(format string, args ...any) {
	s.errs = append(s.errs, fmt.Sprintf(format, args...))
}

func (s *robotsSite) serve(h *robotsHost, w http.ResponseWriter, r *http.Request) {
	page, began := s.begin(h, r.URL.Path), time.Now()
	defer func() {
		s.mu.Lock()
		h.open, h.ended = false, time.Now()
		if h.left {
			// it ended for the crawler when that left, which is not known here
			h.left, h.ended = false, began
		}
		s.mu.Unlock()
	}()
	switch {
	case !page && r.URL.Path == "/sitemap.xml":
		http.NotFound(w, r)
	case !page:
		h.robots(s, h, w, r)
	case r.URL.Path == "/":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="/open">open</a> <a href="/private">private</a>`)
		for i := range h.more {
			fmt.Fprintf(w, ` <a href="/more%d">more</a>`, i)
		}
	default:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "a page")
	}
}

// begin judges a request and reports whether it is for a page.
func (s *robotsSite) begin(h *robotsHost, path string) (page bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.open {
		s.fault("%s: two requests at once", h.name)
	}
	if gap := time.Since(h.ended); !h.ended.IsZero() && gap < s.delay*98/100 {
		s.fault("%s: %s was asked for %v after the answer before it, the delay is %v", h.name, path, gap,
			s.delay)
	}
	h.open = true
	page = !strings.HasSuffix(path, ".txt") && path != "/sitemap.xml"
	if path == "/robots.txt" {
		h.files++
	}
	if page || path == "/sitemap.xml" {
		if h.want == fetchNone || !h.decided {
			s.fault("%s: %s was asked for before its robots.txt had answered", h.name, path)
		}
	}
	if page {
		h.got[path]++
	}
	return page
}

// robotsSay answers with a status and a body, which decide the host's verdict.
func robotsSay(
	status int,
	body string,
) func(*robotsSite, *robotsHost, http.ResponseWriter, *http.Request) {
	return func(s *robotsSite, h *robotsHost, w http.ResponseWriter, r *http.Request) {
		s.decide(h.name)
		w.WriteHeader(status)
		if _, err := w.Write([]byte(body)); err != nil { // whoever asked has read enough
			s.mu.Lock()
			h.left = true
			s.mu.Unlock()
		}
	}
}

func (s *robotsSite) decide(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosts {
		if h.name == name {
			h.decided = true
		}
	}
}

// robotsChain redirects n times within the host, then has rules.
func robotsChain(n int) func(*robotsSite, *robotsHost, http.ResponseWriter, *http.Request) {
	return func(s *robotsSite, h *robotsHost, w http.ResponseWriter, r *http.Request) {
		at := 0
		_, _ = fmt.Sscanf(r.URL.Path, "/hop%d.txt", &at) // 0 for robots.txt itself
		if at >= 5 {
			s.decide(h.name)
		}
		if at < n {
			http.Redirect(w, r, fmt.Sprintf("/hop%d.txt", at+1), http.StatusMovedPermanently)
			return
		}
		fmt.Fprint(w, rulesFile)
	}
}

// robotsAt redirects to a file of another host; the file at to decides.
func robotsAt(
	name, path string,
) func(*robotsSite, *robotsHost, http.ResponseWriter, *http.Request) {
	return func(s *robotsSite, h *robotsHost, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.url(name, path), http.StatusFound)
	}
}

// robotsLend has a robots.txt of its own, and one for others: "/for-NAME.txt" is NAME's,
// with status and body.
func robotsLend(
	status int,
	body string,
) func(*robotsSite, *robotsHost, http.ResponseWriter, *http.Request) {
	return func(s *robotsSite, h *robotsHost, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			robotsSay(200, "")(s, h, w, r)
			return
		}
		name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/for-"), ".txt")
		s.decide(name)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // as above
	}
}

// check waits until all that may be fetched was, and compares.
func (s *robotsSite) check(within time.Duration) {
	s.t.Helper()
	until(s.t, within, func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, h := range s.hosts {
			for _, path := range strings.Fields(h.want) {
				if h.got[path] == 0 {
					return fmt.Sprintf("%s: %s was not fetched", h.name, path)
				}
			}
			if h.files < max(h.asked, 1) {
				return fmt.Sprintf("%s: robots.txt was asked for %d times", h.name, h.files)
			}
		}
		return ""
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.errs {
		s.t.Error(e)
	}
	for _, h := range s.hosts {
		for path, times := range h.got {
			if !slices.Contains(strings.Fields(h.want), path) && !strings.HasPrefix(path, "/more") {
				s.t.Errorf("%s: %s was fetched", h.name, path)
			}
			if times > 1 {
				s.t.Errorf("%s: %s was fetched %d times", h.name, path, times)
			}
		}
		s.t.Logf("%-28s robots.txt asked for %d times, pages %v", h.name, h.files, h.got)
	}
}

func (s *robotsSite) seeds() (urls []string) {
	for _, h := range s.hosts {
		urls = append(urls, "http://"+h.addr+"/")
	}
	return urls
}

// remembered asks n for one more page of each host that has a verdict: what its
// robots.txt said is known, and it is not asked for again.
func (s *robotsSite) remembered(n *node, within time.Duration) {
	s.t.Helper()
	var urls []string
	files := map[*robotsHost]int{}
	s.mu.Lock()
	for _, h := range s.hosts {
		if h.want != fetchNone {
			urls, files[h] = append(urls, "http://"+h.addr+"/later"), h.files
		}
	}
	s.mu.Unlock()
	n.seed(urls...)
	until(s.t, within, func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		for h := range files {
			if h.got["/later"] == 0 {
				return h.name + ": /later was not fetched"
			}
		}
		return ""
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for h, before := range files {
		if h.files != before {
			s.t.Errorf("%s: robots.txt was asked for %d times more", h.name, h.files-before)
		}
	}
	for _, e := range s.errs {
		s.t.Error(e)
	}
}

// robotsFailFirst answers 500 so many times before it has rules.
func robotsFailFirst(n int) func(*robotsSite, *robotsHost, http.ResponseWriter, *http.Request) {
	return func(s *robotsSite, h *robotsHost, w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		fails := h.files <= n
		s.mu.Unlock()
		if fails {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		robotsSay(200, rulesFile)(s, h, w, r)
	}
}

func robotsHang(s *robotsSite, h *robotsHost, w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.done:
	case <-r.Context().Done():
	}
}

func robotsHangUp(s *robotsSite, h *robotsHost, w http.ResponseWriter, r *http.Request) {
	panic(http.ErrAbortHandler)
}

// TestRobotsVerdicts crawls a host for each way in which a robots.txt can answer
// (RFC 9309 section 2.3.1), and looks at what was fetched of it, and when; also
// after the node was killed.
func TestRobotsVerdicts(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	big := rulesFile + strings.Repeat("# nothing to see here\n", 25_000) + "Disallow: /open\n" +
		strings.Repeat("Disallow: /open\n", 40_000)
	site := newRobotsSite(t, 41, 50*time.Millisecond, []*robotsHost{
		{name: "rules", want: fetchRules, robots: robotsSay(200, rulesFile)},
		{name: "empty", want: fetchAll, robots: robotsSay(200, "")},
		{name: "HTML", want: fetchAll, robots: robotsSay(200, "<!DOCTYPE html><html><body>Disallow: /</body></html>")},
		{name: "404", want: fetchAll, robots: robotsSay(404, rulesFile)},
		{name: "403", want: fetchAll, robots: robotsSay(403, rulesFile)},
		{name: "429", want: fetchNone, robots: robotsSay(429, rulesFile)},
		{name: "500", want: fetchNone, robots: robotsSay(500, rulesFile), asked: 2},
		{name: "503", want: fetchNone, robots: robotsSay(503, ""), asked: 2},
		{name: "500 twice, then rules", want: fetchRules, robots: robotsFailFirst(2), asked: 3},
		{name: "no answer", want: fetchNone, robots: robotsHang},
		{name: "hangs up", want: fetchNone, robots: robotsHangUp, asked: 2},
		{name: "five redirects", want: fetchRules, robots: robotsChain(5)},
		{name: "six redirects", want: fetchAll, robots: robotsChain(6)},
		{name: "1 MB", want: fetchRules, robots: robotsSay(200, big)},

		{name: "lender", want: fetchAll, robots: robotsLend(200, rulesFile)},
		{name: "to another host", want: fetchRules, robots: robotsAt("lender", "/for-to%20another%20host.txt")},
		{name: "lender of 404", want: fetchAll, robots: robotsLend(404, rulesFile)},
		{name: "to a 404", want: fetchAll, robots: robotsAt("lender of 404", "/for-to%20a%20404.txt")},
		{name: "lender of 500", want: fetchAll, robots: robotsLend(500, rulesFile)},
		{name: "to a 500", want: fetchNone, robots: robotsAt("lender of 500", "/for-to%20a%20500.txt"), asked: 2},
		{name: "there and back", want: fetchRules, robots: thereAndBack},
		{name: "other side", want: fetchAll, robots: thereAndBack},
		{
			name: "to a forbidden address",
			want: fetchNone,
			robots: func(_ *robotsSite, _ *robotsHost, w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://127.99.0.1:8080/robots.txt", http.StatusFound)
			},
		},
	})
	c := newCluster(t, "--allow-net", "127.41.0.0/16", "--delay", "50ms", "--store", "none")
	c.addReady(1)
	n := c.nodes[0]
	n.seed(site.seeds()...)
	site.check(60 * time.Second)
	n.signal(syscall.SIGKILL)
	<-n.done
	n.start()
	n.ready()
	site.remembered(n, 60*time.Second)
	c.stop()
}

// thereAndBack redirects four times between two hosts, and ends with rules at the
// first; the file of the second is its own.
func thereAndBack(s *robotsSite, h *robotsHost, w http.ResponseWriter, r *http.Request) {
	switch {
	case h.name == "other side" && r.URL.Path == "/robots.txt":
		robotsSay(200, "")(s, h, w, r)
	case h.name == "other side":
		http.Redirect(w, r, s.url("there and back", "/last.txt"), http.StatusFound)
	case r.URL.Path == "/last.txt":
		robotsSay(200, rulesFile)(s, h, w, r)
	default:
		http.Redirect(w, r, s.url("other side", "/first.txt"), http.StatusFound)
	}
}

// TestRobotsOfAnotherNodesHost has robots.txt files redirect to busy hosts, on two nodes. Each file
// is fetched by the node that crawls the busy host, in that host's turn, so that its server never
// sees two requests without the gap. Then one node leaves, and the other knows the content of the
// robots.txt files.
func TestRobotsOfAnotherNodesHost(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const pairs, delay = 12, 150 * time.Millisecond
	var hosts []*robotsHost
	for i := range pairs {
		busy := fmt.Sprint("busy", i)
		hosts = append(hosts,
			&robotsHost{name: busy, want: fetchAll, robots: robotsLend(200, rulesFile), more: 40},
			&robotsHost{
				name:   fmt.Sprint("lent", i),
				want:   fetchRules,
				robots: robotsAt(busy, fmt.Sprintf("/for-lent%d.txt", i)),
			})
	}
	site := newRobotsSite(t, 42, delay, hosts)
	c := newCluster(t, "--allow-net", "127.42.0.0/16", "--delay", delay.String(), "--store", "none")
	c.addReady(2)
	c.converged(30 * time.Second)
	c.nodes[0].seed(site.seeds()...)
	site.check(60 * time.Second)
	c.nodes[0].signal(syscall.SIGTERM)
	if code := c.nodes[0].exit(t, leaveTime); code != 0 {
		t.Fatalf("%s: exit code %d after SIGTERM", c.nodes[0].name, code)
	}
	site.remembered(c.nodes[1], 60*time.Second)
	c.stop()
}
