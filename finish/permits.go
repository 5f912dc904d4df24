package finish

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/settings/crawldoc"
	"crawlnode/ticks"
)

// permitBlock bounds one grant, so that the last pages are spread over the nodes.
const permitBlock = 64

// Permits holds this node's page permits. While this node holds partition 0 it also grants
// permits to all nodes.
type Permits struct {
	o       Options
	granter granter
	limit   atomic.Int64  // the --max-pages in effect
	look    chan struct{} // capacity 1: more are needed

	mu        sync.Mutex // guards the rest
	unused    int64      // granted and not taken
	taken     int64      // taken by visits that run
	calling   int64      // requested or returned in a call that is not answered yet
	lapsed    int64      // part of taken that is not returned
	lapses    int        // how often all lapsed
	exhausted bool       // the granter has no more, by its last answer
}

// NewPermits makes a node's permits: none, until Run has got some.
func NewPermits(o Options) *Permits {
	p := &Permits{o: o, look: make(chan struct{}, 1)}
	p.granter.o = o
	p.granter.own = func() int64 { n, _ := p.InHand(); return n }
	p.limit.Store(o.settings().MaxPages)
	return p
}

// Take takes a permit for one page. False: there is none now; more are requested.
//
// Without a limit no permit is needed. The page then still counts as in hand, for
// a limit that is set while the page is fetched.
func (p *Permits) Take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.o.settings().MaxPages == 0 {
		p.taken++
		p.lapsed++
		return true
	}
	if p.unused > 0 {
		p.unused--
		p.taken++
		return true
	}
	p.more()
	return false
}

// more makes Run check whether permits are missing.
func (p *Permits) more() {
	crawl.Signal(p.look)
}

// Done ends a visit's permit: it was used by a page, or it is free again.
func (p *Permits) Done(used bool) {
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

// Lapse drops all permits. It is called when this node was excluded from the view: the granter has
// counted without its permits, and granted them to others.
func (p *Permits) Lapse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unused, p.lapsed = 0, p.taken
	p.lapses++
}

// InHand counts the permits that are not pages yet. exhausted: none is left, and the granter has no
// more.
func (p *Permits) InHand() (n int64, exhausted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unused + p.taken + p.calling, p.exhausted && p.unused == 0
}

// LimitReached reports whether the page limit stops this node.
func (p *Permits) LimitReached() bool {
	if p.o.settings().MaxPages == 0 {
		return false
	}
	_, exhausted := p.InHand()
	return exhausted
}

// FollowLimit applies the page limit of a new document, and reports whether the limit has changed:
// visits that were refused a permit should then ask again. A new or lowered limit makes all unused
// permits void; after a raised or removed one, more are requested at once.
func (p *Permits) FollowLimit(d *crawldoc.Document) (changed bool) {
	limit := d.Settings.MaxPages
	before := p.limit.Swap(limit)
	if limit == before {
		return false
	}
	if limit != 0 && (before == 0 || limit < before) {
		p.Lapse()
		p.granter.follow(d.Version)
	}
	p.more()
	return true
}

// Acquired is called when this node begins to hold partition 0, and so to grant. moved: another
// process may have granted until now.
func (p *Permits) Acquired(now time.Time, moved bool) { p.granter.acquired(now, moved) }

// Serve answers another node's request for permits.
func (p *Permits) Serve(req *peer.PermitRequest) *peer.PermitReply {
	if !p.o.Cluster.Grants() {
		return &peer.PermitReply{Error: "this node does not hold partition 0"}
	}
	return p.granter.grant(req)
}

// Run requests permits when they are missing, and returns unused ones when there is nothing here to
// fetch. It ends with ctx.
func (p *Permits) Run(ctx context.Context) error {
	wait := 50 * time.Millisecond
	for {
		timer := time.NewTimer(ticks.Until(time.Now(), time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-p.look:
			timer.Stop()
		case <-timer.C:
		}
		if p.o.settings().MaxPages == 0 {
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

// ask makes one call to the granter. False: it had no permits or was not reached.
func (p *Permits) ask(ctx context.Context) bool {
	totals := p.o.Engine.Totals()
	queued := totals.QueuedTotal()
	p.mu.Lock()
	give := int64(0)
	if queued == 0 {
		give, p.unused = p.unused, 0
	}
	want := max(min(queued, permitBlock)-p.unused, 0)
	if !p.o.Cluster.Grants() { // this node's own granter counts these permits while it answers
		p.calling = give + want
	}
	lapses := p.lapses
	p.mu.Unlock()
	if want == 0 && give == 0 {
		return true
	}
	reply, err := p.callGranter(ctx,
		&peer.PermitRequest{Returned: give, Wanted: want, Rules: p.o.Rules()})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calling = 0
	switch {
	case err != nil, lapses != p.lapses: // returned permits may have arrived: the next count will show
		return false
	case reply.Error != "":
		p.unused += give
		return false
	}
	p.unused += reply.Granted
	p.exhausted = reply.Exhausted
	if reply.Granted > 0 {
		p.o.Engine.Wake()
	}
	return reply.Granted > 0
}

// callGranter asks the granter, which may be this node.
func (p *Permits) callGranter(
	ctx context.Context,
	req *peer.PermitRequest,
) (*peer.PermitReply, error) {
	if p.o.Cluster.Grants() {
		return p.granter.grant(req), nil
	}
	return p.o.Peers.Permits(ctx, req)
}
