package integration

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"crawlnode/output/table"
)

// readCase is a page that every reader is to show alike. The words are in no other page.
type readCase struct {
	path   string
	header []string // name, value, ...
	body   string
	status int    // 0: 200
	title  string // "": that of no page
	text   bool   // it is a text, which is read as a page without a title
	word   string // of the main text; "": it has none
	link   string // a path to which it leads, or ""
	hidden bool   // it asks to be in no search
	shell  string // a word that only the page before its scripts has
	twin   string // the path of the page with the same content
}

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s) // a buffer takes all
	_ = z.Close()
	return b.String()
}

// paragraph makes one around a word.
func paragraph(word string) string {
	return "<p>There is one word on this page that no other page has, which is " + word +
		", and the rest is filler.</p>"
}

// readCases are the pages of TestReadersAgree: what servers send, in the ways in which readers
// differed.
func readCases() (all []readCase) {
	page := func(name, title, more string, header ...string) readCase {
		c := readCase{
			path:   "/" + name,
			header: append([]string{"Content-Type", "text/html; charset=utf-8"}, header...),
			title:  title,
			word:   "wq" + name + "x",
			link:   "/to-" + name,
		}
		c.body = "<!doctype html><html lang=en><title>" + title + "</title>" + more +
			"<main><h1>Head</h1>" + paragraph(c.word) + "<a href=" + c.link + ">on</a></main>"
		return c
	}
	add := func(c readCase) { all = append(all, c) }
	as := func(c readCase, kind string) readCase {
		if c.header = c.header[2:]; kind != "" {
			c.header = append([]string{"Content-Type", kind}, c.header...)
		}
		return c
	}
	coded := func(c readCase, body string) readCase {
		c.header, c.body = append(c.header, "Content-Encoding", "gzip"), body
		return c
	}
	hidden := func(c readCase) readCase { c.hidden = true; return c }

	add(page("plain", "Plain", ""))
	add(page("entities", "Tom &amp; Jerry &lt;3 &eacute;", ""))
	add(page("unicode", "Grüße 漢字", ""))
	add(as(page("latin", "Caf\xe9", ""), "text/html; charset=iso-8859-1"))
	add(as(page("windows", "\x93Quoted\x94", ""), "text/html; charset=windows-1252"))
	add(as(page("metacharset", "Stra\xdfe", "<meta charset=iso-8859-1>"), "text/html"))
	add(as(page("sjis", "\x93\xfa\x96\x7b", ""), "text/html; charset=shift_jis"))
	add(as(page("koi", "\xf0\xd2\xc9\xd7\xc5\xd4", ""), "text/html; charset=koi8-r"))
	add(as(page("untyped", "Untyped", ""), ""))
	add(as(page("anytype", "Any", ""), "*/*"))
	add(as(page("unknowntype", "Unknown", ""), "unknown/unknown"))
	add(as(page("capitals", "Capitals", ""), "TEXT/HTML; Charset=UTF-8"))
	add(as(page("xhtml", "XHTML", ""), "application/xhtml+xml"))
	c := page("gzip", "Packed", "")
	add(coded(c, gzipped(c.body)))
	c = page("trailing", "Trailing", "")
	add(coded(c, gzipped(c.body)+"abc"))
	c = page("trailingzero", "Zeros", "")
	add(coded(c, gzipped(c.body)+"\x00\x00\x00\x00"))
	c = page("trailingline", "Line", "")
	add(coded(c, gzipped(c.body)+"\r\n"))
	c = page("members", "Members", "")
	add(coded(c, gzipped(c.body[:60])+gzipped(c.body[60:])))
	c = page("membersjunk", "Junk", "")
	add(coded(c, gzipped(c.body[:60])+gzipped(c.body[60:])+"junk"))
	c = page("notpacked", "Lies", "")
	add(coded(c, c.body))
	c = page("cutpacked", "Cut", "")
	packed := gzipped(c.body)
	add(coded(c, packed[:len(packed)-8])) // without length and checksum
	c = page("unknowncoding", "Unknown coding", "")
	c.header = append(c.header, "Content-Encoding", "utf-8")
	add(c)
	add(hidden(page("hidemeta", "Hidden 1", "<meta name=robots content=noindex>")))
	add(hidden(page("hidenone", "Hidden 2", "<meta name=ROBOTS content='NONE'>")))
	add(hidden(page("hideheader", "Hidden 3", "", "X-Robots-Tag", "noindex")))
	add(hidden(page("hidesecond", "Hidden 4", "", "X-Robots-Tag", "noarchive", "X-Robots-Tag",
		"noindex")))
	add(hidden(page("hidethird", "Hidden 5", "", "X-Robots-Tag", "otherbot: nofollow", "X-Robots-Tag",
		"max-snippet: 5", "X-Robots-Tag", "noindex")))
	add(hidden(page("hideagent", "Hidden 6", "", "X-Robots-Tag", "crawlnode: noindex")))
	add(hidden(page("hideagentcase", "Hidden 7", "", "X-Robots-Tag", "otherbot: noindex",
		"X-Robots-Tag", "CrawlNode: NoIndex")))
	add(hidden(page("hidelist", "Hidden 8", "", "X-Robots-Tag", "noarchive, noindex")))
	add(page("hideother", "Shown", "", "X-Robots-Tag", "otherbot: noindex"))
	add(page("hideothers", "Shown too", "", "X-Robots-Tag", "otherbot: none", "X-Robots-Tag",
		"noarchive"))
	c = page("first", "Twins", "")
	c.twin = "/second"
	add(c)
	second := c
	second.path, second.twin = "/second", "/first"
	add(second)
	c = page("hiddentwin", "Hidden twins", "", "X-Robots-Tag", "noindex")
	c.hidden, c.twin = true, "/hiddentwin2"
	add(c)
	c.path, c.twin = "/hiddentwin2", "/hiddentwin"
	add(c)
	c = page("Case", "Upper", "")
	// words have no case
	c.body, c.word = strings.ReplaceAll(c.body, c.word, "wquppercasex"), "wquppercasex"
	add(c)
	add(page("case", "Lower", ""))
	c = page("query", "Query 1", "")
	c.path += "?a=1&b=2"
	add(c)
	c = page("query2", "Query 2", "")
	c.path = "/query?b=2&a=1"
	add(c)
	add(page("frames", "Framed", "<iframe src=/to-frames>fallback</iframe>"))
	add(page("comment", "Comments",
		"<!-- <title>No</title> --><script>var t='<title>No</title>'</script>"))
	add(page("twotitles", "First", "<title>Second</title>"))
	add(page("svgtitle", "Outer", "<svg><title>Inner</title></svg>"))
	add(page("relative", "Relative", "<base href=/>"))
	add(page("deep", "Deep", strings.Repeat("<div>", 3000)))
	add(page("huge", "Huge", "<style>"+strings.Repeat("a{color:red}", 100_000)+"</style>"))
	add(page("spaces", "  Much \n space  ", ""))
	add(page("nulls", "Nulls", "<p>a\x00b</p>"))
	add(page("emptyhead", "Empty header", "", "X-Empty", ""))
	c = page("long", "Long", "") // longer than --max-body: it is cut, and marked
	c.body += strings.Repeat("<p>filler", 400_000)
	add(c)
	add(readCase{path: "/moved", header: []string{"Location", "/plain"}, status: http.StatusFound})
	add(readCase{
		path:   "/gone",
		header: []string{"Content-Type", "text/html"},
		body:   "<title>Gone</title>wqgonex",
		status: http.StatusGone,
		word:   "",
	})
	c = page("unclosed", "Unclosed", "")
	c.body = strings.ReplaceAll(c.body, "</p>", "")
	add(c)
	add(readCase{
		path:   "/text",
		text:   true,
		header: []string{"Content-Type", "text/plain; charset=utf-8"},
		body:   "A text with wqtextx.",
		word:   "wqtextx",
	})
	add(readCase{
		path:   "/textlatin",
		text:   true,
		header: []string{"Content-Type", "text/plain; charset=iso-8859-1"},
		body:   "A text with wqtextlatinx\xe9.",
		word:   "wqtextlatinxé",
	})
	add(readCase{
		path:   "/json",
		header: []string{"Content-Type", "application/json"},
		body:   `{"a":"wqjsonx"}`,
		word:   "wqjsonx",
	})
	add(readCase{
		path:   "/htmlastext",
		text:   true,
		header: []string{"Content-Type", "text/plain"},
		body:   "<title>wqhtmlastextx</title>",
		word:   "wqhtmlastextx",
	})
	for name, script := range map[string]string{
		"one": `document.title="Shown one"`, "two": `document.title="Shown two";document.body.append("")`,
		"three": `document.title="Shown three"`,
	} {
		c := readCase{
			path:   "/app-" + name,
			header: []string{"Content-Type", "text/html; charset=utf-8"},
			title:  "Shown " + name,
			word:   "wqapp" + name + "x",
			link:   "/to-app-" + name,
			shell:  "wqshell" + name + "x",
		}
		if name == "two" {
			c.header = append(c.header, "Content-Encoding", "gzip")
		}
		c.body = "<!doctype html><html lang=en><title>Loading</title><div id=a>" + c.shell +
			"</div><script>" + script +
			`;document.getElementById("a").innerHTML="<main><h1>Head</h1><p>There is one word on this page that no other page has, which is "+"wqapp"+"` +
			name + `x"+", and the rest is filler.</p><a href=/to-app-` + name + `>on</a></main>"</script>`
		if name == "two" {
			c.body = gzipped(c.body)
		}
		add(c)
	}
	c = readCase{path: "/app-hidden", header: []string{"Content-Type",
		"text/html"}, title: "Hidden", word: "wqapphiddenx", link: "/to-app-hidden", hidden: true}
	c.body =
		`<title>Hidden</title><div id=a></div><script>var m=document.createElement("meta");m.name="robots";m.content="noindex";document.head.append(m);` +
			`document.getElementById("a").innerHTML="<p>There is "+"wqapphidden"+"x here.</p><a href=/to-app-hidden>on</a>"</script>`
	add(c)
	return all
}

// readSite serves the cases; its first page leads to all of them.
func readSite(t *testing.T, cases []readCase) *httptest.Server {
	t.Helper()
	of := map[string]*readCase{}
	home := "<title>Home</title>"
	for i := range cases {
		of[cases[i].path] = &cases[i]
		home += "<a href=\"" + strings.ReplaceAll(cases[i].path, "&", "&amp;") + "\">a</a> "
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := of[r.URL.RequestURI()]
		switch {
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, home)
			return
		case c == nil:
			http.NotFound(w, r)
			return
		}
		w.Header()["Content-Type"] = nil
		for i := 0; i < len(c.header); i += 2 {
			if c.header[i] == "Content-Type" {
				w.Header().Set("Content-Type", c.header[i+1])
			} else {
				w.Header().Add(c.header[i], c.header[i+1])
			}
		}
		if c.status != 0 {
			w.WriteHeader(c.status)
		}
		_, _ = io.WriteString(w, c.body)
	}))
	t.Cleanup(s.Close)
	return s
}

// shownPage is what one reader has of a URL.
type shownPage struct {
	title, text string
}

// readings compares what readers say with what is right.
type readings struct {
	t               *testing.T
	site            string
	cases           []readCase
	compared, wrong int
}

func (r *readings) check(ok bool, format string, args ...any) {
	r.t.Helper()
	if r.compared++; !ok {
		r.wrong++
		r.t.Errorf(format, args...)
	}
}

// documents compares a list of documents: who is in it, its title and its text.
func (r *readings) documents(name string, got map[string]shownPage, withHidden, titles bool) {
	r.t.Helper()
	for i := range r.cases {
		c := &r.cases[i]
		d, there := got[r.site+c.path]
		r.check(there == ((c.title != "" || c.text) && (!c.hidden || withHidden)), "%s: %s: there: %v",
			name, c.path, there)
		if c.title == "" && !c.text || c.hidden && !withHidden {
			continue
		}
		if titles && !c.text {
			r.check(there && d.title == wantedTitle(c), "%s: %s: title %q, want %q", name, c.path, d.title,
				wantedTitle(c))
		}
		r.check(strings.Contains(d.text, c.word) && (c.shell == "" || !strings.Contains(d.text, c.shell)),
			"%s: %s: text %.200q", name, c.path, d.text)
	}
}

// wantedTitle is the title as a browser shows it.
func wantedTitle(c *readCase) string {
	if t, ok := map[string]string{
		"/entities":    "Tom & Jerry <3 é",
		"/latin":       "Café",
		"/windows":     "“Quoted”",
		"/metacharset": "Straße",
		"/sjis":        "日本",
		"/koi":         "Привет",
		"/spaces":      "Much space",
	}[c.path]; ok {
		return t
	}
	return c.title
}

// TestReadersAgree crawls a list of pages, some in a browser, and reads what was stored in every
// way there is: through the node, from its directory, from one without its index, and from one
// whose files are not compressed. Each shows the title, text and links that a browser shows, and
// leaves out whom the crawl's own search leaves out.
func TestReadersAgree(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	cases := readCases()
	site := readSite(t, cases)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "2ms", "--index", "on", "--max-body",
		"2MiB", "--render", "all", "--render-match", "*/app-*", "--render-timeout", "2m")
	c.addReady(1)
	c.nodes[0].seed(site.URL + "/")
	c.finished(slack(3 * time.Minute))
	n := c.nodes[0]
	_ = exported(t, n) // what is asked for is synced
	r := &readings{t: t, site: site.URL, cases: cases}

	until(t, slack(time.Minute), func() string {
		if code, out, errs := run(t, "", "search", "wqplainx", "--addr", n.http, "-o",
			"json"); code != 0 ||
			!strings.Contains(out, "/plain") {
			return fmt.Sprint(code, out, errs)
		}
		return ""
	})
	r.searches("search", "--addr", n.http)
	r.all("node", []string{"--addr", n.http})
	r.dashboard(n)
	c.stop()
	r.all("directory", []string{"--data-dir", n.dir})
	r.files("files of the directory", warcsOf(t, n.dir)...)

	bare := filepath.Join(t.TempDir(), "bare")
	copyWARCs(t, n.dir, bare, false)
	r.all("directory without an index", []string{"--data-dir", bare})
	plain := filepath.Join(t.TempDir(), "plain")
	copyWARCs(t, n.dir, plain, true)
	r.all("directory without compression", []string{"--data-dir", plain})
	r.files("files without compression", warcsOf(t, plain)...)
	t.Logf("%d pages, %d comparisons, %d differ", len(cases), r.compared, r.wrong)
}

func warcsOf(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%q, %v", found, err)
	}
	return found
}

// copyWARCs copies the WARC files of a node without their indexes, and without compression if
// asked.
func copyWARCs(t *testing.T, from, to string, plain bool) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(to, "warc"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range warcsOf(t, from) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		if plain {
			z, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if b, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
			name = strings.TrimSuffix(name, ".gz")
		}
		if err := os.WriteFile(filepath.Join(to, "warc", name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// searches asks an index for the word of each page.
func (r *readings) searches(name string, where ...string) {
	r.t.Helper()
	got := map[string]shownPage{}
	for i := range r.cases {
		c := &r.cases[i]
		if c.word == "" {
			continue
		}
		_, out, _ := run(r.t, "", append([]string{"search", "-o", "json", c.word}, where...)...)
		var report struct {
			Results []struct {
				Title, Link string
				AlsoAt      []string `json:"also_at"`
			}
		}
		_ = json.Unmarshal([]byte(out), &report) // nothing was found
		for _, f := range report.Results {
			for _, u := range append(f.AlsoAt, f.Link) {
				got[u] = shownPage{title: f.Title, text: c.word}
			}
		}
		if c.shell != "" {
			_, out, _ := run(r.t, "", append([]string{"search", "-o", "json", c.shell}, where...)...)
			r.check(!strings.Contains(out, c.path), "%s: %s is found by what nobody sees", name, c.path)
		}
	}
	r.documents(name, got, false, true)
}

// all reads by every verb that takes a source.
func (r *readings) all(name string, from []string) {
	r.t.Helper()
	base := r.t.TempDir()
	export := func(verb, file string, more ...string) string {
		path := filepath.Join(base, file)
		code, _, errs := run(r.t, "", slices.Concat([]string{"export", verb, "-o", path}, from, more)...)
		r.check(code == 0, "%s: export %s %v: %d, %s", name, verb, more, code, errs)
		return path
	}
	jsonl := map[string]shownPage{}
	for _, line := range lines(export("jsonl", "x.jsonl")) {
		var d struct{ URL, Title, Text string }
		if json.Unmarshal([]byte(line), &d) == nil {
			jsonl[d.URL] = shownPage{title: d.Title, text: d.Text}
		}
	}
	r.documents(name+": jsonl", jsonl, false, true)

	pages := map[string]shownPage{}
	flags := map[string]bool{}
	for _, p := range readParquet[table.Page](export("parquet", "p.parquet", "--table", "pages")) {
		pages[p.URL] = shownPage{title: orEmpty(p.Title), text: orEmpty(p.Text)}
		flags[p.URL] = p.NoIndex
	}
	r.documents(name+": parquet pages", pages, true, true)
	links := map[string]bool{}
	for _, l := range readParquet[table.Link](export("parquet", "l.parquet", "--table", "links")) {
		links[l.Source+" "+l.Target] = true
	}
	for i := range r.cases {
		c := &r.cases[i]
		r.check(flags[r.site+c.path] == (c.hidden && c.title != ""), "%s: parquet pages: %s: noindex %v",
			name, c.path, flags[r.site+c.path])
		if c.link != "" {
			r.check(links[r.site+c.path+" "+r.site+c.link], "%s: parquet links: %s has not its link", name,
				c.path)
		}
	}

	texts := waczTexts(export("wacz", "x.wacz", "--text"))
	// listed, and not to be searched
	maps.DeleteFunc(texts, func(u string, p shownPage) bool { return p.text == "" })
	r.documents(name+": wacz", texts, false, true)

	folder := filepath.Join(base, "site")
	code, _, errs := run(r.t, "",
		slices.Concat([]string{"export", "files", "--output", folder}, from)...)
	r.check(code == 0, "%s: export files: %d, %s", name, code, errs)
	saved := map[string]string{}
	for _, line := range lines(filepath.Join(folder, "manifest.jsonl")) {
		var l struct{ URL, File string }
		if json.Unmarshal([]byte(line), &l) == nil && l.File != "" {
			b, _ := os.ReadFile(filepath.Join(folder, filepath.FromSlash(l.File))) // "" is wrong then
			saved[l.URL] = string(b)
		}
	}
	for i := range r.cases {
		c := &r.cases[i]
		plain := strings.TrimSuffix(c.word, "é")
		r.check(strings.Contains(saved[r.site+c.path], plain), "%s: files: %s: %.100q", name, c.path,
			saved[r.site+c.path])
		code, out, errs := run(r.t, "",
			slices.Concat([]string{"cat", "--text", r.site + c.path}, from)...)
		r.check(code == 0 && strings.Contains(out, c.word) &&
			(c.shell == "" || !strings.Contains(out, c.shell)),
			"%s: cat --text %s: %d, %.100q, %s", name, c.path, code, out, errs)
	}
	var args []string
	if from[0] == "--data-dir" {
		args = from[1:]
	} else {
		args = from
	}
	address, ok := replayStarted(r.t, args...)
	r.check(ok, "%s: replay does not start", name)
	for i := range r.cases {
		c := &r.cases[i]
		body := ""
		if ok {
			if resp, err := client.Get(address + "/web/20300101000000/" +
				url.PathEscape(r.site+c.path)); err == nil {
				b, _ := io.ReadAll(resp.Body)
				body = string(b)
				_ = resp.Body.Close()
			}
		}
		r.check(strings.Contains(body, strings.TrimSuffix(c.word, "é")), "%s: replay: %s: %.100q", name,
			c.path, body)
	}
}

// files reads WARC files without a source: the index verb and the graph.
func (r *readings) files(name string, paths ...string) {
	r.t.Helper()
	index := filepath.Join(r.t.TempDir(), "index")
	code, _, errs := run(r.t, "", slices.Concat([]string{"index", "--data-dir", index}, paths)...)
	r.check(code == 0, "%s: index: %d, %s", name, code, errs)
	r.searches(name+": index", "--data-dir", index)
	code, out, errs := run(r.t, "",
		slices.Concat([]string{"graph", "rank", "-o", "json", "--top", "0"}, paths)...)
	r.check(code == 0, "%s: graph rank: %d, %s", name, code, errs)
	var ranks struct {
		Ranks []struct {
			URL string
			Out int `json:"links_out"`
		}
	}
	_ = json.Unmarshal([]byte(out), &ranks) // nothing is ranked
	nodes := map[string]int{}
	for _, n := range ranks.Ranks {
		nodes[n.URL] = n.Out + 1
	}
	for i := range r.cases {
		if c := &r.cases[i]; c.link != "" {
			r.check(nodes[r.site+c.link] > 0 && nodes[r.site+c.path] > 1,
				"%s: graph rank: %s has not its link", name, c.path)
		}
	}
}

// dashboard looks at the pages as the dashboard shows them.
func (r *readings) dashboard(n *node) {
	r.t.Helper()
	for i := range r.cases {
		c := &r.cases[i]
		views := []string{"/urls?view=text&url="}
		if c.title != "" {
			views = append(views, "/archive?url=")
		}
		for _, view := range views {
			code, body, err := n.get(view + url.QueryEscape(r.site+c.path))
			r.check(code == http.StatusOK && strings.Contains(string(body), c.word) &&
				(c.shell == "" || !strings.Contains(string(body), c.shell)),
				"dashboard: %s%s: %d, %v", view, c.path, code, err)
		}
	}
}

// lines are those of a file; none: it is not there.
func lines(path string) []string {
	b, _ := os.ReadFile(path)
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// readParquet are the rows of a file; none: it is not there.
func readParquet[T any](path string) []T {
	rows, _ := parquet.ReadFile[T](path)
	return rows
}

// waczTexts are the pages of a collection; none: it is not there.
func waczTexts(path string) map[string]shownPage {
	got := map[string]shownPage{}
	z, err := zip.OpenReader(path)
	if err != nil {
		return got
	}
	defer z.Close()
	for _, f := range z.File {
		if !strings.HasPrefix(f.Name, "pages/") {
			continue
		}
		in, err := f.Open()
		if err != nil {
			continue
		}
		b, _ := io.ReadAll(in)
		for line := range strings.SplitSeq(string(b), "\n") {
			var p struct{ URL, Title, Text string }
			if json.Unmarshal([]byte(line), &p) == nil && p.URL != "" {
				got[p.URL] = shownPage{title: p.Title, text: p.Text}
			}
		}
	}
	return got
}

// replayStarted starts the verb replay and returns its address, or false when it ends instead.
func replayStarted(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"replay", "--listen", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // how it ends is another test's
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(line, "replay: ")), "/"), err == nil
}
