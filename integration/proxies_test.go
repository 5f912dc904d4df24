package integration

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"crawlnode/web/fetcher"
	"crawlnode/web/proxy"
	"crawlnode/web/urlnorm"
)

// What the locked proxies know.
const (
	proxyLogin = "me:pass:word"
	// proxyHash is the line of proxyLogin in htpasswd's format, made by "openssl passwd -apr1".
	proxyHash = "me:$apr1$crawlnod$Xu/Yb1ukvJ4N9yiv5F5a9.\n"
	// refusedByProxy is the address that Apache and Dante refuse.
	refusedByProxy = "127.0.0.66"
	// untold is the path whose requests do not go to proxied.seen.
	untold = "/untold"
	// nobody is the user and the group that Debian reserves for having no files.
	nobody = 65534
)

// proxied are real proxies (Apache httpd, Dante and microsocks) and a web server of the test.
type proxied struct {
	plain, secure                 *httptest.Server
	roots                         *x509.CertPool
	open, locked, tls             string // addresses of Apache: without password, with one, in TLS
	dante, micro                  string // SOCKS: without password, with one
	apache, danteProc, microsocks *process
	seen                          chan *http.Request
	more                          chan struct{} // lets /half go on
}

// startProxied starts them.
func startProxied(t *testing.T) *proxied {
	t.Helper()
	needsPrograms(t, "apache2", "danted", "microsocks")
	s := &proxied{
		seen:  make(chan *http.Request, 100),
		more:  make(chan struct{}),
		roots: x509.NewCertPool(),
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != untold {
			s.seen <- r
		}
		if r.URL.Path == "/half" {
			w.Header().Set("Content-Length", "10000")
			_, _ = io.WriteString(w, strings.Repeat("x", 5000))
			w.(http.Flusher).Flush()
			<-s.more
		}
		_, _ = io.WriteString(w, "hello")
	})
	s.plain, s.secure = httptest.NewServer(h), httptest.NewUnstartedServer(h)
	s.secure.EnableHTTP2 = true
	s.secure.StartTLS()
	t.Cleanup(func() {
		close(s.more)
		s.plain.Close()
		s.secure.Close()
	})
	s.roots.AddCert(s.secure.Certificate())

	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // as above
			t.Fatal(err)
		}
		return path
	}
	address := func() string { return fmt.Sprint("127.0.0.1:", freePort(t)) }
	s.open, s.locked, s.tls, s.dante, s.micro = address(), address(), address(), address(), address()

	pair := s.secure.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	conf := s.apacheConf(dir,
		write("cert.pem", string(cert)),
		write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))),
		write("passwd", proxyHash),
	)
	log := func(name string) string { return filepath.Join(dir, name+".log") }
	var asNobody []string
	if os.Geteuid() == 0 {
		asNobody = runAsNobody(t, dir, write("apache.log", ""))
	}
	// Where no name server answers, Apache gives a name up after seconds and not minutes.
	t.Setenv("RES_OPTIONS", "attempts:1 timeout:1")
	t.Setenv("LOCALDOMAIN", ".")
	// By -X there is one process only: the children of another kind outlive a killed parent.
	s.apache = spawn(t, "apache", log("apache"),
		append(asNobody, "apache2", "-X", "-f", write("apache.conf", conf))...)
	s.danteProc = spawn(
		t,
		"danted",
		log("danted"),
		"danted",
		"-f",
		write("danted.conf", fmt.Sprintf(`logoutput: stderr
internal: %s port = %s
external: 127.0.0.1
clientmethod: none
socksmethod: none
client pass { from: 127.0.0.0/8 to: 127.0.0.0/8 }
socks block { from: 0/0 to: %s/32 }
socks pass { from: 0/0 to: 0/0 }
`, "127.0.0.1", s.dante[strings.LastIndex(s.dante, ":")+1:], refusedByProxy)),
	)
	user, password, _ := strings.Cut(proxyLogin, ":")
	s.microsocks = spawn(t, "microsocks", log("microsocks"), "microsocks", "-i", "127.0.0.1",
		"-p", s.micro[strings.LastIndex(s.micro, ":")+1:], "-u", user, "-P", password)
	for _, addr := range []string{s.open, s.locked, s.tls, s.dante, s.micro} {
		until(t, 30*time.Second, func() string {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				return fmt.Sprintf("%v\n%s", err, tail(log("apache"), 10))
			}
			_ = c.Close()
			return ""
		})
	}
	return s
}

// runAsNobody gives dir and its files to nobody, and is the command in front of one that nobody is
// to run. Apache serves nothing as root, and a program that changes its user itself no longer dies
// with the test.
func runAsNobody(t *testing.T, dir string, files ...string) []string {
	t.Helper()
	needsPrograms(t, "setpriv")
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil { //nolint:gosec // a folder of the test
		t.Fatal(err)
	}
	for _, path := range append(files, dir) {
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"setpriv", fmt.Sprint("--reuid=", nobody), fmt.Sprint("--regid=", nobody),
		"--clear-groups", "--pdeathsig=KILL"}
}

// apacheConf makes Apache httpd three forward proxies: open, locked and in TLS. Names are resolved
// by the system.
func (s *proxied) apacheConf(dir, cert, key, passwords string) string {
	var b strings.Builder
	for _, name := range []string{
		"mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic",
		"proxy", "proxy_http", "proxy_connect", "ssl",
	} {
		fmt.Fprintf(&b, "LoadModule %[1]s_module /usr/lib/apache2/modules/mod_%[1]s.so\n", name)
	}
	for _, addr := range []string{s.open, s.locked, s.tls} {
		fmt.Fprintf(&b, "Listen %s\n", addr)
	}
	fmt.Fprintf(
		&b,
		`ServerRoot %[1]s
DefaultRuntimeDir %[1]s
PidFile apache.pid
ErrorLog apache.log
ServerName proxy.test
StartServers 1
ServerLimit 1
MaxRequestWorkers 25
SSLSessionCache none
ProxyVia On
AllowCONNECT 1-65535
<ProxyMatch "^(http://)?%[2]s:">
Require all denied
</ProxyMatch>
<VirtualHost %[3]s>
ProxyRequests On
</VirtualHost>
<VirtualHost %[4]s>
ProxyRequests On
<Proxy *>
AuthType Basic
AuthName proxy
AuthBasicProvider file
AuthUserFile %[5]s
Require valid-user
</Proxy>
</VirtualHost>
<VirtualHost %[6]s>
ProxyRequests On
SSLEngine on
SSLCertificateFile %[7]s
SSLCertificateKeyFile %[8]s
</VirtualHost>
`,
		dir,
		regexp.QuoteMeta(refusedByProxy),
		s.open,
		s.locked,
		passwords,
		s.tls,
		cert,
		key,
	)
	return b.String()
}

// request makes one for the path of the web server, by proxies in turn. The host is localhost,
// which Apache can resolve, or that of the certificate.
func (s *proxied) request(t *testing.T, scheme, path string, proxies ...string) fetcher.Request {
	t.Helper()
	host, at := "localhost:", s.plain.Listener.Addr().String()
	if scheme == "https" {
		host, at = "example.com:", s.secure.Listener.Addr().String()
	}
	return requestBy(
		t,
		scheme+"://"+host+at[strings.LastIndex(at, ":")+1:]+path,
		"127.0.0.1",
		proxies...)
}

// requestBy makes one for any URL, whose host has the address.
func requestBy(t *testing.T, text, addr string, proxies ...string) fetcher.Request {
	t.Helper()
	u, err := urlnorm.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	r := fetcher.Request{
		URL:    u,
		Addr:   netip.MustParseAddr(addr),
		Source: netip.MustParseAddr("127.0.0.5"),
	}
	for _, text := range proxies {
		p, err := proxy.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Proxies = append(r.Proxies, p)
	}
	r.ProxyUser = func(name string) (string, bool) {
		login, ok := map[string]string{"right": proxyLogin, "wrong": "me:hunter2"}[name]
		return login, ok
	}
	return r
}

// fetcherBy has its own memory of what works. Only 127/8 may be asked.
func (s *proxied) fetcherBy(t *testing.T) *fetcher.Fetcher {
	return s.fetcherWithin(t, 5*time.Second)
}

// fetcherWithin waits so long for connections and heads.
func (s *proxied) fetcherWithin(t *testing.T, limit time.Duration) *fetcher.Fetcher {
	t.Helper()
	f := fetcher.New(
		fetcher.Options{
			UserAgent:      "crawlnode/test",
			RootCAs:        s.roots,
			Allowed:        netip.Addr.IsLoopback,
			ConnectTimeout: limit,
			HeadTimeout:    limit,
		},
	)
	t.Cleanup(f.Close)
	return f
}

// all are the proxies that work, by what they are.
func (s *proxied) all() map[string]string {
	return map[string]string{
		"http": "http://" + s.open, "http, password": "http://secret:right@" + s.locked,
		"https":  "https://" + s.tls,
		"socks5": "socks5://" + s.dante, "socks5, password": "socks5://secret:right@" + s.micro,
	}
}

// TestProxies fetches over proxies of others: plain and in TLS, with and without a password, and
// over such that are wrong, away or stopped.
func TestProxies(t *testing.T) {
	s := startProxied(t)
	t.Run("works", s.work)
	t.Run("fails", s.fail)
	t.Run("stalls", s.stall)
	t.Run("in turn", s.inTurn)
	t.Run("dies", s.die) // last: it ends them
}

// work fetches each scheme over each proxy twice, the second time on the kept connection.
func (s *proxied) work(t *testing.T) {
	for name, by := range s.all() {
		for _, scheme := range []string{"http", "https"} {
			f := s.fetcherBy(t)
			r := s.request(t, scheme, "/page", by)
			r.Headers, r.Authorization = []fetcher.Header{
				{Name: "X-Key", Value: "s3cret", Secret: true},
			}, "Bearer s3cret"
			absolute := scheme == "http" && strings.HasPrefix(by, "http")
			for i := range 2 {
				resp, err := f.Do(t.Context(), r)
				if err != nil {
					t.Errorf("%s, %s: %v", name, scheme, err)
					break
				}
				got := <-s.seen
				from, _, _ := net.SplitHostPort(got.RemoteAddr)
				if string(resp.Body) != "hello" || resp.Status != 200 || resp.Reused != (i == 1) ||
					resp.RemoteAddr.IsValid() == absolute {
					t.Errorf("%s, %s: %+v", name, scheme, resp)
				}
				if from != "127.0.0.1" { // and not the source address: a proxy has asked
					t.Errorf("%s, %s: asked from %s", name, scheme, from)
				}
				if (got.Header.Get("Via") != "") != absolute || got.Header.Get("Proxy-Authorization") != "" ||
					got.Header.Get("X-Key") != "s3cret" ||
					got.Header.Get("Authorization") != "Bearer s3cret" ||
					scheme+"://"+got.Host != r.URL.Origin() {
					t.Errorf("%s, %s: the server got %v for %s", name, scheme, got.Header, got.Host)
				}
				head := string(resp.RequestHead)
				if strings.Contains(head, "s3cret") || strings.Contains(head, "Basic") ||
					strings.HasPrefix(head, "GET http://") != absolute {
					t.Errorf("%s, %s: archived\n%s", name, scheme, head)
				}
				resp.Release()
			}
			if failing := f.FailingProxies(time.Now()); len(failing) != 0 {
				t.Errorf("%s, %s: failing: %+v", name, scheme, failing)
			}
		}
	}
}

// wantFailure requires a failed fetch of the category, with the words in its text and no password.
func wantFailure(
	t *testing.T,
	f *fetcher.Fetcher,
	r fetcher.Request,
	want fetcher.Category,
	words string,
) {
	t.Helper()
	what := fmt.Sprintf("%s by %v", r.URL, r.Proxies)
	resp, err := f.Do(t.Context(), r)
	if err == nil {
		t.Errorf("%s: %d %s", what, resp.Status, resp.Body)
		resp.Release()
		return
	}
	var e *fetcher.Error
	if !errors.As(err, &e) || e.Category != want || !strings.Contains(err.Error(), words) ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%s: %v, want category %v with %q", what, err, want, words)
		return
	}
	failing := f.FailingProxies(time.Now())
	if isProxy := want == fetcher.Proxy; (len(failing) > 0) != isProxy ||
		(e.RetryAfter >= time.Second) != isProxy {
		t.Errorf("%s: %v: failing %v, retry after %v", what, err, failing, e.RetryAfter)
	}
}

// fail has the failures of proxies, and those that they tell of.
func (s *proxied) fail(t *testing.T) {
	closed := fmt.Sprint(freePort(t))
	refused := func(scheme string) string { return scheme + "://" + refusedByProxy + ":8099/" }
	for _, c := range []struct {
		url, addr, by string // an empty URL: the page
		category      fetcher.Category
		http, https   string // what the error says; "": not asked for
	}{
		{by: "http://secret:wrong@" + s.locked, category: fetcher.Proxy, http: "407", https: "407"},
		{by: "http://" + s.locked, category: fetcher.Proxy, http: "secret:NAME@", https: "secret:NAME@"},
		{by: "http://secret:none@" + s.locked, category: fetcher.Proxy, http: "secret none", https: "secret none"},
		{by: "socks5://secret:wrong@" + s.micro, category: fetcher.Proxy, http: "secret wrong", https: "secret wrong"},
		{by: "socks5://" + s.micro, category: fetcher.Proxy, http: "secret:NAME@", https: "secret:NAME@"},
		{by: "http://127.0.0.1:" + closed, category: fetcher.Proxy, http: "refused", https: "refused"},
		{by: "https://127.0.0.1:" + closed, category: fetcher.Proxy, http: "refused", https: "refused"},
		{by: "socks5://127.0.0.1:" + closed, category: fetcher.Proxy, http: "refused", https: "refused"},
		// The wrong kind of proxy.
		{by: "https://" + s.open, category: fetcher.Proxy, http: "TLS", https: "TLS"},
		{by: "http://" + s.tls, category: fetcher.Proxy, https: "asking it"},
		{by: "socks5://" + s.open, category: fetcher.Proxy, https: "greeting"},
		{by: "http://" + s.dante, category: fetcher.Proxy, http: "no answer", https: "asking it"},
		{by: "http://" + s.micro, category: fetcher.Proxy, http: "no answer", https: "asking it"},
		// What a proxy refuses, and what it cannot reach.
		{url: refused("https"), addr: refusedByProxy, by: "http://" + s.open, category: fetcher.Proxy, https: "403"},
		{url: refused("http"), addr: refusedByProxy, by: "socks5://" + s.dante, category: fetcher.Proxy, http: "rules"},
		{url: "https://closed.test:" + closed, by: "http://" + s.open, category: fetcher.Connect, https: "503"},
		{url: "http://closed.test:" + closed, by: "socks5://" + s.dante, category: fetcher.Connect, http: "refused"},
		{url: "http://closed.test:" + closed, by: "socks5://secret:right@" + s.micro, category: fetcher.Connect, http: "refused"},
	} {
		for scheme, words := range map[string]string{"http": c.http, "https": c.https} {
			if words == "" {
				continue
			}
			r := s.request(t, scheme, "/page", c.by)
			if c.url != "" {
				r = requestBy(t, c.url+"/", "127.0.0.1", c.by)
			}
			if c.addr != "" {
				r.Addr = netip.MustParseAddr(c.addr)
			}
			wantFailure(t, s.fetcherBy(t), r, c.category, words)
		}
	}
	s.saidForServer(t, closed)
	// An address that must not be connected to is not asked of any proxy.
	for _, by := range s.all() {
		for _, scheme := range []string{"http", "https"} {
			wantFailure(
				t,
				s.fetcherBy(t),
				requestBy(t, scheme+"://example.com/", "10.0.0.1", by),
				fetcher.BlockedAddress,
				"10.0.0.1",
			)
		}
	}
	select {
	case r := <-s.seen:
		t.Errorf("the server was asked for %s", r.URL)
	default:
	}
}

// saidForServer has the failures that Apache tells in the server's place, in answers that a server
// could give as well: they count as its own, and the proxy works.
func (s *proxied) saidForServer(t *testing.T, closed string) {
	t.Helper()
	for _, c := range []struct {
		url, addr, by string
		least, below  int // the status
		text          string
	}{
		{"http://" + refusedByProxy + ":8099/", refusedByProxy, s.open, 403, 404, "Forbidden"},
		{"http://localhost:" + closed + "/", "127.0.0.1", s.open, 503, 504, "Service Unavailable"},
		{"http://unknown.invalid/", "127.0.0.1", s.open, 500, 503, "DNS lookup failure"},
		{"http://localhost:" + closed + "/", "127.0.0.1", s.tls, 400, 401, "speaking plain HTTP"},
	} {
		// Name servers that do not answer take Apache some seconds.
		f := s.fetcherWithin(t, 30*time.Second)
		r := requestBy(t, c.url, c.addr, "http://"+c.by)
		resp, err := f.Do(t.Context(), r)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if resp.Status < c.least || resp.Status >= c.below ||
			!strings.Contains(string(resp.Body), c.text) {
			t.Errorf("%s: %d\n%s", c.url, resp.Status, resp.Body)
		}
		resp.Release()
		if failing := f.FailingProxies(time.Now()); len(failing) != 0 {
			t.Errorf("%s: failing: %+v", c.url, failing)
		}
	}
}

// stall asks a proxy that never answers, and a stopped one.
func (s *proxied) stall(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, kind := range []string{"http", "https", "socks5"} {
		wantFailure(
			t,
			s.fetcherWithin(t, time.Second),
			s.request(t, "https", "/page", kind+"://"+ln.Addr().String()),
			fetcher.Proxy,
			"",
		)
	}
	s.apache.signal(syscall.SIGSTOP)
	wantFailure(
		t,
		s.fetcherWithin(t, time.Second),
		s.request(t, "http", untold, "http://"+s.open), // may reach the server at any time
		fetcher.Proxy,
		"no answer",
	)
	s.apache.signal(syscall.SIGCONT)
	resp, err := s.fetcherBy(t).Do(t.Context(), s.request(t, "http", "/page", "http://"+s.open))
	if err != nil {
		t.Fatal(err)
	}
	resp.Release()
	<-s.seen
}

// inTurn asks three proxies, of which one is away.
func (s *proxied) inTurn(t *testing.T) {
	f := s.fetcherBy(t)
	r := s.request(
		t,
		"http",
		"/page",
		"http://"+s.open,
		fmt.Sprint("socks5://127.0.0.1:", freePort(t)),
		"socks5://"+s.dante,
	)
	via := 0
	for range 8 {
		resp, err := f.Do(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Release()
		if got := <-s.seen; got.Header.Get("Via") != "" {
			via++
		}
	}
	if failing := f.FailingProxies(time.Now()); via < 3 || via > 5 || len(failing) != 1 {
		t.Errorf("%d of 8 requests by Apache, failing: %+v", via, failing)
	}
}

// die ends the proxies in the middle of a page, and between two.
func (s *proxied) die(t *testing.T) {
	f := s.fetcherBy(t)
	r := s.request(t, "http", "/page", "http://"+s.open)
	resp, err := f.Do(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Release()
	<-s.seen
	for by, p := range map[string]*process{
		"http://" + s.open:                 s.apache,
		"socks5://secret:right@" + s.micro: s.microsocks,
	} {
		half := s.request(t, "http", "/half", by)
		half.Received = new(atomic.Int64)
		type result struct {
			*fetcher.Response
			err error
		}
		got := make(chan result)
		go func() {
			resp, err := s.fetcherBy(t).Do(t.Context(), half)
			got <- result{resp, err}
		}()
		until(t, 10*time.Second, func() string {
			if n := half.Received.Load(); n < 5000 {
				return fmt.Sprintf("%d bytes have come by %s", n, by)
			}
			return ""
		})
		p.signal(syscall.SIGKILL)
		if r := <-got; r.err != nil || r.Truncated != fetcher.CutDisconnect || len(r.Body) != 5000 {
			t.Errorf("%s dies within a page: %+v, %v", by, r.Response, r.err)
		}
		<-s.seen
		<-p.done
	}
	// The kept connection has ended with it, and the proxy is away.
	g := s.fetcherBy(t)
	wantFailure(t, g, s.request(t, "https", "/page", "http://"+s.open), fetcher.Proxy, "refused")
	wantFailure(t, f, r, fetcher.Proxy, "refused")
	r.Proxies = append(r.Proxies, s.request(t, "http", "/page", "socks5://"+s.dante).Proxies...)
	if resp, err = f.Do(t.Context(), r); err != nil || resp.Status != 200 {
		t.Errorf("another one is there: %v", err)
	}
}
