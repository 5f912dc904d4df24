package integration

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/simweb"
)

// warcPages is how many pages TestSecondReader crawls, about.
var warcPages = flag.Int("warcpages", 1000, "pages that TestSecondReader crawls")

// A reader of WARC files that others have written reads all that a crawl of a mixed
// web leaves: every record to its end, digests, places, and as many captures as pages.
func TestSecondReader(t *testing.T) {
	needsProcesses(t)
	reader := needsReader(t)
	// a page that cannot be read is given up after more than a minute: this file's name lets it begin
	// early
	t.Parallel()
	web, srv := serveSimweb(t,
		simweb.Config{Seed: 21, Hosts: max(*warcPages/40, 4), PagesPerHost: 40, Skew: -1}.Quirky())
	odd := serveOdd(t)
	c := simCluster(t, srv, 0, "--warc-size", "4MiB", "--max-body", "64KiB", "--contact",
		"somebody@example.org")
	c.addReady(2)
	c.converged(time.Minute)
	c.nodes[0].seed(append(web.Seeds(), odd+"/")...)
	c.finished(10 * time.Minute)
	for i := range 3 { // asked again with validators, it has not changed
		before := pagesTotal(t, c.nodes[0])
		c.nodes[i%2].again(odd + "/etag")
		until(t, 30*time.Second, func() string {
			if now := pagesTotal(t, c.nodes[0]); now != before+1 {
				return fmt.Sprintf("%d pages, %d before", now, before)
			}
			return ""
		})
	}
	c.finished(time.Minute)
	done := pagesTotal(t, c.nodes[0])
	var s struct {
		Output struct {
			Records int64 `json:"records_total"`
		}
	}
	if err := c.nodes[0].decode("/status", &s); err != nil {
		t.Fatal(err)
	}
	index := checkSorted(t, exported(t, c.nodes[1]))
	c.stop()

	var files []string
	var own []string
	for _, n := range c.nodes {
		found, err := filepath.Glob(filepath.Join(n.dir, "warc", "*.warc.gz"))
		if err != nil || len(found) == 0 {
			t.Fatalf("archives of %s: %v, %v", n.name, found, err)
		}
		files = append(files, found...)
		for _, p := range readWARC(t, n.dir) {
			own = append(own, fmt.Sprint(p.kind, " ", p.status, " ", p.url))
		}
	}
	read := reader.check(t, files)
	read.judge(t, files, own, index)
	if got := int64(len(read.Captures)); got != s.Output.Records {
		t.Errorf("%d captures were read, the nodes count %d", got, s.Output.Records)
	}
	var crawled []capture
	for _, p := range read.Captures {
		crawled = append(crawled, capture{kind: p.Type, url: p.URL, status: p.Status})
	}
	if len(read.Failures) != 1 || read.Failures[0].URL != odd+"/broken" ||
		!strings.Contains(read.Failures[0].Text, "fetchError: protocol\r\n") ||
		!strings.Contains(read.Failures[0].Text, "attempts: 4\r\n") {
		t.Errorf("failures %q, want that of /broken after its last attempt", read.Failures)
	}
	if got := int64(len(pages(crawled))); got != done {
		t.Errorf("%d pages were read, %d were crawled", got, done)
	}
	read.oddities(t, odd)
	if read.Resolved["server-not-modified"] == 0 {
		t.Errorf("of %v revisits no 304 refers to a response: %v", read.Records["revisit"], read.Resolved)
	}
	reader.index(t, files, read)
	t.Logf("%d files, %d bytes, %v, %d pages", len(files), read.Bytes, read.Records, done)
	if *warcPages >= 10_000 && !t.Failed() {
		records := 0
		for _, n := range read.Records {
			records += n
		}
		appendResult(t, "archive.md", archiveHead,
			fmt.Sprintf(
				"second reader (warcio) | %d | %d | %d | %.1f | 0 errors, digests and places equal |",
				done, len(files), records, float64(read.Bytes)/(1<<20)))
	}
}

const archiveHead = `# Archives

What other programs say of the files that a crawl leaves. *second reader*: a crawl of a mixed synthetic web and of odd answers, read by the npm package
warcio: every record to its end, block and payload digests computed anew, each member held against its offset and against our index, and as many responses
and revisits as pages were crawled. Appended by

    go test ./integration -count=1 -timeout 60m -v -run '^TestSecondReader$' -warcpages 10000

| date | commit | what | pages | files | records | MiB | result |
|---|---|---|---|---|---|---|---|
`

// secondReader is integration/warcio, which reads WARC files with the npm package of
// that name.
type secondReader struct{ node, dir string }

// needsReader fails in CI, and leaves the test out elsewhere, when it is not there.
func needsReader(t *testing.T) secondReader {
	t.Helper()
	dir, err := filepath.Abs("warcio")
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "node_modules", "warcio"))
	}
	if err != nil {
		unable(t, "needs node and its packages, which make deps installs: %v", err)
	}
	return secondReader{node, dir}
}

// run runs a script of the folder over files and returns what it writes.
func (r secondReader) run(t *testing.T, script string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(r.node, append([]string{script}, args...)...)
	cmd.Dir = r.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("%s: %v\n%s", script, err, errs.String())
	}
	return out.Bytes()
}

// reading is the output of check.mjs.
type reading struct {
	Bytes    int64
	Records  map[string]int
	Captures []struct {
		Type, URL, Truncated, File string
		Status                     int
		Offset, Length             int64
	}
	Resolved map[string]int // revisits whose record was found, by profile
	Failures []struct{ URL, Text string }
	Errors   []string
}

func (r secondReader) check(t *testing.T, files []string) (found reading) {
	t.Helper()
	if err := json.Unmarshal(r.run(t, "check.mjs", files...), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// judge compares the reading with our own and with the index.
func (r *reading) judge(t *testing.T, files, own []string, index []cdxLine) {
	t.Helper()
	for i, e := range r.Errors {
		if t.Errorf("%s", e); i == 20 {
			t.Errorf("and %d more", len(r.Errors)-i)
			break
		}
	}
	var size int64
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if r.Bytes != size || r.Records["warcinfo"] != len(files) ||
		r.Records["request"] != r.Records["response"]+r.Records["revisit"] {
		t.Errorf("%d bytes of %d, %d files: %v", r.Bytes, size, len(files), r.Records)
	}
	var theirs, places, indexed []string
	for _, p := range r.Captures {
		theirs = append(theirs, fmt.Sprint(p.Type, " ", p.Status, " ", p.URL))
		places = append(places, fmt.Sprint(p.File, " ", p.Offset, " ", p.URL))
	}
	for _, l := range index {
		indexed = append(indexed, fmt.Sprint(l.Filename, " ", l.Offset, " ", l.URL))
	}
	for _, list := range [][]string{theirs, own, places, indexed} {
		slices.Sort(list)
	}
	if len(theirs) != len(own) || len(places) != len(indexed) {
		t.Errorf("another reads %d captures, we read %d, the index has %d", len(theirs), len(own),
			len(indexed))
	}
	sameSet(t, "read by another", theirs, own)
	sameSet(t, "indexed", indexed, places)
}

// oddities looks for what had to be among the captures.
func (r *reading) oddities(t *testing.T, odd string) {
	t.Helper()
	have := map[string]int{}
	for _, p := range r.Captures {
		if p.Truncated != "" {
			have["truncated "+p.Truncated]++
		}
		if p.Type == "revisit" {
			have[fmt.Sprint("revisit ", p.Status)]++
		}
		if p.Status >= 300 && p.Status < 304 {
			have["redirect"]++
		}
		if rest, ok := strings.CutPrefix(p.URL, odd); ok {
			have[rest]++
		}
	}
	for _, want := range append(slices.Collect(oddPaths()), "truncated length", "revisit 304",
		"redirect") {
		if have[want] == 0 {
			t.Errorf("nothing of %s was read: %v", want, have)
		}
	}
}

// index compares what warcio's own command lists with the reading.
func (r secondReader) index(t *testing.T, files []string, read reading) {
	t.Helper()
	count := map[string]int{}
	var listed, want []string
	for _, p := range read.Captures {
		want = append(want, fmt.Sprint(p.Offset, " ", p.Type, " ", p.URL))
	}
	lines := bufio.NewScanner(bytes.NewReader(r.run(t,
		filepath.Join("node_modules", "warcio", "dist", "cli.js"),
		append([]string{"index"}, files...)...)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct {
			Type   string `json:"warc-type"`
			URL    string `json:"warc-target-uri"`
			Offset int64
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("line %.200q: %v", lines.Text(), err)
		}
		if count[l.Type]++; l.Type == "response" || l.Type == "revisit" {
			listed = append(listed, fmt.Sprint(l.Offset, " ", l.Type, " ", l.URL))
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	sameSet(t, "listed by warcio index", listed, want)
	if lines.Err() != nil || fmt.Sprint(count) != fmt.Sprint(read.Records) {
		t.Errorf("warcio index lists %v, want %v (%v)", count, read.Records, lines.Err())
	}
}

// odd are answers, byte for byte, to a GET of each path.
var odd = sync.OnceValue(func() map[string]string {
	noise := make([]byte, 300<<10)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(noise) // never fails
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, "<p>"+strings.Repeat("packed ", 1000)) // into memory
	_ = z.Close()
	sized := func(head, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body)
	}
	answers := map[string]string{
		"/large": sized("200 OK\r\nContent-Type: text/html", "<p>"+string(noise)),
		"/packed": sized("200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip",
			packed.String()),
		"/chunked": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n" +
			"Trailer: X-End\r\n\r\n4\r\n<p>a\r\n6;x=y\r\n\r\n\r\nbc\r\n0\r\nX-End: 1\r\n\r\n",
		"/unsized": "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nWARC/1.1\r\n" +
			"WARC-Type: response\r\nContent-Length: 5\r\n\r\n",
		"/same1": sized("200 OK\r\nContent-Type: text/html", "<p>the same"),
		"/same2": sized("200 OK\r\nContent-Type: text/html", "<p>the same"),
		"/empty": sized("200 OK", ""),
		"/none":  "HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n",
		"/moved": sized("301 Moved Permanently\r\nLocation: /same1", "gone"),
		"/teapot": sized("418 I'm a teapot\r\nContent-Type: application/x-\xe4\xf6; a=\"",
			"short"),
		"/bytes": sized(
			"200 OK\r\nX-Odd: \xff\xfe \t ;;\r\nX-Empty:\r\nx-lower: 1\r\nX-LOWER: 2\r\nX-Long: "+
				strings.Repeat("l", 5000)+"\r\nContent-Type: text/html", "<p>\x00\r\n\r\n\x00"),
		"/broken":        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 10\r\n\r\nnever read",
		"/%00/a":         sized("200 OK\r\nContent-Type: text/html", "nul"),
		"/a%0D%0Ab:%20c": sized("200 OK\r\nContent-Type: text/html\r\nX-Url: a%0d%0ab", "line ends"),
		"/etag":          sized("200 OK\r\nETag: \"v1\"\r\nContent-Type: text/html", "<p>one"),
	}
	var links strings.Builder
	for path := range answers {
		fmt.Fprintf(&links, "<a href=\"%s\">x</a>\n", path)
	}
	answers["/"] = sized("200 OK\r\nContent-Type: text/html", links.String())
	answers["/robots.txt"] = sized("404 Not Found", "")
	return answers
})

// oddPaths are the pages of the odd server that can be read.
func oddPaths() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for path := range odd() {
			if path != "/robots.txt" && path != "/broken" && !yield(path) {
				return
			}
		}
	}
}

// serveOdd serves the odd answers for the time of the test and returns the origin.
func serveOdd(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { answerOddly(conn) })
		}
	})
	t.Cleanup(func() { ln.Close(); serving.Wait() })
	return "http://" + ln.Addr().String()
}

// answerOddly answers one request and closes the connection.
func answerOddly(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second)) // a broken one ends below
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	answer, ok := odd()[r.RequestURI]
	switch {
	case !ok:
		answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
	case r.Header.Get("If-None-Match") != "":
		answer = "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n"
	}
	_, _ = io.WriteString(conn, answer) // the crawler's trouble if it has gone
}
