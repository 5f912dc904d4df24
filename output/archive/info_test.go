package archive

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestInfo: each file describes how the crawl was run when it was started, without unknown fields.
func TestInfo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := 0
	a := open(t, dir, Options{MaxFileBytes: 1, Info: func() Info {
		if files++; files == 3 {
			return Info{}
		}
		return Info{
			Operator:  "me@example.org",
			Robots:    "classic",
			UserAgent: "crawler/1 (+me)",
			Settings:  fmt.Sprintf(`{"delay":%d}`, files),
		}
	}})
	for i := range 3 {
		put(t, a, capture(t, fmt.Sprint("http://a.test/", i), "x"))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	infos := 0
	for _, r := range readAll(t, dir) {
		if r.Type != "warcinfo" {
			continue
		}
		infos++
		if r.Fields.Get("Content-Type") != "application/warc-fields" ||
			r.Fields.Get("WARC-Filename") == "" {
			t.Errorf("header %v", r.Fields)
		}
		lines := strings.Split(strings.TrimSuffix(string(r.Payload), "\r\n"), "\r\n")
		want := []string{
			"software: crawlnode/test", "operator: me@example.org", "hostname: n1",
			"format: WARC file version 1.1", "conformsTo: " + conformsTo,
			"robots: classic", "http-header-user-agent: crawler/1 (+me)",
			fmt.Sprintf(`crawlnode-settings: {"delay":%d}`, infos),
		}
		if infos == 3 {
			want = []string{want[0], want[2], want[3], want[4]}
		}
		if !slices.Equal(lines, want) {
			t.Errorf("file %d says\n%s\nwant\n%s", infos, strings.Join(lines, "\n"),
				strings.Join(want, "\n"))
		}
	}
	if infos != 3 {
		t.Errorf("%d files say how the crawl was run, want 3", infos)
	}
}
