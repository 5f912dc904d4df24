package integration

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A seed with "again" is asked for with the validators of its record; a 304 keeps
// the record, and the archive says that nothing has changed.
func TestAgainAsksWithValidators(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	asked := map[string][]string{} // If-None-Match and If-Modified-Since of each request
	const modified = "Sat, 01 Jan 2000 00:00:00 GMT"
	srv := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path] = append(asked[r.URL.Path],
			r.Header.Get("If-None-Match")+"|"+r.Header.Get("If-Modified-Since"))
		mu.Unlock()
		switch {
		case r.URL.Path != "/":
			http.NotFound(rw, r)
		case r.Header.Get("If-None-Match") == `"v1"`:
			rw.Header().Set("ETag", `"v1"`)
			rw.WriteHeader(http.StatusNotModified)
		default:
			rw.Header().Set("ETag", `"v1"`)
			rw.Header().Set("Last-Modified", modified)
			fmt.Fprint(rw, "<title>one</title>")
		}
	})}
	over := make(chan error, 1)
	go func() { over <- srv.Serve(ln) }()
	t.Cleanup(func() { srv.Close(); <-over })

	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "0s")
	c.addReady(1)
	page := "http://" + ln.Addr().String() + "/"
	c.nodes[0].seed(page)
	c.finished(30 * time.Second)
	for range 2 {
		before := pagesTotal(t, c.nodes[0])
		c.nodes[0].again(page)
		until(t, 30*time.Second, func() string {
			if got := pagesTotal(t, c.nodes[0]); got == before {
				return fmt.Sprintf("still %d pages", got)
			}
			return ""
		})
	}
	c.finished(30 * time.Second)
	c.stop()

	mu.Lock()
	defer mu.Unlock()
	if got, want := strings.Join(asked["/"], " "),
		fmt.Sprintf(`| "v1"|%s "v1"|%s`, modified, modified); got != want {
		t.Errorf("validators of the requests: %s, want %s", got, want)
	}
	if n := len(asked["/robots.txt"]); n != 1 {
		t.Errorf("robots.txt was asked for %d times", n)
	}
	var kinds []string
	for _, p := range readWARC(t, c.nodes[0].dir) {
		if p.url == page {
			kinds = append(kinds, fmt.Sprint(p.kind, " ", p.status))
		}
	}
	if got := strings.Join(kinds, ", "); got != "response 200, revisit 304, revisit 304" {
		t.Errorf("captures: %s", got)
	}
}

func pagesTotal(t *testing.T, n *node) int64 {
	t.Helper()
	s, err := n.status()
	if err != nil {
		t.Fatal(err)
	}
	return s.Throughput.PagesTotal
}

// again has a known URL fetched once more.
func (n *node) again(url string) {
	n.c.t.Helper()
	tries := 0
	until(n.c.t, time.Minute, func() string { // sent again while it cannot be stored in time
		req, err := http.NewRequest(http.MethodPost, "http://"+n.http+"/api/v1/seeds",
			strings.NewReader(fmt.Sprintf(`{"urls":[{"url":%q,"again":true}]}`, url)))
		if err != nil {
			n.c.t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		tries++
		code, body, err := reply(client, req)
		if err != nil || code == http.StatusServiceUnavailable {
			return fmt.Sprintf("again: status %d, %s, %v", code, body, err)
		}
		var report struct{ Accepted, Duplicates int }
		if err := decodeBody(req, code, body, &report); err != nil || report.Accepted != 1 &&
			(tries == 1 || report.Duplicates != 1) {
			n.c.t.Fatalf("again, try %d: %+v, %v", tries, report, err)
		}
		return ""
	})
}
