package cli

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/cli/command"
)

// arrival is one request as the web server saw it.
type arrival struct {
	at, ended time.Time
	conn      string // the client's end of the connection
}

// retryServer answers /always/CODE so for ever, /once/CODE so once and then 200, and breaks off as
// /drop/... says. It keeps every arrival by path.
type retryServer struct {
	*httptest.Server
	mu    sync.Mutex
	seen  map[string][]arrival
	onto  map[string]int    // requests on a connection so far
	first map[string]string // the first path that was asked for on it
	paths []string
}

func newRetryServer(t *testing.T, paths ...string) *retryServer {
	s := &retryServer{
		seen:  map[string][]arrival{},
		onto:  map[string]int{},
		first: map[string]string{},
		paths: paths,
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *retryServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	s.mu.Lock()
	if s.onto[r.RemoteAddr]++; s.onto[r.RemoteAddr] == 1 {
		s.first[r.RemoteAddr] = r.URL.Path
	}
	nth := len(s.seen[r.URL.Path]) + 1
	s.mu.Unlock()
	var ended time.Time // before the client can know it, which may make its next request then
	defer func() {
		if ended.IsZero() {
			ended = time.Now()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen[r.URL.Path] = append(s.seen[r.URL.Path], arrival{at, ended, r.RemoteAddr})
	}()
	kind, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	code, _ := strconv.Atoi(strings.SplitN(what, "-", 2)[0])
	switch {
	case r.URL.Path == "/robots.txt":
		w.WriteHeader(http.StatusNotFound)
	case r.URL.Path == "/":
		w.Header().Set("Content-Type", "text/html")
		for _, p := range s.paths {
			fmt.Fprintf(w, "<a href=%q>x</a>", p)
		}
	case kind == "always", kind == "once" && nth == 1:
		if _, after, ok := strings.Cut(what, "-after-"); ok {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(code)
	case kind == "drop" && (what != "once" || nth == 1):
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			ended = time.Now()
			_ = c.Close()
		}
	default:
		fmt.Fprint(w, "page")
	}
}

// crawl runs the crawl verb on the server with more flags.
func (s *retryServer) crawl(t *testing.T, more ...string) (result, string) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args := append([]string{"crawl", s.URL + "/", "--allow-net", "127.0.0.0/8", "--allow-ports", port,
		"--delay", "20ms", "--data-dir", dir,
		"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0"}, more...)
	return runWithin(ctx, nil, "", args...), dir
}

// polite fails when two requests overlapped or a gap was not kept.
func (s *retryServer) polite(t *testing.T, gap time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []arrival
	for _, a := range s.seen {
		all = append(all, a...)
	}
	for i, a := range all {
		for j, b := range all {
			if i != j && b.at.After(a.at) && b.at.Sub(a.ended) < gap-2*time.Millisecond {
				t.Errorf("a request begins %v after the end of another; the gap is %v", b.at.Sub(a.ended), gap)
			}
		}
	}
}

// TestRetriesAtTheServer: how often, and after what time, each status and failure is asked for
// again, as the web server sees it. The last answer is stored.
func TestRetriesAtTheServer(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"/always/408": 4, "/always/425": 4, "/always/500": 4, "/always/502": 4, "/always/504": 4,
		"/always/520": 4, "/always/526": 4,
		"/once/502": 2, "/once/500": 2, "/once/522": 2, "/always/404": 1, "/always/501": 1,
		"/always/505": 1, "/always/410": 1, "/always/403": 1,
		"/drop/always": 4, "/drop/once": 2,
	}
	var paths []string
	for p := range want {
		paths = append(paths, p)
	}
	s := newRetryServer(t, paths...)
	r, dir := s.crawl(t, "--retries", "3")
	r.want(t, command.ExitOK, "given up: 1 URL (protocol 1)", "")
	s.polite(t, 20*time.Millisecond)
	waits := []time.Duration{time.Second, 10 * time.Second, time.Minute}
	for path, n := range want {
		seen := s.seen[path]
		// A request that was lost with a kept connection is no try: it is made again at once, on
		// another connection.
		var counted []arrival
		for i, a := range seen {
			lost := i+1 < len(seen) && strings.HasPrefix(path, "/drop/") && s.first[a.conn] != path
			if !lost {
				counted = append(counted, a)
			} else if a.conn == seen[i+1].conn {
				t.Errorf("%s: asked again on connection %s, which was lost", path, a.conn)
			}
		}
		if path == "/drop/once" {
			n = 3 - (len(seen) - len(counted)) - 1 // 2, or 1 when the first was lost
		}
		if len(counted) != n {
			t.Errorf("%s: %d requests, want %d", path, len(counted), n)
			continue
		}
		for i := 1; i < n; i++ {
			if wait := counted[i].at.Sub(counted[i-1].ended); wait < waits[i-1]-2*time.Millisecond {
				t.Errorf("%s: try %d came after %v, want %v", path, i+1, wait, waits[i-1])
			}
		}
		for _, a := range seen {
			t.Logf("%-14s %8v after the first, connection %s", path,
				a.at.Sub(seen[0].at).Round(time.Millisecond), a.conn)
		}
	}
	list := run(t, "", "urls", "list", "--data-dir", dir, "-o", "json").out
	for _, line := range []string{`"/always/502","state":"done","status":502`,
		`"/once/502","state":"done","status":200`, `"/drop/always","state":"failed"`} {
		path, rest, _ := strings.Cut(line, ",")
		found := false
		for row := range strings.SplitSeq(list, "\n") {
			compact := strings.ReplaceAll(row, " ", "")
			if strings.Contains(compact, strings.Trim(path, `"`)+`"`) {
				found = true
				for part := range strings.SplitSeq(rest, ",") {
					if !strings.Contains(compact, part) {
						t.Errorf("%s lacks %s: %s", path, part, row)
					}
				}
			}
		}
		if !found {
			t.Errorf("%s is not listed:\n%s", path, list)
		}
	}
	stored := run(t, "", "cat", s.URL+"/always/502", "--data-dir", dir)
	if stored.code != command.ExitOK {
		t.Errorf("the last answer was not stored: %d, %s", stored.code, stored.errout)
	}
}

// TestNoRetries: with --retries 0 each URL is asked for once, and the answer counts.
func TestNoRetries(t *testing.T) {
	t.Parallel()
	s := newRetryServer(t, "/always/502", "/always/500", "/once/504", "/always/408", "/always/521",
		"/ok")
	r, _ := s.crawl(t, "--retries", "0")
	r.want(t, command.ExitOK, "pages: 7 ", "")
	for path, seen := range s.seen {
		if len(seen) != 1 {
			t.Errorf("%s: %d requests", path, len(seen))
		}
	}
}

// TestKeptConnectionsEnd: a server that ends each connection at its second request loses no page,
// costs no try, and keeps the gap.
func TestKeptConnectionsEnd(t *testing.T) {
	t.Parallel()
	var paths []string
	for i := range 12 {
		paths = append(paths, fmt.Sprintf("/page%d", i))
	}
	s := newRetryServer(t, paths...)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		second := s.onto[r.RemoteAddr] == 1
		if second {
			s.onto[r.RemoteAddr]++
		}
		s.mu.Unlock()
		if !second {
			s.ServeHTTP(w, r)
			return
		}
		now := time.Now()
		s.mu.Lock()
		s.seen["lost"] = append(s.seen["lost"], arrival{now, now, r.RemoteAddr})
		s.mu.Unlock()
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
	})
	r, _ := s.crawl(t, "--retries", "0")
	r.want(t, command.ExitOK, "pages: 13 ", "")
	s.polite(t, 20*time.Millisecond)
	switch n := len(s.seen["lost"]); {
	case n == 0:
		t.Error("no connection ended: the test shows nothing")
	case n > 2: // the first of them is remembered of the server
		t.Errorf("%d connections ended at their second request", n)
	}
}

// TestCookieWall: a page that redirects to itself until a cookie comes back is reached with the
// cookie, which nobody else gets, and which no archive has. With cookies off the reason says so.
func TestCookieWall(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"visit", "off"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newRetryServer(t, "/wall", "/walls/in/a/row", "/via", "/plain", "/never")
			var mu sync.Mutex
			leaked := map[string]string{}
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := r.Cookie("pass")
				switch path := r.URL.Path; path {
				case "/wall", "/target":
					if err != nil {
						http.SetCookie(w, &http.Cookie{Name: "pass", Value: "secret", Path: "/"})
						http.Redirect(w, r, path, http.StatusFound)
						return
					}
				case "/via":
					http.SetCookie(w, &http.Cookie{Name: "pass", Value: "secret", Path: "/"})
					http.Redirect(w, r, "/target", http.StatusFound)
					return
				case "/walls/in/a/row":
					n := len(r.Cookies())
					if n < 3 {
						http.SetCookie(w, &http.Cookie{Name: fmt.Sprintf("n%d", n), Value: "secret"})
						http.Redirect(w, r, path, http.StatusFound)
						return
					}
				case "/never":
					http.SetCookie(w, &http.Cookie{Name: "n", Value: fmt.Sprint(time.Now().UnixNano()), Path: "/"})
					http.Redirect(w, r, path, http.StatusFound)
				default:
					if c := r.Header.Get("Cookie"); c != "" {
						mu.Lock()
						leaked[path] = c
						mu.Unlock()
					}
				}
				s.ServeHTTP(w, r)
			})
			r, dir := s.crawl(t, "--cookies", mode)
			r.want(t, command.ExitOK, "", "")
			if len(leaked) > 0 {
				t.Errorf("other pages got cookies: %v", leaked)
			}
			if n := len(s.seen["/never"]); mode == "visit" && n != 11 || mode == "off" && n != 1 {
				t.Errorf("a redirect without end was followed %d times", n)
			}
			for _, path := range []string{"/wall", "/walls/in/a/row", "/target"} {
				list := run(t, "", "urls", "list", "--data-dir", dir, "--contains", path, "-o", "json").out
				compact := strings.ReplaceAll(list, " ", "")
				switch {
				case mode == "visit" && !strings.Contains(compact, `"status":200`):
					t.Errorf("%s was not reached: %s", path, list)
				case mode == "off" && !(strings.Contains(compact, `"status":302`) &&
					strings.Contains(compact, `"redirects_to_itself"`)):
					t.Errorf("%s: %s", path, list)
				}
			}
			files, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, name := range files {
				f, err := os.Open(name)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				z, err := gzip.NewReader(f)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(z)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), "\nCookie: pass") ||
					mode == "visit" && !strings.Contains(string(text), "\nCookie: <redacted>") {
					t.Error("a request record has the cookie, or does not say that there was one")
				}
			}
		})
	}
}

// TestGivenUpIsTold: a host that asks for a day of peace is given up, and the crawl says so: which
// host, why, how many, where to look.
func TestGivenUpIsTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		path string
		code string
	}{
		"503 of a day": {"/always/503-after-86400",
			"503"},
		"429 of a day": {"/always/429-after-86400", "429"},
		"two hours":    {"/always/503-after-7200", "503"},
		"a year":       {"/always/429-after-99999999", "429"},
		"once":         {"/once/503-after-86400", "503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRetryServer(t, tc.path, "/1", "/2", "/3", "/4", "/5", "/6")
			r, dir := s.crawl(t)
			r.want(t, command.ExitOK, "given up: ", "")
			for _, want := range []string{"rate limited ", "127.0.0.1: ",
				"answered " + tc.code + " with Retry-After", "urls list --state failed --data-dir " + dir} {
				if !strings.Contains(r.out, want) {
					t.Errorf("the summary lacks %q:\n%s", want, r.out)
				}
			}
			last := strings.TrimSpace(r.out)
			if last = last[strings.LastIndexByte(last, '\n')+1:]; !strings.Contains(last, "given up") {
				t.Errorf("the last line is %q", last)
			}
			if strings.Contains(r.out, "errors: 0") {
				t.Errorf("it says that all was well:\n%s", r.out)
			}
		})
	}
}

// TestSummaryAsJSON: the result of a crawl is one document on stdout, with what was given up by
// reason and host; what it says otherwise goes to stderr.
func TestSummaryAsJSON(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		paths    []string
		byReason map[string]int64
		hosts    int
	}{
		"nothing": {[]string{"/1", "/always/404"}, nil, 0},
		"two reasons": {
			[]string{"/drop/1", "/drop/2", "/drop/3", "/drop/4", "/always/429"},
			map[string]int64{"protocol": 4, "rate_limited": 1}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRetryServer(t, tc.paths...)
			r, dir := s.crawl(t, "--retries", "0", "-o", "json")
			r.want(t, command.ExitOK, "", "")
			var sum crawlSummary
			dec := json.NewDecoder(strings.NewReader(r.out))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&sum); err != nil || dec.More() {
				t.Fatalf("%v: stdout is not one document:\n%s", err, r.out)
			}
			if sum.DataDir != dir || sum.PagesTotal == 0 || sum.FinishReason == nil {
				t.Errorf("%+v", sum)
			}
			if b := sum.BrokenLinks; b == nil || b.Links == 0 || b.First[0].From != s.URL+"/" ||
				!strings.HasPrefix(b.First[0].URL, s.URL) || b.First[0].Why == "" {
				t.Errorf("broken links: %+v", b)
			}
			if tc.byReason == nil {
				if sum.GivenUp != nil || sum.Fetch.GivenUpTotal != 0 {
					t.Errorf("given up: %+v", sum.GivenUp)
				}
				return
			}
			g := sum.GivenUp
			if g == nil || len(g.Hosts) != tc.hosts || !maps.Equal(g.ByReason, tc.byReason) {
				t.Fatalf("given up: %+v\n%s", g, r.errout)
			}
			h := g.Hosts[0]
			if h.Host != "127.0.0.1" || h.URLs != g.URLs || len(h.First) != 3 || h.Reason == "" ||
				g.URLs != sum.Fetch.GivenUpTotal || g.OtherHosts != 0 || g.More {
				t.Errorf("%+v of %+v", g, sum.Fetch)
			}
		})
	}
}
