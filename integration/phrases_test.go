package integration

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/unicode/norm"
)

var (
	phrases    = flag.Int("phrases", 500, "phrases of TestPhrasesOfRealPages")
	phrasesAll = flag.Bool("phrases.all", false,
		"all packages in TestPhrasesOfRealPages, 2,600 pages, not 800 of them")
	phrasesSeed = flag.Uint64("phrases.seed", 37, "seed of TestPhrasesOfRealPages")
)

// documentation is what Debian packages install; `make deps` installs them.
var documentation = []struct{ folder, start string }{
	{"/usr/share/doc/sqlite3", "/index.html"},
	{"/usr/share/doc/debian-policy/policy.html", "/index.html"},
	{"/usr/share/doc/postgresql-doc-15/html", "/index.html"},
	{"/usr/share/doc/gnuplot/htmldocs", "/index.html"},
}

// TestPhrasesOfRealPages crawls real documentation with two nodes, takes phrases from its files,
// and looks for each: the pages that are found are those whose file has it. What a file has is told
// by another parser of HTML (a tree, x/net/html) and another reading of words (runs of letters and
// digits) than those of the index.
//
// The index leaves out menus and the like (web/maintext). So a page need not be found that has a
// phrase in nothing but menus: elements that say they are one, and blocks that are mostly links.
// Those are counted. No page is found that does not have the phrase.
func TestPhrasesOfRealPages(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	sites := documentation[:2]
	if *phrasesAll {
		sites = documentation
	}
	// The other parser reads HTML alone, so the texts and PDF files of the sites are not to be found.
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "0", "--index", "on",
		"--partitions", "512", "--documents", "off")
	roots, seeds := map[string]string{}, []string(nil)
	for i, site := range sites {
		needsDocumentation(t, site.folder+site.start)
		addr := fmt.Sprintf("127.0.0.%d:%d", i+1, freePort(t))
		serveOn(t, addr, http.FileServer(http.Dir(site.folder)))
		roots[addr] = site.folder
		seeds = append(seeds, "http://"+addr+site.start)
	}
	c.addReady(2)
	c.converged(30 * time.Second)
	c.nodes[0].seed(seeds...)
	c.finished(10 * time.Minute)
	scanned := map[string]*scannedPage{}
	for _, link := range c.living()[0].lines("state=done&status=2xx") {
		if p := scanFile(t, roots, link); p != nil {
			scanned[link] = p
		}
	}
	c.searchable(3*time.Minute, int64(len(scanned)))

	r := rand.New(rand.NewPCG(*phrasesSeed, 1))
	links := slices.Sorted(func(yield func(string) bool) {
		for link := range scanned {
			if !yield(link) {
				return
			}
		}
	})
	began, common, differ, hits, menus, menuPhrases := time.Now(), 0, 0, 0, 0, 0
	for i := range *phrases {
		phrase := takePhrase(r, links, scanned, 5*i < 2**phrases)
		if commonShare(phrase) {
			common++
		}
		asked := scanWords(phrase)
		var want, must []string
		for _, link := range links {
			if p := scanned[link]; p.has(asked) {
				want = append(want, link)
				if strings.Contains(p.title, asked) || strings.Contains(p.main, asked) {
					must = append(must, link)
				}
			}
		}
		got, total, exact := c.nodes[i%2].everyResult(t, `"`+phrase+`"`)
		if i%10 == 0 {
			other, _, _ := c.nodes[1-i%2].everyResult(t, `"`+phrase+`"`)
			if !slices.Equal(got, other) {
				t.Errorf("%q: the nodes find %d and %d", phrase, len(got), len(other))
			}
		}
		hits += len(got)
		if n := len(notAmong(want, got)); n > 0 {
			menus += n
			menuPhrases++
			t.Logf("%q is in nothing but menus of %q", phrase, notAmong(want, got))
		}
		wrong, missing := notAmong(got, want), notAmong(must, got)
		if len(wrong)+len(missing) > 0 || total != int64(len(got)) || !exact {
			differ++
			t.Errorf("%q: %d found, %d have it; total %d, exact %v\nwrong: %q\nmissing: %q",
				phrase, len(got), len(want), total, exact, wrong, missing)
		}
	}
	t.Logf("%d pages, %d phrases, %d of common words; %d results, %d phrases differ; "+
		"%d phrases are in menus of %d more pages; in %v",
		len(links), *phrases, common, hits, differ, menuPhrases, menus,
		time.Since(began).Round(time.Millisecond))
	if common < 2**phrases/5 {
		t.Errorf("%d phrases of common words only", common)
	}
	c.stop()
}

func notAmong(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// everyResult are the links of all results of a question, in order.
func (n *node) everyResult(t *testing.T, query string) (links []string, total int64, exact bool) {
	t.Helper()
	for page := 1; ; page++ {
		r := n.answer(t, url.Values{"query": {query}, "size": {"100"}, "page": {fmt.Sprint(page)}})
		for _, h := range r.Results {
			links = append(links, h.Link)
		}
		if len(r.Results) < 100 {
			slices.Sort(links)
			return links, r.Total, r.TotalExact
		}
	}
}

// scannedPage is what a reader of the file sees.
type scannedPage struct {
	blocks []string // texts between two elements that begin a line
	title  string   // " word word … "
	text   string
	main   string // text without what is surely a menu, which stands as "|"
}

func (p *scannedPage) has(words string) bool {
	return strings.Contains(p.text, words) || strings.Contains(p.title, words)
}

// scanFile reads the file of a link; nil when it is no page.
func scanFile(t *testing.T, roots map[string]string, link string) *scannedPage {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(roots[u.Host], filepath.FromSlash(u.Path))
	if strings.HasSuffix(u.Path, "/") {
		path = filepath.Join(path, "index.html")
	}
	if filepath.Ext(path) != ".html" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil // a listing of a folder
	}
	defer file.Close()
	root, err := html.Parse(file)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var p scannedPage
	var block, main strings.Builder
	links, menus, anchors := 0, 0, 0 // bytes in links; elements that are open
	flush := func() {
		s := strings.Join(strings.Fields(block.String()), " ")
		if s != "" {
			p.blocks = append(p.blocks, s)
		}
		if menus > 0 || 5*links > 2*len(s) {
			main.WriteString("| ")
		} else {
			main.WriteString(strings.TrimPrefix(scanWords(s), " "))
		}
		block.Reset()
		links = 0
	}
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			block.WriteString(n.Data)
			if anchors > 0 {
				links += len(strings.TrimSpace(n.Data))
			}
			return
		case n.DataAtom == atom.Title && p.title == "":
			p.title = scanWords(n.FirstChild.Data)
			return
		case n.Type == html.ElementNode && unseen[n.DataAtom]:
			return
		case n.DataAtom == atom.Br:
			block.WriteByte(' ')
		}
		line := n.Type == html.ElementNode && !inLine[n.DataAtom]
		if line {
			flush()
		}
		menu := n.Type == html.ElementNode && isMenu(n)
		if menu {
			flush()
			menus++
		}
		if n.DataAtom == atom.A {
			anchors++
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			walk(child)
		}
		if n.DataAtom == atom.A {
			anchors--
		}
		if line || menu {
			flush()
		}
		if menu {
			menus--
		}
	}
	walk(root)
	flush()
	p.text, p.main = scanWords(strings.Join(p.blocks, "\n")), " "+main.String()
	return &p
}

// menuName matches names of classes that say that an element is no part of a text.
var menuName = regexp.MustCompile(
	`(?i)(^|[^a-z])(nav|menu|toc|foot|sidebar|search|copyright)`)

// isMenu reports whether an element says that it is a menu or the like.
func isMenu(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Footer, atom.Aside, atom.Header, atom.Button, atom.Body, atom.Html:
		return n.DataAtom != atom.Body && n.DataAtom != atom.Html
	}
	for _, a := range n.Attr {
		if a.Key == "role" && a.Val != "main" ||
			(a.Key == "class" || a.Key == "id") && menuName.MatchString(a.Val) ||
			a.Key == "hidden" || a.Key == "style" &&
			strings.Contains(strings.ReplaceAll(a.Val, " ", ""), "display:none") {
			return true
		}
	}
	return false
}

// unseen are elements that show no text; inLine are those that do not begin a line.
var (
	unseen = map[atom.Atom]bool{
		atom.Head: false, atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true,
		atom.Select: true, atom.Textarea: true, atom.Svg: true, atom.Title: true,
	}
	inLine = map[atom.Atom]bool{
		atom.A: true, atom.Abbr: true, atom.Acronym: true, atom.B: true, atom.Big: true, atom.Cite: true,
		atom.Code: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Img: true,
		atom.Input: true, atom.Ins: true, atom.Kbd: true, atom.Label: true, atom.Mark: true, atom.Q: true,
		atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strike: true,
		atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true,
		atom.Var: true, atom.Wbr: true, atom.Br: true, atom.Del: true,
	}
)

// signed are names of languages whose signs belong to them: "in C" is not written in "in C++".
var signed = strings.NewReplacer("C++", "Cplusplus", "C#", "Csharp")

// scanWords are the words of a text, in lower case and without accents, with a space around each.
func scanWords(s string) string {
	s = signed.Replace(s)
	var out strings.Builder
	out.WriteByte(' ')
	inWord := false
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r) || r == '\u00ad':
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			out.WriteRune(unicode.ToLower(r))
			inWord = true
		case inWord:
			out.WriteByte(' ')
			inWord = false
		}
	}
	if inWord {
		out.WriteByte(' ')
	}
	return out.String()
}

const commonWords = " a an and are as at be by can for from if in is it may not of on or that " +
	"the this to was when will with "

// commonShare reports whether at least half of the words of a phrase are common ones.
func commonShare(phrase string) bool {
	words, n := strings.Fields(scanWords(phrase)), 0
	for _, w := range words {
		if strings.Contains(commonWords, " "+w+" ") {
			n++
		}
	}
	return 2*n >= len(words)
}

// takePhrase takes words that follow each other in a block of a page: three to eight, sometimes two
// or twenty. Phrases of two words have most of the results.
func takePhrase(r *rand.Rand, links []string, pages map[string]*scannedPage, common bool) string {
	for {
		p := pages[links[r.IntN(len(links))]]
		words := strings.Fields(p.blocks[r.IntN(len(p.blocks))])
		n := 3 + r.IntN(6)
		switch r.IntN(20) {
		case 0:
			n = 20
		case 1:
			n = 2
		}
		if len(words) < n {
			continue
		}
		from := r.IntN(len(words) - n + 1)
		phrase := strings.Join(words[from:from+n], " ")
		if strings.ContainsAny(phrase, "\"“”„«»") || len(strings.Fields(scanWords(phrase))) < 2 ||
			common && !commonShare(phrase) {
			continue
		}
		return phrase
	}
}
