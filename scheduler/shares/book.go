package shares

import (
	"container/list"
	"time"
)

// Resource is a resource that is divided.
type Resource uint8

// The resources.
const (
	Fetchers Resource = iota // visits that are not completed: the request, parser and archive
	Lookups                  // look-ups under way
	numResources
)

// Class sums up a claimant's standing.
type Class uint8

// The classes, the worst first.
const (
	Poor Class = iota
	New
	Good
	numClasses
)

func (c Class) String() string { return [...]string{"poor", "new", "good"}[min(c, Good)] }

// Outcome is the result of holding a resource.
type Outcome uint8

// The outcomes.
const (
	Well Outcome = iota // a quick answer
	Slow                // a slow answer
	Bad                 // no answer, or a slow one of no use
)

// The windows, in parts of a resource.
const (
	whole    = 1024
	starting = whole / 8
	smallest = whole / 128
	step     = whole / 64
	// forgiven is how long a window that fell to nothing takes to return to starting
	// without further outcomes.
	forgiven = 10 * time.Minute
)

// Claimant is a domain or a block. Its fields are the Book's.
type Claimant struct {
	name     string
	domain   bool
	window   [numResources]int
	answered bool // at least one request, well
	changed  time.Time
	held     [numResources]int
	hosts    int // in memory
	awake    int // those of them that could use a resource now, or soon
	// Outcomes, for people. They are halved together from time to time, so that recent ones
	// weigh more.
	well, bad [numResources]int
	since     time.Time     // when it became Poor
	idle      *list.Element // in Book.idle, while it has no hosts and holds nothing
}

// Name is the registered domain or the block.
func (c *Claimant) Name() string { return c.name }

// Held is how many of r it holds.
func (c *Claimant) Held(r Resource) int { return c.held[r] }

// Class returns its standing.
func (c *Claimant) Class() Class {
	switch {
	case c.narrow() < starting:
		return Poor
	case c.answered:
		return Good
	}
	return New
}

// narrow is its smallest window.
func (c *Claimant) narrow() int { return min(c.window[Fetchers], c.window[Lookups]) }

// Book keeps the standing of claimants, and how much they hold.
type Book struct {
	capacity [numResources]int
	memory   int // how many hosts there is room for
	limit    int
	byName   map[key]*Claimant
	idle     *list.List // of *Claimant, the longest idle in front

	// Of domains only: a host has one domain, so each is counted once.
	hosts   [numClasses]int
	awake   [numClasses]int
	some    [numClasses]int // domains that have hosts awake
	held    [numClasses][numResources]int
	domains int // that have hosts
}

// key identifies a claimant. Hosts that are address literals have a domain with the name of
// their block, which is another claimant than the block.
type key struct {
	name   string
	domain bool
}

// NewBook makes a Book. limit bounds the remembered claimants that hold nothing.
func NewBook(fetchers, lookups, memory, limit int) *Book {
	return &Book{
		capacity: [numResources]int{fetchers, lookups},
		memory:   memory,
		limit:    limit,
		byName:   make(map[key]*Claimant),
		idle:     list.New(),
	}
}

// Resize sets how many of r there are. Claimants that hold more keep it until they release
// it.
func (b *Book) Resize(r Resource, capacity int) { b.capacity[r] = capacity }

// Enter counts one more host of a domain or a block, by name. It sleeps.
func (b *Book) Enter(now time.Time, name string, domain bool) *Claimant {
	k := key{name, domain}
	c := b.byName[k]
	if c == nil {
		c = &Claimant{
			name:    name,
			domain:  domain,
			window:  [numResources]int{starting, starting},
			changed: now,
		}
		b.byName[k] = c
	}
	if c.idle != nil {
		b.idle.Remove(c.idle)
		c.idle = nil
	}
	b.forgive(now, c)
	b.uncount(c)
	c.hosts++
	b.count(c)
	if domain && c.hosts == 1 {
		b.domains++
	}
	return c
}

// Leave undoes Enter, for a host that sleeps.
func (b *Book) Leave(c *Claimant) {
	b.uncount(c)
	c.hosts--
	b.count(c)
	if c.domain && c.hosts == 0 {
		b.domains--
	}
	b.rest(c)
}

// Wake says that one more host of a claimant could use a resource now or soon: reserves are
// kept for such hosts only.
func (b *Book) Wake(c *Claimant) { b.stir(c, 1) }

// Sleep undoes Wake.
func (b *Book) Sleep(c *Claimant) { b.stir(c, -1) }

func (b *Book) stir(c *Claimant, n int) {
	b.uncount(c)
	c.awake += n
	b.count(c)
}

// rest remembers a claimant that holds nothing, and drops the one that has held nothing for
// longest.
func (b *Book) rest(c *Claimant) {
	if c.hosts > 0 || c.held != [numResources]int{} || c.idle != nil {
		return
	}
	c.idle = b.idle.PushBack(c)
	for b.idle.Len() > b.limit {
		old := b.idle.Remove(b.idle.Front()).(*Claimant)
		old.idle = nil
		delete(b.byName, key{old.name, old.domain})
	}
}

// count and uncount update the sums by class around a change of a claimant.
func (b *Book) count(c *Claimant)   { b.add(c, 1) }
func (b *Book) uncount(c *Claimant) { b.add(c, -1) }

func (b *Book) add(c *Claimant, sign int) {
	if !c.domain {
		return
	}
	k := c.Class()
	b.hosts[k] += sign * c.hosts
	b.awake[k] += sign * c.awake
	if c.awake > 0 {
		b.some[k] += sign
	}
	for r := range c.held {
		b.held[k][r] += sign * c.held[r]
	}
}

// Take says that a claimant holds one more of r.
func (b *Book) Take(c *Claimant, r Resource) {
	c.held[r]++
	if c.domain {
		b.held[c.Class()][r]++
	}
}

// Give undoes Take.
func (b *Book) Give(c *Claimant, r Resource) {
	c.held[r]--
	if c.domain {
		b.held[c.Class()][r]--
	}
	b.rest(c)
}

// Note takes in the outcome of holding r.
func (b *Book) Note(now time.Time, c *Claimant, r Resource, o Outcome) {
	b.forgive(now, c)
	b.uncount(c)
	defer b.count(c)
	w, before := &c.window[r], c.Class()
	switch o {
	case Well:
		*w = min(*w+step, whole)
		c.answered = c.answered || r == Fetchers
		c.well[r]++
	case Slow:
		if *w > starting {
			*w = max(*w-*w/8, starting)
		}
		c.well[r]++
	case Bad:
		*w = max(*w-max(*w/8, 1), smallest)
		c.bad[r]++
	}
	if before != Poor && c.Class() == Poor {
		c.since = now
	}
	if c.well[r]+c.bad[r] >= recent {
		c.well[r], c.bad[r] = c.well[r]/2, c.bad[r]/2
	}
}

// Excuse undoes a Bad whose outcome was better in the end, up to the starting window.
func (b *Book) Excuse(now time.Time, c *Claimant, r Resource) {
	b.forgive(now, c)
	b.uncount(c)
	defer b.count(c)
	w := &c.window[r]
	*w = max(*w, min(*w+max(*w/7, 1), starting))
	c.bad[r] = max(c.bad[r]-1, 0)
}

// forgive lets a window below the starting one grow with time, whatever the outcomes.
func (b *Book) forgive(now time.Time, c *Claimant) {
	if c.narrow() >= starting {
		c.changed = now
		return
	}
	const unit = forgiven / starting
	back := int(min(now.Sub(c.changed), forgiven) / unit)
	if back <= 0 {
		return
	}
	b.uncount(c)
	for r := range c.window {
		c.window[r] = max(c.window[r], min(c.window[r]+back, starting))
	}
	c.changed = c.changed.Add(time.Duration(back) * unit) // the rest counts the next time
	if now.Sub(c.changed) >= forgiven {
		c.changed = now
	}
	b.count(c)
}

// room is how much a claimant may hold: its window, at least one; and for one that fails,
// its part of what is left for all such claimants, up to a quarter.
func (b *Book) room(c *Claimant, r Resource) int {
	size := b.capacity[r]
	n := max(c.window[r]*size/whole, 1)
	if c.Class() == Poor {
		n = max(n, min(size/4, b.leftForPoor(r)/max(b.some[Poor], 1)))
	}
	return n
}

// Admits reports whether a host of a domain, at an address of a block (nil: not known),
// may take one more of r. If not, it returns the claimant that has its share already: the
// domain or the block.
func (b *Book) Admits(domain, block *Claimant, r Resource) (ok bool, full *Claimant) {
	if b.alone(domain) {
		return true, nil
	}
	if domain.held[r] >= b.room(domain, r) || b.reserved(domain, r) {
		return false, domain
	}
	if block != nil && domain.Class() != Good && block.awake < b.about() &&
		block.held[r] >= b.room(block, r) {
		return false, block
	}
	return true, nil
}

// alone reports whether no other domain has hosts that are awake.
func (b *Book) alone(domain *Claimant) bool { return domain.awake == b.about() }

// about returns how many hosts are awake.
func (b *Book) about() int { return b.awake[Poor] + b.awake[New] + b.awake[Good] }

// reserved reports whether the rest of r is kept for claimants of a better class.
func (b *Book) reserved(c *Claimant, r Resource) bool {
	size := b.capacity[r]
	k := c.Class()
	if k == Good {
		return false
	}
	poor := b.held[Poor][r]
	if k == Poor && poor >= b.leftForPoor(r) {
		return true
	}
	return poor+b.held[New][r] >= max(size-min(size/2, b.awake[Good]), 1)
}

// Room is how many more of r a domain may hold, by its own share.
func (b *Book) Room(c *Claimant, r Resource) int { return max(b.room(c, r)-c.held[r], 0) }

// Over is how many of r a domain that fails holds beyond its window.
func (b *Book) Over(c *Claimant, r Resource) int {
	if b.alone(c) || c.Class() != Poor {
		return 0
	}
	return max(c.held[r]-b.room(c, r), 0)
}

// Excess is how many of r all claimants that fail hold together beyond what the reserve
// for the others leaves them.
func (b *Book) Excess(r Resource) int { return max(b.held[Poor][r]-b.leftForPoor(r), 0) }

func (b *Book) leftForPoor(r Resource) int {
	size := b.capacity[r]
	return max(size-min(3*size/4, b.awake[Good]+b.awake[New]), 1)
}

// Fits reports whether a host of a domain may come into memory. holds is how many hosts are
// there, has how many of them are the domain's; a host that needs more memory than others
// counts as several. Half of the memory has no reserve.
func (b *Book) Fits(name string, has, in int) bool {
	c := b.byName[key{name, true}]
	return c == nil || in < b.memory/2 || b.domains <= 1 || has < max(c.narrow()*b.memory/whole, 1)
}

// Failing is a domain whose share was reduced, for people.
type Failing struct {
	Domain     string
	Bad, Tries int // of late
	Since      time.Time
}

// Failing are up to n domains that have hosts and mostly fail, those with most hosts first.
func (b *Book) Failing(n int) []Failing {
	if b.hosts[Poor] < failingHosts {
		return nil
	}
	var worst []*Claimant
	for _, c := range b.byName {
		if c.domain && c.hosts >= failingHosts && c.fails() < numResources {
			worst = insertWorst(worst, c, n)
		}
	}
	out := make([]Failing, len(worst))
	for i, c := range worst {
		r := c.fails()
		out[i] = Failing{Domain: c.name, Bad: c.bad[r], Tries: c.bad[r] + c.well[r], Since: c.since}
	}
	return out
}

// fails is what most of the recent tries for which fail, or numResources.
func (c *Claimant) fails() Resource {
	for r := range numResources {
		if c.window[r] < starting && c.bad[r] >= failingTries && c.bad[r] > c.well[r] {
			return r
		}
	}
	return numResources
}

const (
	// A domain is shown to people if it has so many hosts in memory and failures.
	failingHosts = 20
	failingTries = 10
	// recent is the number of outcomes at which the counts are halved.
	recent = 200
)

// insertWorst keeps the n claimants with the most hosts, in order.
func insertWorst(worst []*Claimant, c *Claimant, n int) []*Claimant {
	i := len(worst)
	for i > 0 &&
		(worst[i-1].hosts < c.hosts || worst[i-1].hosts == c.hosts && worst[i-1].name > c.name) {
		i--
	}
	worst = append(worst, nil)
	copy(worst[i+1:], worst[i:])
	worst[i] = c
	return worst[:min(len(worst), n)]
}
