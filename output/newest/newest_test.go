package newest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
)

// line is that of a capture at a second of a minute.
func line(key, url string, second, status int) string {
	return fmt.Sprintf(
		`%s 202601010000%02d {"url":%q,"mime":"text/html","status":"%d","digest":"sha1:A","length":"1","offset":"%d","filename":"f"}`+
			"\n",
		key, second, url, status, second)
}

// TestEach: of each URL the newest answer counts that says something of the page.
func TestEach(t *testing.T) {
	t.Parallel()
	index := line("a)/", "http://a/", 1, 200) + line("a)/", "https://a/", 2, 404) +
		line("a)/", "http://a/", 3, 503) + line("a)/", "http://a/", 4, 304) +
		line("a)/x", "http://a/x", 5, 200) + line("a)/x", "http://a/x", 6, 404) +
		line("a)/y", "http://a/y", 7, 500) + line("a)/y", "http://a/y", 8, 503) +
		line("a)/z", "http://a/z", 9, 429) + line("a)/z", "http://a/z", 10, 200)
	var got []string
	if err := Each(strings.NewReader(index), func(e *archive.Entry) error {
		got = append(got, fmt.Sprint(e.URL, " ", e.Status, " ", e.Ref.Offset))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := "http://a/ 200 1, https://a/ 404 2, http://a/x 404 6, http://a/y 503 8, http://a/z 200 10"
	if strings.Join(got, ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
	enough := errors.New("enough")
	if err := Each(strings.NewReader(index), func(*archive.Entry) error { return enough }); !errors.Is(
		err, enough) {
		t.Errorf("an error of the caller's: %v", err)
	}
	for _, bad := range []string{"x\n", "a)/ 2026 {}\n", strings.Repeat("x", maxLine+1)} {
		if err := Each(strings.NewReader(bad), func(*archive.Entry) error { return nil }); err == nil {
			t.Errorf("%.20q was read", bad)
		}
	}
}

// TestNewestWord: what an owner said with a later 304 counts for the page, also when it takes back
// what was said.
func TestNewestWord(t *testing.T) {
	t.Parallel()
	entry := func(day, status int, said string) archive.Entry {
		return archive.Entry{
			URL:         "http://a.test/",
			At:          time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC),
			Status:      status,
			MIME:        "text/html",
			Revisit:     status == 304,
			Digest:      "sha1:A",
			Preferences: said,
			Ref:         crawl.ArchiveRef{File: "f", Offset: int64(day), Length: 1},
		}
	}
	for want, list := range map[string][]archive.Entry{
		"ai-train=n": {entry(1, 200, ""), entry(2, 304, "ai-train=n")},
		"-":          {entry(1, 200, "ai-train=n"), entry(2, 304, "-")},
		"search=n":   {entry(1, 200, "search=n"), entry(2, 304, "")}, // nobody has read it
		"":           {entry(1, 304, "ai-train=n"), entry(2, 200, "")},
	} {
		var index []byte
		for i := range list {
			index = archive.AppendEntry(index, &list[i])
		}
		if err := Each(bytes.NewReader(index), func(e *archive.Entry) error {
			if e.Preferences != want || e.Status != 200 {
				t.Errorf("%d, %q; want %q", e.Status, e.Preferences, want)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
