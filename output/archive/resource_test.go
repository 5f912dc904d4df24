package archive

import (
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestResource: what was made of an answer stands behind it, refers to it, and is in no index. A
// picture has a name of its own, so that no viewer takes it for the page.
func TestResource(t *testing.T) {
	t.Parallel()
	for _, c := range []Compression{Gzip, Zstd} {
		dir := t.TempDir()
		a := open(t, dir, Options{Compression: c})
		page := capture(t, "http://a.test/1", "<div id=app>")
		page.Resources = []crawl.Resource{
			{At: day.Add(time.Second), ContentType: "text/html; charset=utf-8", Body: []byte("<p>Grüße")},
			{At: day, ContentType: "image/png", Body: []byte("\x89PNG")},
		}
		ref := put(t, a, page)
		put(t, a, capture(t, "http://a.test/2", "x"))
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if s := a.Stats(); s.Records != 2 {
			t.Errorf("stats %+v", s)
		}
		records := readAll(t, dir) // which holds the index against the file
		if len(records) != 7 || ref.Offset != records[1].Offset || ref.Length != records[1].Length {
			t.Fatalf("%d records, %+v", len(records), ref)
		}
		for i, want := range page.Resources {
			r := records[3+i]
			uri := [...]string{"http://a.test/1", "urn:view:http://a.test/1"}[i]
			if r.Type != "resource" || r.TargetURI != uri || string(r.Payload) != string(want.Body) ||
				!r.Date.Equal(want.At) || r.Status != 0 ||
				r.Fields.Get("Content-Type") != want.ContentType ||
				!strings.Contains(r.Fields.Get("WARC-Refers-To"), records[1].ID) || records[1].ID == "" {
				t.Errorf("%+v", r)
			}
			if err := r.Verify(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestResourceURI: only pictures have names of their own, whatever their format and the page's URL.
func TestResourceURI(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://a.test/", "https://a.test/X(y)?u=http://b.test/",
		"http://[::1]/%20"} {
		c := capture(t, url, "x")
		for kind, want := range map[string]string{
			"image/png": "urn:view:" + url, "image/jpeg": "urn:view:" + url,
			"image/webp; x=y":          "urn:view:" + url,
			"text/html; charset=utf-8": url, "text/plain": url, "application/xhtml+xml": url,
		} {
			got := resourceURI(&c, &crawl.Resource{ContentType: kind})
			if got != want || strings.HasPrefix(want, "urn:") && Key(got) != got {
				t.Errorf("%s of %s: %s with the key %s", kind, url, got, Key(got))
			}
		}
	}
}
