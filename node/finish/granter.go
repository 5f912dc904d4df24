package finish

import (
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/crawldoc"
	"crawlnode/peer"
)

// callMargin is when a call that was open at some moment is answered or given up.
const callMargin = 5 * time.Second

// granter gives permits out while this node holds partition 0.
type granter struct {
	o   Options
	own func() int64 // the permits in hand of this node

	mu       sync.Mutex // guards the rest
	since    time.Time  // of the acquisition, or the last permit that changed hands; zero: not acquired
	counted  bool
	promised int64  // pages done and permits in hand, over all members, or more
	document uint64 // that members must have for their counts to say anything; 0: any
}

// acquired starts the count anew. Moved: an earlier granter may still have answers on their
// way. Those arrive or are given up within callMargin, and only later blocks are counted.
func (g *granter) acquired(now time.Time, moved bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.since, g.counted, g.promised = now, false, 0
	if moved {
		g.since = now.Add(callMargin)
	}
}

// follow begins the count anew when a document of that version has set a limit or lowered it: a
// member that does not know it yet fetches by the old one. What is under way then counts as in
// hand.
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
	if r := req.GetRules(); r != nil && (&crawldoc.Document{Version: r.CrawlVersion, By: crawl.NodeID(r.CrawlBy)}).NewerThan(own) {
		return &peer.PermitReply{Error: "this node does not have the newest settings yet"} // the limit may be lower by now
	}
	limit := own.Settings.MaxPages
	since, basis := g.basis()
	pages, inHand, complete := g.count(since, basis)
	g.mu.Lock()
	defer g.mu.Unlock()
	complete = complete && since.Equal(g.since) // else permits have changed hands meanwhile
	switch {
	case complete && (!g.counted || g.promised >= limit):
		g.promised, g.counted = pages+inHand, true // perhaps with what is given back here
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

// basis says which blocks count: those made after a moment, by members that have that document.
func (g *granter) basis() (since time.Time, document uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since, g.document
}

// count adds up pages and permits in hand over all members of the view, by their last blocks.
// Complete: each block was made after since, in this view, by a member that has the document of
// that version, and nothing is left to move. So no page is missed by both ends of a move.
func (g *granter) count(since time.Time, document uint64) (pages, inHand int64, complete bool) {
	inHand = g.own() // first: a page that is done in between counts twice
	totals := g.o.Engine.Totals()
	pages = totals.Pages
	view := g.o.viewNumber()
	complete = !since.IsZero() && !g.o.Cluster.Moving()
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
	}
	return pages, inHand, complete
}
