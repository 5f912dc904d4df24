package readback

import (
	"crypto/sha1" //nolint:gosec // as WARC has it
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/web/htmlparse"
	"crawlnode/web/preferences"
	"crawlnode/web/urlnorm"
)

// archived writes an archive of pages: path, X-Robots-Tag, and the earlier page whose payload it
// has, or -1.
func archived(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	a, err := archive.Open(dir, archive.Options{Node: "0123456789abcdef"})
	if err != nil {
		t.Fatal(err)
	}
	var refs []crawl.ArchiveRef
	for i, p := range []struct {
		url, tag string
		of       int
	}{{"http://a.test/free", "", -1}, {"http://a.test/noai", "noai", -1},
		{"http://a.test/same", "", 1}, {"http://a.test/again", "", 0}} {
		at := time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
		body := p.url
		c := crawl.Capture{
			FetchedAt:    at,
			Status:       200,
			ContentType:  "text/html",
			RequestHead:  []byte("GET / HTTP/1.1\r\n\r\n"),
			ResponseHead: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
			Resources: []crawl.Resource{
				{At: at, ContentType: "text/html", Body: []byte("shown " + p.url)},
			},
		}
		if p.of >= 0 {
			body = []string{"http://a.test/free", "http://a.test/noai"}[p.of]
			c.Original = &crawl.Original{Record: refs[p.of].Record, URL: body, FetchedAt: at}
		}
		c.Body, c.Digest = []byte(body), sha1.Sum([]byte(body)) //nolint:gosec // as WARC has it
		if c.URL, err = urlnorm.Parse(p.url); err != nil {
			t.Fatal(err)
		}
		c.Preferences = preferences.Of(
			preferences.Read(&preferences.Sources{URL: p.url, Agent: "crawlnode",
				Header: map[string][]string{"X-Robots-Tag": {p.tag}}}), "crawlnode").
			Encode()
		ref, err := a.Put(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRewriteWithoutRefused: a capture whose owner said no goes with its request and what a browser
// made of it; a capture that has its content from it gets the content.
func TestRewriteWithoutRefused(t *testing.T) {
	t.Parallel()
	from, err := Open(archived(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	to := t.TempDir()
	omit := &Omit{Purposes: preferences.PurposesOf(preferences.AITrain), Now: time.Now()}
	done, err := from.Rewrite(t.Context(), to, omit)
	if err != nil || done.Captures != 3 || done.LeftOut != 1 || done.Completed != 1 ||
		omit.Refused() != 1 {
		t.Fatalf("%+v, %d refused, %v", done, omit.Refused(), err)
	}
	clean, err := Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = clean.Close() }()
	files, err := archive.Files(to)
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	records := map[string]int{}
	if _, err := archive.Scan(files[0], func(r archive.Record) error {
		records[r.Type]++
		if strings.Contains(r.TargetURI, "/noai") {
			t.Errorf("a %s of %s is left", r.Type, r.TargetURI)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if records["response"] != 2 || records["revisit"] != 1 || records["request"] != 3 ||
		records["resource"] != 3 {
		t.Errorf("records: %v", records)
	}
	page, err := Load(t.Context(), clean, "http://a.test/same", MaxContent)
	if err != nil {
		t.Fatal(err)
	}
	if content, _, err := page.Content(); err != nil || string(content) != "http://a.test/noai" {
		t.Errorf("/same is %q, %v", content, err)
	}
}

// TestIndexSaysPreferences: the index of a capture says what its owner said, also when it is made
// anew of the files.
func TestIndexSaysPreferences(t *testing.T) {
	t.Parallel()
	dir := archived(t)
	index := func() string {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(dir, "*.cdxj"))
		if err != nil || len(names) != 1 {
			t.Fatalf("%q, %v", names, err)
		}
		text, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := index()
	if !strings.Contains(first, `"preferences":"ai-input=n, ai-train=n"`) ||
		strings.Count(first, "preferences") != 1 {
		t.Errorf("the index: %s", first)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*.cdxj"))
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(dir, archive.Options{Node: "0123456789abcdef"})
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if again := index(); again != first {
		t.Errorf("made anew: %s, want %s", again, first)
	}
}

// TestSaid: the crawl's note counts, which has the word of the site; without one the answer and the
// page do.
func TestSaid(t *testing.T) {
	t.Parallel()
	head := []byte("HTTP/1.1 200 OK\r\nX-Robots-Tag: noarchive\r\nContent-Type: text/html\r\n\r\n")
	body := []byte(`<meta name="tdm-reservation" content="1">`)
	u, err := urlnorm.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	doc := htmlparse.Parse(body, "text/html", u)
	for _, c := range []struct {
		name   string
		fields map[string][]string
		want   string
	}{
		{"none", map[string][]string{}, "archive=n, ai-train=n | header: X-Robots-Tag: noarchive; meta: tdm-reservation: 1"},
		{"noted", map[string][]string{
			"Crawlnode-Preferences":      {"search=n"},
			"Crawlnode-Preferences-From": {`["robots.txt: Content-Signal: search=no"]`},
		},
			"search=n | robots.txt: Content-Signal: search=no"},
		{"damaged", map[string][]string{
			"Crawlnode-Preferences":      {"search=n, x"},
			"Crawlnode-Preferences-From": {`["nowhere: x: y", 7`},
		}, "search=n | "},
	} {
		p := New(
			&archive.Record{
				Fields:    c.fields,
				Head:      head,
				Payload:   body,
				TargetURI: "http://a.test/",
				Status:    200,
			},
			nil,
			nil,
			MaxContent,
		)
		r := p.Said(&doc)
		if got := r.Answers.String() + " | " + strings.Join(r.From(), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestOriginalElsewhere: a duplicate whose original another node has stored is copied as it is.
func TestOriginalElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := archive.Open(dir, archive.Options{Node: "0123456789abcdef"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := urlnorm.Parse("http://a.test/copy")
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("the same")
	c := crawl.Capture{
		URL:         u,
		FetchedAt:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Status:      200,
		ContentType: "text/html",
		ResponseHead: []byte(
			"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
		),
		Body:   body,
		Digest: sha1.Sum(body), //nolint:gosec // as WARC has it
		Original: &crawl.Original{
			Record:    [16]byte{7},
			URL:       "http://b.test/",
			FetchedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		},
	}
	if _, err := a.Put(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	from, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	done, err := from.Rewrite(
		t.Context(),
		t.TempDir(),
		&Omit{Purposes: preferences.PurposesOf(preferences.AITrain), Now: time.Now()},
	)
	if err != nil || done.Captures != 1 || done.LeftOut+done.Completed != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}
