package pagefiles

import (
	"os"
	"path/filepath"
	"testing"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/settings/crawldoc"
)

// TestSettingsOf: owners are obeyed when the settings in one of the directories say so, for all of
// its purposes, in whatever order the paths come; archives without settings say nothing.
func TestSettingsOf(t *testing.T) {
	t.Parallel()
	node := func(preferences, purpose string) string {
		dir := filepath.Join(t.TempDir(), "n")
		d, err := datadir.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		docs, err := crawldoc.Open(d,
			crawl.Settings{Scope: "host", Preferences: preferences, Purpose: purpose})
		if err == nil {
			err = docs.Begin("0123456789abcdef")
		}
		if err == nil {
			_, err = docs.Change(func(d *crawldoc.Document) *crawldoc.Document {
				next := *d
				next.Version++
				return &next
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	file, bare := filepath.Join(t.TempDir(), "a.warc"), t.TempDir()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mark, train, search := node("", ""), node("obey", "ai-train"), node("obey", "search")
	for _, c := range []struct {
		paths []string
		want  string // what owners are obeyed about; "none": there are no settings
	}{
		{[]string{file, bare}, "none"}, {[]string{mark}, ""}, {[]string{train}, "ai-train"}, {[]string{file, bare, mark, train}, "ai-train"},
		{[]string{train, mark, file}, "ai-train"}, {[]string{search, mark, train}, "search,ai-train"},
	} {
		own, err := SettingsOf(c.paths)
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if own != nil {
			got = own.Obeyed().String()
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.paths, got, c.want)
		}
	}
}
