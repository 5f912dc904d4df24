package core

import (
	"container/list"
	"net/netip"
	"time"

	"crawlnode/crawl"
	fairshare "crawlnode/scheduler/shares"
)

// This file gives each registered domain and each block of addresses its share of
// fetchers, look-ups and places in memory; package shares has the rules.
//
// A ready host whose domain or block has its share of the fetchers already is held back: it
// waits in a line of the domain or block, without the turn of its address, until a visit
// of that one is completed or, twice a second, the share is computed again. A host whose
// name must be resolved waits in a line for a look-up.
//
//	hosts held back     filled by Next       emptied by Completed, time    bound MaxActive hosts
//	names to ask for    filled by place      emptied by Resolved         bound MaxActive hosts
//	URLs taken back     filled by Completed    emptied by Completed              bound maxCuts, the oldest go
//	domains, blocks     filled by Activate   emptied when hosts leave    bound MaxActive, and maxStandings without hosts

const (
	// relook is after how long the shares are computed again while hosts are held back.
	relook = 500 * time.Millisecond
	// lateName is after how long a look-up counts as slow.
	lateName = time.Second
	// slowVisit is after how long an answer counts as slow, and dripVisit after how long it
	// counts as none, if it came at less than dripRate.
	slowVisit, dripVisit = 3 * time.Second, 5 * time.Second
	dripRate             = 4 << 10 // bytes a second
	// heavyPage is how long pages of other domains may wait for the parser because of one
	// page before that page counts as a slow answer: a domain of such pages has an eighth
	// of the fetchers, and so of the pages that wait to be parsed.
	heavyPage = 100 * time.Millisecond
	// heldBackPause is how long a host waits on disk that had to leave memory although its
	// time had come.
	heldBackPause = 30 * time.Second
	// overdue is after how long an open request, at less than dripRate, counts as failed
	// until its answer is better, and may be taken back for hosts that wait.
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
	bytes int // of its hosts, in memory
	ready [crawl.Bands]lane
	names list.List     // of *host, whose look-up waits for a place
	asks  *list.Element // in shares.names, while there are such
}

// shares is what the Core keeps for all of them.
type shares struct {
	book    *fairshare.Book
	domains map[string]*domain
	blocks  map[netip.Prefix]*share
	full    []*share   // that hold hosts back
	lookAt  time.Time  // when the shares are looked at again, or the zero time
	lateAt  time.Time  // when the open visits are, or the zero time
	asking  int        // look-ups under way
	most    int        // of them at a time
	waiting int        // hosts in line for one
	names   *list.List // of *domain: those of these hosts, in turn
	known   *list.List // of *host: those of them that answered before; they go first
	cuts    cuts
	// heldLast is the last place that was given to a host that is held back: who is let
	// back in vain does not lose its own.
	heldLast uint64
}

func newShares(cfg Config) shares {
	return shares{
		book:    fairshare.NewBook(cfg.Fetchers, cfg.Lookups, cfg.MaxActive, maxStandings),
		domains: make(map[string]*domain), blocks: make(map[netip.Prefix]*share),
		names: list.New(), known: list.New(), cuts: newCuts(), most: cfg.Lookups,
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
	c.wake(h, false)
	d := h.domain
	d.bytes -= h.bytes
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
	if h.block = b; h.awake {
		c.shares.book.Wake(b.Claimant)
	}
}

// wake counts h as awake, or not.
func (c *Core) wake(h *host, awake bool) {
	if h.awake == awake {
		return
	}
	h.awake = awake
	count := c.shares.book.Sleep
	if awake {
		count = c.shares.book.Wake
	}
	count(h.domain.Claimant)
	if h.block != nil {
		count(h.block.Claimant)
	}
}

func (c *Core) leaveBlock(h *host) {
	b := h.block
	if b == nil {
		return
	}
	if h.block = nil; h.awake {
		c.shares.book.Sleep(b.Claimant)
	}
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

// visitOutcome judges an answer, if the visit says anything about the host.
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

// noteFetch counts the outcome of a visit for its domain and block. A visit that counted as
// failed while it was open is excused by its answer. An answer below dripRate is a failure
// if hosts have waited for its fetcher, else slow. A quick robots.txt says nothing about
// pages: a thousand of them would give the domain all fetchers.
func (c *Core) noteFetch(now time.Time, v *visit, r *crawl.Response) {
	o, says := visitOutcome(r)
	if !says {
		return
	}
	if answered := r.Kind == crawl.Fetched ||
		r.Kind == crawl.RobotsFetched; o == fairshare.Bad && answered && !v.dear {
		o = fairshare.Slow
	}
	switch {
	case v.late && o == fairshare.Bad: // it was counted
		return
	case v.late:
		c.shares.book.Excuse(now, v.host.domain.Claimant, fairshare.Fetchers)
		if v.block != nil {
			c.shares.book.Excuse(now, v.block.Claimant, fairshare.Fetchers)
		}
	}
	switch {
	case o != fairshare.Well:
		c.noteVisit(now, v, o)
	case r.Kind == crawl.Fetched:
		v.well = true // its cost is known when it is completed
	}
}

// noteCompleted counts a good answer, now that the cost of its page is known.
func (c *Core) noteCompleted(now time.Time, v *visit) {
	switch {
	case v.well && v.heavy:
		c.noteVisit(now, v, fairshare.Slow)
	case v.well:
		c.noteVisit(now, v, fairshare.Well)
	}
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

// giveFetcher counts a visit that has ended, and lets waiting hosts back: two, since the
// window may have grown.
func (c *Core) giveFetcher(now time.Time, v *visit) {
	d := v.host.domain
	c.shares.book.Give(d.Claimant, fairshare.Fetchers)
	c.letBack(now, &d.share, 2)
	if v.block != nil {
		c.shares.book.Give(v.block.Claimant, fairshare.Fetchers)
		c.letBack(now, v.block, 2)
	}
}

// nextReady removes the next ready host whose share has room from its line, and holds back
// those without room.
func (c *Core) nextReady(now time.Time) *host {
	for h := c.ready.pop(); h != nil; h = c.ready.pop() {
		if h.excluded {
			return h // it costs no request
		}
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
		if h.heldSince == 0 {
			c.shares.heldLast++
			h.heldSince = c.shares.heldLast
		}
		s.held.insert(h)
		h.status = OverShare
		c.classify(h, now)
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

// letBackAtOnce is how many hosts of a share are let back when it is computed again.
const letBackAtOnce = 32

// lookLater schedules the next computation of the shares.
func (c *Core) lookLater(now time.Time) {
	if c.shares.lookAt.IsZero() {
		c.shares.lookAt = now.Add(relook)
	}
}

// lookAgain lets hosts back whose share may have room by now: a window grew, or a reserve is
// needed no more.
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
	c.shares.waiting++
	if h.state.Requests > 0 && h.domain.Class() == fairshare.Good {
		h.nameLine = c.shares.known
		h.namePost = h.nameLine.PushBack(h)
	} else {
		c.lineUp(h)
	}
	c.askNames(now)
}

// lineUp puts h in its domain's line.
func (c *Core) lineUp(h *host) {
	d := h.domain
	h.nameLine = &d.names
	if h.namePost = d.names.PushBack(h); d.asks == nil {
		d.asks = c.shares.names.PushBack(d)
	}
}

// leaveLine removes h from its line for a look-up.
func (c *Core) leaveLine(h *host) {
	h.nameLine.Remove(h.namePost)
	h.nameLine, h.namePost = nil, nil
	if d := h.domain; d.asks != nil && d.names.Len() == 0 {
		c.shares.names.Remove(d.asks)
		d.asks = nil
	}
}

// unwait removes h from the line for a look-up, if it is there.
func (c *Core) unwait(h *host) {
	if h.nameLine != nil {
		c.leaveLine(h)
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

// maxRefused is after how many domains in a row without room in their share of look-ups the
// search ends until later.
const maxRefused = 64

// askNames begins look-ups while there is room: for hosts that answered before, then one of
// each domain in turn.
func (c *Core) askNames(now time.Time) {
	s := &c.shares
	for s.asking < s.most && s.known.Len() > 0 {
		if h := s.known.Front().Value.(*host); !c.begin(now, h) {
			c.leaveLine(h)
			c.lineUp(h)
		}
	}
	for refused := 0; s.asking < s.most && s.names.Len() > 0 && refused < maxRefused; {
		d := s.names.Front().Value.(*domain)
		s.names.MoveToBack(d.asks) // where it stays while it has names left
		if !c.begin(now, d.names.Front().Value.(*host)) {
			refused++
		}
	}
	if s.waiting > 0 {
		c.lookLater(now)
	}
}

// begin requests h's look-up, if its domain's share has room.
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

// Lookups counts the look-ups under way and those that wait for their turn.
func (c *Core) Lookups() int { return c.shares.asking + c.shares.waiting }

// Fits reports whether its domain's share of the memory has room for one more host. If not,
// the caller tries again after a while.
func (c *Core) Fits(name crawl.Host) bool {
	domain, has := fairshare.Domain(string(name)), 0
	if d := c.shares.domains[domain]; d != nil {
		has = c.places(d.hosts, d.bytes)
	}
	return c.shares.book.Fits(domain, has, c.places(len(c.hosts), c.bytes))
}

// places is how many of MaxActive some hosts use: hosts with long URLs use more of MaxBytes
// than their number suggests.
func (c *Core) places(hosts, bytes int) int {
	return max(hosts, int(float64(bytes)/float64(c.cfg.MaxBytes)*float64(c.cfg.MaxActive)))
}

// Failing are up to n domains whose hosts mostly fail, those with most hosts first.
func (c *Core) Failing(n int) []fairshare.Failing { return c.shares.book.Failing(n) }

// overShare reports whether a host waits because its domain or block has its share already.
func (c *Core) overShare(h *host) bool {
	return h.nameLine != nil && h.domain.Class() == fairshare.Poor || h.status == OverShare
}
