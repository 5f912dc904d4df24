package crawldoc

import (
	"testing"

	"crawlnode/local/datadir"
)

// TestSites: a node, and a data directory alone, answer from the rules of the document, or try
// others.
func TestSites(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	first := testSettings()
	first.Sites = "- match: host:a.test\n  retries: 7\n"
	s, err := Open(dir, first)
	if err != nil {
		t.Fatal(err)
	}
	check := func(b *Rulebook) {
		t.Helper()
		if text, version := b.Sites(); text != first.Sites || version != b.Doc.Name() {
			t.Errorf("%q of %s", text, version)
		}
		other := "- match: host:a.test\n  retries: 8\n"
		for text, want := range map[*string]string{nil: "7", &other: "8"} {
			r, err := b.TestSites("http://a.test/", text)
			if err != nil || len(r.Rules) != 1 || r.Values[1].Field != "retries" ||
				r.Values[1].Value != want {
				t.Errorf("%+v, %v; want %s", r, err, want)
			}
		}
	}
	check(s.Current())
	if _, err := s.Change(func(d *Document) *Document { c := *d; c.Version++; return &c }); err !=
		nil {
		t.Fatal(err)
	}
	closeStore(t, s, dir)
	left, err := OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	check(left.Current())
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
}
