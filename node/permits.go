package node

import (
	"context"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/crawldoc"
	"crawlnode/peer"
)

// Page permits keep --max-pages exact over the whole cluster. The holder of
// partition 0 grants them in blocks; a node fetches a page only against one,
// and a visit that ends without a page gives its permit back.
//
// Grants are not written to disk. Whoever acquires partition 0 counts anew:
// pages done, by the partitions' own counters, and permits in hand, as every
// member reports them in a block made after the acquisition, while no partition
// moves. Until every member has reported, nothing is granted. Whatever is not
// certain counts as in hand, so a count may be too high, never too low; when
// nothing is left to give it is made again. That also finds the permits that a
// crashed node took with it.
//
// A lowered limit makes all unused permits void. A node that has heard of it might
// then get new ones by the old limit, from a granter that has not: so a request says
// which document it is made by, and who has an older one grants nothing.

// permitBlock bounds one grant, so that the last pages are spread over the nodes.
const permitBlock = 64

// purse holds this node's permits.
type purse struct {
	node *Node

	mu        sync.Mutex    // guards the rest
	unused    int64         // granted and not taken
	taken     int64         // taken by visits that run
	calling   int64         // asked for or given back in a call that is not answered yet
	lapsed    int64         // of taken: they are not given back
	lives     int           // how often all lapsed
	exhausted bool          // the granter has no more, as of its last word
	look      chan struct{} // capacity 1: more are needed
}

// Take gets a permit for one page. false: none now; more are asked for. Without a
// limit nobody needs one; what is taken then counts as in hand all the same, for a
// limit that is set while the page is under way.
func (p *purse) Take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.node.doc.Current().Doc.Settings.MaxPages == 0 {
		p.taken++
		p.lapsed++
		return true
	}
	if p.unused > 0 {
		p.unused--
		p.taken++
		return true
	}
	select {
	case p.look <- struct{}{}:
	default:
	}
	return false
}

// Settle ends a visit's permit: used by a page, or returned.
func (p *purse) Settle(used bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken > 0 {
		p.taken--
		switch {
		case p.lapsed > 0:
			p.lapsed--
		case !used:
			p.unused++
		}
	}
}

// lapse drops all permits: this node was excluded from the view, so whoever grants
// has counted without them, and given them to others.
func (p *purse) lapse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unused, p.lapsed = 0, p.taken
	p.lives++
}

// inHand counts the permits that are not pages yet.
func (p *purse) inHand() (n int64, exhausted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unused + p.taken + p.calling, p.exhausted && p.unused == 0
}

// run asks the granter whenever permits are missing, and gives unused ones
// back when there is nothing here to fetch.
func (p *purse) run(ctx context.Context) error {
	wait := 50 * time.Millisecond
	for {
		timer := time.NewTimer(time.Second)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-p.look:
			timer.Stop()
		case <-timer.C:
		}
		if p.node.doc.Current().Doc.Settings.MaxPages == 0 {
			continue
		}
		if p.ask(ctx) {
			wait = 50 * time.Millisecond
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
			wait = min(2*wait, time.Second)
		}
	}
}

// ask makes one call to the granter; false: it had nothing or was not reached.
func (p *purse) ask(ctx context.Context) bool {
	totals := p.node.front.Totals()
	queued := totals.QueuedTotal()
	p.mu.Lock()
	give := int64(0)
	if queued == 0 {
		give, p.unused = p.unused, 0
	}
	want := max(min(queued, permitBlock)-p.unused, 0)
	if !p.node.holds(0) { // the own granter looks at this purse while it answers
		p.calling = give + want
	}
	life := p.lives
	p.mu.Unlock()
	if want == 0 && give == 0 {
		return true
	}
	reply, err := p.node.askPermits(ctx, &peer.PermitRequest{Returned: give, Wanted: want, Rules: stampOf(p.node.doc)})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calling = 0
	switch {
	case err != nil, life != p.lives: // what was given back may have arrived: the next count tells
		return false
	case reply.Error != "":
		p.unused += give
		return false
	}
	p.unused += reply.Granted
	p.exhausted = reply.Exhausted
	if reply.Granted > 0 {
		p.node.engine.Load().dispatcher.Wake()
	}
	return reply.Granted > 0
}

// askPermits calls the granter, which may be this node.
func (n *Node) askPermits(ctx context.Context, req *peer.PermitRequest) (*peer.PermitReply, error) {
	if n.holds(0) {
		return n.granter.grant(req), nil
	}
	holder := n.peers.holder(0)
	to := n.target(holder)
	if to.ID == "" {
		return &peer.PermitReply{Error: "nobody is known to hold partition 0"}, nil
	}
	return peer.Call(ctx, n.pool, to, req, peer.PeerClient.Permits)
}

// granter gives permits out while this node holds partition 0.
type granter struct {
	node *Node

	mu       sync.Mutex // guards the rest
	since    time.Time  // of the acquisition, or the last permit that changed hands; zero: not acquired
	counted  bool
	promised int64  // pages done and permits in hand, over all members, or more
	document uint64 // that members must have for their counts to say anything; 0: any
}

// acquired starts the count anew, for a granter that no grant of an earlier one
// can reach a purse behind: those are answered or given up within callMargin.
func (g *granter) acquired(now time.Time, moved bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.since, g.counted, g.promised = now, false, 0
	if moved {
		g.since = now.Add(callMargin)
	}
}

// follow begins the count anew when a document of that version has set a limit or
// lowered it: until a member knows of it, it fetches by the old one. What is under
// way then counts as in hand.
func (g *granter) follow(version uint64) {
	g.mu.Lock()
	g.document = version
	since := g.since
	g.mu.Unlock()
	if !since.IsZero() {
		g.acquired(time.Now(), true)
	}
}

// callMargin is when a call that was open at some moment is answered or given up.
const callMargin = 5 * time.Second

// grant answers one request.
func (g *granter) grant(req *peer.PermitRequest) *peer.PermitReply {
	own := g.node.doc.Current().Doc
	if r := req.GetRules(); r != nil && (&crawldoc.Document{Version: r.CrawlVersion, By: crawl.NodeID(r.CrawlBy)}).NewerThan(own) {
		return &peer.PermitReply{Error: "this node has not heard of the newest settings yet"} // the limit may be lower by now
	}
	limit := own.Settings.MaxPages
	since, basis := g.basis()
	pages, inHand, complete := g.node.countPages(since, basis)
	g.mu.Lock()
	defer g.mu.Unlock()
	complete = complete && since.Equal(g.since) // else somebody got permits meanwhile
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

// basis says which blocks count: those made after a moment, by who has that
// document.
func (g *granter) basis() (since time.Time, document uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since, g.document
}

// countPages adds up pages and permits in hand over all members of the view, by
// their last blocks. complete: each block was made after since, in this view,
// with nothing left to move, so that no page is counted with neither end of a move,
// and by a member that has the document of that version.
func (n *Node) countPages(since time.Time, document uint64) (pages, inHand int64, complete bool) {
	inHand, _ = n.purse.inHand() // first: a page that is done in between counts twice
	own := n.front.Totals()
	pages = own.Pages
	view := n.viewNumber()
	complete = !since.IsZero() && n.engine.Load().moves.Status().Outstanding == 0
	infos := n.peers.all()
	for _, m := range n.others() {
		info, ok := infos[m.ID]
		// A renewal is under way for twice its period at most.
		if !ok || !info.heard.After(since.Add(2*renewEvery)) || info.block.Boot != m.Boot ||
			info.block.View != view || info.block.Document < document || info.block.Handoff.Active {
			complete = false
			continue
		}
		pages += info.block.Counters.Pages
		inHand += info.block.PermitsInHand
	}
	return pages, inHand, complete
}

// Permits answers another node's purse.
func (h handler) Permits(_ context.Context, _ string, req *peer.PermitRequest) (*peer.PermitReply, error) {
	if !h.node.holds(0) {
		return &peer.PermitReply{Error: "this node does not hold partition 0"}, nil
	}
	return h.node.granter.grant(req), nil
}

// limitReached reports whether the page limit stops this node.
func (n *Node) limitReached() bool {
	if n.doc.Current().Doc.Settings.MaxPages == 0 {
		return false
	}
	_, exhausted := n.purse.inHand()
	return exhausted
}
