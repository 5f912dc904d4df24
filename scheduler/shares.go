package scheduler

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/fairshare"
)

// This file gives each registered domain and each block of addresses its share of
// fetchers, look-ups and places in memory; package fairshare has the rules.
//
// A ready host whose domain or block has had its share of the fetchers is held back: it
// stands in a line of the domain or block, without the turn of its address, until a visit
// of that is settled or, twice a second, the share is looked at again. A host whose
// name must be asked for stands in line for a look-up.
//
//	hosts held back     filled by Next       emptied by Settled, time    bound MaxActive hosts
//	names to ask for    filled by place      emptied by Resolved         bound MaxActive hosts
//	domains, blocks     filled by Activate   emptied when hosts leave    bound MaxActive, and maxStandings without hosts

const (
	// relook is how soon the shares are looked at again, while hosts are held back.
	relook = 500 * time.Millisecond
	// lateName is from when on an answer for a name counts as a slow one.
	lateName = time.Second
	// slowVisit is from when on an answer counts as a slow one, and dripVisit as
	// none at all when it came at less than dripRate.
	slowVisit, dripVisit = 3 * time.Second, 5 * time.Second
	dripRate             = 4 << 10 // bytes a second
	// heldBackPause is how long a host waits on disk that had to make room although its
	// time has come.
	heldBackPause = 30 * time.Second
	// overdue is from when on a request that is still open counts as failed, until its
	// answer says better, and may be taken back for others that wait.
	overdue = 5 * time.Second
	// maxStandings bounds the domains and blocks without hosts whose standing is
	// remembered.
	maxStandings = 65_536
)

// share is a claimant with hosts in memory, and those of them that are held back.
type share struct {
	*fairshare.Claimant
	prefix netip.Prefix // of a block
	held   line
	listed bool // in shares.full
	hosts  int
}

// domain is a registered domain with hosts in memory.
type domain struct {
	share
	ready [crawl.Bands]lane
	names []*host // whose look-up waits for a place; those that left are passed over
	asks  bool    // it stands in shares.names
}

// shares is what the Core keeps for all of them.
type shares struct {
	book    *fairshare.Book
	domains map[string]*domain
	blocks  map[netip.Prefix]*share
	full    []*share  // that hold hosts back
	lookAt  time.Time // when the shares are looked at again, or the zero time
	lateAt  time.Time // when the open visits are, or the zero time
	asking  int       // look-ups under way
	waiting int       // hosts in line for one
	names   []*domain // of those hosts, in turn
	known   []*host   // those of them that answered before; they go first
}

func newShares(cfg Config) shares {
	return shares{
		book:    fairshare.NewBook(cfg.Fetchers, cfg.Lookups, cfg.MaxActive, maxStandings),
		domains: make(map[string]*domain), blocks: make(map[netip.Prefix]*share),
	}
}

// enter counts h for its domain.
func (c *Core) enter(now time.Time, h *host) {
	name := fairshare.Domain(string(h.name))
	d := c.shares.domains[name]
	if d == nil {
		d = &domain{}
		c.shares.domains[name] = d
	}
	d.Claimant = c.shares.book.Enter(now, name, true)
	d.hosts++
	h.domain = d
}

// exit takes h out of its domain and block.
func (c *Core) exit(now time.Time, h *host) {
	c.leaveBlock(h)
	if h.asking {
		h.asking = false
		c.shares.asking--
		c.shares.book.Give(h.domain.Claimant, fairshare.Lookups)
	}
	c.unwait(h)
	d := h.domain
	c.shares.book.Leave(d.Claimant)
	if d.hosts--; d.hosts == 0 {
		delete(c.shares.domains, d.Name())
	}
	c.askNames(now)
}

// moveBlock counts h for the block of its present address.
func (c *Core) moveBlock(now time.Time, h *host) {
	p := fairshare.Block(h.addr())
	if h.block != nil && h.block == c.shares.blocks[p] {
		return
	}
	c.leaveBlock(h)
	if !p.IsValid() {
		return
	}
	b := c.shares.blocks[p]
	if b == nil {
		b = &share{prefix: p}
		c.shares.blocks[p] = b
	}
	b.Claimant = c.shares.book.Enter(now, p.String(), false)
	b.hosts++
	h.block = b
}

func (c *Core) leaveBlock(h *host) {
	b := h.block
	if b == nil {
		return
	}
	h.block = nil
	c.shares.book.Leave(b.Claimant)
	if b.hosts--; b.hosts == 0 {
		delete(c.shares.blocks, b.prefix)
	}
}

// lookupOutcome judges an answer for a name.
func lookupOutcome(took time.Duration, addrs []netip.Addr, err error) fairshare.Outcome {
	switch {
	case err != nil || len(addrs) == 0:
		return fairshare.Bad
	case took >= lateName:
		return fairshare.Slow
	}
	return fairshare.Well
}

// visitOutcome judges an answer, if the visit says anything of the host.
func visitOutcome(r *crawl.Response) (o fairshare.Outcome, says bool) {
	switch {
	case !r.Requested:
		return o, false
	case r.Kind == crawl.URLFailed, r.Kind == crawl.HostFailed:
		if r.Took < lateName {
			return fairshare.Slow, true // it cost little
		}
		return fairshare.Bad, true
	case r.Kind == crawl.RateLimited:
		return fairshare.Slow, true
	case r.Kind != crawl.Fetched && r.Kind != crawl.RobotsFetched:
		return o, false
	case r.Took >= dripVisit && float64(r.Bytes) < dripRate*r.Took.Seconds():
		return fairshare.Bad, true
	case r.Took >= slowVisit:
		return fairshare.Slow, true
	}
	return fairshare.Well, true
}

// noteFetch counts what came of a visit for its domain and block.
func (c *Core) noteFetch(now time.Time, v *visit, r *crawl.Response) {
	o, says := visitOutcome(r)
	if !says || v.late && o == fairshare.Bad { // it was counted
		return
	}
	c.noteVisit(now, v, o)
}

func (c *Core) noteVisit(now time.Time, v *visit, o fairshare.Outcome) {
	c.shares.book.Note(now, v.host.domain.Claimant, fairshare.Fetchers, o)
	if v.block != nil {
		c.shares.book.Note(now, v.block.Claimant, fairshare.Fetchers, o)
	}
}

// takeFetcher counts a visit that begins.
func (c *Core) takeFetcher(now time.Time, v *visit) {
	v.begun = now
	if c.shares.lateAt.IsZero() {
		c.shares.lateAt = now.Add(overdue)
	}
	v.block = v.host.block
	c.shares.book.Take(v.host.domain.Claimant, fairshare.Fetchers)
	if v.block != nil {
		c.shares.book.Take(v.block.Claimant, fairshare.Fetchers)
	}
}

// giveFetcher counts a visit that has ended, and lets hosts back that wait for that:
// two, as the window may have grown.
func (c *Core) giveFetcher(now time.Time, v *visit) {
	d := v.host.domain
	c.shares.book.Give(d.Claimant, fairshare.Fetchers)
	c.letBack(now, &d.share, 2)
	if v.block != nil {
		c.shares.book.Give(v.block.Claimant, fairshare.Fetchers)
		c.letBack(now, v.block, 2)
	}
}

// nextReady takes the next ready host whose share has room out of its line, and holds
// those back whose has not.
func (c *Core) nextReady(now time.Time) *host {
	for h := c.ready.pop(); h != nil; h = c.ready.pop() {
		var block *fairshare.Claimant
		if h.block != nil {
			block = h.block.Claimant
		}
		ok, full := c.shares.book.Admits(h.domain.Claimant, block, fairshare.Fetchers)
		if ok {
			return h
		}
		s := &h.domain.share
		if full == block {
			s = h.block
		}
		c.unclaim(now, h) // others at its address need not wait for it
		s.held.push(h)
		if !s.listed {
			s.listed = true
			c.shares.full = append(c.shares.full, s)
		}
		c.lookLater(now)
	}
	return nil
}

// letBack lets up to n hosts be ready again.
func (c *Core) letBack(now time.Time, s *share, n int) {
	for ; n > 0 && s.held.n > 0; n-- {
		h := s.held.first
		s.held.remove(h)
		h.status = Waiting // its address may have run out meanwhile
		c.place(now, h)
	}
}

// lookAtVisits counts requests that are open for long against their domains, and takes
// those back that a failing domain holds beyond its share while others wait: so much of
// the newest that the oldest, within the share, come to their end.
func (c *Core) lookAtVisits(now time.Time) {
	if c.shares.lateAt.IsZero() || now.Before(c.shares.lateAt) {
		return
	}
	c.shares.lateAt = time.Time{}
	var late []*visit
	for _, v := range c.visits {
		switch {
		case !v.open || v.over:
		case now.Sub(v.begun) >= overdue:
			late = append(late, v)
		case c.shares.lateAt.IsZero() || v.begun.Add(overdue).Before(c.shares.lateAt):
			c.shares.lateAt = v.begun.Add(overdue)
		}
	}
	slices.SortFunc(late, func(a, b *visit) int { return cmp.Compare(b.id, a.id) })
	for _, v := range late {
		if !v.late {
			v.late = true
			c.noteVisit(now, v, fairshare.Bad)
		}
	}
	c.takeBack(late)
	if len(late) > 0 {
		c.shares.lateAt = now.Add(relook)
	}
}

// takeBack makes room for the hosts that wait for a fetcher, out of visits that are late.
func (c *Core) takeBack(late []*visit) {
	wanted := c.wantFetchers()
	if len(late) == 0 || wanted == 0 {
		return
	}
	over, excess := make(map[*domain]int), c.shares.book.Excess(fairshare.Fetchers)
	for _, v := range late {
		d := v.host.domain
		n, known := over[d]
		if !known {
			n = c.shares.book.Over(d.Claimant, fairshare.Fetchers)
		}
		if wanted > 0 && (n > 0 || excess > 0 && d.Class() == fairshare.Poor) {
			v.over = true
			excess--
			c.emit(Action{Kind: TakeBack, Partition: v.host.part, Host: v.host.name, Visit: v.id})
			n--
			wanted--
		}
		over[d] = n
	}
}

// wantFetchers counts hosts that could be asked at once, were a fetcher free for them.
func (c *Core) wantFetchers() (n int) {
	if len(c.visits) >= c.cfg.Fetchers {
		for b := range c.ready.rounds {
			n += c.ready.rounds[b].n
		}
	}
	for _, s := range c.shares.full {
		if s.Class() != fairshare.Poor {
			n += s.held.n
		}
	}
	return n
}

// letBackAtOnce is how many hosts of a share are let back when it is looked at again.
const letBackAtOnce = 32

// lookLater makes the shares be looked at again.
func (c *Core) lookLater(now time.Time) {
	if c.shares.lookAt.IsZero() {
		c.shares.lookAt = now.Add(relook)
	}
}

// lookAgain lets hosts back whose share may have room by now: a window grew, or those
// whom a reserve was kept for have gone.
func (c *Core) lookAgain(now time.Time) {
	c.lookAtVisits(now)
	if c.shares.lookAt.IsZero() || now.Before(c.shares.lookAt) {
		return
	}
	c.shares.lookAt = time.Time{}
	full := c.shares.full
	c.shares.full = full[:0]
	for _, s := range full {
		c.letBack(now, s, letBackAtOnce)
		if s.listed = s.held.n > 0; s.listed {
			c.shares.full = append(c.shares.full, s)
		}
	}
	clear(full[len(c.shares.full):])
	if c.askNames(now); len(c.shares.full)+c.shares.waiting > 0 {
		c.lookLater(now)
	}
}

// askName puts h in line for a look-up.
func (c *Core) askName(now time.Time, h *host) {
	h.waitsName = true
	c.shares.waiting++
	if h.state.Requests > 0 && h.domain.Class() == fairshare.Good {
		c.shares.known = append(c.shares.known, h)
	} else {
		c.lineUp(h)
	}
	c.askNames(now)
}

// lineUp puts h in its domain's line.
func (c *Core) lineUp(h *host) {
	d := h.domain
	if d.names = append(d.names, h); !d.asks {
		d.asks = true
		c.shares.names = append(c.shares.names, d)
	}
}

// unwait takes h out of the line for a look-up; whoever comes by there passes it over.
func (c *Core) unwait(h *host) {
	if h.waitsName {
		h.waitsName = false
		c.shares.waiting--
	}
}

// named says that h's look-up has ended.
func (c *Core) named(now time.Time, h *host) {
	c.unwait(h)
	if h.asking {
		h.asking = false
		c.shares.asking--
		c.shares.book.Give(h.domain.Claimant, fairshare.Lookups)
	}
	c.askNames(now)
}

// maxRefused is how many domains in a row may be found to have had their share of
// look-ups before the search is left for later.
const maxRefused = 64

// askNames begins look-ups while there are places: of hosts that answered before, then
// one of each domain in turn.
func (c *Core) askNames(now time.Time) {
	s := &c.shares
	for s.asking < c.cfg.Lookups && len(s.known) > 0 {
		h := s.known[0]
		s.known = s.known[1:]
		if h.waitsName && !c.begin(now, h) {
			c.lineUp(h)
		}
	}
	for refused := 0; s.asking < c.cfg.Lookups && len(s.names) > 0 && refused < maxRefused; {
		d := s.names[0]
		s.names = s.names[1:]
		for len(d.names) > 0 && !d.names[0].waitsName {
			d.names = d.names[1:]
		}
		switch {
		case len(d.names) == 0:
			d.asks, d.names = false, nil
			continue
		case c.begin(now, d.names[0]):
			d.names = d.names[1:]
		default:
			refused++
		}
		s.names = append(s.names, d)
	}
	if s.waiting > 0 {
		c.lookLater(now)
	}
}

// begin asks for h's name, if its domain's share has room.
func (c *Core) begin(now time.Time, h *host) bool {
	d := h.domain.Claimant
	if ok, _ := c.shares.book.Admits(d, nil, fairshare.Lookups); !ok {
		return false
	}
	c.unwait(h)
	h.asking, h.askedAt = true, now
	c.shares.asking++
	c.shares.book.Take(d, fairshare.Lookups)
	c.emit(Action{Kind: Resolve, Partition: h.part, Host: h.name})
	return true
}

// Lookups counts the names that are asked for, or wait for their turn to be.
func (c *Core) Lookups() int { return c.shares.asking + c.shares.waiting }

// Fits reports whether one more host may come into memory, as far as its domain's
// share of that goes. One that does not is to be tried again after a while.
func (c *Core) Fits(name crawl.Host) bool {
	// Hosts with long URLs take more than their number says.
	in := max(len(c.hosts), int(float64(c.bytes)/float64(c.cfg.MaxBytes)*float64(c.cfg.MaxActive)))
	return c.shares.book.Fits(fairshare.Domain(string(name)), in)
}

// Failing are up to n domains whose hosts mostly fail, those with most hosts first.
func (c *Core) Failing(n int) []fairshare.Failing { return c.shares.book.Failing(n) }

// overShare reports whether a host waits because its domain or block has had its share.
func (c *Core) overShare(h *host) bool {
	return h.waitsName && h.domain.Class() == fairshare.Poor || h.line != nil && (h.line == &h.domain.held || h.block != nil && h.line == &h.block.held)
}
