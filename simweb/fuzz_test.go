package simweb

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// Any path either is no page or is exactly the path of the page that it names.
func FuzzParsePath(f *testing.F) {
	w := newWeb(f, Config{Seed: 1, Hosts: 8}.Quirky())
	for _, path := range []string{"/", "/p/3.html", "/p/03.html", "/view?id=2", "/calendar?day=1",
		"/calendar?day=0", "/private/open/9.html", "/d/1/4.html", "//", "", "/p/-1.html",
		"/p/99999999999.html"} {
		f.Add(uint8(0), path)
	}
	f.Fuzz(func(t *testing.T, hostIndex uint8, path string) {
		h := &w.hosts[int(hostIndex)%len(w.hosts)]
		n, ok := w.parsePath(h, path)
		if ok && string(w.appendPath(nil, h, n)) != path {
			t.Fatalf("%q is read as page %d, whose path is %q", path, n, w.appendPath(nil, h, n))
		}
	})
}

func TestEveryPageHasItsOwnURL(t *testing.T) {
	t.Parallel()
	w := newWeb(t, Config{Seed: 1, Hosts: 20}.Quirky())
	seen := map[string]bool{}
	for page := range w.pages {
		u := w.url(page)
		if back, ok := w.page(u); !ok || back != page || seen[u] {
			t.Fatalf("page %d has URL %s, which names page %d", page, u, back)
		}
		seen[u] = true
	}
}

func FuzzServe(f *testing.F) {
	changes := Changes{Mean: time.Second, ETags: all, Dates: all, Lastmods: all, Noise: 500, Gone: 300}
	w := newWeb(f, Config{Seed: 1, Hosts: 4, PageBytes: 300, Changes: changes}.Quirky())
	f.Add("h1.sim.test", "/", "gzip", "*")
	f.Add("h1.sim.test:99999", "/%zz?a", "gzip;q=0", "")
	f.Add("[::1", "/robots.txt", "*;q=x", `W/"a", "b`)
	f.Add("dead1.sim.test", "/sitemap.xml", "", "Mon, 02 Jan 2006 15:04:05 GMT")
	f.Fuzz(func(t *testing.T, host, target, accept, validator string) {
		u, err := url.ParseRequestURI("/" + strings.TrimLeft(target, "/"))
		if err != nil {
			return // no request line can carry this
		}
		r := &http.Request{Method: "GET", Host: host, URL: u, Header: http.Header{
			"Accept-Encoding":   {accept},
			"If-None-Match":     {validator},
			"If-Modified-Since": {validator},
		}}
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		if rec.Code < 200 || rec.Code > 599 {
			t.Fatalf("status %d", rec.Code)
		}
	})
}

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]bool{
		"": false, "gzip": true, "br, zstd": false, "br;q=1, GZIP;q=0.1": true, "gzip;q=0": false,
		"*": true, "*;q=0": false, "gzip;q=0, *": false, "identity": false, "gzip;q=nonsense": false,
	} {
		if got := acceptsGzip(field); got != want {
			t.Errorf("acceptsGzip(%q) = %v", field, got)
		}
	}
}

//race:meets
func TestDNSOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWeb(t, Config{Hosts: 4, Addrs: 2, DeadHosts: 1})
	s, err := w.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for _, network := range []string{"udp", "tcp"} {
		for _, c := range []struct {
			name    string
			qtype   uint16
			rcode   int
			address string
		}{
			{"h1.sim.test.", dns.TypeA, dns.RcodeSuccess, "127.0.0.1"},
			{"H2.Sim.Test.", dns.TypeA, dns.RcodeSuccess, "127.0.0.2"},
			{"h1.sim.test.", dns.TypeAAAA, dns.RcodeSuccess, ""},
			{"dead1.sim.test.", dns.TypeA, dns.RcodeNameError, ""},
			{"other.test.", dns.TypeA, dns.RcodeNameError, ""},
		} {
			m := new(dns.Msg)
			m.SetQuestion(c.name, c.qtype)
			client := dns.Client{Net: network}
			got, _, err := client.Exchange(m, s.DNS.String())
			if err != nil {
				t.Fatal(err)
			}
			address := ""
			if len(got.Answer) == 1 {
				address = got.Answer[0].(*dns.A).A.String()
			}
			if got.Rcode != c.rcode || address != c.address || (address == "") != (len(got.Ns) == 1) {
				t.Errorf("%s %s %d: %v", network, c.name, c.qtype, got)
			}
		}
	}
}

func TestListenRefusesOtherNetworks(t *testing.T) {
	t.Parallel()
	w := newWeb(t, Config{})
	for _, addr := range []string{"0.0.0.0:0", "192.0.2.1:80", "nonsense"} {
		if _, err := w.Listen(addr); err == nil {
			t.Errorf("Listen(%q) works", addr)
		}
	}
}
