package cli

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawlnode/cli/command"
	"crawlnode/cli/process"
	"crawlnode/simweb"
)

// wrongUse is something that a person does wrong, or that is wrong around them: each says
// what failed, on what, and what to do.
type wrongUse struct {
	name   string
	args   []string
	code   int
	says   []string      // on standard error or output
	within time.Duration // 0: 5 s
	keeps  bool          // a data directory may be left
}

// answering serves one page to all, and a robots.txt.
func answering(t *testing.T, robots string) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = w.Write([]byte(robots)) // the test sees it
			return
		}
		_, _ = w.Write([]byte("<p>page"))
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail, as they should
	return s
}

// TestWrongUses is the table of what people mistype and what is wrong around them.
func TestWrongUses(t *testing.T) {
	t.Parallel()
	_, web := serveWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 1})
	closed, err := process.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	forbidding, secure, private := answering(t, "User-agent: *\nDisallow: /\n"), answering(t, ""), answering(t, "")
	forbidding.Start()
	secure.StartTLS()
	private.Start()
	for _, s := range []*httptest.Server{forbidding, secure, private} {
		t.Cleanup(s.Close)
	}
	file := filepath.Join(t.TempDir(), "seeds.txt")
	if err := os.WriteFile(file, []byte("https://a.example/ https://b.example/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ports := []string{"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--dns", web.DNS.String(), "--delay", "5ms"}
	crawlOf := func(seed string, more ...string) []string {
		return append(append([]string{"crawl", seed}, ports...), more...)
	}
	allowed := []string{"--allow-net", "127.0.0.0/8"}
	const slow = 20 * time.Second
	for _, tc := range []wrongUse{
		{name: "a name that does not exist", args: crawlOf("http://nosuch.invalid/", allowed...), code: command.ExitError, within: slow, keeps: true,
			says: []string{"http://nosuch.invalid/: ", "host not found", "check the spelling", "ended: no seed could be fetched"}},
		{name: "a server that refuses", args: crawlOf("http://"+closed[0]+"/", allowed...), code: command.ExitError, within: slow, keeps: true,
			says: []string{"http://" + closed[0] + "/: ", "connection refused", "does the server run"}},
		{name: "a certificate that nobody signed", args: crawlOf(secure.URL+"/", allowed...), code: command.ExitError, within: slow, keeps: true,
			says: []string{secure.URL + "/: ", "certificate", "--tls-verify record"}},
		{name: "robots.txt forbids the seed", args: crawlOf(forbidding.URL+"/", allowed...), code: command.ExitError, within: slow, keeps: true,
			says: []string{forbidding.URL + "/: robots.txt forbids it", "Disallow: /"}},
		{name: "a private address", args: crawlOf(private.URL+"/", "--contact", "me@example.org"), code: command.ExitError, within: slow, keeps: true,
			says: []string{private.URL + "/: ", "--allow-net"}},
		{name: "a scheme that is not crawled", args: crawlOf("ftp://a.example/", allowed...), code: command.ExitUsage,
			says: []string{`seed: "ftp://a.example/": not an http or https URL`, "no seed can be crawled"}},
		{name: "two URLs in one argument", args: crawlOf("https://a.example/ https://b.example/", allowed...), code: command.ExitUsage,
			says: []string{"holds several URLs", "each an argument of its own"}},
		{name: "two URLs in one line of a file", args: crawlOf("ftp://a.example/", "--allow-net", "127.0.0.0/8", "--seeds", file), code: command.ExitUsage,
			says: []string{file + ":1", "a line of its own in a file"}},
		{name: "an empty --join", args: []string{"start", "--join", ""}, code: command.ExitUsage, says: []string{"--join: is empty: is a variable not set?"}},
	} {
		t.Run(strings.ReplaceAll(tc.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			begun := time.Now()
			r := run(t, "", append(tc.args, "--data-dir", dir)...)
			took, limit := time.Since(begun), tc.within
			if limit == 0 {
				limit = 5 * time.Second
			}
			if r.code != tc.code || took > limit {
				t.Errorf("exit code %d after %v, want %d within %v", r.code, took, tc.code, limit)
			}
			for _, want := range tc.says {
				if !strings.Contains(r.errout+r.out, want) {
					t.Errorf("does not say %q", want)
				}
			}
			if _, err := os.Lstat(dir); err == nil && !tc.keeps {
				t.Error("leaves a data directory behind")
			}
			if t.Failed() {
				t.Logf("%s%s", r.errout, r.out)
			}
		})
	}
}
