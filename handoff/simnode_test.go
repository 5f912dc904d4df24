package handoff

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/acks"
	"crawlnode/handoff/copies"
	"crawlnode/handoff/machine"
)

// simDisk is one partition on a node's disk. The content names each mutation
// ever made; its length is the sequence number.
type simDisk struct {
	state    State
	copy     bool
	epoch    crawl.Epoch
	maxEpoch crawl.Epoch
	to       crawl.NodeID
	view     crawl.Epoch
	content  []uint64
	set      Set
	frozen   bool
	copies   uint32          // how many there were: the generation
	series   *machine.Series // the hints; nil: none
	taken    bool            // the series is of an earlier life
}

// fresh is the disk after its copy was deleted.
func (d *simDisk) fresh() simDisk {
	return simDisk{maxEpoch: d.maxEpoch, set: d.set, copies: d.copies + 1}
}

func (d *simDisk) found() machine.Found {
	return machine.Found{Generation: d.copies, Epoch: d.epoch, Seq: crawl.Seq(len(d.content)), Held: d.state == Holding}
}

// keep goes on with a series, or ends it.
func (d *simDisk) keep(goesOn bool) {
	if !goesOn || d.series != nil && len(d.series.Behind) == 0 {
		d.series, d.taken = nil, false
	}
}

// follow has the series take the newest mutation.
func (d *simDisk) follow() {
	if d.series != nil {
		_, ok := d.series.Follow(d.epoch, crawl.Seq(len(d.content)))
		d.keep(ok)
	}
}

func (d *simDisk) kept() Kept {
	return Kept{State: d.state, Copy: d.copy, Epoch: d.epoch, MaxEpoch: d.maxEpoch, Seq: crawl.Seq(len(d.content))}
}

// simFlow is a link at its sender.
type simFlow struct {
	a       machine.OpenLink
	to      *simNode
	live    bool
	over    bool
	follows bool
	opened  int // mutations that were here then
	acked   int
	upAt    int
	pending []simMutation
	flying  bool
}

type simMutation struct {
	seq int
	id  uint64
}

// simNode is a node: a disk, which stays, and a driver's model for each life.
type simNode struct {
	w       *simWorld
	id      crawl.NodeID
	boot    crawl.Boot
	life    int
	up      bool
	gone    bool // its disk is destroyed
	disk    [simPartitions]simDisk
	view    crawl.Epoch      // installed
	machine *machine.Machine // nil until a view lists the boot

	acks     *acks.Tracker
	gate     gate
	marks    *copies.Marks
	wanted   *copies.Wanted
	flows    map[crawl.NodeID]map[crawl.Partition]*simFlow
	records  map[crawl.Partition]Set
	counts   map[crawl.Partition]bool // those of records that more than half have
	live     map[crawl.Partition]crawl.Epoch
	freezes  []machine.Freeze
	confirms []<-chan machine.ConfirmLink
	writes   []simWrite
	inbox    []machine.Event
}

type simWrite struct {
	p  crawl.Partition
	id uint64
	w  *acks.Waiter
}

func newSimNode(w *simWorld, id crawl.NodeID) *simNode { return &simNode{w: w, id: id} }

func (n *simNode) start() {
	if n.up || n.gone {
		return
	}
	n.up = true
	n.life++
	n.boot++
	n.machine = nil
}

func (n *simNode) crash() {
	n.w.logf("%s crashes", n.id)
	n.up = false
	n.life++
	n.machine = nil
	for p := range n.disk {
		d := &n.disk[p]
		d.frozen = false
		// What was not written yet is lost, or all of it, with its files.
		switch s := d.series; {
		case s == nil:
		case n.w.chance(10):
			d.keep(false)
		case n.w.chance(20):
			s.Last -= min(s.Last-s.Base, crawl.Seq(n.w.rng.IntN(4)))
		}
	}
}

// begin starts the driver, once a view lists the boot.
func (n *simNode) begin() {
	n.machine = machine.New(n.id, simPartitions, simFactor, Limits{Out: 2})
	n.acks, n.gate, n.marks = acks.New(simPartitions), gate{}, &copies.Marks{}
	n.wanted = &copies.Wanted{}
	n.flows = map[crawl.NodeID]map[crawl.Partition]*simFlow{}
	n.counts = map[crawl.Partition]bool{}
	n.records, n.live = map[crawl.Partition]Set{}, map[crawl.Partition]crawl.Epoch{}
	n.freezes, n.confirms, n.writes, n.inbox = nil, nil, nil, nil
	for p := range n.disk {
		d := &n.disk[p]
		if d.series != nil {
			d.keep(d.state != Released && d.series.Resume(d.found()))
			d.taken = d.series != nil
		}
		n.machine.Step(machine.Loaded{P: crawl.Partition(p), State: d.state, Epoch: d.epoch, MaxEpoch: d.maxEpoch, To: d.to, View: d.view, Set: d.set})
	}
}

// installNext installs a newer view, and may skip some.
func (n *simNode) installNext() {
	if !n.up || n.view >= n.w.newest().n && n.machine != nil {
		return
	}
	next := n.w.newest()
	if !n.w.calm && next.n > n.view+1 && n.view > 0 && n.w.chance(50) {
		next = n.w.views[n.view] // the one after the installed one
	}
	if next.n < n.view {
		return
	}
	fence := time.Duration(0)
	if next.unsure || next.n != n.view+1 {
		fence = simFence
	}
	if n.machine == nil {
		if next.boots[n.id] != n.boot {
			n.view = next.n
			return
		}
		n.begin()
		fence = simFence
	}
	n.view = next.n
	n.w.logf("%s installs %d", n.id, next.n)
	v := ViewInstalled{View: next.n, Table: next.table, Listed: next.boots[n.id] == n.boot, Since: next.since[n.id], Sinces: next.since, Fence: fence,
		Members: slices.Sorted(maps.Keys(next.boots)), Now: n.w.now}
	for _, o := range n.w.nodes {
		if o.gone && n.w.calm {
			v.Barred = append(v.Barred, o.id)
		}
	}
	n.wanted.Clear()
	n.gate.install(&Members{ViewInstalled: v, Boots: next.boots})
	n.step(v)
}

// hasRight: it holds, and its lease may still run (ownership rule 3).
func (n *simNode) hasRight(p int) bool {
	if !n.up || n.machine == nil || n.view == 0 {
		return false
	}
	v := n.w.views[n.view-1]
	s := n.machine.Standing(crawl.Partition(p)).State
	if v.boots[n.id] != n.boot || s != Holding && s != Freezing {
		return false
	}
	return n.view == n.w.newest().n || n.w.now < n.w.views[n.view].decided+simLease
}

func (n *simNode) tick() {
	if !n.up || n.machine == nil {
		return
	}
	n.retry()
	n.spread()
	for _, f := range n.freezes {
		n.tryFreeze(f)
	}
	n.freezes = nil
}

// retry gives the machine its turn, as the driver does: often while something waits for it, else seldom, for sweeps. Then
// it must change nothing, or the partition that it is about would have waited here.
func (n *simNode) retry() {
	turn := machine.Retry{Now: n.w.now}
	if n.machine.Waits() {
		n.step(turn)
		return
	}
	if !n.w.chance(10) {
		return
	}
	before := n.describe()
	for _, a := range n.machine.Step(turn) {
		if _, is := a.(machine.Sweep); !is {
			n.w.fail("%s: nothing waited, and a turn orders %T%+v", n.id, a, a)
		}
		n.perform(a)
	}
	if after := n.describe(); after != before {
		n.w.fail("%s: nothing waited, and a turn changes\n%s to\n%s", n.id, before, after)
	}
}

func (n *simNode) describe() string {
	var s strings.Builder
	for p := range n.disk {
		fmt.Fprintln(&s, n.machine.Describe(crawl.Partition(p)))
	}
	return s.String()
}

// write commits one mutation, and waits until it is acknowledged.
func (n *simNode) write(p crawl.Partition) {
	d := &n.disk[p]
	if !n.up || n.machine == nil || d.state != Holding || d.frozen {
		return
	}
	n.w.ids++
	id := n.w.ids
	d.content = append(slices.Clip(d.content), id)
	seq := len(d.content)
	d.follow()
	for _, fs := range n.flows {
		if f := fs[p]; f != nil && !f.over {
			f.pending = append(f.pending, simMutation{seq, id})
		}
	}
	wait, err := n.acks.Wait(Tenure{P: p, Epoch: d.epoch}, crawl.Seq(seq), false)
	switch {
	case err != nil:
	case wait == nil:
		n.w.acked[p][id] = true
	default:
		n.writes = append(n.writes, simWrite{p, id, wait})
	}
}

// poll takes the results of waits and confirmations.
func (n *simNode) poll() {
	if !n.up || n.machine == nil {
		return
	}
	n.writes = slices.DeleteFunc(n.writes, func(x simWrite) bool {
		select {
		case err := <-x.w.Done():
			if err == nil {
				n.w.acked[x.p][x.id] = true
			}
			return true
		default:
			return false
		}
	})
	waiting := n.confirms
	n.confirms = nil
	for _, c := range waiting {
		select {
		case a, ok := <-c:
			if ok {
				n.later(machine.LinkUp(a))
			}
		default:
			n.confirms = append(n.confirms, c)
		}
	}
}

// later posts an event: the inbox keeps their order.
func (n *simNode) later(e machine.Event) { n.inbox = append(n.inbox, e) }

// work takes the oldest event.
func (n *simNode) work() {
	if n.up && n.machine != nil && len(n.inbox) > 0 {
		e := n.inbox[0]
		n.inbox = n.inbox[1:]
		n.step(e)
	}
}

func (n *simNode) step(e machine.Event) {
	events := []machine.Event{e}
	for len(events) > 0 {
		next := events[0]
		events = events[1:]
		for _, a := range n.machine.Step(next) {
			if e := n.perform(a); e != nil {
				events = append(events, e)
			}
		}
	}
}

func (n *simNode) perform(a machine.Action) machine.Event {
	switch a := a.(type) {
	case machine.StoreReleased:
		d := &n.disk[a.P]
		d.state, d.to, d.view = Released, a.To, a.View
		return machine.ReleaseStored{P: a.P, Attempt: a.Attempt}
	case machine.StoreHolder:
		n.disk[a.P].state, n.disk[a.P].frozen = Holding, false
	case machine.StoreCopy:
		n.toCopy(a.P)
	case machine.Yield:
		n.w.logf("%s yields %d", n.id, a.P)
		n.toCopy(a.P)
	case machine.Promote:
		return n.promote(a)
	case machine.OpenLink:
		n.open(a)
	case machine.CloseLink:
		if f := n.flows[a.Node][a.P]; f != nil && f.a.Attempt == a.Attempt {
			f.over = true
			delete(n.flows[a.Node], a.P)
		}
		n.acks.LinkClosed(a.Node, a.P, a.Attempt)
	case machine.ConfirmLink:
		if c := n.acks.Confirm(a, crawl.Seq(len(n.disk[a.P].content))); c != nil {
			n.confirms = append(n.confirms, c)
		} else {
			n.later(machine.LinkUp(a))
		}
	case machine.DropCopy:
		n.drop(a)
	case machine.SetAcks:
		n.acks.Set(a)
	case machine.EndAcks:
		n.acks.End(a.P)
		delete(n.records, a.P)
		delete(n.counts, a.P)
		delete(n.live, a.P)
	case machine.Record:
		n.records[a.P], n.live[a.P] = a.Set, a.Set.Epoch
		delete(n.counts, a.P)
	case machine.Freeze:
		n.freezes = append(n.freezes, a)
	case machine.AbortMove:
	case machine.Resume:
		n.disk[a.P].frozen = false
	default:
		n.performCall(a)
	}
	return nil
}

func (n *simNode) performCall(a machine.Action) {
	switch a := a.(type) {
	case machine.PassToken:
		n.token(a)
	case machine.Acquired:
	case machine.Ask:
		n.ask(a)
	case machine.Tell:
		if a.Parts == nil {
			a.Reply <- machine.Told{Past: a.Past}
			return
		}
		out := []machine.Answer{}
		for i, p := range a.Parts {
			d := &n.disk[p]
			out = append(out, answerOf(n.id, p, a.Holds[i], d.kept(), d.set))
		}
		a.Reply <- machine.Told{Answers: out, Past: a.Past}
	case machine.RequestCopy:
		n.wanted.Note(a)
		from := n.w.node(a.From)
		boot := n.boot
		n.w.call(n, from, func() (any, bool) {
			if from.machine != nil && from.gate.Pass(n.id, boot, func() error { return nil }) == nil {
				from.snapshot(a.P, n, nil)
			}
			return nil, true
		}, func(any, bool) {})
	case machine.Sweep:
		n.sweep(a)
	case machine.TellUseless:
		a.Reply <- a.Parts
	case machine.Respond:
		a.To <- a.Reply
	}
}

func (n *simNode) toCopy(p crawl.Partition) {
	if d := &n.disk[p]; d.state != Absent {
		d.state, d.copy, d.frozen = Absent, true, false
	}
}

func (n *simNode) promote(a machine.Promote) machine.Event {
	d := &n.disk[a.P]
	w := n.w
	if a.Empty || a.Lost {
		w.fail("%s begins partition %d anew, or with less: %+v", n.id, a.P, a)
	}
	if !d.copy || d.epoch != a.FromEpoch || crawl.Seq(len(d.content)) != a.Seq {
		return machine.Promoted{Promote: a}
	}
	if a.Epoch <= w.epoch[a.P] {
		w.fail("%s takes partition %d in epoch %d after %d", n.id, a.P, a.Epoch, w.epoch[a.P])
	}
	if lack := w.lacks(int(a.P), d); lack != 0 && !w.blind(n, a.P) {
		w.fail("%s takes partition %d in epoch %d and lacks %d: %+v", n.id, a.P, a.Epoch, lack, a)
	}
	w.logf("%s takes %d in epoch %d, set %v", n.id, a.P, a.Epoch, a.Set)
	w.acquired++
	w.epoch[a.P] = a.Epoch
	d.state, d.copy, d.epoch, d.maxEpoch, d.frozen = Holding, false, a.Epoch, a.Epoch, false
	if d.series != nil {
		goesOn := a.Reply == nil || d.series.InSync(Set{Epoch: a.FromEpoch, Members: a.Set.Members})
		d.keep(d.series.Promote(a.FromEpoch, a.Seq, a.Epoch) && goesOn)
	}
	if a.Reply == nil {
		w.promoted++
		n.keepForAway(a)
	}
	return machine.Promoted{Promote: a, OK: true}
}

// keepForAway begins hints for the members of the set that are away.
func (n *simNode) keepForAway(a machine.Promote) {
	d := &n.disk[a.P]
	for _, id := range a.Set.Members {
		if n.gate.lists(id) {
			continue
		}
		if d.series == nil {
			s := machine.BeginSeries(d.found(), 0)
			d.series = &s
		}
		if _, known := d.series.Behind[id]; !known {
			d.series.Behind[id] = machine.Proof{Epoch: a.FromEpoch, From: a.Seq, To: a.Seq}
		}
	}
}

func (n *simNode) tryFreeze(f machine.Freeze) {
	x := n.machine.Standing(f.P)
	if x.State != Freezing || x.Attempt != f.Attempt {
		return
	}
	n.disk[f.P].frozen = true
	wait, err := n.acks.Wait(Tenure{P: f.P, Epoch: n.disk[f.P].epoch}, crawl.Seq(len(n.disk[f.P].content)), false)
	if err != nil || wait != nil {
		n.later(machine.Broken{P: f.P, Attempt: f.Attempt})
		return
	}
	n.later(machine.Frozen(f))
}
