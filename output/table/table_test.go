package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"crawlnode/crawl"
	"crawlnode/output/archive"
)

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// TestCaptureOf: the parts of URLs, as Common Crawl's columns have them.
func TestCaptureOf(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://www.bbc.co.uk/a?b=c": "www.bbc.co.uk uk co bbc www - co.uk bbc.co.uk " +
			"co.uk bbc.co.uk uk.co.bbc.www /a b=c",
		"https://me.blogspot.com:8443/": "me.blogspot.com com blogspot me - - com " +
			"blogspot.com blogspot.com me.blogspot.com com.blogspot.me / -",
		"http://192.0.2.1:81/x?": "192.0.2.1 - - - - - - - - - - /x ",
		"http://[::1]/":          "[::1] - - - - - - - - - - / -",
		"http://localhost/": "localhost localhost - - - - localhost - localhost " +
			"- localhost / -",
		"http://a.b.c.d.e.example.org/robots.txt": "a.b.c.d.e.example.org org example e d c org " +
			"example.org org example.org org.example.e.d.c.b.a /robots.txt -",
	} {
		c, err := CaptureOf(&archive.Entry{
			URL:    url,
			At:     time.Unix(0, 0),
			Status: 200,
			Digest: "sha1:D",
			Ref: crawl.ArchiveRef{
				File:   "crawlnode-20260101000000-00000-node.warc.gz",
				Offset: 1,
				Length: 2,
			},
		}, "c")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		got = append(got, c.Host)
		for _, p := range []*string{c.TLD, c.Part2, c.Part3, c.Part4, c.Part5, c.RegistrySuffix,
			c.RegisteredDomain, c.PrivateSuffix, c.PrivateDomain, c.Reversed} {
			got = append(got, text(p))
		}
		got = append(got, c.Path, text(c.Query))
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s:\n%s\nwant\n%s", url, s, want)
		}
		if c.Segment != "node" || *c.Digest != "D" ||
			(c.Subset == "robotstxt") != strings.Contains(url, "robots") {
			t.Errorf("%+v", c)
		}
	}
	if _, err := CaptureOf(&archive.Entry{
		URL: "http://a.test/",
		Ref: crawl.ArchiveRef{Offset: 1 << 31, Length: 1},
	}, "c"); err == nil || !strings.Contains(err.Error(), "--warc-size") {
		t.Errorf("a record beyond 2 GiB: %v", err)
	}
}

// TestWriter: parts of the asked size, a table without rows, and nothing half-done after Abort.
func TestWriter(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "links")
	w, err := Create[Link](dir, 3, "test")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		if err := w.Write(Link{Source: "s", Position: int32(i)}); err != nil { //nolint:gosec // small
			t.Fatal(err)
		}
	}
	if sum, err := w.Close(); err != nil || sum.Rows != 7 || sum.Files != 3 || sum.Bytes == 0 {
		t.Errorf("%+v, %v", sum, err)
	}
	last, err := parquet.ReadFile[Link](filepath.Join(dir, "part-00002.parquet"))
	if err != nil || len(last) != 1 || last[0].Position != 6 {
		t.Errorf("%+v, %v", last, err)
	}
	if _, err := Create[Link](dir, 3, "test"); err == nil {
		t.Error("a folder with files was taken")
	}
	none := filepath.Join(t.TempDir(), "none.parquet")
	if w, err = Create[Link](none, 3, "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if rows, err := parquet.ReadFile[Link](none); err != nil || len(rows) != 0 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	half := filepath.Join(t.TempDir(), "half.parquet")
	if w, err = Create[Link](half, 3, "test"); err != nil || w.Write(Link{}) != nil {
		t.Fatal(err)
	}
	w.Abort()
	if left, _ := os.ReadDir(filepath.Dir(half)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
