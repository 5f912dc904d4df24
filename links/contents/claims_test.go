package contents

import (
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
)

const (
	isNew     = peer.ContentVerdict_CONTENT_VERDICT_NEW
	isKnown   = peer.ContentVerdict_CONTENT_VERDICT_KNOWN
	isPending = peer.ContentVerdict_CONTENT_VERDICT_PENDING
)

// The first node to ask for a payload stores it. Others wait for that, and later ones get its
// position. A claim that is dropped goes to the next.
func TestClaims(t *testing.T) {
	cluster(t, []crawl.NodeID{"n1"}, func(t *testing.T, ms []*member) {
		n := ms[0]
		record := []byte("0123456789abcdef")
		for i, want := range []peer.ContentVerdict{isNew, isPending, isPending} {
			if got := n.payload("one", i == 2).Verdict; got != want {
				t.Fatalf("question %d: %s, want %s", i, got, want)
			}
		}
		waiting := make(chan *peer.ContentAnswer, 1)
		go func() { waiting <- n.payload("one", true) }()
		synctest.Wait()
		n.note("http://a.test/one", "one", record)
		for _, got := range []*peer.ContentAnswer{<-waiting, n.payload("one", false)} {
			if got.Verdict != isKnown || got.Url != "http://a.test/one" ||
				string(got.Record) != string(record) || got.FetchedAtNs != 1e18 {
				t.Fatalf("after the note: %v", got)
			}
		}
		n.payload("two", false)
		n.note("http://a.test/two", "two", nil)
		if got := n.payload("two", false).Verdict; got != isNew {
			t.Fatalf("a payload that was not stored: %s", got)
		}
		time.Sleep(claimFor)
		if got := n.payload("two", false).Verdict; got != isNew {
			t.Fatalf("a claim that was not kept in time: %s", got)
		}
		if got := n.Unanswered(); got != 1 {
			t.Errorf("%d payloads may be stored twice, want 1", got)
		}
	})
}

// A payload whose capture was lost with a forgotten node is stored again, and the new capture takes
// its place.
func TestForgottenCapture(t *testing.T) {
	cluster(t, []crawl.NodeID{"n1"}, func(t *testing.T, ms []*member) {
		n := ms[0]
		n.payload("one", false)
		n.note("http://a.test/one", "one", []byte("0123456789abcdef"))
		n.forgotten = "x"
		if got := n.payload("one", false).Verdict; got != isNew {
			t.Fatalf("a payload that is lost: %s", got)
		}
		n.forgotten = "" // so that the known capture is visible
		n.note("http://b.test/one", "one", []byte("fedcba9876543210"))
		if got := n.payload("one", false); got.Verdict != isKnown ||
			string(got.Record) != "fedcba9876543210" {
			t.Fatalf("after it was stored again: %v", got)
		}
	})
}
