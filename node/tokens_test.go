package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/clusterkey"
	"crawlnode/crawl"
	"crawlnode/node/datadir"
)

// keyedNode is as much of a node with a key as judges tokens.
func keyedNode(t *testing.T) *Node {
	t.Helper()
	k, err := clusterkey.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return &Node{keys: &keyring{clusterkey.NewRing(k)}, doc: newTestDocStore(t), id: "n"}
}

func newTestDocStore(t *testing.T) *docStore {
	t.Helper()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := openDocStore(dir, testSettings(), docClock{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		dir.Close()
	})
	if err := s.begin("self"); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTokensOfANode judges what callers show.
func TestTokensOfANode(t *testing.T) {
	t.Parallel()
	n, now := keyedNode(t), time.Now()
	other := keyedNode(t)
	made := func(n *Node, role string, life time.Duration) (string, string) {
		token, text, err := n.keys.ring.Keys()[0].NewToken(role, life, now)
		if err != nil {
			t.Fatal(err)
		}
		return token.ID, text
	}
	readID, read := made(n, "read", time.Hour)
	goneID, gone := made(n, "admin", time.Hour)
	_, short := made(n, "operate", time.Second)
	_, newer := made(n, "superuser", time.Hour)
	_, foreign := made(other, "admin", time.Hour)
	if _, err := n.doc.Change(func(d *document) *document { return d.revoke(goneID, "n", now) }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, secret string
		want         crawl.Asker
		told         string // what the asker may hear; "" nothing
	}{
		{"the key's own", n.keys.ring.Keys()[0].APIToken(), crawl.Asker{ID: crawl.KeyAsker, Role: crawl.RoleAdmin}, ""},
		{"read", read, crawl.Asker{ID: readID, Role: crawl.RoleRead}, ""},
		{"revoked", gone, crawl.Asker{}, "was revoked"},
		{"expired", short, crawl.Asker{}, "has expired"},
		{"of a newer release", newer, crawl.Asker{}, "newer release"},
		{"another cluster's", foreign, crawl.Asker{}, ""},
		{"another key's own", other.keys.ring.Keys()[0].APIToken(), crawl.Asker{}, ""},
		{"nothing", "", crawl.Asker{}, ""},
	} {
		got, err := n.askerOf(c.secret, now.Add(time.Minute))
		if got != c.want || (err == nil) != (c.want.Role > 0) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
		if errors.Is(err, crawl.ErrForbidden) != (c.told != "") || !strings.Contains(fmt.Sprint(err), c.told) {
			t.Errorf("%s is told: %v", c.name, err)
		}
	}
	if (&Node{keys: &keyring{}}).Access() != nil {
		t.Error("without a key something is wanted")
	}
}

// TestRevocationsSurviveTheOtherDocument: whichever of two documents wins, what either
// has revoked stays so, and both nodes end with the same one.
func TestRevocationsSurviveTheOtherDocument(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	for _, winner := range []string{"a", "z"} {
		here, there := newTestDocStore(t), newTestDocStore(t)
		there.self = "there"
		change := func(s *docStore, f func(*document) *document) {
			t.Helper()
			if _, err := s.Change(f); err != nil {
				t.Fatal(err)
			}
		}
		change(here, func(d *document) *document { return d.revoke("0000000000000001", "m", now) })
		change(there, func(d *document) *document { // at the same time, of the same version
			c := d.enter(crawl.CrawlRunning, "", crawl.NodeID(winner), now)
			c.Revoked = revocations{"0000000000000002": now.Add(time.Hour)}
			return c
		})
		for range 4 { // as the spreader would
			for _, pair := range [][2]*docStore{{here, there}, {there, here}} {
				if _, err := pair[1].Merge(pair[0].Current().doc, now); err != nil {
					t.Fatal(err)
				}
			}
		}
		a, b := here.Current().doc, there.Current().doc
		if a.newerThan(b) || b.newerThan(a) || len(a.Revoked) != 2 || len(b.Revoked) != 2 {
			t.Errorf("winner %q: %d-%s %v and %d-%s %v", winner, a.Version, a.By, a.Revoked, b.Version, b.By, b.Revoked)
		}
		if (a.State == crawl.CrawlRunning) != (winner == "z") {
			t.Errorf("winner %q: the crawl is %s", winner, a.State)
		}
	}
}

// TestRevocationsAreForgotten when no token can be as old.
func TestRevocationsAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d := (&document{}).revoke("0000000000000001", "a", now)
	if again := d.revoke("0000000000000001", "a", now); again != nil {
		t.Error("revoked twice")
	}
	d = d.revoke("0000000000000002", "a", now.Add(clusterkey.MaxTokenLife))
	if len(d.Revoked) != 2 {
		t.Errorf("%v", d.Revoked)
	}
	if d = d.revoke("0000000000000003", "a", now.Add(clusterkey.MaxTokenLife+48*time.Hour)); len(d.Revoked) != 2 {
		t.Errorf("%v", d.Revoked)
	}
}

// TestForgottenRevocationsStayAway: what one node has forgotten, because no token can be as
// old, does not come back from one that has not.
func TestForgottenRevocationsStayAway(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	late := now.Add(clusterkey.MaxTokenLife + 48*time.Hour)
	here, there := newTestDocStore(t), newTestDocStore(t)
	for _, s := range []*docStore{here, there} {
		if _, err := s.Change(func(d *document) *document { return d.revoke("0000000000000001", "m", now) }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := here.Change(func(d *document) *document { return d.revoke("0000000000000002", "m", late) }); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]*docStore{{there, here}, {here, there}, {there, here}} {
		if _, err := pair[1].Merge(pair[0].Current().doc, late); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]*docStore{"here": here, "there": there} {
		if r := s.Current().doc.Revoked; len(r) != 1 || r["0000000000000002"].IsZero() {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// TestRevocationsAreFull counts those that have to be remembered, not those that are over.
func TestRevocationsAreFull(t *testing.T) {
	t.Parallel()
	_, file := savedKey(t, t.TempDir(), "key")
	n := startNode(t, keyedConfig(t, "n1", file, nil))
	awaitMembers(t, n, 1)
	fill := func(until time.Time) {
		t.Helper()
		if _, err := n.doc.Change(func(d *document) *document {
			c := *d
			c.Version++
			c.Revoked = revocations{}
			for i := range maxRevoked {
				c.Revoked[fmt.Sprintf("%016x", i)] = until
			}
			return &c
		}); err != nil {
			t.Fatal(err)
		}
	}
	fill(time.Now().Add(time.Hour))
	if _, err := n.RevokeToken(t.Context(), "ffffffffffffffff"); !errors.Is(err, crawl.ErrRefused) || !strings.Contains(err.Error(), "rotate-key") {
		t.Errorf("one more than fit: %v", err)
	}
	if _, err := n.RevokeToken(t.Context(), "0000000000000001"); err != nil {
		t.Errorf("one that is revoked already: %v", err)
	}
	fill(time.Now().Add(-time.Hour))
	if _, err := n.RevokeToken(t.Context(), "ffffffffffffffff"); err != nil {
		t.Errorf("one more than are over: %v", err)
	}
}

// TestUnsafeChangesAreNotForTheNetwork is the table of who may change what opens a
// private network.
func TestUnsafeChangesAreNotForTheNetwork(t *testing.T) {
	t.Parallel()
	before, after := testSettings(), testSettings()
	after.UserAgent = "Mozilla/5.0"
	for _, c := range []struct {
		remote, flag, ok bool
	}{{false, false, true}, {true, false, false}, {true, true, true}, {false, true, true}} {
		n := &Node{}
		n.cfg.AllowRemoteUnsafe = c.flag
		err := n.mayMean(crawl.Asker{Role: crawl.RoleAdmin, Remote: c.remote}, &before, &after)
		if (err == nil) != c.ok || err != nil && (!errors.Is(err, crawl.ErrForbidden) || !strings.Contains(err.Error(), "--allow-remote-unsafe")) {
			t.Errorf("%+v: %v", c, err)
		}
		if err := n.mayMean(crawl.Asker{Remote: c.remote}, &before, &before); err != nil {
			t.Errorf("%+v: no change is refused: %v", c, err)
		}
	}
}
