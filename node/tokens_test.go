package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/clusterkey"
	"crawlnode/crawl"
	"crawlnode/node/crawldoc"
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

func newTestDocStore(t *testing.T) *crawldoc.Store {
	t.Helper()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := crawldoc.Open(dir, testSettings(), crawldoc.Clock{})
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
	if _, err := n.doc.Change(func(d *crawldoc.Document) *crawldoc.Document { return d.Revoke(goneID, "n", now) }); err != nil {
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

// TestRevocationsAreFull counts those that have to be remembered, not those that are over.
func TestRevocationsAreFull(t *testing.T) {
	t.Parallel()
	_, file := savedKey(t, t.TempDir(), "key")
	n := startNode(t, keyedConfig(t, "n1", file, nil))
	awaitMembers(t, n, 1)
	fill := func(until time.Time) {
		t.Helper()
		if _, err := n.doc.Change(func(d *crawldoc.Document) *crawldoc.Document {
			c := *d
			c.Version++
			c.Revoked = crawldoc.Revocations{}
			for i := range crawldoc.MaxRevoked {
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
