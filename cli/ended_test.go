package cli

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"

	"crawlnode/cli/command"
	"crawlnode/crawl"
)

// TestVerbsWithoutANode: each verb that asks a node reads a data directory too, or
// docs/operations.md says why it cannot.
func TestVerbsWithoutANode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## A crawl without its nodes\n")
	if !ok {
		t.Fatal("docs/operations.md has no such section")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	says := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*`) \\| (.*) \\|$").FindAllStringSubmatch(
		section, -1) {
		for _, verb := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[1], -1) {
			says[verb[1]] = row[2]
		}
	}
	asking := 0
	for _, leaf := range newParser(&Env{}, nil).Model.Leaves(true) {
		flags := map[string]bool{}
		for _, group := range leaf.AllFlags(true) {
			for _, f := range group {
				flags[f.Name] = true
			}
		}
		if !flags["addr"] {
			continue
		}
		asking++
		verb := pathOf(leaf)
		switch said, named := says[verb]; {
		case !named:
			t.Errorf("%s asks a node: docs/operations.md does not say what it does without one", verb)
		case flags["data-dir"] != strings.HasPrefix(said, "`--data-dir`"):
			t.Errorf("%s: docs/operations.md says %q, --data-dir: %v", verb, said, flags["data-dir"])
		}
	}
	if asking < 20 {
		t.Errorf("only %d verbs ask a node", asking)
	}
}

// pathOf is how a verb is typed.
func pathOf(n *kong.Node) string {
	if n.Parent == nil || n.Parent.Type == kong.ApplicationNode {
		return n.Name
	}
	return pathOf(n.Parent) + " " + n.Name
}

// changingSite has a page whose content changes, links that lead nowhere, and a page that
// robots.txt forbids.
func changingSite(t *testing.T) (addr string, version *atomic.Int64) {
	t.Helper()
	version = new(atomic.Int64)
	pages := map[string]string{
		"/robots.txt": "User-agent: *\nDisallow: /secret\n",
		"/": "<title>Start</title><a href=/page>1</a> <a href=/gone>2</a> <a " +
			"href=/secret>3</a> <a href=/same>4</a>",
		"/page": "<title>Page</title><p>zebra %d <a href=/lost>5</a>",
		"/same": "<title>Same</title><p>quagga",
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.URL.Path != "/robots.txt" {
			w.Header().Set("Content-Type", "text/html")
		}
		_, _ = strings.NewReader(strings.ReplaceAll(page, "%d", fmt.Sprint(version.Load()))).WriteTo(w)
	}))
	t.Cleanup(web.Close)
	return web.URL, version
}

// crawlInto crawls a site on loopback into a data directory.
func crawlInto(t *testing.T, dir string, args ...string) result {
	t.Helper()
	r := run(t, "",
		append([]string{"crawl", "--data-dir", dir, "--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0",
			"--rpc", "127.0.0.1:0", "--allow-net", "127.0.0.0/8", "--delay", "5ms"}, args...)...)
	r.want(t, command.ExitOK, "ended: frontier_exhausted", "")
	return r
}

// TestAnswersOfAnEndedCrawl asks all that a running node answers of the directory that it has left.
// Nothing is changed there.
func TestAnswersOfAnEndedCrawl(t *testing.T) {
	t.Parallel()
	site, version := changingSite(t)
	dir := filepath.Join(t.TempDir(), "data")
	crawlInto(t, dir, site+"/", "--index", "on").want(t, command.ExitOK,
		"broken link: "+site+"/lost (404 Not Found) found first on "+site+"/page\n", "")
	version.Add(1)
	crawlInto(t, dir, site+"/", site+"/page", site+"/same", "--again", "--index", "on")
	before := contentsOf(t, dir)
	ask := func(args ...string) result { return run(t, "", append(args, "--data-dir", dir)...) }
	for _, tc := range []struct {
		args []string
		code int
		out  string
		err  string
	}{
		{[]string{"status"}, command.ExitOK, "stopped", ""},
		{[]string{"status", "-o", "json"}, command.ExitOK, `"state": "finished"`, ""},
		{[]string{"status", "--check", "ready"}, command.ExitError, "", "no node runs"},
		{[]string{"status", "--watch"}, command.ExitUsage, "", "no node runs"},
		{[]string{"nodes", "list"}, command.ExitOK, "stopped", ""},
		{[]string{"urls", "why", site + "/lost"}, command.ExitOK, "found first on " + site + "/page", ""},
		{[]string{"urls", "why", site + "/secret"}, command.ExitOK, "robots.txt", ""},
		{[]string{"urls", "why", site + "/never"}, command.ExitOK, "it was not found yet", ""},
		{[]string{"urls", "why", "mailto:a@b"}, command.ExitOK, "not a URL to crawl", ""},
		{[]string{"hosts", "show", "127.0.0.1"}, command.ExitOK, "nothing is queued", ""},
		{[]string{"hosts", "show", "elsewhere.test"}, command.ExitUsage, "", "no URL of elsewhere.test was ever admitted"},
		{[]string{"scope", "test", "http://elsewhere.test/"}, command.ExitOK, "refused, out_of_scope", ""},
		{[]string{"scope", "test", site + "/x"}, command.ExitOK, "admitted", ""},
		{[]string{"crawl-config", "show"}, command.ExitOK, "index=on", ""},
		{[]string{"cat", site + "/page"}, command.ExitOK, "zebra 1", ""},
		{[]string{"search", "quagga"}, command.ExitOK, site + "/same", ""},
		{[]string{"export", "cdxj"}, command.ExitOK, site + "/gone", ""},
		{[]string{"urls", "list", "--changed"}, command.ExitOK, site + "/page\n", ""},
		{[]string{"urls", "list", "--changed", "--since", "1h"}, command.ExitOK, site + "/page\n", ""},
		{[]string{"urls", "list", "--changed", "--since", "2999-01-01"}, command.ExitOK, "", ""},
		{[]string{"urls", "list", "--state", "broken", "--referrer"}, command.ExitOK, site + "/lost " + site + "/page\n", ""},
		{[]string{"urls", "list", "--match", "regex:("}, command.ExitUsage, "", "missing closing"},
	} {
		ask(tc.args...).want(t, tc.code, tc.out, tc.err)
	}
	if r := ask("urls", "list", "--changed"); strings.Count(r.out, "\n") != 1 {
		t.Errorf("changed: %s", r.out)
	}
	var st crawl.Status
	if err := json.Unmarshal([]byte(ask("status", "-o", "json").out), &st); err != nil {
		t.Fatal(err)
	}
	if st.Cluster.State != crawl.ClusterStopped || st.Throughput.PagesTotal != 8 ||
		st.Fetch.Responses.C4xx == 0 ||
		st.Output.WARCFiles != 2 || st.Output.WARCBytesTotal == 0 || len(st.Nodes) != 1 ||
		st.Frontier.Queued != 0 {
		t.Errorf("status: %+v", st)
	}
	whole := crawlInto(t, filepath.Join(t.TempDir(), "once"), site+"/")
	if strings.Count(whole.out, "broken link: ") != 2 ||
		!strings.Contains(whole.out, "2 broken links; ") ||
		!strings.Contains(whole.out, " urls list --state broken --referrer --data-dir ") {
		t.Errorf("the end of a crawl: %s", whole.out)
	}
	if after := contentsOf(t, dir); !maps.Equal(before, after) {
		for name := range after {
			if before[name] != after[name] {
				t.Errorf("%s was changed: from %.300q to %.300q", name, before[name], after[name])
			}
		}
		t.Errorf("the directory was changed: %d files, and %d before", len(after), len(before))
	}
	nowhere := t.TempDir()
	for _, verb := range []string{"status", "urls why http://a.test/", "hosts show a.test",
		"crawl-config show", "nodes list"} {
		run(t, "", append(strings.Fields(verb), "--data-dir", nowhere)...).want(t, command.ExitUsage, "",
			"not the data directory of a node")
	}
	run(t, "", "status", "--copies").want(t, command.ExitUsage, "", "give --data-dir with it")

	// A node runs there: it is asked.
	hold, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Close() }()
	if err := syscall.Flock(int(hold.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	ask("status").want(t, command.ExitUsage, "", "a node runs on "+dir+": ask it with --addr")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	addr := fakeAddr(t)
	write("pid", fmt.Sprint(os.Getpid(), "\n"))
	write("addresses.json", fmt.Sprintf(`{"http":%q}`, addr))
	said := "a node runs on " + dir + ": it is asked, at " + addr
	ask("status", "-o", "json").want(t, command.ExitOK, `"served_by": "n1"`, said)
	ask("urls", "why", "http://a.test/").want(t, command.ExitOK, "it waits", said)
	ask("urls", "list", "--limit", "1").want(t, command.ExitOK, "http://a.test/", said)
	ask("search", "x").want(t, command.ExitOK, "41", said)
}

// contentsOf are the files of a folder with their contents and times.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = fmt.Sprint(info.ModTime(), info.Mode(), sha1.Sum(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestAllPagesOfABrokenLink: with a list of links the report of a crawl names the pages that have
// a broken link, and says of how many more it has read.
func TestAllPagesOfABrokenLink(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"/": "<a href=/gone>g</a>"}
	for n := range 7 {
		pages["/"] += fmt.Sprintf("<a href=/p%d>p</a>", n)
		pages[fmt.Sprintf("/p%d", n)] = fmt.Sprintf("<title>%d</title><a href=/gone>g</a>", n)
	}
	pages["/p6"] += "<a href=/lost>l</a><a href=/lost#again>l</a>"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = strings.NewReader(page).WriteTo(w)
	}))
	t.Cleanup(web.Close)
	u, dir := web.URL, filepath.Join(t.TempDir(), "data")
	r := crawlInto(t, dir, u+"/", "--derive", "links")
	r.want(t, command.ExitOK, "broken link: "+u+"/gone (404 Not Found) linked from "+u+"/, "+
		u+"/p0, "+u+"/p1, "+u+"/p2, "+u+"/p3 and 3 more\n", "")
	r.want(t, command.ExitOK, "broken link: "+u+"/lost (404 Not Found) linked from "+u+"/p6\n", "")
	for _, state := range []string{"broken", "failed"} { // the latter is an older form of the former
		run(t, "", "urls", "list", "--state", state, "--referrer", "--data-dir", dir).
			want(t, command.ExitOK, " "+u+"/lost "+u+"/p6\n", "")
	}
	r = run(t, "", "urls", "list", "--state", "failed", "--data-dir", dir)
	if r.code != command.ExitOK || r.out != "" {
		t.Errorf("nothing was given up: %+v", r)
	}
}
