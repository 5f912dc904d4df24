package replay

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/output/readback"
	"crawlnode/output/wacz"
	"crawlnode/web/urlnorm"
)

// collectionOf makes a WACZ file of the WARC files in a folder, without an index.
func collectionOf(t *testing.T, dir, file string) {
	t.Helper()
	paths, err := archive.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	add := func(name string, body []byte) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		add("archive/"+filepath.Base(path), b)
	}
	add("pages/pages.jsonl",
		[]byte(`{"url":"http://a.test/start?x=<y>","title":"<b>T</b>","seed":true}`+"\n"))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFrontPage: the front page lists the sites of folders and of WACZ files, and its links lead to
// captures.
func TestFrontPage(t *testing.T) {
	t.Parallel()
	src := crawled(t, []string{"http://a.test/", "http://b.test:8080/deep/page?q=1",
		"http://a.test/long/way", "http://b.test:8080/deep"})
	folder := t.TempDir()
	first, second := src.Folders[0], src.Folders[1]
	collectionOf(t, second, filepath.Join(folder, "second.WACZ"))
	for name, paths := range map[string][]string{
		"a folder and a folder of WACZ files": {first, folder},
		"a folder and a WACZ file":            {filepath.Join(folder, "second.WACZ"), first},
	} {
		dirs, err := readback.Open(paths...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := newServer(folders{dirs}, 1<<20)
		s.starts = dirs.Starts
		get := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
			s.ServeHTTP(w, r)
			return w
		}
		if page := get("/").Body.String(); !strings.Contains(page, "being counted: 0 captures") {
			t.Errorf("%s: before the sites are counted: %s", name, page)
		}
		s.count(t.Context())
		page := get("/").Body.String()
		for _, want := range []string{
			">a.test</a><td>0<td>2<td>2026-01-02 03:04:00<td>2026-01-02 03:04:02",
			">b.test:8080</a><td>0<td>2<td>2026-01-02 03:04:01<td>2026-01-02 03:04:03",
			"&lt;b&gt;T&lt;/b&gt;",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the front page lacks %s: %s", name, want, page)
			}
		}
		links := regexp.MustCompile(
			`<td><a href="([^"]*)"|<tr><td><a href="([^"]*)">`).FindAllStringSubmatch(page, -1)
		if len(links) != 2 {
			t.Errorf("%s: %d links", name, len(links))
		}
		for i, want := range []string{"http://a.test/", "http://b.test:8080/deep"} {
			if w := get(links[i][1] + links[i][2]); w.Code != http.StatusOK ||
				!strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %s gives %d %s", name, links[i], w.Code, w.Body)
			}
		}
		if err := dirs.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFrontPageOfMany names the sites with the most pages, says that there are more, and escapes
// what strangers wrote.
func TestFrontPageOfMany(t *testing.T) {
	t.Parallel()
	s := newServer(nil, 0)
	found := &sites{}
	for n := range shownSites + 1 {
		found.list = append(found.list, &site{host: fmt.Sprintf("<i>%d", n)})
	}
	s.sites.Store(found)
	s.starts = []wacz.Page{{URL: "javascript:alert(1)", Title: "\"><script>"}}
	page := s.frontPage()
	if strings.Count(page, "<tr><td>") != shownSites ||
		!strings.Contains(page, "There are more sites") {
		t.Error(page)
	}
	for _, bad := range []string{"<i>", "<script>", "href=\"javascript"} {
		if strings.Contains(page, bad) {
			t.Errorf("it has %s", bad)
		}
	}
	s.sites.Store(&sites{err: os.ErrInvalid})
	if page := s.frontPage(); !strings.Contains(page, "The list is not whole: invalid argument") ||
		!strings.Contains(page, "Nothing is archived here") {
		t.Error(page)
	}
}

// listed is a source that has an index alone.
type listed struct {
	source
	entries []archive.Entry
}

func (l listed) captures(context.Context, urlnorm.URL) ([]archive.Entry, error) {
	return slices.Clone(l.entries), nil
}

func (l listed) WriteIndex(_ context.Context, out io.Writer) error {
	var lines [][]byte
	for i := range l.entries {
		lines = append(lines, archive.AppendEntry(nil, &l.entries[i]))
	}
	slices.SortFunc(lines, bytes.Compare)
	_, err := out.Write(bytes.Join(lines, nil))
	return err
}

// TestCountSites: a page counts once, whatever the number of its captures; what is no page counts
// as a capture; a site begins with the page nearest to its top.
func TestCountSites(t *testing.T) {
	t.Parallel()
	at := func(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }
	entry := func(url string, day, status int, mime string) archive.Entry {
		return archive.Entry{URL: url, At: at(day), Status: status, MIME: mime, Digest: "sha1:A",
			Ref: crawl.ArchiveRef{File: "a.warc.gz", Offset: int64(day), Length: 1}}
	}
	got := countSites(t.Context(), listed{entries: []archive.Entry{
		entry("https://a.test/", 3, 200, "text/html"), entry("https://a.test/", 5, 200, "text/html"),
		entry("https://a.test/", 7, 500, "text/html"), entry("https://a.test/b/", 4, 200, "text/html"),
		entry("https://a.test/x.png", 1, 200, "image/png"),
		entry("https://a.test/gone", 9, 404, "text/html"),
		entry("http://a.test/", 2, 301, "text/html"),
		entry("https://b.test:8443/f.pdf", 1, 200, "application/pdf"),
		entry("https://b.test:8443/longer.pdf", 1, 200, "application/pdf"),
		entry("https://c.test/", 1, 404, "text/html"),
	}}, &siteCounter{hosts: map[string]*site{}})
	if got.err != nil || got.counted != 10 || got.more {
		t.Fatalf("%+v", got)
	}
	var text []string
	for _, s := range got.list {
		text = append(text, fmt.Sprint(s.host, " ", s.pages, " ", s.captures, " ", s.first.Day(), "-",
			s.last.Day(), " ", s.start.URL, " ", s.start.At.Day()))
	}
	want := "a.test 2 7 1-9 https://a.test/ 5|b.test:8443 0 2 1-1 https://b.test:8443/f.pdf " +
		"1|c.test 0 1 1-1  1"
	if s := strings.Join(text, "|"); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
}
