package integration

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
)

// pagesBefore is how many pages a doorWeb shows before it shuts.
const pagesBefore = 15

// doorWeb is an endless host. With shuts set, all answers after the first pages are the challenge
// of a product.
type doorWeb struct {
	*httptest.Server
	shuts bool

	mu    sync.Mutex // guards the rest
	pages int
	walls []string // paths that were answered with the challenge
	at    []time.Time
}

// newDoorWeb serves a host of an address of its own: the port does not make another host.
func newDoorWeb(t *testing.T, ip string, shuts bool) *doorWeb {
	t.Helper()
	l, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	d := &doorWeb{shuts: shuts}
	d.Server = httptest.NewUnstartedServer(d)
	_ = d.Listener.Close()
	d.Listener = l
	d.Start()
	t.Cleanup(d.Close)
	return d
}

func (d *doorWeb) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	switch {
	case r.URL.Path == "/robots.txt":
		w.WriteHeader(http.StatusNotFound)
	case d.shuts && d.pages == pagesBefore:
		d.walls, d.at = append(d.walls, r.URL.Path), append(d.at, time.Now())
		w.Header().Set("Cf-Mitigated", "challenge")
		w.Header().Set("Retry-After", "1") // without it the eighth comes after minutes
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = fmt.Fprint(w,
			`<title>Just a moment...</title><p>zebrawall</p><a href="/behind">behind</a>`)
	default:
		n := d.pages
		d.pages++
		_, _ = fmt.Fprintf(w,
			`<title>page %d</title><p>zebrapage %d</p><a href="/p%d">next</a> <a href="/p%d">more</a>`,
			n, n, 2*n+1, 2*n+2)
	}
}

// seen is how many pages and challenges were sent.
func (d *doorWeb) seen() (pages int, walls []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pages, append([]string{}, d.walls...)
}

// TestClosedDoor: a host shuts half-way. It gets eight more requests, a second apart as it asks,
// and then none, while another host goes on; the health says so, the URLs that it refused are
// queued as blocked, and what it showed is neither followed nor indexed, and archived each time.
func TestClosedDoor(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	shut, open := newDoorWeb(t, "127.0.0.2", true), newDoorWeb(t, "127.0.0.3", false)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "20ms", "--scope", "any", "--index",
		"on")
	n := c.add()
	n.ready()
	n.seed(shut.URL+"/", open.URL+"/")
	until(t, time.Minute, func() string {
		var s crawl.Status
		if err := n.decode("/status", &s); err != nil {
			return err.Error()
		}
		for _, r := range s.Cluster.Health.Reasons {
			if r.Code == crawl.ReasonHostsBlock {
				return ""
			}
		}
		pages, walls := shut.seen()
		return fmt.Sprintf("after %d pages and %d challenges the health is %+v", pages, len(walls),
			s.Cluster.Health)
	})
	before, _ := open.seen()
	until(t, time.Minute, func() string {
		if now, _ := open.seen(); now < before+100 {
			return fmt.Sprintf("the other host has shown %d pages more", now-before)
		}
		return ""
	})
	pages, walls := shut.seen()
	if pages != pagesBefore || len(walls) != crawl.WallLimit {
		t.Errorf("%d pages and %d challenges were sent, want %d and %d",
			pages, len(walls), pagesBefore, crawl.WallLimit)
	}
	for i := 1; i < len(shut.at); i++ {
		if gap := shut.at[i].Sub(shut.at[i-1]); gap < time.Second {
			t.Errorf("%v after a challenge that asks for a second comes the next request", gap)
		}
	}
	for _, path := range walls {
		var u struct{ Record crawl.RecordReport }
		if err := n.decode("/api/v1/urls?url="+url.QueryEscape(shut.URL+path), &u); err != nil {
			t.Fatal(err)
		}
		r := u.Record
		if path == "/behind" || r.Reason == nil || *r.Reason != "blocked" || r.Wall == nil ||
			*r.Wall != "cloudflare" || r.State != "queued" && r.State != "failed" {
			t.Errorf("%s: %+v", path, r)
		}
	}
	n.blockedReport(t, shut)

	until(t, time.Minute, func() string { // pages are found some seconds after they were fetched
		var good, bad crawl.SearchReport
		if err := n.decode("/api/v1/search?query=zebrapage", &good); err != nil {
			return err.Error()
		}
		if err := n.decode("/api/v1/search?query=zebrawall", &bad); err != nil || bad.Total != 0 {
			t.Fatalf("the text of the challenge is found: %+v, %v", bad, err)
		}
		if good.Total < pagesBefore {
			return fmt.Sprintf("%d pages are found", good.Total)
		}
		return ""
	})
	c.stop()
	archived := 0
	files, err := filepath.Glob(filepath.Join(n.dir, "warc", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".cdxj") {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archived += strings.Count(string(text), `"429"`)
		}
	}
	if archived != crawl.WallLimit {
		t.Errorf("%d challenges are archived, want %d", archived, crawl.WallLimit)
	}
}

// blockedReport requires what the status and the host's report say of a host that shut.
func (n *node) blockedReport(t *testing.T, shut *doorWeb) {
	t.Helper()
	var s struct {
		Fetch struct {
			Total  int            `json:"blocked_total"`
			ByKind map[string]int `json:"blocked_by_kind"`
			Hosts  int            `json:"hosts_blocking"`
		}
	}
	if err := n.decode("/status", &s); err != nil || s.Fetch.Total != crawl.WallLimit ||
		s.Fetch.ByKind["cloudflare"] != crawl.WallLimit || s.Fetch.Hosts != 1 {
		t.Errorf("the status has %+v, %v", s.Fetch, err)
	}
	var h map[string]json.RawMessage
	err := n.decode("/api/v1/hosts/"+"127.0.0.2", &h)
	var p struct {
		Since *time.Time `json:"walled_since"`
		Until *time.Time `json:"hold_until"`
	}
	if err != nil || json.Unmarshal(h["politeness"], &p) != nil || p.Since == nil {
		t.Errorf("the host's report is %s, %v", h, err)
	}
}
