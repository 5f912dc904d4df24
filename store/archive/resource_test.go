package archive

import (
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestResource: what was made of an answer stands behind it, refers to it, and is in no index.
func TestResource(t *testing.T) {
	t.Parallel()
	for _, c := range []Compression{Gzip, Zstd} {
		dir := t.TempDir()
		a := open(t, dir, Options{Compression: c})
		page := capture(t, "http://a.test/1", "<div id=app>")
		page.Resources = []crawl.Resource{{At: day.Add(time.Second), ContentType: "text/html; charset=utf-8", Body: []byte("<p>Grüße")}, {At: day, ContentType: "image/png", Body: []byte("\x89PNG")}}
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
			if r.Type != "resource" || r.TargetURI != "http://a.test/1" || string(r.Payload) != string(want.Body) || !r.Date.Equal(want.At) || r.Status != 0 ||
				r.Fields.Get("Content-Type") != want.ContentType || !strings.Contains(r.Fields.Get("WARC-Refers-To"), records[1].ID) || records[1].ID == "" {
				t.Errorf("%+v", r)
			}
			if err := r.Verify(); err != nil {
				t.Error(err)
			}
		}
	}
}
