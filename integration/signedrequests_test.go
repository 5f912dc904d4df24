package integration

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
)

const botAgent = "https://bot.example.org"

// TestSignedRequests: every request of three nodes to six hosts is signed, robots.txt, sitemaps,
// both ends of redirects and revisits included; it is verified here from RFC 9421 and the key that
// the nodes publish, and by two packages of npm. A fourth node without the key fetches nothing, and
// says so.
func TestSignedRequests(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	key := filepath.Join(t.TempDir(), "bot.pem")
	if code, _, errs := run(t, "", "keygen", "--bot", key); code != 0 {
		t.Fatal(errs)
	}
	code, directory, errs := run(t, "", "bot", "directory", "--bot-key", key)
	if code != 0 {
		t.Fatal(errs)
	}
	sites := newSignedSites(t, directory)
	c := newCluster(t, "--partitions", "512", "--allow-net", "127.0.0.0/8", "--delay", "10ms",
		"--scope", "any",
		"--recrawl", crawl.RecrawlFixed, "--recrawl-interval", "1s", "--recrawl-min", "1s",
		"--recrawl-max", "2s")
	for range 3 {
		c.add("--bot-key", key, "--bot-agent", botAgent).ready()
	}
	c.converged(time.Minute)
	n := c.nodes[0]
	n.seed(sites.addresses()...)
	sites.asked(t, 2)

	url := "http://" + n.http + "/.well-known/http-message-signatures-directory"
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	const media = "application/http-message-signatures-directory+json"
	if err != nil || resp.Header.Get("Content-Type") != media ||
		strings.TrimSpace(string(body)) != strings.TrimSpace(directory) {
		t.Errorf("the node publishes %s %s, %v; want %s", resp.Header, body, err, directory)
	}
	t.Run("second verifier", func(t *testing.T) {
		sites.verifiedByOthers(t, signedMessage{url, resp.StatusCode, flat(resp.Header), string(body)})
	})

	sites.restartWithAnotherKey(t, c)
	c.add().ready() // without the key
	until(t, time.Minute, func() string {
		var s crawl.Status
		if err := n.decode("/status", &s); err != nil {
			return err.Error()
		}
		for _, r := range s.Cluster.Health.Reasons {
			if r.Code == crawl.ReasonBotKey && strings.Contains(r.Message, "n4") {
				return ""
			}
		}
		return fmt.Sprintf("the health does not name n4: %+v", s.Cluster.Health)
	})
	odd := c.nodes[3]
	odd.signal(syscall.SIGTERM) // the hosts that it has taken wait until it hands them over
	<-odd.done
	sites.again()
	sites.asked(t, 1)
	c.stop()
	for _, wrong := range sites.wrong[:min(len(sites.wrong), 5)] {
		t.Error(wrong)
	}
}

// restartWithAnotherKey kills a node and starts it with a key of its own, then with another address
// of the right key. Both times the health names it; the sites see whether it asks for anything.
func (s *signedSites) restartWithAnotherKey(t *testing.T, c *cluster) {
	t.Helper()
	odd, right := c.nodes[2], c.nodes[2].flags
	other := filepath.Join(t.TempDir(), "other.pem")
	if code, _, errs := run(t, "", "keygen", "--bot", other); code != 0 {
		t.Fatal(errs)
	}
	for want, flags := range map[string][]string{
		"another key":   {"--bot-key", other, "--bot-agent", botAgent},
		"(--bot-agent)": {"--bot-key", right[1], "--bot-agent", "https://other.example.org"},
	} {
		odd.signal(syscall.SIGKILL)
		<-odd.done
		odd.flags = flags
		odd.start()
		until(t, time.Minute, func() string {
			var status crawl.Status
			if err := c.nodes[0].decode("/status", &status); err != nil {
				return err.Error()
			}
			for _, r := range status.Cluster.Health.Reasons {
				if r.Code == crawl.ReasonBotKey && strings.Contains(r.Message, odd.name+" fetches nothing") &&
					strings.Contains(r.Message, want) {
					return ""
				}
			}
			return fmt.Sprintf("no %q of %s in %+v", want, odd.name, status.Cluster.Health)
		})
	}
	odd.signal(syscall.SIGKILL)
	<-odd.done
	odd.flags = right
	odd.start()
	odd.ready()
	c.converged(time.Minute)
}

// signedSites are hosts that link to each other, and verify each request.
type signedSites struct {
	servers []*httptest.Server
	public  ed25519.PublicKey
	keyID   string

	mu     sync.Mutex      // guards the rest
	got    []signedMessage // the first requests
	count  map[string]int
	nonces map[string]bool
	wrong  []string
}

// newSignedSites serves six sites whose requests are signed with the key of a directory.
func newSignedSites(t *testing.T, directory string) *signedSites {
	t.Helper()
	var set struct {
		Keys []struct{ Kty, Crv, X string }
	}
	if err := json.Unmarshal([]byte(directory), &set); err != nil || len(set.Keys) != 1 {
		t.Fatalf("%s: %v", directory, err)
	}
	public, err := base64.RawURLEncoding.DecodeString(set.Keys[0].X)
	if err != nil || set.Keys[0].Kty != "OKP" || set.Keys[0].Crv != "Ed25519" {
		t.Fatalf("%s: %v", directory, err)
	}
	// The thumbprint of RFC 7638, with the members of RFC 8037.
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + set.Keys[0].X + `"}`))
	s := &signedSites{public: public, keyID: base64.RawURLEncoding.EncodeToString(sum[:]),
		count: map[string]int{}, nonces: map[string]bool{}}
	for i := range 6 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", i+2))
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewUnstartedServer(s)
		_ = srv.Listener.Close()
		srv.Listener = l
		srv.Start()
		t.Cleanup(srv.Close)
		s.servers = append(s.servers, srv)
	}
	return s
}

func (s *signedSites) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.count[r.Host+r.URL.Path]++
	if len(s.got) < maxVerified {
		s.got = append(s.got,
			signedMessage{URL: "http://" + r.Host + r.URL.Path, Headers: flat(r.Header)})
	}
	if err := s.verify(r); err != nil {
		s.wrong = append(s.wrong, fmt.Sprintf("%s%s: %v; %v", r.Host, r.URL.Path, err, r.Header))
	}
	s.mu.Unlock()
	i := slices.IndexFunc(s.servers,
		func(srv *httptest.Server) bool { return srv.Listener.Addr().String() == r.Host })
	switch r.URL.Path {
	case "/robots.txt":
		_, _ = fmt.Fprintf(w, "User-agent: *\nAllow: /\nSitemap: http://%s/sitemap.xml\n", r.Host)
	case "/sitemap.xml":
		w.Header().Set("Content-Type", "application/xml")
		_, _ = fmt.Fprintf(w,
			`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://%s/listed</loc></url></urlset>`,
			r.Host)
	case "/away":
		http.Redirect(w, r, s.servers[(i+1)%len(s.servers)].URL+"/target", http.StatusFound)
	default:
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<title>%s%s</title><a href=/away>away</a>", r.Host, r.URL.Path)
	}
}

// maxVerified is how many requests are given to other programs.
const maxVerified = 500

// signedMessage is a request, or an answer, as integration/webbotauth reads it.
type signedMessage struct {
	URL     string            `json:"url"`
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body,omitempty"`
}

// flat are the fields of a header, in lower case.
func flat(h http.Header) map[string]string {
	m := map[string]string{}
	for name, values := range h {
		m[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return m
}

// verifiedByOthers has integration/webbotauth verify the first requests and the directory: with the
// packages of npm web-bot-auth and http-message-signatures.
func (s *signedSites) verifiedByOthers(t *testing.T, directory signedMessage) {
	dir := needsPackages(t, "webbotauth", "web-bot-auth")
	s.mu.Lock()
	got := slices.Clone(s.got)
	s.mu.Unlock()
	given, err := json.Marshal(map[string]any{"requests": got, "directory": directory})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "verify.mjs")
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(given), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		Verified, Directory int
		Errors              []string
	}
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	paths := map[string]bool{}
	for _, m := range got {
		paths[m.URL[strings.LastIndexByte(m.URL, '/'):]] = true
	}
	if len(paths) != 6 || found.Verified != len(got) || found.Directory != 1 || len(found.Errors) > 0 {
		t.Errorf("of %d requests for %v the packages verify %d, and %d signatures of the directory: %q",
			len(got), paths, found.Verified, found.Directory, found.Errors[:min(len(found.Errors), 5)])
	}
}

// needsPackages returns the folder with packages of npm; without them the test is left out, or
// fails in CI.
func needsPackages(t *testing.T, folder, name string) string {
	t.Helper()
	needsPrograms(t, "node")
	dir, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", name)); err != nil {
		unable(t, "needs packages of npm that make deps installs: %v", err)
	}
	return dir
}

var signatureInput = regexp.MustCompile(
	`^sig1=(\("@authority" "signature-agent";key="sig1"\)(;.+))$`)

// verify verifies one request: RFC 9421, section 3.2, with the components and parameters that
// draft-ietf-webbotauth-httpsig-protocol asks for.
func (s *signedSites) verify(r *http.Request) error {
	if got := r.Header.Get("Signature-Agent"); got != `sig1="`+botAgent+`"` {
		return fmt.Errorf("Signature-Agent is %q", got)
	}
	m := signatureInput.FindStringSubmatch(r.Header.Get("Signature-Input"))
	if m == nil {
		return fmt.Errorf("the form of Signature-Input")
	}
	params := map[string]string{}
	for _, p := range strings.Split(m[2], ";")[1:] {
		name, value, _ := strings.Cut(p, "=")
		params[name] = strings.Trim(value, `"`)
	}
	created, err1 := strconv.ParseInt(params["created"], 10, 64)
	expires, err2 := strconv.ParseInt(params["expires"], 10, 64)
	now := time.Now().Unix()
	nonce, err3 := base64.StdEncoding.DecodeString(params["nonce"])
	switch {
	case err1 != nil, err2 != nil, created > now, expires <= now, expires-created > 3600:
		return fmt.Errorf("created %d, expires %d, now %d", created, expires, now)
	case err3 != nil, len(nonce) != 64, s.nonces[params["nonce"]]:
		return fmt.Errorf("nonce %q, seen before: %t", params["nonce"], s.nonces[params["nonce"]])
	case params["tag"] != "web-bot-auth", params["keyid"] != s.keyID:
		return fmt.Errorf("tag %q, keyid %q, want %s", params["tag"], params["keyid"], s.keyID)
	}
	s.nonces[params["nonce"]] = true
	encoded, ok := strings.CutPrefix(r.Header.Get("Signature"), "sig1=:")
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, ":"))
	if !ok || err != nil {
		return fmt.Errorf("the form of Signature: %v", err)
	}
	base := `"@authority": ` + strings.ToLower(r.Host) + "\n" +
		`"signature-agent";key="sig1": "` + botAgent + `"` + "\n" +
		`"@signature-params": ` + m[1]
	if !ed25519.Verify(s.public, []byte(base), signature) {
		return fmt.Errorf("the signature is not that of\n%s", base)
	}
	return nil
}

// addresses are the start pages.
func (s *signedSites) addresses() (urls []string) {
	for _, srv := range s.servers {
		urls = append(urls, srv.URL+"/")
	}
	return urls
}

// again forgets what was asked for.
func (s *signedSites) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.count)
}

// asked waits until each page was asked for so often, and each file, when more than one visit is
// waited for.
func (s *signedSites) asked(t *testing.T, times int) {
	t.Helper()
	until(t, time.Minute, func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, srv := range s.servers {
			for path, want := range map[string]int{
				"/":            times,
				"/away":        times,
				"/target":      times,
				"/listed":      times,
				"/robots.txt":  times - 1,
				"/sitemap.xml": times - 1,
			} {
				if at := srv.Listener.Addr().String() + path; s.count[at] < want {
					return fmt.Sprintf("%s was asked for %d times, not %d", at, s.count[at], want)
				}
			}
		}
		return ""
	})
}

// TestRenderedPartsAreSigned: what a page loads in the browser is fetched by the node, and signed
// as all its requests.
func TestRenderedPartsAreSigned(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	key := filepath.Join(t.TempDir(), "bot.pem")
	if code, _, errs := run(t, "", "keygen", "--bot", key); code != 0 {
		t.Fatal(errs)
	}
	var mu sync.Mutex
	signed := map[string]bool{}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		signed[r.URL.Path] = r.Header.Get("Signature") != "" && r.Header.Get("Signature-Agent") != ""
		mu.Unlock()
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w,
				`<title>x</title><script src="/a.js"></script><link rel="stylesheet" href="/s.css"><div id="x"></div>`)
		case "/a.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w,
				`fetch("/d.json").then(r => r.json()).then(j => { document.getElementById("x").innerHTML = j.text; })`)
		case "/s.css":
			w.Header().Set("Content-Type", "text/css")
			fmt.Fprint(w, `a {}`)
		case "/d.json":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"text": "<a href='/next'>made by a script</a>"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "10ms", "--render", "all",
		"--render-timeout", "2m",
		"--bot-key", key, "--bot-agent", botAgent)
	c.addReady(1)
	c.nodes[0].seed(site.URL + "/")
	c.finished(slack(2 * time.Minute))
	c.stop()
	mu.Lock()
	defer mu.Unlock()
	for _, path := range []string{"/robots.txt", "/", "/a.js", "/s.css", "/d.json", "/next"} {
		if is, asked := signed[path]; !asked || !is {
			t.Errorf("%s: asked for %v, signed %v", path, asked, is)
		}
	}
}
