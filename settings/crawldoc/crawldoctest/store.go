package crawldoctest

import (
	"testing"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/settings/crawldoc"
)

// Settings are the default ones.
func Settings() crawl.Settings {
	c := config.Default()
	return c.Settings("test")
}

// NewStore is a node's crawl document in a data directory of the test: version 0, with the default
// settings.
func NewStore(t testing.TB, self crawl.NodeID) *crawldoc.Store {
	t.Helper()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := crawldoc.Open(dir, Settings())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		dir.Close()
	})
	if err := s.Begin(self); err != nil {
		t.Fatal(err)
	}
	return s
}
