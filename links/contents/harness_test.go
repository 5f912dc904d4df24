package contents

import (
	"context"
	"crypto/sha1"
	"errors"
	"testing"
	"testing/synctest"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/frontiertest"
	"crawlnode/peer"
)

// partitions are few, so that each member of a small cluster holds several.
const partitions = 16

// member is a node of a cluster that has nothing but contents.
type member struct {
	*Index
	t         *testing.T
	id        crawl.NodeID
	calls     int          // of this member by others
	cut       bool         // calls fail
	forgotten crawl.NodeID // "": nobody
}

// cluster runs f with members that own the partitions in turn, each with a frontier in memory,
// under fake time.
func cluster(t *testing.T, ids []crawl.NodeID, f func(t *testing.T, ms []*member)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ms := make([]*member, len(ids))
		for i, id := range ids {
			ms[i] = &member{t: t, id: id}
			ms[i].Index = New(Options{Self: id, Store: holding(t, i, len(ids)), Memory: 1 << 20,
				Cluster: seenBy{ms[i], ms}})
			t.Cleanup(ms[i].Close)
		}
		f(t, ms)
	})
}

// seenBy is the cluster as one of its members sees it.
type seenBy struct {
	self *member
	all  []*member
}

func (seenBy) Partitions() int { return partitions }

func (c seenBy) Holder(p crawl.Partition) crawl.NodeID { return c.all[int(p)%len(c.all)].id }

func (c seenBy) Alone() bool { return len(c.all) == 1 }

func (c seenBy) Forgotten(id crawl.NodeID) bool { return id == c.self.forgotten }

func (c seenBy) Call(
	ctx context.Context, to crawl.NodeID, b *peer.ContentBatch,
) (*peer.ContentReply, error) {
	return memberOf(c.all, to).called(ctx, c.self.id, b)
}

func memberOf(ms []*member, id crawl.NodeID) *member {
	for _, m := range ms {
		if m.id == id {
			return m
		}
	}
	return nil
}

// holding starts a frontier that holds each nth partition from the first on.
func holding(t *testing.T, first, n int) *frontier.Frontier {
	var ps []crawl.Partition
	for p := first; p < partitions; p += n {
		ps = append(ps, crawl.Partition(p))
	}
	return frontiertest.Holding(t, 1, ps...)
}

// called is a call of another member.
func (m *member) called(
	ctx context.Context,
	from crawl.NodeID,
	b *peer.ContentBatch,
) (*peer.ContentReply, error) {
	m.calls++
	if m.cut {
		return nil, errors.New("cut")
	}
	return m.Serve(ctx, from, b)
}

// batch calls a member as another one would.
func (m *member) batch(b *peer.ContentBatch) *peer.ContentReply {
	m.t.Helper()
	r, err := m.Serve(m.t.Context(), "x", b)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// digestOf returns the digest of a body and its partition.
func digestOf(body string) ([]byte, uint32) {
	d := crawl.Digest(sha1.Sum([]byte(body)))
	return d[:], uint32(digestPartition(d, partitions))
}

// payload asks about a body, and returns the answer.
func (m *member) payload(body string, wait bool) *peer.ContentAnswer {
	m.t.Helper()
	q := &peer.ContentQuestion{Url: "http://a.test/" + body}
	q.Digest, q.Partition = digestOf(body)
	return m.batch(&peer.ContentBatch{Questions: []*peer.ContentQuestion{q}, Wait: wait}).Answers[0]
}

// note reports that a page with a body was stored, or without a record that it was not.
func (m *member) note(url, body string, record []byte) {
	m.t.Helper()
	n := &peer.ContentNote{Url: url, Record: record, FetchedAtNs: 1e18}
	n.Digest, n.Partition = digestOf(body)
	m.batch(&peer.ContentBatch{Notes: []*peer.ContentNote{n}})
}
