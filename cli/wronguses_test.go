package cli

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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
	if err := os.WriteFile(file, []byte("https://a.example/ https://b.example/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wide := filepath.Join(t.TempDir(), "wide.txt")
	if err := os.WriteFile(wide, []byte("\xff\xfeh\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, "VERSION"), []byte("crawlnode-data 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	used := filepath.Join(t.TempDir(), "used")
	startBeside(t, "--data-dir", used, "--partitions", "512")
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
			says: []string{"contains several URLs", "each as an argument of its own"}},
		{name: "two URLs in one line of a file", args: crawlOf("ftp://a.example/", "--allow-net", "127.0.0.0/8", "--seeds", file), code: command.ExitUsage,
			says: []string{file + ":1", "a line of its own in a file"}},
		{name: "no scheme, and nothing answers", args: crawlOf("nosuch.invalid/x", allowed...), code: command.ExitError, within: slow, keeps: true, says: []string{"https://nosuch.invalid/x: ", "host not found"}},
		{name: "no scheme, and only http answers", args: crawlOf(strings.TrimPrefix(private.URL, "http://")+"/", allowed...), code: command.ExitOK, within: slow, keeps: true,
			says: []string{private.URL + "/ is tried in its place", "cat " + private.URL + "/"}},
		{name: "no scheme, and neither https nor http answers", args: crawlOf(closed[0], allowed...), code: command.ExitError, within: slow, keeps: true,
			says: []string{"http://" + closed[0] + ": neither https nor http: ", "connection refused"}},
		{name: "standard input twice", args: crawlOf("http://a.example/", "--allow-net", "127.0.0.0/8", "--seeds", "-", "--seeds", "-"), code: command.ExitUsage, says: []string{"- stands twice"}},
		{name: "seeds in UTF-16", args: crawlOf("http://a.example/", "--allow-net", "127.0.0.0/8", "--seeds", wide), code: command.ExitUsage, says: []string{wide + ": it is UTF-16: save it as UTF-8"}},
		{name: "a file for a URL", args: crawlOf(file, allowed...), code: command.ExitUsage, says: []string{"it is a file, not a URL", "crawl --seeds FILE or seeds add -f FILE"}},
		{name: "a directory for a URL", args: crawlOf(filepath.Dir(file), allowed...), code: command.ExitUsage, says: []string{"it is a directory, not a URL"}},
		{name: "a space in the host", args: crawlOf("https://exa mple.org/", allowed...), code: command.ExitUsage, says: []string{"The host contains a forbidden domain code point"}},
		{name: "a port of another protocol", args: crawlOf("http://a.example:25/", allowed...), code: command.ExitUsage, says: []string{"port 25 is used by another protocol than HTTP"}},
		{name: "a directory of seeds", args: crawlOf("http://a.example/", "--allow-net", "127.0.0.0/8", "--seeds", filepath.Dir(file)), code: command.ExitUsage, says: []string{"is a directory: give a file with one URL a line"}},
		{name: "no contact", args: crawlOf("http://a.example/"), code: command.ExitUsage, says: []string{"--contact: is required", "such as --contact me@example.org"}},
		{name: "a contact that is none", args: crawlOf("http://a.example/", "--contact", "me"), code: command.ExitUsage, says: []string{"neither a mail address nor a web page: write me@example.org"}},
		{name: "a word for a number", args: crawlOf("http://a.example/", "--max-pages", "ten"), code: command.ExitUsage, says: []string{`--max-pages: expected a valid 64 bit int but got "ten"`}},
		{name: "a duration without a unit", args: crawlOf("http://a.example/", "--max-duration", "5"), code: command.ExitUsage, says: []string{"write a number and a unit, such as 500ms, 30s or 2h"}},
		{name: "a pattern that does not compile", args: crawlOf("http://a.example/", "--allow-net", "127.0.0.0/8", "--exclude", "regex:("), code: command.ExitUsage, says: []string{`--exclude: exclude pattern "regex:("`}},
		{name: "a scope that is none", args: crawlOf("http://a.example/", "--allow-net", "127.0.0.0/8", "--scope", "site"), code: command.ExitUsage, says: []string{`"site" is not page, prefix, host, domain or any`}},
		{name: "a data directory below a file", args: append(crawlOf("http://a.example/", allowed...), "--data-dir", filepath.Join(file, "data")), code: command.ExitStorage, says: []string{"make the data directory", "not a directory"}},
		{name: "a data directory of something else", args: append(crawlOf("http://a.example/", allowed...), "--data-dir", filepath.Dir(file)), code: command.ExitStorage,
			says: []string{`it contains "seeds.txt" and no VERSION file`, "give an empty or another --data-dir"}},
		{name: "a data directory of a newer release", args: append(crawlOf("http://a.example/", allowed...), "--data-dir", newer), code: command.ExitStorage,
			says: []string{"its data format is 99, this program reads up to", "start it with the newer crawlnode that wrote it"}},
		{name: "a data directory in use", args: append(crawlOf("http://a.example/", allowed...), "--data-dir", used), code: command.ExitStorage, says: []string{used, "process"}},
		{name: "an empty --join", args: []string{"start", "--join", ""}, code: command.ExitUsage, says: []string{"--join: is empty: is a variable not set?"}},
		{name: "a --join without a port", args: []string{"start", "--join", "10.0.0.1"}, code: command.ExitUsage, says: []string{`--join: "10.0.0.1" is not host:port`}},
		{name: "an open port without a key", args: []string{"start", "--http", "0.0.0.0:0"}, code: command.ExitUsage, says: []string{"listens beyond loopback without a key", "--cluster-key-file", "--insecure"}},
		{name: "a flag that is none", args: []string{"start", "--dealy", "3s"}, code: command.ExitUsage, says: []string{`did you mean "--delay"?`}},
		{name: "a verb that is none", args: []string{"stauts"}, code: command.ExitUsage, says: []string{`unexpected argument stauts, did you mean "status"?`}},
		{name: "a verb below a verb that is none", args: []string{"nodes", "lst"}, code: command.ExitUsage, says: []string{`did you mean "list"?`}},
		{name: "nobody at --addr", args: []string{"status", "--addr", closed[0]}, code: command.ExitError, says: []string{"nobody answers at " + closed[0], "is the node running?"}},
		{name: "an --addr without a port", args: []string{"status", "--addr", "127.0.0.9"}, code: command.ExitError, says: []string{"nobody answers at 127.0.0.9:27295"}},
		{name: "a key that everybody can read", args: []string{"status", "--cluster-key-file", file}, code: command.ExitUsage, says: []string{"can be read by all users", "chmod 600"}},
		{name: "no such configuration", args: []string{"start", "--config", "/nowhere/node.yaml"}, code: command.ExitUsage, says: []string{"/nowhere/node.yaml: no such file or directory"}},
	} {
		t.Run(strings.ReplaceAll(tc.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			begun := time.Now()
			args := slices.Clone(tc.args)
			if v := args[0]; (v == "crawl" || v == "start") && !slices.Contains(args, "--data-dir") {
				args = append(args, "--data-dir", dir)
			}
			r := run(t, "", args...)
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
