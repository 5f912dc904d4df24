package crawldoc

import (
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/security/clusterkey"
)

func newTestStore(t *testing.T) *Store {
	t.Helper()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, testSettings())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		dir.Close()
	})
	if err := s.Begin("self"); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRevocationsSurviveTheOtherDocument: whichever of two documents wins, revocations of both are
// kept, and both nodes end with the same document.
func TestRevocationsSurviveTheOtherDocument(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	for _, winner := range []string{"a", "z"} {
		here, there := newTestStore(t), newTestStore(t)
		there.self = "there"
		change := func(s *Store, f func(*Document) *Document) {
			t.Helper()
			if _, err := s.Change(f); err != nil {
				t.Fatal(err)
			}
		}
		change(here, func(d *Document) *Document { return d.Revoke("0000000000000001", "m", now) })
		change(there, func(d *Document) *Document { // at the same time, of the same version
			c := d.Enter(crawl.CrawlRunning, "", crawl.NodeID(winner), now)
			c.Revoked = Revocations{"0000000000000002": now.Add(time.Hour)}
			return c
		})
		for range 4 { // as the spreader would
			for _, pair := range [][2]*Store{{here, there}, {there, here}} {
				if _, err := pair[1].Merge(pair[0].Current().Doc, now); err != nil {
					t.Fatal(err)
				}
			}
		}
		a, b := here.Current().Doc, there.Current().Doc
		if a.NewerThan(b) || b.NewerThan(a) || len(a.Revoked) != 2 || len(b.Revoked) != 2 {
			t.Errorf("winner %q: %d-%s %v and %d-%s %v", winner, a.Version, a.By, a.Revoked, b.Version, b.By,
				b.Revoked)
		}
		if (a.State == crawl.CrawlRunning) != (winner == "z") {
			t.Errorf("winner %q: the crawl is %s", winner, a.State)
		}
	}
}

// TestRevocationsAreForgotten: a revocation is dropped when no valid token can be as old.
func TestRevocationsAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d := (&Document{}).Revoke("0000000000000001", "a", now)
	if again := d.Revoke("0000000000000001", "a", now); again != nil {
		t.Error("revoked twice")
	}
	d = d.Revoke("0000000000000002", "a", now.Add(clusterkey.MaxTokenLife))
	if len(d.Revoked) != 2 {
		t.Errorf("%v", d.Revoked)
	}
	if d = d.Revoke("0000000000000003", "a", now.Add(clusterkey.MaxTokenLife+
		48*time.Hour)); len(d.Revoked) != 2 {
		t.Errorf("%v", d.Revoked)
	}
}

// TestForgottenRevocationsStayAway: a revocation that one node has dropped, because no valid token
// can be as old, does not come back from another node.
func TestForgottenRevocationsStayAway(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	late := now.Add(clusterkey.MaxTokenLife + 48*time.Hour)
	here, there := newTestStore(t), newTestStore(t)
	for _, s := range []*Store{here, there} {
		if _, err := s.Change(func(d *Document) *Document {
			return d.Revoke("0000000000000001", "m", now)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := here.Change(func(d *Document) *Document {
		return d.Revoke("0000000000000002", "m", late)
	}); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]*Store{{there, here}, {here, there}, {there, here}} {
		if _, err := pair[1].Merge(pair[0].Current().Doc, late); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]*Store{"here": here, "there": there} {
		if r := s.Current().Doc.Revoked; len(r) != 1 || r["0000000000000002"].IsZero() {
			t.Errorf("%s: %v", name, r)
		}
	}
}
