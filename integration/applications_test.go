package integration

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
)

var (
	withApplications = flag.Bool("applications", false, "crawl applications that are built with "+
		"real libraries in a real browser, and append the figures to docs/results/applications.md "+
		"(TestApplications)")
	applicationPages = flag.Int("applicationpages", 200,
		"pages of each application that TestApplications crawls")
)

// textPages is how many pages of each application are compared with what Chromium shows of them.
const textPages = 20

// realApplications are those of the folder applications. hash: its pages have addresses that differ
// in the fragment alone.
var realApplications = []struct {
	name string
	hash bool
}{{"docsify", true}, {"react", false}, {"vue", false}, {"hash", true}, {"lazy", false}}

// buildApplications compiles the folder applications with the libraries from npm.
func buildApplications(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	out, err := exec.Command("node", filepath.Join("applications", "build.mjs"),
		folder).CombinedOutput()
	if err != nil {
		t.Fatalf("building the applications (make rendering installs what they need): %v\n%s", err, out)
	}
	return folder
}

// realApplication serves one of them and counts what it is asked for. Page 0 leads to all others,
// over several pages.
type realApplication struct {
	*httptest.Server
	name  string
	hash  bool
	pages int
	files http.Handler

	mu    sync.Mutex
	asked map[string]int
	shown [][]byte // archived pages, to be looked at again
}

func startApplication(t *testing.T, folder, name string, hash bool, pages int) *realApplication {
	t.Helper()
	dir := filepath.Join(folder, name)
	a := &realApplication{
		name:  name,
		hash:  hash,
		pages: pages,
		files: http.FileServer(http.Dir(dir)),
		asked: map[string]int{},
	}
	index, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.asked[r.URL.Path]++
		a.mu.Unlock()
		var n int
		switch at := r.URL.Path; {
		case at == "/" || !hash && scans(at, "/p%d", &n) && n < pages:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(index)
		case (scans(at, "/data/p%d.json", &n) || scans(at, "/more/p%d.json", &n)) && n < pages:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(applicationData(n, pages))
		case at == "/README.md" || scans(at, "/p%d.md", &n) && n < pages:
			_, _ = w.Write([]byte(applicationData(n, pages).markdown()))
		case at == "/_sidebar.md":
			_, _ = w.Write([]byte("* [Start](/)\n* [First](p1.md)\n* [Second](p2.md)\n"))
		case scans(at, "/archived-%d", &n):
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", "script-src 'none'")
			a.mu.Lock()
			defer a.mu.Unlock()
			_, _ = w.Write(a.shown[n])
		default:
			a.files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// scans reports whether s is what format describes, with a number and nothing else.
func scans(s, format string, n *int) bool {
	_, err := fmt.Sscanf(s, format, n)
	return err == nil && *n >= 0 && fmt.Sprintf(format, *n) == s
}

// url is the address of a page.
func (a *realApplication) url(n int) string {
	switch {
	case n == 0:
		return a.URL + "/"
	case a.hash:
		return fmt.Sprintf("%s/#/p%d", a.URL, n)
	}
	return fmt.Sprintf("%s/p%d", a.URL, n)
}

// applicationBlock is a part of a page: a list and a table have items, others a text.
type applicationBlock struct {
	Tag    string   `json:"tag"`
	Text   string   `json:"text"`
	Items  []string `json:"items,omitempty"`
	Unseen bool     `json:"unseen"` // styles hide it
}

// applicationDatum is what a page is made of.
type applicationDatum struct {
	Name   string             `json:"name"`
	Title  string             `json:"title"`
	Blocks []applicationBlock `json:"blocks"`
	Links  []string           `json:"links"`
}

// applicationWords are in many scripts, and with marks that a parser may stumble on.
var applicationWords = strings.Fields("river stone über Straße naïve e.g. " +
	"don’t AT&T <b> R&amp;D x=1 100% 東京 новости שלום مرحبا 😀 co-operate foo_bar C++ a/b \"quoted\" " +
	"(sic) [1] — … µm ½ İstanbul ﬁne")

// applicationData is the content of page n, which links to the three pages below it.
func applicationData(n, pages int) applicationDatum {
	draw := rand.New(rand.NewPCG(uint64(n), 5))
	words := func(count int) string {
		var b []string
		for range count {
			b = append(b,
				applicationWords[draw.IntN(len(applicationWords))]+[]string{"", "", ",", "."}[draw.IntN(4)])
		}
		return strings.Join(b, " ")
	}
	d := applicationDatum{
		Name:  fmt.Sprint("p", n),
		Title: fmt.Sprintf("Page %d of many", n),
		Links: []string{},
	}
	for i := range 3 + draw.IntN(4) {
		d.Blocks = append(d.Blocks,
			applicationBlock{Tag: "h2", Text: fmt.Sprintf("Part %d: %s", i+1, words(3))},
			applicationBlock{Tag: "p", Text: words(20 + draw.IntN(60))},
			applicationBlock{
				Tag:   []string{"ul", "table"}[i%2],
				Items: []string{words(4), words(7), words(2)},
			},
			applicationBlock{Tag: "p", Text: "not for readers: " + words(5), Unseen: true},
			applicationBlock{Tag: []string{"pre", "blockquote", "button"}[i%3], Text: words(12)})
	}
	for child := 3*n + 1; child <= 3*n+3 && child < pages; child++ {
		d.Links = append(d.Links, fmt.Sprint("p", child))
	}
	return d
}

// markdown is the page as docsify takes it.
func (d applicationDatum) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", d.Title)
	for _, block := range d.Blocks {
		switch text := markdownText.Replace(block.Text); {
		case block.Unseen:
			fmt.Fprintf(&b, "<p class=\"unseen\">%s</p>\n\n", text)
		case block.Tag == "h2":
			fmt.Fprintf(&b, "## %s\n\n", text)
		case block.Tag == "ul":
			for _, item := range block.Items {
				fmt.Fprintf(&b, "* %s\n", markdownText.Replace(item))
			}
			b.WriteString("\n")
		case block.Tag == "table":
			b.WriteString("| number | text |\n|---|---|\n")
			for i, item := range block.Items {
				fmt.Fprintf(&b, "| %d | %s |\n", i+1, markdownText.Replace(item))
			}
			b.WriteString("\n")
		case block.Tag == "pre":
			fmt.Fprintf(&b, "```js\n%s\n```\n\n", block.Text)
		default:
			fmt.Fprintf(&b, "> %s\n\n", text)
		}
	}
	for _, name := range d.Links {
		fmt.Fprintf(&b, "[to %s](%s.md) ", name, name)
	}
	fmt.Fprintf(&b, "\n\nthe end of %s\n", d.Name)
	return b.String()
}

var markdownText = strings.NewReplacer("<", "&lt;", "&", "&amp;", "[", `\[`, "|", `\|`)

const applicationsHead = `# Applications

Sites that are one file each and whose pages only a browser can read, built with the libraries themselves (integration/applications): docsify, React and its router with paths, Vue and its router with paths, React and its router with
routes in the fragment, and pages whose second half lozad loads when a reader scrolls. One node with --render auto crawls each over loopback. *archived*: pages that have a response and a resource record, exactly once. *words*: those of
document.body.innerText of the same pages in a Chromium that reads the site itself; *missing*, *more*: words of these that the node's text does not have, and those that it has beside them; *record*: the same of the archived page, shown without
scripts. *CPU*: processor seconds of the node, and of its browser with its start. Appended by ` + "`make rendering`" +
	`

| date | commit | site | browser | pages | archived | seconds | CPU node | CPU browser | pages compared | words | missing | more | equal, % | record: missing | more | equal, % | load of the machine |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// TestApplications crawls applications that are built with real libraries. Every page is found,
// shown and archived once, with the text that Chromium itself shows.
func TestApplications(t *testing.T) {
	onRequest(t, *withApplications,
		"minutes of a browser, and libraries from npm: run it with -applications, or make rendering")
	needsBrowser(t)
	folder := buildApplications(t)
	for _, kind := range realApplications {
		t.Run(kind.name, func(t *testing.T) {
			a := startApplication(t, folder, kind.name, kind.hash, *applicationPages)
			f := a.crawled(t)
			a.compare(t, &f)
			load, err := os.ReadFile("/proc/loadavg")
			if err != nil {
				t.Fatal(err)
			}
			appendResult(t, "applications.md", applicationsHead, fmt.Sprintf(
				"%s | %s | %d | %d | %.0f | %.1f | %.1f | %d | %d | %s | %s | %s |", kind.name, f.program,
				*applicationPages, f.archived, f.took.Seconds(),
				f.node.Seconds(), f.browser.Seconds(), f.compared, f.text.words, f.text, f.record,
				strings.Fields(string(load))[0]))
		})
	}
}

// applicationFigures are those of one crawl.
type applicationFigures struct {
	program             string // the browser
	archived            int
	took, node, browser time.Duration
	texts               map[string]string // of the text files
	doms                map[string][]byte // of the resource records
	compared            int
	text, record        wordCount
}

// crawled crawls the application with one new node, and judges what was found and archived.
func (a *realApplication) crawled(t *testing.T) (f applicationFigures) {
	t.Helper()
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "0s", "--ip-delay", "0",
		"--partitions", "512", "--render", "auto", "--renderers", "6", "--render-timeout", "2m",
		"--derive", "text")
	c.addReady(1)
	n := c.nodes[0]
	browser, began := watchBrowser(t, n), time.Now()
	n.seed(a.url(0))
	c.finished(slack(4 * time.Minute))
	f.took, f.node, f.browser = time.Since(began), cpuTime(n.cmd.Process.Pid), browser()
	var s crawl.Status
	if err := n.decode("/status", &s); err != nil {
		t.Fatal(err)
	}
	if s.Render.Browser != nil {
		f.program = filepath.Base(*s.Render.Browser)
	}
	for i := range a.pages {
		var r crawl.URLReport
		if err := n.decode("/api/v1/urls?url="+url.QueryEscape(a.url(i)), &r); err != nil ||
			r.URL == nil || *r.URL != a.url(i) || r.Render == nil || r.Render.Decided != crawl.RenderedPage {
			t.Errorf("%s: %+v, %v", a.url(i), r, err)
		}
	}
	t.Logf("%+v", s.Render)
	c.stop()
	a.judgeArchive(t, c, &f)
	return f
}

// judgeArchive reads what the node has left.
func (a *realApplication) judgeArchive(t *testing.T, c *cluster, f *applicationFigures) {
	t.Helper()
	n := c.nodes[0]
	shown := shownIn(t, filepath.Join(n.dir, "warc"), "the end of p")
	f.doms, f.texts = archivedShown(t, n)
	captures, want := c.newestCaptures(), map[string]bool{}
	for i := range a.pages {
		u := a.url(i)
		want[u] = true
		if shown[u] != 1 || captures[u].TargetURI != u ||
			!strings.Contains(f.texts[u], fmt.Sprintf("Page %d of many", i)) {
			t.Errorf("%s was archived as it was shown %d times; %+v, %.300q", u, shown[u],
				captures[u].Fields, f.texts[u])
			continue
		}
		f.archived++
	}
	for u, times := range shown {
		if !want[u] {
			t.Errorf("%s was shown %d times and is no page", u, times)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for path, times := range a.asked {
		if times > 1 && (path != "/" || !a.hash) {
			t.Errorf("%s was fetched %d times", path, times)
		}
	}
	if times := a.asked["/"]; a.hash && times != a.pages { // each route fetches the document
		t.Errorf("the document of %d routes was fetched %d times", a.pages, times)
	}
}
