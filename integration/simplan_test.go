package integration

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"crawlnode/integration/simnet"
)

// fault is one thing that happens to the cluster, with its end: each can be left
// out of a schedule without the others losing their sense. What makes no sense
// when its time has come (stopping a node that is down) is skipped.
type fault struct {
	at      time.Duration // since the seeds were given
	kind    faultKind
	nodes   []string        // that it happens to
	lasts   []time.Duration // for each node until it is started, continued or reached again
	cuts    []cut           // of kind cutLinks
	link    simnet.Link     // of kind slowLinks
	*strike                 // of kind strikeNode; nodes are its victim and then the others

	to     []string      // of kind moveNode: whose address each gets; "": a new one
	silent bool          // of kind moveNode: the machines go without a word, if nothing is lost by it
	step   time.Duration // of kind skewClock: of the time of day
	rate   float64       // of kind skewClock: how fast both clocks run
	// of kind otherRun: which of otherFlags; of a promise, how many; of kind placeNode: the weight
	flags   int
	as      string      // of kind joinNode: the lost node whose name the new one takes over
	heir    bool        // of such a join: its address as well
	forget  bool        // of such a join: only after an operator has forgotten the lost one
	wrong   string      // of kind wrongJoin: what stands in --join
	promise promiseKind // of kind expectThat
}

// cut is one direction between two nodes that nothing passes for a time.
type cut struct {
	from, to string
	lasts    time.Duration
}

type faultKind string

const (
	joinNode faultKind = "join" // a new machine
	// politely; a process that could not is killed and started at the end
	leaveNode faultKind = "leave"
	killNode  faultKind = "kill"      // -9; the disk stays, and the node is started again
	powerNode faultKind = "power off" // as kill, and what was not synced is lost; nobody hears of it
	// as kill, and the machine is gone for good; where that may lose something: kill
	loseNode  faultKind = "lose"
	stopNode  faultKind = "stop" // SIGSTOP, as far as simnet.Pause models it
	cutLinks  faultKind = "cut"
	slowLinks faultKind = "links"
	// all streams between two nodes are reset, some with an answer on its way
	tearLinks  faultKind = "tear"
	giveSeed   faultKind = "seed"   // of a spare host, at a node
	strikeNode faultKind = "strike" // at the worst moment

	// What follows may also be so from the start: then its time is negative.
	moveNode  faultKind = "move"  // killed and started again at another address
	skewClock faultKind = "clock" // the time of day is stepped, both clocks drift
	// killed and started again with them; from the start: a joiner's
	otherRun faultKind = "other flags"
	// from the start: the name resolves a while after the first start
	lateName     faultKind = "late name"
	wrongJoin    faultKind = "wrong --join" // from the start: one address in the list is wrong
	fullDisk     faultKind = "disk full"
	fullArchive  faultKind = "archive full"  // its volume; that of the frontier has room
	quotaArchive faultKind = "archive quota" // as archive full, and the system says that there is room
	frozenDisk   faultKind = "disk frozen"
	slowDisk     faultKind = "disk slow"
	// each write and sync; the node ends and is started again
	badDisk      faultKind = "disk fails"
	pauseMachine faultKind = "machine paused" // as stop, and its clocks stand still
	stallLinks   faultKind = "stall"          // nodes[0] takes nothing from the others
	replaceNode  faultKind = "replaced"       // no fault of its own: a join in place of a lost machine
	// its weight and zone change, by an order at another node
	placeNode  faultKind = "placed"
	expectThat faultKind = "expect" // a promise: no fault
)

func (f fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%6.2fs %s", f.at.Seconds(), f.kind)
	for i, name := range f.nodes {
		fmt.Fprintf(&b, " %s", name)
		if i < len(f.lasts) {
			fmt.Fprintf(&b, " for %.1fs", f.lasts[i].Seconds())
		}
	}
	for _, c := range f.cuts {
		fmt.Fprintf(&b, " %s>%s %.1fs", c.from, c.to, c.lasts.Seconds())
	}
	if f.strike != nil {
		b.WriteString(f.strike.String())
	}
	if f.as != "" {
		fmt.Fprintf(&b, " in place of %s, at its address: %v, which was forgotten: %v", f.as, f.heir,
			f.forget)
	}
	switch f.kind {
	case moveNode:
		fmt.Fprintf(&b, " to the places of %q", f.to)
		if f.silent {
			b.WriteString(", without a word")
		}
	case skewClock:
		fmt.Fprintf(&b, " by %v, %+.1f %%", f.step, 100*(f.rate-1))
	case placeNode:
		fmt.Fprintf(&b, " of weight %d in zone %q", f.flags, f.to)
	case otherRun:
		fmt.Fprintf(&b, ": %s", otherFlags[f.flags].what)
	case wrongJoin:
		fmt.Fprintf(&b, ": %s", f.wrong)
	case expectThat:
		fmt.Fprintf(&b, ": %s (%d)", f.promise, f.flags)
	}
	if f.kind == slowLinks {
		fmt.Fprintf(&b, " for %.1fs: delay %v, jitter %v, drop %.3f, dup %.3f, reset %.4f",
			f.lasts[0].Seconds(), f.link.Delay, f.link.Jitter, f.link.Drop, f.link.Dup, f.link.Reset)
	}
	return b.String()
}

// schedule is what a seed means.
type schedule struct {
	first  int           // nodes at the start: n1, n2...
	sync   bool          // --sync: a loss of power loses nothing
	sound  simnet.Link   // the way between two nodes when nothing is wrong
	pace   time.Duration // the longest that a write to disk takes when nothing is wrong
	named  bool          // the nodes advertise names
	listed bool          // all have the same --join, the first one as well, of names
	ttl    time.Duration // of the names' answers
	few    bool          // one fetcher a node
	spaced time.Duration // --ip-delay; 0: the default, none
	again  simRevisits   // --recrawl and its intervals
	warc   bool          // the nodes keep archives
	placed bool          // the nodes have weights and zones: simPlace
	faults []fault
}

// planner draws a schedule. It counts a node as present from its join to its leave, whatever
// happens in between.
type planner struct {
	*rand.Rand
	schedule
	now     time.Duration
	present []string
	next    int      // of the names
	spare   int      // seeds given
	lost    []string // machines whose names nobody has taken over
}

// maxPresent bounds the members at one time, and with them what a seed costs.
const maxPresent = 5

// plan draws three to seven scenes: something that changes the views or will soon,
// or something at the edges, and with it, or while it is being worked on, often
// something else. Often something happens once more when the crawl is nearly over.
func plan(seed uint64) schedule {
	p := &planner{Rand: rand.New(rand.NewPCG(seed, 2)), now: 2 * time.Second}
	p.first = []int{1, 2, 2, 3, 3, 3, 3, 4, 4, 4}[p.IntN(10)]
	p.sync = p.IntN(3) == 0
	// The longer the way, the longer a partition is between two holders.
	p.sound = simnet.Link{
		Delay:  p.between(0, 0.06),
		Jitter: p.between(0.01, 0.06),
		Drop:   0.005,
		Dup:    0.01,
	}
	p.pace = []time.Duration{0, 5 * time.Millisecond, 25 * time.Millisecond}[p.IntN(3)]
	for p.next < p.first {
		p.enter()
	}
	p.start()
	if p.IntN(4) > 0 && p.first > 1 { // while all is well: it needs no rest
		p.now += p.between(1, 10)
		p.loss(acknowledged)
	}
	for range 2 + p.IntN(4) {
		p.now += p.between(1, 18)
		switch draw := p.IntN(6); {
		case draw == 0:
			p.compound()
		case draw < 3:
			p.edge()
		default:
			p.scene()
		}
		for p.IntN(2) == 0 {
			p.overlap(p.now + p.between(0, 4))
		}
	}
	if p.IntN(2) == 0 {
		p.now += p.between(2, 6)
		p.late()
	}
	return p.sorted()
}

// sorted is the schedule drawn so far.
func (p *planner) sorted() schedule {
	slices.SortStableFunc(p.faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return p.schedule
}

// most bounds the members at one time, and with them what a seed costs; small clusters
// stay small.
func (p *planner) most() int {
	if p.first < 3 {
		return p.first + 1
	}
	return maxPresent
}

// least is how many stay when others leave for good.
func (p *planner) least() int { return min(2, p.first) }

func (p *planner) between(least, most float64) time.Duration {
	return time.Duration((least + p.Float64()*(most-least)) * float64(time.Second)).Truncate(
		10 * time.Millisecond)
}

// pick draws n different nodes.
func (p *planner) pick(n int) []string {
	names := slices.Clone(p.present)
	p.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:min(n, len(names))]
}

func (p *planner) add(f fault) { p.faults = append(p.faults, f) }

// scene draws a change of the members.
func (p *planner) scene() {
	switch draw := p.IntN(24); {
	case draw < 4 && len(p.present) < p.most():
		p.join()
		p.tears(p.now, p.present[len(p.present)-1])
	case draw < 6 && len(p.present) > p.least():
		name := p.pick(1)[0]
		p.remove(name)
		p.add(fault{at: p.now, kind: leaveNode, nodes: []string{name}})
		p.tears(p.now, name)
	case draw < 7:
		p.add(p.down(p.now, killNode, 1))
	case draw < 9 && len(p.present) > 1: // several at once, or all
		p.add(p.down(p.now, killNode, 2+p.IntN(len(p.present)-1)))
	case draw < 13 && len(p.present) > 1:
		p.turns()
	case draw < 19 && len(p.present) > 1:
		p.loss([]moment{acknowledged, acknowledged, sends, sends, stores}[p.IntN(5)])
	case draw < 20:
		p.add(p.down(p.now, powerNode, 1+p.IntN(2)*p.IntN(len(p.present))))
	case draw < 22:
		p.add(p.down(p.now, stopNode, 1+p.IntN(4)/3))
	default:
		p.add(p.cut(p.now))
	}
}

// remove takes a node out of what the planner thinks is there; a name is never
// used again.
func (p *planner) remove(name string) {
	p.present = slices.DeleteFunc(p.present, func(n string) bool { return n == name })
}

func (p *planner) join() {
	name := p.enter()
	if p.IntN(3) == 0 {
		p.add(fault{
			at:    fromTheStart,
			kind:  otherRun,
			nodes: []string{name},
			flags: 1 + p.IntN(len(otherFlags)-2),
		})
	}
	f := fault{at: p.now, kind: joinNode, nodes: []string{name}}
	if len(p.lost) > 0 && p.IntN(2) == 0 {
		f.as, p.lost = p.lost[0], p.lost[1:]
		f.heir, f.forget = p.IntN(2) == 0, p.IntN(2) == 0
	}
	p.add(f)
}

// enter names a new node.
func (p *planner) enter() string {
	p.next++
	name := fmt.Sprint("n", p.next)
	p.present = append(p.present, name)
	return name
}

// overlap draws what happens beside a scene.
func (p *planner) overlap(at time.Duration) {
	switch draw := p.IntN(16); {
	case draw < 3:
		p.add(p.down(at, killNode, 1))
	case draw < 5:
		p.add(p.down(at, stopNode, 1))
	case draw < 9:
		p.add(p.cut(at))
	case draw < 11:
		pair := p.pick(2)
		for i := 1 + p.IntN(5); i > 0 && len(pair) == 2; i-- {
			p.add(fault{at: at, kind: tearLinks, nodes: pair})
			at += p.between(0, 1)
		}
	case draw < 13:
		p.add(fault{at: at, kind: slowLinks, lasts: []time.Duration{p.between(5, 30)}, link: simnet.Link{
			Delay: p.between(0, 0.15), Jitter: p.between(0, 0.15), Drop: p.Float64() * 0.2,
			Dup: p.Float64() * 0.1, Reset: p.Float64() * 0.01}})
	case draw < 14:
		p.add(p.down(at, powerNode, 1))
	default:
		p.seed(at, p.pick(1)[0])
	}
}

// seed gives one of the spare hosts to a node.
func (p *planner) seed(at time.Duration, name string) {
	if p.spare < treeSpares {
		p.spare++
		p.add(fault{at: at, kind: giveSeed, nodes: []string{name}})
	}
}

// down takes n nodes down, each for a time of its own: shorter than a suspicion,
// than an exclusion, than a fence, or longer.
func (p *planner) down(at time.Duration, kind faultKind, n int) fault {
	f := fault{at: at, kind: kind, nodes: p.pick(n)}
	for range f.nodes {
		least, most := 0.3, 4.0
		switch {
		case kind == stopNode:
			least, most = 5, 40
		case p.IntN(2) == 0:
			least, most = 4, 40
		}
		f.lasts = append(f.lasts, p.between(least, most))
	}
	return f
}

// cut draws a cut: two sides, one node alone, one direction, or a ring in which each node reaches
// only two others. Each direction heals on its own.
func (p *planner) cut(at time.Duration) fault {
	f := fault{at: at, kind: cutLinks}
	names := p.pick(len(p.present))
	least, most := 0.5, 6.0
	if p.IntN(2) == 0 {
		least, most = 6, 45
	}
	both := p.IntN(3) > 0
	apart := func(i, j int) bool { return i < len(names)/2 && j >= len(names)/2 }
	switch draw := p.IntN(10); {
	case draw < 3:
		apart = func(i, j int) bool { return i == 0 }
	case draw < 6:
		apart = func(i, j int) bool { return i == 0 && j == 1 }
	case draw < 7 && len(names) > 3:
		apart = func(i, j int) bool { return j-i != 1 && j-i != len(names)-1 }
	}
	for i := range names {
		for j := i + 1; j < len(names); j++ {
			if !apart(i, j) {
				continue
			}
			f.cuts = append(f.cuts, cut{names[i], names[j], p.between(least, most)})
			if both {
				f.cuts = append(f.cuts, cut{names[j], names[i], p.between(least, most)})
			}
		}
	}
	return f
}
