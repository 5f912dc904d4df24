package finish

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/settings/crawldoc"
)

// fakeNode is a node as this package sees it: a document in memory, and a cluster that the test
// sets.
type fakeNode struct {
	mu  sync.Mutex // guards doc
	doc *crawldoc.Document

	view        *membership.View
	grants      bool
	moving      bool
	unreachable crawl.NodeID
	totals      crawl.Counters
	reports     map[crawl.NodeID]Report
	work        Work
	block       crawl.NodeBlock
	changed     int // calls of DocumentChanged
	taken       map[crawl.NodeID]crawl.NodeBlock
	wakes       int
	granter     func(*peer.PermitRequest) (*peer.PermitReply, error) // of another node; nil: no answer
	answerer    func(membership.Member, *peer.IdleRequest) (*peer.IdleReply, error)
}

// newFake is node a, alone in view 1, holding all of 4 partitions, with a running crawl.
func newFake(maxPages int64) *fakeNode {
	held := 4
	n := &fakeNode{view: viewOf("a"), grants: true, work: Work{Joined: true, Leased: true}}
	n.block.Node.Partitions.Held = &held
	n.doc = &crawldoc.Document{
		Version:  5,
		By:       "a",
		State:    crawl.CrawlRunning,
		Settings: crawl.Settings{MaxPages: maxPages},
	}
	return n
}

// viewOf is a view of members in boot 1; its number is their count.
func viewOf(ids ...crawl.NodeID) *membership.View {
	v := &membership.View{Number: crawl.Epoch(len(ids))}
	for _, id := range ids {
		v.Members = append(v.Members, membership.Member{ID: id, Boot: 1})
	}
	return v
}

func (n *fakeNode) options() Options {
	return Options{Self: "a", Boot: 1, Documents: n, Cluster: n, Engine: fakeEngine{
		n}, Peers: fakePeers{n},
		Rules: n.rules, DocumentChanged: func() { n.changed++ }, Logger: slog.New(slog.DiscardHandler)}
}

// permitsOf are the permits of a node that has just acquired partition 0, if it holds it.
func permitsOf(n *fakeNode) *Permits {
	p := NewPermits(n.options())
	if n.grants {
		p.Acquired(time.Now(), false)
	}
	return p
}

func (n *fakeNode) rules() *peer.RulesStamp {
	d := n.Current().Doc
	return &peer.RulesStamp{CrawlVersion: d.Version, CrawlBy: string(d.By)}
}

func (n *fakeNode) Current() *crawldoc.Rulebook {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &crawldoc.Rulebook{Doc: n.doc}
}

func (n *fakeNode) Change(
	f func(*crawldoc.Document) *crawldoc.Document,
) (*crawldoc.Document, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := f(n.doc)
	if d != nil {
		n.doc = d
	}
	return d, nil
}

func (n *fakeNode) Merge(d *crawldoc.Document, _ time.Time) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !d.NewerThan(n.doc) {
		return false, nil
	}
	n.doc = d
	return true, nil
}

// setLimit sets another --max-pages, with the next version.
func (n *fakeNode) setLimit(limit int64) *crawldoc.Document {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := *n.doc
	d.Version++
	d.Settings.MaxPages = limit
	n.doc = &d
	return n.doc
}

func (n *fakeNode) View() *membership.View { return n.view }
func (n *fakeNode) Partitions() int        { return 4 }
func (n *fakeNode) Grants() bool           { return n.grants }
func (n *fakeNode) Moves() (int, bool) {
	return *n.block.Node.Partitions.Held, n.moving
}
func (n *fakeNode) Reachable(id crawl.NodeID) bool                { return id != n.unreachable }
func (n *fakeNode) Reports() map[crawl.NodeID]Report              { return n.reports }
func (n *fakeNode) TakeBlocks(b map[crawl.NodeID]crawl.NodeBlock) { n.taken = b }

type fakeEngine struct{ *fakeNode }

func (e fakeEngine) Totals() crawl.Counters  { return e.totals }
func (e fakeEngine) Work() Work              { return e.work }
func (e fakeEngine) Activity() uint64        { return 7 }
func (e fakeEngine) Block() *crawl.NodeBlock { return &e.block }
func (e fakeEngine) Wake()                   { e.wakes++ }

var errSilent = errors.New("nobody answers")

type fakePeers struct{ *fakeNode }

func (p fakePeers) Permits(_ context.Context, req *peer.PermitRequest) (*peer.PermitReply, error) {
	if p.granter == nil {
		return nil, errSilent
	}
	return p.granter(req)
}

func (p fakePeers) Idle(
	_ context.Context,
	m membership.Member,
	req *peer.IdleRequest,
) (*peer.IdleReply, error) {
	if p.answerer == nil {
		return nil, errSilent
	}
	return p.answerer(m, req)
}
