package cli

import (
	"compress/gzip"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crawlnode/local/closedport"
	"crawlnode/simweb"
)

// wrongWorld is what surrounds the wrong uses: servers, files, a node that runs.
type wrongWorld struct {
	t      *testing.T
	dns    string
	closed string // an address where nothing listens

	forbidding, closedRobots, secure, plain, silent, answers string // URLs of servers
	// of a node: its directory and its addresses
	used, http, gossip string
}

func newWrongWorld(t *testing.T) *wrongWorld {
	t.Helper()
	_, web := serveWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 1})
	w := &wrongWorld{
		t:      t,
		dns:    web.DNS.String(),
		closed: closedport.Reserve(t).Addr,
		used:   filepath.Join(t.TempDir(), "used"),
	}
	robots := func(status int, text string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				rw.WriteHeader(status)
				_, _ = io.WriteString(rw, text) // the test sees it
				return
			}
			_, _ = io.WriteString(rw, "<p>page")
		}
	}
	w.forbidding = w.serve(robots(200, "User-agent: *\nDisallow: /\n"), false)
	w.closedRobots = w.serve(robots(500, ""), false)
	w.secure, w.plain = w.serve(robots(404, ""), true), w.serve(robots(404, ""), false)
	hang := make(chan struct{})
	w.silent = w.serve(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}, false)
	t.Cleanup(func() { close(hang) }) // before the servers wait for their requests
	w.answers = w.serve(answersOf, false)
	w.http, w.gossip = startBeside(t, "--data-dir", w.used, "--partitions", "512", "--dns", w.dns,
		"--allow-net", "127.0.0.0/8")
	return w
}

// answersOf answers /401 with that status, and so on; /loop redirects for ever.
func answersOf(rw http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/401":
		rw.WriteHeader(http.StatusUnauthorized)
	case "/403":
		rw.WriteHeader(http.StatusForbidden)
	case "/429":
		rw.Header().Set("Retry-After", "120")
		rw.WriteHeader(http.StatusTooManyRequests)
	case "/503":
		rw.Header().Set("Retry-After", "120")
		rw.WriteHeader(http.StatusServiceUnavailable)
	case "/loop":
		http.Redirect(rw, r, "/pool", http.StatusFound)
	case "/pool":
		http.Redirect(rw, r, "/loop", http.StatusFound)
	case "/away":
		http.Redirect(rw, r, "ftp://a.example/", http.StatusFound)
	default:
		http.NotFound(rw, r)
	}
}

// serve returns the URL of a server, without a slash.
func (w *wrongWorld) serve(h http.HandlerFunc, secure bool) string {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail, as they should
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	w.t.Cleanup(s.Close)
	return s.URL
}

// file makes a file and returns its path.
func (w *wrongWorld) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// packed is a text as gzip.
func (w *wrongWorld) packed(text string) string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil {
		w.t.Fatal(err)
	}
	return b.String()
}

// ports are those of a node beside others.
func (w *wrongWorld) ports() []string {
	return []string{"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0",
		"--dns", w.dns, "--delay", "5ms"}
}

// crawl is a crawl that may fetch nothing without more.
func (w *wrongWorld) crawl(seed string, more ...string) []string {
	return append(append([]string{"crawl", seed}, w.ports()...), more...)
}

// local is a crawl of this machine.
func (w *wrongWorld) local(seed string, more ...string) []string {
	return append(w.crawl(seed, "--allow-net", "127.0.0.0/8"), more...)
}

// withNames has a command ask another name server.
func (w *wrongWorld) withNames(server string, args []string) []string {
	args = slices.Clone(args)
	args[slices.Index(args, "--dns")+1] = server
	return args
}

// start is a node.
func (w *wrongWorld) start(more ...string) []string {
	return append(append([]string{"start"}, w.ports()...), more...)
}

// ask is a verb that asks the node that runs.
func (w *wrongWorld) ask(verb ...string) []string { return append(verb, "--addr", w.http) }
