package node

import (
	"context"
	"crypto/sha1"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
)

// asking asks a node as another one would.
type asking struct {
	t    *testing.T
	node *running
}

func (a asking) batch(b *peer.ContentBatch) *peer.ContentReply {
	a.t.Helper()
	r, err := (handler{a.node.Node}).Contents(a.t.Context(), "x", b)
	if err != nil {
		a.t.Fatal(err)
	}
	return r
}

func (a asking) digest(body string) ([]byte, uint32) {
	d := crawl.Digest(sha1.Sum([]byte(body)))
	return d[:], uint32(digestPartition(d, a.node.partitions()))
}

// payload asks about a body, and returns the answer.
func (a asking) payload(body string, wait bool) *peer.ContentAnswer {
	a.t.Helper()
	q := &peer.ContentQuestion{Url: "http://a.test/" + body}
	q.Digest, q.Partition = a.digest(body)
	return a.batch(&peer.ContentBatch{Questions: []*peer.ContentQuestion{q}, Wait: wait}).Answers[0]
}

// note tells that a body was stored, or with no record that it was not.
func (a asking) note(body string, record []byte) {
	a.t.Helper()
	n := &peer.ContentNote{Url: "http://a.test/" + body, Record: record, FetchedAtNs: 1e18}
	n.Digest, n.Partition = a.digest(body)
	a.batch(&peer.ContentBatch{Notes: []*peer.ContentNote{n}})
}

const (
	isNew     = peer.ContentVerdict_CONTENT_VERDICT_NEW
	isKnown   = peer.ContentVerdict_CONTENT_VERDICT_KNOWN
	isPending = peer.ContentVerdict_CONTENT_VERDICT_PENDING
)

// The first who asks for a payload stores it, others wait for that, and who comes
// later is told where it is; one that is given up goes to the next.
func TestContentClaims(t *testing.T) {
	t.Parallel()
	n := startNode(t, testConfig(t, "n1"))
	converged(t, 1, n)
	a := asking{t, n}
	record := []byte("0123456789abcdef")
	for i, want := range []peer.ContentVerdict{isNew, isPending, isPending} {
		if got := a.payload("one", i == 2).Verdict; got != want {
			t.Fatalf("question %d: %s, want %s", i, got, want)
		}
	}
	waiting := make(chan *peer.ContentAnswer, 1)
	n.contents.mu.Lock() // whoever waits from now on finds the claim
	go func() { waiting <- a.payload("one", true) }()
	n.contents.mu.Unlock()
	a.note("one", record)
	for _, got := range []*peer.ContentAnswer{<-waiting, a.payload("one", false)} {
		if got.Verdict != isKnown || got.Url != "http://a.test/one" || string(got.Record) != string(record) || got.FetchedAtNs != 1e18 {
			t.Fatalf("after the note: %v", got)
		}
	}
	a.payload("two", false)
	a.note("two", nil)
	if got := a.payload("two", false).Verdict; got != isNew {
		t.Fatalf("a payload that was not stored: %s", got)
	}
	n.contents.mu.Lock()
	for d, c := range n.contents.claims {
		c.until = time.Now()
		n.contents.claims[d] = c
	}
	n.contents.mu.Unlock()
	if got := a.payload("two", false).Verdict; got != isNew {
		t.Fatalf("a claim that was not kept in time: %s", got)
	}
}

// Pages with nearly the same text all name the first of them.
func TestContentNear(t *testing.T) {
	t.Parallel()
	n := startNode(t, testConfig(t, "n1"))
	converged(t, 1, n)
	a := asking{t, n}
	for i, c := range []struct {
		url      string
		print    uint64
		near     string
		distance uint32
	}{
		{"http://a.test/", 0xffff0000ffff0000, "", 0},
		{"http://b.test/", 0xffff0000ffff0001, "http://a.test/", 1},
		{"http://c.test/", 0xffff0000ffff0007, "http://a.test/", 3},
		{"http://d.test/", 0xffff0000ffff000f, "", 0},
		{"http://a.test/", 0xffff0000ffff0000, "", 0},
		{"http://e.test/", 0x7fff0000ffff000f, "http://d.test/", 1},
	} {
		r := a.batch(&peer.ContentBatch{Questions: []*peer.ContentQuestion{{Url: c.url, Simhash: c.print}}}).Answers[0]
		if r.NearUrl != c.near || r.NearDistance != c.distance {
			t.Errorf("%d: %s is near to %q by %d, want %q by %d", i, c.url, r.NearUrl, r.NearDistance, c.near, c.distance)
		}
	}
}

func TestContentsRefuses(t *testing.T) {
	t.Parallel()
	early, err := Open(Options{Config: testConfig(t, "early")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = early.http.Close()
		early.close()
	}()
	some := &peer.ContentBatch{Questions: []*peer.ContentQuestion{{Digest: make([]byte, 20)}}}
	if r, err := (handler{early}).Contents(t.Context(), "x", some); err == nil {
		t.Errorf("before it has joined: answered %v", r)
	}
	n := startNode(t, testConfig(t, "n1"))
	converged(t, 1, n)
	d, p := asking{t, n}.digest("x")
	for name, b := range map[string]*peer.ContentBatch{
		"digest":     {Questions: []*peer.ContentQuestion{{Digest: d[:19], Partition: p}}},
		"partition":  {Questions: []*peer.ContentQuestion{{Digest: d, Partition: p + 1}}},
		"long URL":   {Questions: []*peer.ContentQuestion{{Url: strings.Repeat("x", 3000), Simhash: 1}}},
		"no digest":  {Notes: []*peer.ContentNote{{Partition: p}}},
		"record":     {Notes: []*peer.ContentNote{{Digest: d, Partition: p, Record: d}}},
		"note's URL": {Notes: []*peer.ContentNote{{Digest: d, Partition: p, Url: strings.Repeat("x", 3000)}}},
		"questions":  {Questions: make([]*peer.ContentQuestion, maxContentItems+1)},
		"notes":      {Notes: make([]*peer.ContentNote, maxContentItems+1)},
	} {
		if r, err := (handler{n.Node}).Contents(context.Background(), "x", b); err == nil {
			t.Errorf("%s: answered %v", name, r)
		}
	}
	if got := (asking{t, n}).payload("x", false).Verdict; got != isNew {
		t.Errorf("after all that: %s", got)
	}
}
