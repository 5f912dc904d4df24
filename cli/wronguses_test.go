package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/cli/command"
)

var writeWrongUses = flag.Bool("wronguses", false, "write docs/results/wronguses.md")

const wrongUsesFile = "../docs/results/wronguses.md"

// wrongUse is something that a person does wrong, or that is wrong around them: each says
// what failed, on what, and what to do.
type wrongUse struct {
	name   string
	args   []string
	code   int
	says   []string // on standard error or output
	env    map[string]string
	within time.Duration // 0: 5 s
	keeps  bool          // a data directory may be left
}

// wrongOutcome is what a wrong use led to.
type wrongOutcome struct {
	code    int
	took    time.Duration
	message string
}

// slow is for what waits for other machines.
const slow = 20 * time.Second

// seedUses are wrong seeds and servers that do not do what is expected.
func seedUses(w *wrongWorld) []wrongUse {
	list := w.file("seeds.txt", "https://a.example/ https://b.example/\n")
	crawlFails := func(name string, args []string, says ...string) wrongUse {
		return wrongUse{
			name:   name,
			args:   args,
			code:   command.ExitError,
			within: slow,
			keeps:  true,
			says:   says,
		}
	}
	refused := func(name string, args []string, says ...string) wrongUse {
		return wrongUse{name: name, args: args, code: command.ExitUsage, says: says}
	}
	return []wrongUse{
		crawlFails("a name that does not exist", w.local("http://nosuch.invalid/"),
			"http://nosuch.invalid/: ", "host not found", "check the spelling",
			"ended: no seed could be fetched"),
		crawlFails("a name server that is none", w.withNames(w.closed, w.local("http://a.example/")),
			"http://a.example/: no name server answers: look at --dns", "crawlnode doctor checks them"),
		crawlFails("a server that refuses", w.local("http://"+w.closed+"/"), "http://"+w.closed+"/: ",
			"connection refused", "does the server run"),
		crawlFails("a certificate that nobody signed", w.local(w.secure+"/"), w.secure+"/: ",
			"certificate", "--tls-verify record"),
		crawlFails("robots.txt forbids the seed", w.local(w.forbidding+"/"),
			w.forbidding+"/: robots.txt forbids it", "Disallow: /", "ask the site's owner"),
		crawlFails("robots.txt answers 500", w.local(w.closedRobots+"/"), w.closedRobots+"/: ",
			"answered 500: nothing may be fetched until it can be read"),
		crawlFails("a private address", w.crawl(w.plain+"/", "--contact", "me@example.org"),
			w.plain+"/: ", "--allow-net"),
		crawlFails("a server that never answers", w.local(w.silent+"/"), w.silent+"/: ", "answer"),
		crawlFails("http to a TLS port", w.local("http://"+strings.TrimPrefix(w.secure, "https://")+"/"),
			"the server answered 400", "a server that wants https:// may answer so"),
		crawlFails("https to a plain port",
			w.local("https://"+strings.TrimPrefix(w.plain, "http://")+"/"),
			"first record does not look like a TLS handshake", "write http:// in place of https://"),
		crawlFails("a seed that needs a login", w.local(w.answers+"/401"),
			"the server answered 401 Unauthorized", "ask the site's owner"),
		crawlFails("a seed that is forbidden", w.local(w.answers+"/403"),
			"the server answered 403 Forbidden", "begin at another page"),
		crawlFails("a seed that is not there", w.local(w.answers+"/nothing"),
			"the server answered 404 Not Found", "check the path"),
		crawlFails("a server that wants fewer requests", w.local(w.answers+"/429"),
			"its host is held back until", "run the same command again then"),
		crawlFails("a server that is overloaded", w.local(w.answers+"/503"),
			"its host is held back until", "run the same command again then"),
		crawlFails("a redirect that turns in a circle", w.local(w.answers+"/loop"),
			"the server answered 302 Found", "crawlnode scope test"),
		crawlFails("a redirect to another protocol", w.local(w.answers+"/away"),
			"the server answered 302 Found", "crawlnode scope test"),
		crawlFails("no scheme, and nothing answers", w.local("nosuch.invalid/x"),
			"https://nosuch.invalid/x: ", "host not found"),
		crawlFails("no scheme, and neither https nor http answers", w.local(w.closed),
			"http://"+w.closed+": neither https nor http: ", "connection refused"),
		{
			name:   "no scheme, and only http answers",
			args:   w.local(strings.TrimPrefix(w.plain, "http://") + "/"),
			code:   command.ExitOK,
			within: slow,
			keeps:  true,
			says:   []string{w.plain + "/ is tried in its place", "cat " + w.plain + "/"},
		},
		{
			name:  "a seed that --exclude leaves out",
			args:  w.local("http://a.example/", "--exclude", "host:a.example"),
			code:  command.ExitUsage,
			keeps: true,
			says:  []string{"seeds left out by --include or --exclude: 1", "crawlnode scope test"},
		},
		refused("a scheme that is not crawled", w.local("ftp://a.example/"),
			`seed: "ftp://a.example/": not an http or https URL`, "no seed can be crawled"),
		refused("a scheme that is mistyped", w.local("htps://a.example/"),
			"its scheme is mistyped: write https://a.example/"),
		refused("a scheme twice", w.local("http://http://a.example/"),
			`seed: "http://http://a.example/": its scheme stands twice: write http://a.example/`),
		refused("one slash", w.local("http:/a.example/x"), "is mistyped: write http://a.example/x"),
		refused("no colon", w.local("https//a.example/"), "is mistyped: write https://a.example/"),
		refused("something before a URL", w.local("url=http://a.example/"), "give http://a.example/"),
		refused("a port that is a word", w.local("www.a.example:abc"), `its port "abc" is no number`),
		refused("a URL in quotes", w.local("'https://a.example/'"),
			"it stands in quotes or brackets: give https://a.example/"),
		refused("a mail address for a URL", w.local("me@example.org"), "it is a mail address",
			"--contact"),
		refused("two URLs in one argument", w.local("https://a.example/ https://b.example/"),
			"contains several URLs", "each as an argument of its own"),
		refused("two URLs in one line of a file", w.local("ftp://a.example/", "--seeds", list), list+":1",
			"on a line of its own in a file"),
		refused("a file for a URL", w.local(list), "it is a file, not a URL",
			"crawl --seeds FILE or seeds add -f FILE"),
		refused("a directory for a URL", w.local(filepath.Dir(list)), "it is a directory, not a URL"),
		refused("a space in the host", w.local("https://exa mple.org/"), "its host name has a space"),
		refused("a port of another protocol", w.local("http://a.example:25/"),
			"port 25 is used by another protocol than HTTP"),
		refused("standard input twice", w.local("http://a.example/", "--seeds", "-", "--seeds", "-"),
			"- stands twice"),
		refused("seeds in UTF-16",
			w.local("http://a.example/", "--seeds", w.file("wide.txt", "\xff\xfeh\x00")),
			"it is UTF-16: save it as UTF-8"),
		refused("a PDF for a list of seeds",
			w.local("http://a.example/", "--seeds", w.file("list.pdf", "%PDF-1.4\n\x00")), "it is no text",
			"plain or packed with gzip"),
		refused("a packed list that is cut off",
			w.local("http://a.example/", "--seeds", w.file("list.gz", w.packed("http://b.example/")[:24])),
			"cut off or damaged"),
		refused("a list of seeds in Latin-1",
			w.local("ftp://a.example/", "--seeds", w.file("latin.txt", "caf\xe9.example\n")),
			`latin.txt:1: "caf\xe9.example"`, "it is not a URL"),
		refused("a list of seeds that is empty",
			w.local("http://a.example/", "--seeds", w.file("empty.txt", "\n# none\n")),
			"it has no URL: write one a line"),
		refused("a directory of seeds", w.local("http://a.example/", "--seeds", filepath.Dir(list)),
			"is a directory: give a file with one URL a line"),
		refused("a list that does not exist", w.local("http://a.example/", "--seeds", "/nowhere/list"),
			"/nowhere/list: no such file or directory"),
		refused("no URL at all", append([]string{"crawl"}, w.ports()...),
			"no URL was given: crawlnode crawl https://example.org/"),
	}
}

// flagUses are flags, values and verbs that are none.
func flagUses(w *wrongWorld) []wrongUse {
	refused := func(name string, args []string, says ...string) wrongUse {
		return wrongUse{name: name, args: args, code: command.ExitUsage, says: says}
	}
	const seed = "http://a.example/"
	return []wrongUse{
		refused("no contact", w.crawl(seed), "--contact: is required",
			"such as --contact me@example.org"),
		refused("a contact that is none", w.crawl(seed, "--contact", "me"),
			"neither a mail address nor a web page: write me@example.org"),
		refused("a word for a number", w.crawl(seed, "--max-pages", "ten"),
			`--max-pages: "ten" is not a whole number: write it with digits alone`),
		refused("a number beyond all bounds", w.crawl(seed, "--max-pages", "99999999999999999999"),
			"--max-pages: 99999999999999999999 is too large: give at most 4611686018427387904"),
		refused("a duration beyond all bounds", w.crawl(seed, "--delay", "99999999999h"),
			"--delay: 99999999999h is too large: give at most 24h0m0s"),
		refused("a size beyond all bounds", w.crawl(seed, "--max-body", "99999999999TiB"),
			"--max-body: 99999999999TiB is too large: give at most "),
		refused("a number with a comma", w.crawl(seed, "--max-pages", "1,000"),
			`--max-pages: "1,000" is not a whole number`, "such as 1000"),
		refused("a negative number", w.local(seed, "--max-pages", "-1"), "--max-pages: -1 is"),
		refused("no fetchers", w.local(seed, "--fetchers", "0"),
			"--fetchers: 0 is too small: give at least 1"),
		refused("a billion fetchers", w.local(seed, "--fetchers", "1000000000"),
			"--fetchers: 1000000000 is too large: give at most"),
		refused("a negative delay", w.local(seed, "--delay", "-1s"), "--delay: -1s"),
		refused("a duration without a unit", w.crawl(seed, "--max-duration", "5"),
			"write a number and a unit, such as 500ms, 30s or 2h"),
		refused("too little memory", w.local(seed, "--memory", "1k"),
			"--memory: 1KiB is too small: give at least"),
		refused("a size that is none", w.local(seed, "--max-body", "ten"),
			`--max-body: "ten" is not a size: write a number and a unit`),
		refused("a pattern that does not compile", w.local(seed, "--exclude", "regex:("),
			`--exclude: exclude pattern "regex:("`),
		refused("a pattern of pages to show that does not compile",
			w.local(seed, "--render", "auto", "--render-match", "regex:("),
			`--render-match: pattern "regex:("`),
		refused("pages to show, and no rendering", w.local(seed, "--render-match", "prefix:/app/"),
			"--render-match: does nothing without --render: add --render auto"),
		refused("pictures of pages, and no rendering", w.local(seed, "--render-screenshot"),
			"--render-screenshot: does nothing without --render: add --render auto"),
		refused("a scope that is none", w.local(seed, "--scope", "site"),
			`"site" is not page, prefix, host, domain or any`),
		refused("a network without a length", w.crawl(seed, "--allow-net", "127.0.0.1"),
			"has no prefix length: write 127.0.0.1/32"),
		refused("a name server without a port", w.local(seed, "--dns", "9.9.9.9"),
			`--dns: "9.9.9.9" is not ip:port: write it like`),
		refused("robots.txt ignored for the whole web",
			w.crawl(seed, "--contact", "me@example.org", "--robots", "ignore"),
			"allowed only for hosts inside --allow-net"),
		refused("a focus on what is no model",
			w.crawl(seed, "--contact", "me@example.org", "--focus", w.file("page.html", "<p>a page")),
			"--focus: ", "page.html is not a model", "crawlnode focus train"),
		refused("a focus without a model",
			w.crawl(seed, "--contact", "me@example.org", "--focus-min", "0.5"), "--focus-min: needs a topic",
			"--focus FILE"),
		refused("a focus in percent", w.crawl(seed, "--contact", "me@example.org", "--focus-min", "30"),
			"--focus-min: 30 must be between 0", "and 1"),
		refused("a topic of one page", []string{"focus", "train", "--like",
			w.file("page.html", "<p>a page"), "--unlike", w.file("other.html", "<p>another"), "-o",
			"model"}, "too few pages: 1", "at least 10 are needed"),
		refused("a topic without other pages",
			[]string{"focus", "train", "--like", w.file("page.html", "<p>a page"), "-o", "model"},
			"missing flags: --unlike"),
		refused("a flag that is mistyped", w.start("--dealy", "3s"), `did you mean "--delay"?`),
		refused("the depth of wget and Scrapy", w.local(seed, "--depth", "2"),
			"unknown flag --depth: --max-depth N bounds the links"),
		refused("the recursion of wget", w.local(seed, "-r"),
			"unknown flag -r: links are followed anyway"),
		refused("the output of other tools", w.local(seed, "--output-dir", "x"),
			"unknown flag --output-dir: crawl --output DIR writes the pages as files"),
		refused("the URL as a flag", []string{"crawl", "--url", seed},
			"unknown flag --url: a URL stands without a flag"),
		refused("a verb that is mistyped", []string{"stauts"},
			`unexpected argument stauts, did you mean "status"?`),
		refused("a verb of other tools", []string{"fetch", seed},
			"unexpected argument fetch: to crawl sites: crawlnode crawl URL"),
		refused("a URL without a verb", []string{seed}, "to crawl it: crawlnode crawl http://a.example/"),
		refused("a flag before the verb", []string{"--max-pages", "5", "crawl", seed},
			"flag --max-pages stands before the verb: write it behind, as crawlnode crawl --max-pages"),
		refused("a flag before a verb that asks", []string{"--addr", "127.0.0.1:9", "nodes", "list"},
			"flag --addr stands before the verb: write it behind, as crawlnode nodes list --addr"),
		refused("a flag of another verb", []string{"--max-pages", "5", "status"},
			"crawlnode status has no flag --max-pages"),
		refused("a name without its flag", []string{"start", "n1"},
			"unexpected argument n1: --name n1 names the node"),
		refused("a verb below a verb that is none", []string{"nodes", "lst"}, `did you mean "list"?`),
		refused("a verb without its argument", []string{"urls", "why"},
			`expected "<url>", such as: crawlnode urls why`),
		refused("a code that is none", []string{"explain", "diskful"},
			`"diskful" is no code; did you mean disk_full?`),
		refused("no such configuration", []string{"start", "--config", "/nowhere/node.yaml"},
			"/nowhere/node.yaml: no such file or directory"),
		refused("an unknown key in the configuration",
			w.start("--config", w.file("node.yaml", "max_pages: 5\n")),
			`unknown key "max_pages"; did you mean "max-pages"?`),
		refused("a tab in the configuration",
			w.start("--config", w.file("node.yaml", "delay: 1s\n\tfetchers: 9\n")), "node.yaml", "line 2"),
		refused("a key twice in the configuration",
			w.start("--config", w.file("node.yaml", "fetchers: 9\nfetchers: 8\n")), "fetchers", "node.yaml"),
		{
			name: "a variable that is mistyped",
			args: w.start("--fetchers", "0"),
			env:  map[string]string{"CRAWLNODE_MAXPAGES": "5"},
			code: command.ExitUsage,
			says: []string{"the environment variable CRAWLNODE_MAXPAGES counts for nothing; " +
				"did you mean CRAWLNODE_MAX_PAGES?"},
		},
		{
			name: "a variable with a wrong value",
			args: w.start(),
			env:  map[string]string{"CRAWLNODE_DELAY": "soon"},
			code: command.ExitUsage,
			says: []string{`CRAWLNODE_DELAY (for --delay): "soon" is not a duration`},
		},
	}
}

// placeUses are wrong directories, addresses and keys.
func placeUses(w *wrongWorld) []wrongUse {
	list := w.file("seeds.txt", "https://a.example/\n")
	open := w.file("open.key", "x\n")
	if err := os.Chmod(open, 0o644); err != nil {
		w.t.Fatal(err)
	}
	newer := filepath.Dir(w.file("VERSION", "crawlnode-data 99\n"))
	at := func(code int, name string, args []string, says ...string) wrongUse {
		return wrongUse{name: name, args: args, code: code, says: says}
	}
	const seed = "http://a.example/"
	return []wrongUse{
		at(command.ExitStorage, "a data directory below a file",
			w.local(seed, "--data-dir", filepath.Join(list, "data")), "make the data directory",
			"not a directory", "give a --data-dir that this user may write to"),
		at(command.ExitStorage, "a data directory of something else",
			w.local(seed, "--data-dir", filepath.Dir(list)), `it contains "seeds.txt" and no VERSION file`,
			"give an empty or another --data-dir"),
		at(command.ExitStorage, "a data directory of a newer release", w.local(seed, "--data-dir", newer),
			"its data format is 99, this program reads up to",
			"start it with the newer crawlnode that wrote it"),
		at(command.ExitStorage, "a data directory in use", w.local(seed, "--data-dir", w.used), w.used,
			"is in use by process", "give another --name or --data-dir"),
		at(command.ExitStorage, "a data directory where nothing can be made",
			w.local(seed, "--data-dir", "/proc/nowhere/data"), "/proc/nowhere",
			"give a --data-dir that this user may write to"),
		at(command.ExitUsage, "a port in use", w.start("--debug-addr", w.http), w.http, "already in use",
			"give a free address"),
		at(command.ExitUsage, "an address of another machine",
			w.start("--http", "192.0.2.1:27295", "--insecure"), "192.0.2.1:27295", "address"),
		at(command.ExitUsage, "an address that is a URL", w.start("--http", "http://127.0.0.1:27295"),
			"is not host:port: write it like 127.0.0.1:27296"),
		at(command.ExitUsage, "an open port without a key", w.start("--http", "0.0.0.0:0"),
			"listens beyond loopback without a key", "--cluster-key-file", "--insecure"),
		at(command.ExitUsage, "an empty --join", w.start("--join", ""),
			"--join: is empty: is a variable not set?"),
		at(command.ExitUsage, "a --join without a port", w.start("--join", "10.0.0.1"),
			`--join: "10.0.0.1" is not host:port`),
		at(command.ExitUsage, "a number of partitions that is none", w.start("--partitions", "1000"),
			"1000 is neither a power of two nor a prime: use 1024"),
		at(command.ExitUsage, "a key that everybody can read",
			[]string{"status", "--cluster-key-file", open}, "can be read by all users", "chmod 600"),
		at(command.ExitUsage, "a key that is none", w.start("--cluster-key-file", list),
			"this is no cluster key", "make one with: crawlnode keygen"),
		at(command.ExitUsage, "no such key", w.start("--cluster-key-file", "/nowhere/key"),
			"/nowhere/key: no such file or directory", "crawlnode keygen"),
		at(command.ExitUsage, "a token that is none", w.ask("status", "--token-file", list),
			"this is no token: make one with: crawlnode keygen --role"),
		at(command.ExitUsage, "a key where no folder is", []string{"keygen", "/nowhere/x/key"},
			"make its folder first"),
		at(command.ExitError, "an export where no folder is",
			w.ask("export", "cdxj", "-o", "/nowhere/x.cdxj"),
			"/nowhere/x.cdxj cannot be written: the folder /nowhere does not exist: make it first"),
		at(command.ExitUsage, "no data directory to read from",
			[]string{"cat", seed, "--data-dir", "/nowhere/data"}, "/nowhere/data",
			"no such file or directory"),
	}
}

// remoteUses are questions to nodes that cannot be answered.
func remoteUses(w *wrongWorld) []wrongUse {
	at := func(code int, name string, args []string, says ...string) wrongUse {
		return wrongUse{name: name, args: args, code: code, says: says}
	}
	page := strings.TrimPrefix(w.plain, "http://")
	return []wrongUse{
		at(command.ExitError, "nobody at --addr", []string{"status", "--addr", w.closed},
			"nobody answers at "+w.closed, "is the node running?"),
		at(command.ExitError, "an --addr without a port", []string{"status", "--addr", "127.0.0.9"},
			"nobody answers at 127.0.0.9:27295"),
		at(command.ExitError, "an --addr with a word for a port",
			[]string{"status", "--addr", "127.0.0.1:http"}, "is not an address: write host:port"),
		at(command.ExitError, "an --addr of a web server", []string{"status", "--addr", page}, page,
			"did not answer like a crawlnode: is --addr right?"),
		at(command.ExitError, "an --addr of the gossip port", []string{"status", "--addr", w.gossip},
			w.gossip),
		at(command.ExitUsage, "an empty --addr", []string{"status", "--addr", ""},
			"--addr: is empty: is a variable not set?"),
		at(command.ExitUsage, "a setting that is none", w.ask("crawl-config", "set", "dealy=2s"), "dealy",
			"delay"),
		at(command.ExitUsage, "a setting with a wrong value", w.ask("crawl-config", "set", "delay=soon"),
			"delay", "is not a duration"),
		at(command.ExitCluster, "a setting that cannot change",
			w.ask("crawl-config", "set", "partitions=2048"), "nothing was changed",
			"partitions: is fixed by the founding node"),
		at(command.ExitUsage, "a setting without a value", w.ask("crawl-config", "set", "delay"),
			"is not KEY=VALUE: write it like delay=2s"),
		at(command.ExitUsage, "a node that is unknown", w.ask("nodes", "drain", "n9"),
			"drain n9: unknown node: crawlnode nodes list shows"),
		at(command.ExitError, "a page that was never fetched", w.ask("cat", "http://a.example/"),
			"http://a.example/"),
		at(command.ExitUsage, "no URL to add", w.ask("seeds", "add"),
			"no URL was given: name some, or a file with -f FILE"),
		at(command.ExitUsage, "an empty list to add",
			w.ask("seeds", "add", "-f", w.file("empty.txt", "")), "it has no URL: write one a line"),
		at(command.ExitCluster, "a crawl that is not paused is resumed", w.ask("resume"),
			"the crawl is idle; it starts when seeds are added"),
	}
}

// TestWrongUses is the table of what people mistype and what is wrong around them. It is
// published as docs/results/wronguses.md.
func TestWrongUses(t *testing.T) {
	t.Parallel()
	w := newWrongWorld(t)
	uses := slices.Concat(seedUses(w), flagUses(w), placeUses(w), remoteUses(w))
	outcomes := make([]wrongOutcome, len(uses))
	t.Run("all", func(t *testing.T) {
		for i, u := range uses {
			t.Run(strings.ReplaceAll(u.name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				outcomes[i] = u.try(t)
			})
		}
	})
	if *writeWrongUses {
		if err := os.WriteFile(wrongUsesFile, wrongUsesTable(uses, outcomes), 0o644); err != nil {
			t.Error(err)
		}
	}
	checkWrongUses(t, uses)
}

// slack is a promised time where a table is made of it. On a machine that is slow, or busy with other
// things, everything takes many times as long: there only that it ends is judged.
func slack(d time.Duration) time.Duration {
	if *writeWrongUses {
		return d
	}
	return patience
}

// try does it.
func (u *wrongUse) try(t *testing.T) wrongOutcome {
	dir := filepath.Join(t.TempDir(), "data")
	args := slices.Clone(u.args)
	if v := args[0]; (v == "crawl" || v == "start") && !slices.Contains(args, "--data-dir") {
		args = append(args, "--data-dir", dir)
	}
	limit := u.within
	if limit == 0 {
		limit = 5 * time.Second
	}
	limit = slack(limit)
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), limit+time.Minute) // a node that runs is stopped
	defer cancel()
	r := runWithin(ctx, u.env, "", args...)
	took := time.Since(begun)
	if r.code != u.code || took > limit {
		t.Errorf("exit code %d after %v, want %d within %v", r.code, took, u.code, limit)
	}
	for _, want := range u.says {
		if !strings.Contains(r.errout+r.out, want) {
			t.Errorf("does not say %q", want)
		}
	}
	if _, err := os.Lstat(dir); err == nil && !u.keeps {
		t.Error("leaves a data directory behind")
	}
	if t.Failed() {
		t.Logf("%q: %s%s", args, r.errout, r.out)
	}
	return wrongOutcome{r.code, took, u.message(r.errout + r.out)}
}

// message are the lines that say it.
func (u *wrongUse) message(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "no page yet: ") || strings.Contains(line, ", status at http://") {
			continue
		}
		if slices.ContainsFunc(u.says, func(s string) bool { return strings.Contains(line, s) }) {
			lines = append(lines, strings.TrimPrefix(line, "crawlnode: "))
		}
	}
	return strings.Join(lines, " / ")
}

// What differs from run to run.
var (
	anyPort   = regexp.MustCompile(`127\.0\.0\.1:[0-9]{4,5}`)
	anyFolder = regexp.MustCompile(`/tmp/Test[^/ ]*/[0-9]+`)
	anyTime   = regexp.MustCompile(`until [0-9:]{8}`)
	anyPID    = regexp.MustCompile(`process [0-9]+`)
)

func sameEachRun(text string) string {
	text = anyFolder.ReplaceAllString(anyPort.ReplaceAllString(text, "127.0.0.1:PORT"), "DIR")
	text = anyPID.ReplaceAllString(anyTime.ReplaceAllString(text, "until 12:34:56"), "process 1234")
	text = strings.ReplaceAll(text, os.Args[0], "crawlnode")
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", "\\|"), "`", "'")
}

// outcomeRows collects rows of a published table: tests of one table run at once.
type outcomeRows struct {
	mu   sync.Mutex // guards rows
	rows []string
}

func (o *outcomeRows) add(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows = append(o.rows, fmt.Sprintf(format, args...))
}

// publish writes the table when -wronguses is given.
func (o *outcomeRows) publish(t *testing.T, file, head string) {
	t.Helper()
	if !*writeWrongUses {
		return
	}
	slices.Sort(o.rows)
	if err := os.WriteFile("../docs/results/"+
		file, []byte(head+strings.Join(o.rows, "\n")+"\n"), 0o644); err != nil {
		t.Error(err)
	}
}

// wrongUsesTable is docs/results/wronguses.md.
func wrongUsesTable(uses []wrongUse, outcomes []wrongOutcome) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Wrong uses

What people mistype, and what may be wrong around them: the exit code, the time until the command has ended, and the lines that say what failed, on what, and what to do.
%s
%d wrong uses. The uses that need another user, a full disk or other nodes are tests of package integration.

    go test ./cli -count=1 -run '^TestWrongUses$' -wronguses

| wrong use | code | seconds | what it says |
|---|---|---|---|
`, "docs/troubleshooting.md goes from what one sees to what to do.", len(uses))
	for i, u := range uses {
		o := outcomes[i]
		fmt.Fprintf(&b, "| %s | %d | %.1f | `%s` |\n", u.name, o.code, o.took.Seconds(),
			sameEachRun(o.message))
	}
	return b.Bytes()
}

// checkWrongUses compares the published table with the test: names and exit codes.
func checkWrongUses(t *testing.T, uses []wrongUse) {
	t.Helper()
	text, err := os.ReadFile(wrongUsesFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range uses {
		if !strings.Contains(string(text), fmt.Sprintf("| %s | %d |", u.name, u.code)) {
			t.Errorf("docs/results/wronguses.md lacks %q with exit code %d: "+
				"go test ./cli -run '^TestWrongUses$' -wronguses", u.name, u.code)
		}
	}
	if rows := strings.Count(string(text), "\n| ") - 1; rows != len(uses) || rows < 60 {
		t.Errorf("docs/results/wronguses.md has %d wrong uses, the test %d; 60 at least are wanted", rows,
			len(uses))
	}
}
