package finish

import (
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/settings/crawldoc"
)

// callMargin is the time after which any earlier call is answered or abandoned.
const callMargin = 5 * time.Second

// granter grants permits while this node holds partition 0.
type granter struct {
	o   Options
	own func() int64 // the permits in hand of this node

	mu sync.Mutex // guards the rest
	// of the acquisition, or of the last granted or returned permit; zero: not acquired
	since    time.Time
	counted  bool
	promised int64  // pages done and permits in hand, over all members, or more
	document uint64 // version that members must have for their counts to be valid; 0: any
}

// acquired restarts the count. moved: answers of an earlier granter may still be on their way. They
// arrive or are abandoned within callMargin, and only later blocks are counted.
func (g *granter) acquired(now time.Time, moved bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.since, g.counted, g.promised = now, false, 0
	if moved {
		g.since = now.Add(callMargin)
	}
}

// follow restarts the count when a document of that version has set or lowered the limit: a member
// that does not know it yet fetches under the old one. Open visits then count as in hand.
func (g *granter) follow(version uint64) {
	g.mu.Lock()
	g.document = version
	since := g.since
	g.mu.Unlock()
	if !since.IsZero() {
		g.acquired(time.Now(), true)
	}
}

// grant answers one request.
func (g *granter) grant(req *peer.PermitRequest) *peer.PermitReply {
	own := g.o.Documents.Current().Doc
	if r := req.GetRules(); r != nil &&
		(&crawldoc.Document{Version: r.CrawlVersion, By: crawl.NodeID(r.CrawlBy)}).NewerThan(own) {
		// the limit may be lower by now
		return &peer.PermitReply{Error: "this node does not have the newest settings yet"}
	}
	limit := own.Settings.MaxPages
	since, basis := g.basis()
	pages, inHand, complete := g.count(since, basis)
	g.mu.Lock()
	defer g.mu.Unlock()
	complete = complete && since.Equal(g.since) // else permits were granted or returned meanwhile
	switch {
	case complete && (!g.counted || g.promised >= limit):
		g.promised, g.counted = pages+inHand, true // perhaps including permits returned by this request
	case !g.counted:
		return &peer.PermitReply{Error: "the members' permits are still being counted"}
	case req.Returned > 0:
		g.promised -= min(req.Returned, g.promised)
		g.since = time.Now()
	}
	give := max(min(req.Wanted, permitBlock, limit-g.promised), 0)
	if give > 0 {
		g.promised += give
		g.since = time.Now()
	}
	return &peer.PermitReply{Granted: give, Exhausted: g.promised >= limit && give < req.Wanted}
}

// basis returns which blocks count: those made after a moment, by members that have that document.
func (g *granter) basis() (since time.Time, document uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since, g.document
}

// count sums pages and permits in hand over all members of the view, by their last blocks.
// complete: each block was made after since, in this view, by a member with that version of the
// document, no partition moves, and together they hold all. So no page is missed by both ends of a
// move, nor are those of a partition that somebody is taking over.
func (g *granter) count(since time.Time, document uint64) (pages, inHand int64, complete bool) {
	inHand = g.own() // first: a page that is done in between counts twice
	// before the pages: those of a partition that comes in between are in no count
	held, before := g.o.Cluster.Moves()
	totals := g.o.Engine.Totals()
	pages = totals.Pages
	view := g.o.viewNumber()
	_, after := g.o.Cluster.Moves()
	complete = !since.IsZero() && !before && !after
	reports := g.o.Cluster.Reports()
	for _, m := range g.o.others() {
		r, ok := reports[m.ID]
		if !ok || !r.MadeAfter.After(since) || r.Block.Boot != m.Boot ||
			r.Block.View != view || r.Block.Document < document || r.Block.Handoff.Active {
			complete = false
			continue
		}
		pages += r.Block.Counters.Pages
		inHand += r.Block.PermitsInHand
		if h := r.Block.Node.Partitions.Held; h != nil {
			held += *h
		}
	}
	return pages, inHand, complete && held == g.o.Cluster.Partitions()
}
