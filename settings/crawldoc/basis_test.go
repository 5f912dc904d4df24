package crawldoc

import (
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
)

// TestBasisOfRules: every setting by which a page may be read in another way changes the basis;
// what is no setting does not, nor does a restart.
func TestBasisOfRules(t *testing.T) {
	t.Parallel()
	base, err := basisOf(&crawl.Settings{Scope: "host"})
	if err != nil || base == 0 {
		t.Fatal(base, err)
	}
	seen := map[uint64]string{base: "the first"}
	for name, c := range map[string]crawl.Settings{
		"scope":     {Scope: "domain"},
		"include":   {Scope: "host", Include: []string{"/a"}},
		"exclude":   {Scope: "host", Exclude: []string{"/a"}},
		"depth":     {Scope: "host", MaxDepth: 3},
		"index":     {Scope: "host", Index: true},
		"archive":   {Scope: "host", Archive: true},
		"assets":    {Scope: "host", Assets: true},
		"agent":     {Scope: "host", UserAgent: "x"},
		"normalize": {Scope: "host", Normalize: []string{"drop=x"}},
		"focus":     {Scope: "host", Focus: &crawl.Topic{Name: "a", Model: []byte{1}}},
		"model":     {Scope: "host", Focus: &crawl.Topic{Name: "a", Model: []byte{2}}},
		"recrawl":   {Scope: "host", Recrawl: crawl.RecrawlFixed},
	} {
		b, err := basisOf(&c)
		if other, had := seen[b]; had || err != nil {
			t.Errorf("%s has the basis of %s, or %v", name, other, err)
		}
		seen[b] = name
	}

	path := t.TempDir()
	open := func() (*datadir.Dir, *Store) {
		t.Helper()
		dir, err := datadir.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, testSettings())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Begin("a"); err != nil {
			t.Fatal(err)
		}
		return dir, s
	}
	dir, s := open()
	if err := s.AddScope([]string{"host:a.test"}); err != nil {
		t.Fatal(err)
	}
	rules := s.Current().Pipeline
	basis, entries := rules.Basis, rules.Entries()
	if _, err := s.Change(func(d *Document) *Document {
		return d.Enter(crawl.CrawlRunning, "", "a", time.Unix(1, 0))
	}); err != nil {
		t.Fatal(err)
	}
	if got := s.Current().Pipeline; got.Basis != basis || got.Entries() != entries || basis == 0 {
		t.Errorf("another state: basis %x, %x; entries %x, %x", basis, got.Basis, entries, got.Entries())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir.Close()
	dir, s = open()
	defer dir.Close()
	defer s.Close()
	if got := s.Current().Pipeline; got.Basis != basis || got.Entries() != entries {
		t.Errorf("after a restart: basis %x, %x; entries %x, %x", basis, got.Basis, entries,
			got.Entries())
	}
	if err := s.AddScope([]string{"host:b.test"}); err != nil ||
		s.Current().Pipeline.Entries() == entries {
		t.Errorf("another entry changes nothing, or %v", err)
	}
}
