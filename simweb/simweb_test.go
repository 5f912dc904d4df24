//race:marked

package simweb

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

func newWeb(t testing.TB, c Config) *Web {
	t.Helper()
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func get(w *Web, rawURL string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", rawURL, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

// naive is a crawler that shares no code with the web: it reads bodies, obeys
// the robots.txt rules that it finds by prefix, and comes back after 429 and 503.
type naive struct {
	w      *Web
	seen   map[string]bool
	queue  []string
	robots map[string][]string // host -> rule lines for crawlnode
}

func (n *naive) push(u string) {
	if !n.seen[u] {
		n.seen[u] = true
		n.queue = append(n.queue, u)
	}
}

func (n *naive) rules(host string) []string {
	if rules, ok := n.robots[host]; ok {
		return rules
	}
	n.robots[host] = nil
	rec := get(n.w, "http://"+host+"/robots.txt")
	if rec.Code != 200 {
		return nil
	}
	var rules []string
	mine := false
	for line := range strings.Lines(rec.Body.String()) {
		line = strings.TrimSpace(line)
		if agent, ok := strings.CutPrefix(line, "User-agent: "); ok {
			mine = agent == "crawlnode" ||
				agent == "*" && !strings.Contains(rec.Body.String(), "User-agent: crawlnode")
		} else if sitemap, ok := strings.CutPrefix(line, "Sitemap: "); ok {
			for _, loc := range strings.Split(get(n.w, sitemap).Body.String(), "<loc>")[1:] {
				n.push(loc[:strings.Index(loc, "</loc>")])
			}
		} else if mine && line != "" {
			rules = append(rules, line)
		}
	}
	n.robots[host] = rules
	return rules
}

func (n *naive) allowed(u *url.URL) bool {
	longest, verdict := -1, true
	for _, rule := range n.rules(u.Host) {
		name, prefix, _ := strings.Cut(rule, ": ")
		if strings.HasPrefix(u.RequestURI(), prefix) && len(prefix) > longest {
			longest, verdict = len(prefix), name == "Allow"
		}
	}
	return verdict
}

func (n *naive) run(t *testing.T) {
	for len(n.queue) > 0 {
		u, err := url.Parse(n.queue[0])
		if err != nil {
			t.Fatal(err)
		}
		n.queue = n.queue[1:]
		if _, ok := n.w.Resolve(u.Hostname()); !ok || !n.allowed(u) {
			continue
		}
		rec := get(n.w, u.String(), "Accept-Encoding", "gzip")
		for rec.Code == 429 || rec.Code == 503 {
			rec = get(n.w, u.String(), "Accept-Encoding", "gzip")
		}
		for _, link := range hrefs(t, rec) {
			target, err := u.Parse(link)
			if err != nil {
				t.Fatal(err)
			}
			target.Fragment = ""
			n.push(target.String())
		}
	}
}

func hrefs(t *testing.T, rec *httptest.ResponseRecorder) []string {
	if rec.Code/100 == 3 {
		return []string{rec.Header().Get("Location")}
	}
	var body io.Reader = rec.Body
	if rec.Header().Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(rec.Body)
		if err != nil {
			t.Fatal(err)
		}
		body = z
	}
	var links []string
	for z := html.NewTokenizer(body); ; {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				t.Fatal(z.Err())
			}
			return links
		case html.StartTagToken:
			tok := z.Token()
			for _, a := range tok.Attr {
				if tok.Data == "a" && a.Key == "href" {
					links = append(links, a.Val)
				}
			}
		}
	}
}

// A crawler that reads the bodies finds exactly what the walk says, and the
// judge finds nothing wrong with it.
func TestNaiveCrawlAgreesWithTheWalk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"plain": {Seed: 1},
		"quirky": Config{
			Seed:         2,
			Hosts:        30,
			PagesPerHost: 60,
			PageBytes:    3000,
			SlowBy:       time.Millisecond,
		}.Quirky(),
		"one seed":   Config{Seed: 3, Hosts: 10, SeedHosts: 1, PageBytes: 500}.Quirky(),
		"tiny":       {Seed: 4, Hosts: 1, PagesPerHost: 1, LinksPerPage: 1, PageBytes: 1},
		"thin":       Config{Seed: 6, Hosts: 30, SeedHosts: 5, Thin: true, PageBytes: 500}.Quirky(),
		"own domain": {Seed: 5, Domain: "a.example", Hosts: 3, CrossHost: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWeb(t, c)
			w.port = ":8080"
			n := &naive{w: w, seen: map[string]bool{}, robots: map[string][]string{}}
			for _, seed := range w.Seeds() {
				n.push(seed)
			}
			n.run(t)
			r := w.Report()
			if err := r.Err(); err != nil {
				t.Error(err)
			}
			if r.Pages == 0 || r.Pages != w.Progress() {
				t.Errorf("%d pages, progress %d", r.Pages, w.Progress())
			}
			reachable := 0
			for u, status := range w.Reachable() {
				reachable++
				if asked, answered, ok := w.Fetches(u); !ok || asked == 0 || answered != 1 {
					t.Fatalf("%s: asked %d, answered %d, %v", u, asked, answered, ok)
				}
				if got := get(w, u).Code; got != status {
					t.Fatalf("%s answers %d, not %d", u, got, status)
				}
			}
			if reachable != r.Reachable {
				t.Errorf("Reachable yields %d, the report says %d", reachable, r.Reachable)
			}
		})
	}
}

func TestMostOfAQuirkyWebIsReachableAndEveryQuirkIsThere(t *testing.T) {
	t.Parallel()
	w := newWeb(t, Config{Seed: 9, Hosts: 50, PagesPerHost: 100}.Quirky())
	statuses := map[int]int{}
	paths := map[string]int{}
	for u, status := range w.Reachable() {
		statuses[status]++
		parsed, _ := url.Parse(u)
		paths[strings.Split(parsed.Path, "/")[1]]++
	}
	for _, status := range []int{200, 301, 302, 307, 308, 404} {
		if statuses[status] == 0 {
			t.Errorf("no reachable page answers %d", status)
		}
	}
	for _, first := range []string{"", "p", "d", "view", "private", "calendar"} {
		if paths[first] == 0 {
			t.Errorf("no reachable page under /%s", first)
		}
	}
	if total := statuses[200] + statuses[404]; total < 4500 {
		t.Errorf("only %d pages of some 5000 can be reached", total)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	t.Parallel()
	c := Config{Seed: 42, Hosts: 5}.Quirky()
	a, b, other := newWeb(t, c), newWeb(t, c), newWeb(t, Config{Seed: 43, Hosts: 5}.Quirky())
	differ := false
	for u := range a.Reachable() {
		x, y := get(a, u), get(b, u)
		if x.Code != y.Code || !bytes.Equal(x.Body.Bytes(), y.Body.Bytes()) {
			t.Fatalf("%s differs between two webs of one seed", u)
		}
		differ = differ || !bytes.Equal(x.Body.Bytes(), get(other, u).Body.Bytes())
	}
	if !differ {
		t.Error("another seed gives the same web")
	}
}

func TestGzipAndPlainAreTheSamePage(t *testing.T) {
	t.Parallel()
	for i, size := range []int{1, 700, 2048, 20_000, 150_000, 150_000} {
		w := newWeb(t, Config{
			Seed:         3,
			Hosts:        2,
			PagesPerHost: 20 - 3*i,
			PageBytes:    size,
			Gzip:         1000,
			NaturalText:  i == 5,
		})
		for u := range w.Reachable() {
			plain, zipped := get(w, u), get(w, u, "Accept-Encoding", "br, gzip;q=0.5")
			if zipped.Header().Get("Content-Encoding") != "gzip" ||
				plain.Header().Get("Content-Encoding") != "" {
				t.Fatal("gzip is not sent to a client that accepts it, or is sent to one that does not")
			}
			z, err := gzip.NewReader(zipped.Body)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(z)
			if err != nil {
				t.Fatalf("size %d: %v", size, err)
			}
			if !bytes.Equal(got, plain.Body.Bytes()) {
				t.Fatalf("size %d: unzipped page differs", size)
			}
			if size > 3000 && len(got) != size {
				t.Fatalf("page of %d bytes, want %d", len(got), size)
			}
		}
	}
}

func TestConfigErrorsAreAllNamed(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Hosts: -1, PagesPerHost: -1, Addrs: 1000, Domain: "Upper", Missing: 1000})
	for _, word := range []string{"Hosts", "PagesPerHost", "Addrs", "Domain", "Missing"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error does not name %s: %v", word, err)
		}
	}
}

//race:meets
func TestServerServesAndEnds(t *testing.T) {
	t.Parallel()
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true},
		Timeout:   30 * time.Second,
	}
	w := newWeb(t, Config{Seed: 1, Hosts: 4, Addrs: 2, Slow: 1000, SlowBy: time.Minute})
	s, err := w.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	req, _ := http.NewRequestWithContext(ctx, "GET", "http://"+s.HTTP.String()+"/robots.txt", nil)
	req.Host = "h1.sim.test"
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if names := w.HostNames(); !slices.Contains(names, "h4.sim.test") ||
		!strings.HasSuffix(w.Seeds()[0], w.port+"/") {
		t.Errorf("names %v, seeds %v", names, w.Seeds())
	}
	// A slow answer does not hold the end up.
	slow := req.Clone(t.Context())
	slow.URL.Path = "/"
	failed := make(chan error, 1)
	go func() {
		resp, err := client.Do(slow)
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	for {
		if asked, _, _ := w.Fetches(w.Seeds()[0]); asked > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-failed
}

func BenchmarkServePage(b *testing.B) {
	w := newWeb(b, Config{Hosts: 100, PagesPerHost: 1000, LinksPerPage: 40})
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "h1.sim.test"
	b.ReportAllocs()
	for b.Loop() {
		w.ServeHTTP(discard{http.Header{}}, r)
	}
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkReachMillion walks a million pages, 20,000 with -short.
func BenchmarkReachMillion(b *testing.B) {
	each := 1000
	if testing.Short() {
		each = 20
	}
	w := newWeb(b, Config{Hosts: 1000, PagesPerHost: each, LinksPerPage: 40})
	for b.Loop() {
		w.reach()
	}
}
