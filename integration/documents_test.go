package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
)

// shelf is a web of documents: on each host a page that links to half of its documents, and one
// that links to the others. A PDF file of the first half is the only way to the second page, which
// is answered only after open.
type shelf struct {
	files map[string]shelfFile // by host and path
	open  chan struct{}        // closed when the second halves may be seen
}

// shelfFile is a file of a shelf.
type shelfFile struct {
	kind   string // media type
	robots string // the header X-Robots-Tag; "": there is none
	word   string // that only this file has; "": it has no text
	body   []byte
}

// Media types of documents.
const (
	typePDF  = "application/pdf"
	typeDocx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	typeODT  = "application/vnd.oasis.opendocument.text"
	typeEPUB = "application/epub+zip"
	typeRTF  = "application/rtf"
)

// The parts of the metadata of the PDF files of a shelf.
const (
	shelfAuthor  = "Ada Lovelace"
	shelfCreated = "D:20240506070809Z"
)

// newShelf makes a shelf of some hosts, which are served at a port.
func newShelf(t *testing.T, hosts, port int) *shelf {
	t.Helper()
	s := &shelf{files: map[string]shelfFile{}, open: make(chan struct{})}
	bomb := docxFile(t, strings.Repeat(" ", 70<<20)) // more than is unpacked of a file
	for i := range hosts {
		host := shelfHost(i)
		site := fmt.Sprintf("http://%s:%d", host, port)
		first, second := &strings.Builder{}, &strings.Builder{}
		n := 0
		add := func(path, kind, robots string, from *strings.Builder, make func(string) []byte) {
			n++
			word := shelfWord(uint64(100*i + n))
			s.files[host+path] = shelfFile{kind, robots, word, make(prose(uint64(100*i+n), word))}
			if from != nil {
				fmt.Fprintf(from, `<p><a href="%s">%s</a></p>`, path, path)
			}
		}
		either := func() *strings.Builder { // each kind is in the first half of one host or another
			if (i+n)%2 == 0 {
				return second
			}
			return first
		}
		page := func(text string) []byte { return []byte("<title>A page</title><p>" + text) }
		gate := func(text string) []byte { return append(page(text), `<a href="/late">late</a>`...) }
		add("/a.pdf", typePDF, "", first, func(text string) []byte {
			return pdfFile(fmt.Sprint("Report ", i), shelfAuthor, shelfCreated, text, site+"/of-pdf")
		})
		add("/of-pdf", "text/html", "", nil, gate)
		add("/b.docx", typeDocx, "", either(), func(text string) []byte { return docxFile(t, text) })
		add("/c.odt", typeODT, "", either(), func(text string) []byte { return odtFile(t, text) })
		add("/d.epub", typeEPUB, "", either(), func(text string) []byte { return epubFile(t, text) })
		add("/e.rtf", typeRTF, "", either(), rtfFile)
		add("/f.txt", "text/plain", "", either(), func(text string) []byte { return []byte(text + "\n") })
		if i%3 == 0 {
			add("/noindex.pdf", typePDF, "noindex", either(), func(text string) []byte {
				return pdfFile("Hidden", shelfAuthor, shelfCreated, text)
			})
			add("/noindex.docx", typeDocx, "noindex", either(), func(text string) []byte {
				return docxFile(t, text)
			})
			add("/nofollow.pdf", typePDF, "nofollow", first, func(text string) []byte {
				return pdfFile("Alone", shelfAuthor, shelfCreated, text, site+"/unseen")
			})
			add("/unseen", "text/html", "", nil, page)
			s.files[host+"/hostile.pdf"] = shelfFile{kind: typePDF,
				body: []byte("%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 1 0 R >>\nendobj\n" +
					strings.Repeat("[", 50_000) + "\ntrailer << /Root 1 0 R >>\n%%EOF\n")}
			s.files[host+"/hostile.docx"] = shelfFile{kind: typeDocx, body: bomb}
			first.WriteString(`<a href="/hostile.pdf">h</a> <a href="/hostile.docx">h</a>`)
		}
		s.files[host+"/"] = shelfFile{kind: "text/html",
			body: []byte(`<title>First half</title>` + first.String())}
		s.files[host+"/late"] = shelfFile{kind: "text/html",
			body: []byte(`<title>Second half</title>` + second.String())}
	}
	return s
}

// shelfWord is a word that is not near any other, so that a search without it does not show
// results for what it might have meant.
func shelfWord(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7))
	b := []byte("zorb")
	for range 10 {
		b = append(b, "bdfghjklmnpqrtvwxz"[r.IntN(18)])
	}
	return string(b)
}

// shelfHost is the name of a host of a shelf.
func shelfHost(i int) string { return fmt.Sprintf("h%d.shelf.test", i) }

func (s *shelf) answer(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	f, ok := s.files[host+r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.URL.Path == "/late" {
		select {
		case <-s.open:
		case <-r.Context().Done(): // its node has been killed
			return
		}
	}
	w.Header().Set("Content-Type", f.kind)
	if f.robots != "" {
		w.Header().Set("X-Robots-Tag", f.robots)
	}
	_, _ = w.Write(f.body) // a client that has gone is judged elsewhere
}

// words are those of the files that may be found, by the URL of each; hidden are those of the files
// that may not.
func (s *shelf) words(port int) (found, hidden map[string]string) {
	found, hidden = map[string]string{}, map[string]string{}
	for place, f := range s.files {
		host, path, _ := strings.Cut(place, "/")
		u := fmt.Sprintf("http://%s:%d/%s", host, port, path)
		switch {
		case f.word == "":
		case f.robots == "noindex" || path == "unseen":
			hidden[u] = f.word
		default:
			found[u] = f.word
		}
	}
	return found, hidden
}

// TestDocumentsUnderAKill: of three nodes that crawl documents of six kinds one is killed half-way.
// In the end each document is found once by search, and is once, with its text, in the lines and
// the files of Markdown that are exported from what the three have on disk. A page that only a PDF
// file links to is crawled, and one behind nofollow is not; noindex holds for documents as for
// pages; a hostile file costs its own text. Gaps and requests are judged at the web server.
func TestDocumentsUnderAKill(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const hosts, delay = 9, 100 * time.Millisecond
	var s *shelf
	w := newRuleWeb(t, "127.43.0.1", func(rw http.ResponseWriter, r *http.Request) { s.answer(rw, r) })
	var names, seeds []string
	for i := range hosts {
		names = append(names, shelfHost(i))
	}
	port := w.local(names...)
	s = newShelf(t, hosts, port)
	for _, name := range names {
		seeds = append(seeds, fmt.Sprintf("http://%s:%d/", name, port))
	}
	found, hidden := s.words(port)

	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", w.dns, "--delay", delay.String(),
		"--index", "on", "--partitions", "512")
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(seeds...)
	holders := map[string][]string{}
	for _, name := range names {
		holder := c.nodes[0].holderOf(name)
		holders[holder] = append(holders[holder], name)
	}
	killed := c.nodes[1]
	if len(holders[killed.name]) < len(holders[c.nodes[2].name]) {
		killed = c.nodes[2]
	}
	until(t, 2*time.Minute, func() string {
		asked := w.files(holders[killed.name])
		if asked == 0 {
			return fmt.Sprintf("no document was asked for by %s, which has %v", killed.name,
				holders[killed.name])
		}
		if all := w.files(names); all < 2*hosts {
			return fmt.Sprintf("%d documents were asked for", all)
		}
		return ""
	})
	killed.signal(syscall.SIGKILL)
	<-killed.done
	at := w.now()
	before := w.files(names)
	close(s.open)
	c.finished(3 * time.Minute)
	c.foundOnce(found, hidden)

	n := c.living()[0]
	for u := range found {
		if !strings.HasSuffix(u, "/a.pdf") {
			continue
		}
		var page struct {
			Metadata struct {
				Title, Author string
				PublishedAt   string `json:"published_at"`
			}
		}
		if err := n.decode("/api/v1/urls?url="+url.QueryEscape(u), &page); err != nil {
			t.Fatal(err)
		}
		if m := page.Metadata; !strings.HasPrefix(m.Title, "Report ") || m.Author != shelfAuthor ||
			m.PublishedAt != "2024-05-06T07:08:09Z" {
			t.Errorf("%s has the metadata %+v", u, m)
		}
	}
	first := seeds[0] + "a.pdf"
	if code, out, errs := run(t, "", "search", found[first], "--addr", n.http); code != 0 ||
		strings.Count(out, first) != 1 {
		t.Errorf("search %s: %d\n%s%s", found[first], code, out, errs)
	}
	for _, path := range []string{"/hostile.pdf", "/hostile.docx"} {
		u := strings.TrimSuffix(seeds[0], "/") + path
		code, out, errs := run(t, "", "urls", "why", u, "--addr", n.http)
		if code != 0 || !strings.Contains(out, "its text could not be read") {
			t.Errorf("urls why %s: %d\n%s%s", u, code, out, errs)
		}
	}
	c.stop()

	s.judge(t, w, delay)
	if all := w.files(names); all <= before {
		t.Errorf("all %d documents had been asked for before the kill", before)
	}
	c.exportedOnce(found, hidden)
	t.Logf("%d texts, %d hidden; %s, which had %d hosts, was killed at %v, after %d of %d documents",
		len(found), len(hidden), killed.name, len(holders[killed.name]), at.Round(time.Millisecond),
		before, w.files(names))
}

// files is the number of files with a dot in their names that were asked for of some hosts.
func (w *ruleWeb) files(hosts []string) int {
	asked := map[string]bool{}
	for _, q := range w.requests() {
		if slices.Contains(hosts, q.host) && strings.Contains(q.uri, ".") &&
			q.uri != "/robots.txt" && q.uri != "/sitemap.xml" {
			asked[q.url()] = true
		}
	}
	return len(asked)
}

// foundOnce waits until the search of each node finds each word once, at its URL, and then requires
// that it finds no word of what is hidden.
func (c *cluster) foundOnce(found, hidden map[string]string) {
	c.t.Helper()
	for _, n := range c.living() {
		for u, word := range found {
			until(c.t, time.Minute, func() string {
				r, err := n.search(word)
				if err != nil {
					return err.Error()
				}
				if r.Coverage != 1 || r.Total != 1 || len(r.Results) != 1 || r.Results[0].Link != u {
					return fmt.Sprintf("%s finds %s of %s: %+v", n.name, word, u, r)
				}
				return ""
			})
		}
		for u, word := range hidden {
			until(c.t, time.Minute, func() string { // a busy node answers late
				r, err := n.search(word)
				if err != nil || r.Coverage != 1 {
					return fmt.Sprintf("%s is asked for %s: %+v, %v", n.name, word, r, err)
				}
				if r.Total != 0 {
					c.t.Errorf("%s finds %s of %s, which is hidden: %+v", n.name, word, u, r)
				}
				return ""
			})
		}
	}
}

// exportedOnce requires that the lines and the files that are exported from all folders have each
// word once, in the text of its URL, and none of what is hidden.
func (c *cluster) exportedOnce(found, hidden map[string]string) {
	c.t.Helper()
	var dirs []string
	for _, n := range c.nodes {
		dirs = append(dirs, "--data-dir", n.dir)
	}
	lines := filepath.Join(c.dir, "pages.jsonl")
	folder := filepath.Join(c.dir, "markdown")
	for _, args := range [][]string{{"export", "jsonl", "-o", lines}, {"export", "markdown", folder}} {
		if code, out, errs := run(c.t, "", append(args, dirs...)...); code != 0 {
			c.t.Fatalf("%q: %d\n%s%s", args, code, out, errs)
		}
	}
	texts := map[string][]string{} // by URL
	text, err := os.ReadFile(lines)
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var page struct{ URL, Text string }
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			c.t.Fatalf("%s: %v", line, err)
		}
		texts[page.URL] = append(texts[page.URL], page.Text)
	}
	var files []string
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			var b []byte
			b, err = os.ReadFile(path)
			files = append(files, string(b))
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	having := func(texts []string, word string) (n int) {
		for _, text := range texts {
			n += strings.Count(text, word)
		}
		return n
	}
	for u, word := range found {
		if got := texts[u]; len(got) != 1 || having(got, word) != 1 {
			c.t.Errorf("%s has the lines %.300q, want one with %s", u, got, word)
		}
		if n := having(files, word); n != 1 {
			c.t.Errorf("%s of %s is %d times in the files of Markdown", word, u, n)
		}
	}
	for u, word := range hidden {
		if strings.Contains(string(text), word) || having(files, word) != 0 {
			c.t.Errorf("%s of %s, which is hidden, was exported", word, u)
		}
	}
}

// judge requires that each file was asked for, but for what only files behind nofollow link to, and
// that each host had its gaps.
func (s *shelf) judge(t *testing.T, w *ruleWeb, delay time.Duration) {
	t.Helper()
	last := map[string]ruleRequest{}
	asked := map[string]bool{}
	all := w.requests()
	slices.SortFunc(all, func(a, b ruleRequest) int { return int(a.start - b.start) })
	for _, q := range all {
		asked[q.host+q.uri] = true
		if before, ok := last[q.host]; ok && q.start-before.end < delay {
			t.Errorf("%s: %v between %s and %s", q.host, q.start-before.end, before.uri, q.uri)
		}
		last[q.host] = q
	}
	for place := range s.files {
		if unseen := strings.HasSuffix(place, "/unseen"); asked[place] == unseen {
			t.Errorf("%s was asked for: %v", place, asked[place])
		}
	}
}

// TestTikaReads: a type that nothing else reads is sent to the server of --extract-with, once, and
// what it answers is the text of the file. Without text from there the file is kept as it is.
func TestTikaReads(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	var mu sync.Mutex
	sent := map[string]int{} // by body
	tika := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what there is of it is judged
		mu.Lock()
		sent[string(body)]++
		mu.Unlock()
		if r.Method != http.MethodPut || r.URL.Path != "/tika" ||
			r.Header.Get("Content-Type") != "application/x-unknown" {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		}
		if string(body) == "damaged" {
			http.Error(w, "Unprocessable", http.StatusUnprocessableEntity)
			return
		}
		showPage(w, `<html><head><title>Plan</title><meta name="dc:creator" content="Ada"></head>`+
			`<body><h1>A plan</h1><p>zorbtika <a href="behind">more</a></p>`+
			`<script>zorbscript</script></body></html>`)
	}))
	t.Cleanup(tika.Close)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			showPage(w, `<a href="/plan.xyz">plan</a> <a href="/damaged.xyz">damaged</a>`)
		case "/plan.xyz", "/damaged.xyz":
			w.Header().Set("Content-Type", "application/x-unknown")
			_, _ = io.WriteString(w, strings.TrimSuffix(r.URL.Path[1:], ".xyz"))
		case "/behind":
			showPage(w, "<title>Behind</title><p>zorbbehind")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "5ms", "--index", "on",
		"--partitions", "512", "--extract-with", tika.URL)
	c.addReady(1)
	n := c.nodes[0]
	n.seed(web.URL + "/")
	c.finished(time.Minute)
	c.foundOnce(
		map[string]string{web.URL + "/plan.xyz": "zorbtika", web.URL + "/behind": "zorbbehind"},
		map[string]string{web.URL + "/plan.xyz": "zorbscript"})
	var plan crawl.URLReport
	if err := n.decode("/api/v1/urls?url="+url.QueryEscape(web.URL+"/plan.xyz"), &plan); err != nil ||
		plan.Metadata == nil || plan.Metadata.Title != "Plan" {
		t.Errorf("the metadata of the file are %+v, %v", plan.Metadata, err)
	}
	code, out, errs := run(t, "", "urls", "why", web.URL+"/damaged.xyz", "--addr", n.http)
	if code != 0 || !strings.Contains(out, "422") {
		t.Errorf("urls why of a file that the server refuses: %d\n%s%s", code, out, errs)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(sent) != 2 || sent["plan"] != 1 || sent["damaged"] != 1 {
		t.Errorf("the server has got %v", sent)
	}
	c.stop()
}
