package membership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/gossip"
	"crawlnode/membership/join"
	"crawlnode/membership/storage"
	"crawlnode/ring"
)

// stoppedAfter is a gap between two ticks that shows that this node stood
// still: calls of other nodes may have failed meanwhile.
const stoppedAfter = 2 * time.Second

// maxReported bounds the refusals that are remembered so as to be reported once.
const maxReported = 256

// loop is the one goroutine that owns the core and everything that it decides from.
type loop struct {
	m       *Membership
	nodes   map[crawl.NodeID]*node // all others that gossip has shown
	status  consensus.Status       // this node's own, as its metadata say
	table   *ring.Table            // of core.View()
	calling map[crawl.NodeID]int   // calls under way
	results chan result            // filled by the calls, emptied by the loop
	// duplicates is filled by the call to another process with this node's id, boot 0 when
	// none answered; emptied by the loop. asking: that call is under way.
	duplicates chan Member
	asking     bool
	nameAsked  chan nameAnswer         // filled by the call to the member with this node's name, emptied by the loop
	reported   map[gossip.Refusal]bool // refusals already logged, at most maxReported
	calls      sync.WaitGroup
	// numbers are the newest views that members have reported as installed; of other
	// nodes nothing is kept.
	numbers map[crawl.NodeID]crawl.Epoch
	// sighted and sortedIDs are memory of sightings, which is called after every event.
	sighted   []consensus.Sighting
	sortedIDs []crawl.NodeID

	ticked    time.Duration            // boot time of the last tick
	listed    map[string]*join.Listing // by address of Join
	first     time.Time                // since when this node finds itself at the first address of Join
	askedName time.Time                // when the member with this node's name was asked last, or its answer is due
	waitsFor  crawl.NodeID             // the member with this node's name that was logged
	alone     time.Time                // since when gossip shows no node of a cluster, nor one that will found it
}

func newLoop(m *Membership) *loop {
	return &loop{
		m: m, nodes: make(map[crawl.NodeID]*node), calling: make(map[crawl.NodeID]int),
		results: make(chan result), duplicates: make(chan Member), nameAsked: make(chan nameAnswer), reported: make(map[gossip.Refusal]bool),
		numbers: make(map[crawl.NodeID]crawl.Epoch), listed: make(map[string]*join.Listing),
	}
}

// Run takes part in the cluster until ctx ends, leaves gossip and waits for everything
// it started. It must be called once. It returns nil when ctx ended it, ErrMismatch,
// ErrNameTaken, ErrDuplicate or ErrForgotten when this node cannot join, and an error of
// the Storage, after which the process must end.
func (m *Membership) Run(ctx context.Context) error {
	defer close(m.stopped)
	l := newLoop(m)
	if err := l.checkDuplicate(ctx); err != nil {
		return errors.Join(err, m.transport.Shutdown())
	}
	if err := m.gossip.Start(m.advertise); err != nil {
		return errors.Join(err, m.transport.Shutdown())
	}
	ctx, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { m.gossip.Publish(ctx) })
	parts.Go(func() { m.joiner.Run(ctx) })
	parts.Go(func() { m.prober.Run(ctx) })
	err := l.run(ctx)
	cancel()
	l.calls.Wait()
	parts.Wait()
	l.announce(consensus.Left)
	m.gossip.Stop()
	last := *m.snapshot.Load()
	last.Status = consensus.Left
	m.snapshot.Store(&last)
	m.watchers.wake()
	return err
}

func (l *loop) run(ctx context.Context) error {
	tick := time.NewTicker(consensus.TickInterval)
	defer tick.Stop()
	l.alone = time.Now()
	if err := l.afterEvent(ctx); err != nil {
		return err
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			err = l.tick(ctx)
		case <-l.m.wished: // afterEvent announces the wish
			err = l.takeFlags()
		case <-l.m.gossip.Changed():
			l.onGossip(ctx)
		case in := <-l.m.calls:
			err = l.answer(ctx, in)
		case r := <-l.results:
			err = l.onResult(ctx, r)
		case r := <-l.m.joiner.Rounds:
			err = l.onRound(r)
		case proof := <-l.m.prober.Proofs:
			l.m.o.Logger.Info("proof of death", "id", proof.ID, "boot", proof.Boot)
			err = l.step(ctx, proof, nil)
		case other := <-l.duplicates:
			err = l.onDuplicate(other)
		case a := <-l.nameAsked:
			err = l.onNameAnswer(a)
		case f := <-l.m.forgets:
			err = l.forget(ctx, f)
		case p := <-l.m.placings:
			err = l.setPlace(p) // afterEvent announces it
		}
		if err == nil {
			err = l.afterEvent(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// tick passes the units of time since the last tick to the core, after what happened meanwhile.
func (l *loop) tick(ctx context.Context) error {
	heard, jumped := l.m.leases.look()
	if jumped {
		l.m.o.Logger.Warn("the wall clock has jumped: the lease has ended")
	}
	for id, boot := range heard {
		if err := l.step(ctx, consensus.Heard{ID: id, Boot: boot}, nil); err != nil {
			return err
		}
	}
	if l.m.stalled.Load() {
		return nil // silent; afterwards the gap shows that this node stood still
	}
	now := l.m.o.Clock.BootTime()
	if l.ticked != 0 && now-l.ticked > stoppedAfter {
		l.m.o.Logger.Warn("this node stood still", "for", now-l.ticked)
		if err := l.step(ctx, consensus.Woken{}, nil); err != nil {
			return err
		}
	}
	units := 1
	if l.ticked != 0 {
		units = unitsOf(now - l.ticked)
	}
	l.ticked = now
	if err := l.considerFounding(); err != nil {
		return err
	}
	for range units {
		if err := l.step(ctx, consensus.Tick{Random: l.m.o.Random()}, nil); err != nil {
			return err
		}
	}
	return nil
}

// mostUnits is how many units of time one tick stands for at most. Ticks of an idle process are up to 300 ms late (local/resources), and the
// ones that were due meanwhile are dropped. A longer gap is a fault of this process, whose time should not count against the others.
const mostUnits = 4

// unitsOf is how many units of time have passed since the last tick.
func unitsOf(gap time.Duration) int {
	return int(min(max(gap/consensus.TickInterval, 1), mostUnits))
}

// step passes one event to the core and performs the actions. Messages to the node that
// waits for an answer are appended to *reply instead of sent.
func (l *loop) step(ctx context.Context, e consensus.Event, reply *[]consensus.Message) error {
	if r, ok := e.(consensus.Received); ok {
		l.noteNumber(&r.Message)
	}
	actions := l.m.core.Step(e)
	if granting := l.m.leases.granting.Load(); granting != nil && granting != l.m.core.Grants() {
		// No grant may follow an acceptance, nor be given in a view that was replaced.
		l.m.leases.follow(granting, nil)
	}
	for _, a := range actions {
		switch a := a.(type) {
		case consensus.Persist:
			if err := l.persist(a.State); err != nil {
				return err
			}
		case consensus.Install:
			if err := l.install(a); err != nil {
				return err
			}
		case consensus.Send:
			received, ok := e.(consensus.Received)
			if ok && reply != nil && a.Message.To == received.Message.From {
				*reply = append(*reply, a.Message)
			} else if !l.m.stalled.Load() {
				l.call(ctx, a.Message)
			}
		}
	}
	return nil
}

func (l *loop) persist(s consensus.State) error {
	if old := l.m.doc.State.View; old != nil && old != s.View {
		l.m.doc.Replace(old, s.View)
	}
	l.m.doc.State = s
	if s.View != nil {
		l.m.doc.Cluster = s.View.Cluster
	}
	return l.save()
}

func (l *loop) save() error {
	return l.m.saving.during(func() error { return l.m.o.Storage.Save(storage.Encode(&l.m.doc)) })
}

// install publishes a new view before the lease follows it: a lease that needs no grants
// must not be valid while the old view is still shown. A node that the new view drops
// reads in it that it is not listed any more.
func (l *loop) install(a consensus.Install) error {
	l.m.o.Logger.Info("view installed", "view", a.View.Number, "members", len(a.View.Members), "skipped", a.Skipped)
	for _, r := range a.View.Removed {
		l.m.o.Logger.Info("member removed", "view", a.View.Number, "id", r.ID, "node", r.Name, "boot", r.Boot, "proved", r.Proved)
	}
	if l.m.o.Events.Installed != nil {
		l.m.o.Events.Installed(a.View, a.Skipped)
	}
	if err := l.publish(); err != nil {
		return err
	}
	l.m.leases.follow(a.View, l.m.core.Grants())
	return nil
}

// afterEvent does what any event may have made necessary.
func (l *loop) afterEvent(ctx context.Context) error {
	if err := l.publish(); err != nil {
		return err
	}
	if v := l.m.core.View(); v != nil && v.Bars(l.m.self.ID) {
		return fmt.Errorf("%w (view %d): its data cannot be used again; start with an empty data directory to join as a new node", ErrForgotten, v.Number)
	}
	l.askForName(ctx)
	return superseded(l.m.core.View(), l.m.self)
}

// publish announces this node's status, gives the core the living nodes, and renews the
// snapshot, the peers on the disk and the joiner's plan, as far as they have changed.
func (l *loop) publish() error {
	v := l.m.core.View()
	if v != nil && (l.m.snapshot.Load() == nil || l.m.snapshot.Load().View != v || l.table == nil) {
		table, err := ring.Build(v.Table(), v.Cluster.Partitions, v.Replicas())
		if err != nil {
			return fmt.Errorf("membership: view %d: %w", v.Number, err)
		}
		l.table = table
	}
	l.announce(l.ownStatus(v))
	l.m.core.Step(consensus.Seen{Nodes: l.sightings()})
	l.prune(v)
	l.m.prober.Watch(l.targets(v))
	all := l.withSelf()
	now := &Snapshot{View: v, Table: l.table, Peers: peers(v, all, l.m.core), Status: l.status, Minority: l.minority(v), Followed: l.followed(v)}
	now.Join, now.Unanswered = l.joinTroubles(now.Peers), l.unanswered()
	if old := l.m.snapshot.Load(); old != nil && old.equal(now) {
		return nil
	}
	l.m.snapshot.Store(now)
	l.m.watchers.wake()
	return l.remember(now)
}

// noteNumber notes which view a member has installed.
func (l *loop) noteNumber(m *consensus.Message) {
	if v := l.m.core.View(); v != nil && listed(v, m.From) || m.View != nil && listed(m.View, m.From) {
		l.numbers[m.From] = max(l.numbers[m.From], m.Number)
	}
}

// followed reports whether more than half of a view's members are known to have
// it installed, and drops what is known of nodes that are no members.
func (l *loop) followed(v *View) bool {
	if v == nil {
		return false
	}
	for id := range l.numbers {
		if !listed(v, id) {
			delete(l.numbers, id)
		}
	}
	n := 0
	for _, m := range v.Members {
		if m.ID == l.m.self.ID || l.numbers[m.ID] >= v.Number {
			n++
		}
	}
	return 2*n > len(v.Members)
}

func (l *loop) ownStatus(v *View) consensus.Status {
	wish := consensus.Status(l.m.wish.Load())
	if wish == consensus.Active && (v == nil || !v.Lists(l.m.self.ID, l.m.self.Boot)) {
		return consensus.Joining
	}
	return wish
}

// announce puts status and cluster into the gossip metadata.
func (l *loop) announce(s consensus.Status) {
	l.status = s
	me := &l.m.self
	l.m.gossip.SetMeta(gossip.Meta{
		Boot: me.Boot, Status: s, Name: me.Name, Cluster: l.m.doc.Cluster, RPC: me.RPC, HTTP: me.HTTP, Process: me.Process, Place: l.m.place,
	})
}

// onGossip takes in what gossip has brought.
func (l *loop) onGossip(ctx context.Context) {
	news := l.m.gossip.Take()
	if news.Duplicate.Boot > 0 {
		l.askDuplicate(ctx, news.Duplicate)
	}
	for _, e := range news.Events {
		n := l.nodes[e.ID]
		if n == nil {
			n = new(node)
			l.nodes[e.ID] = n
		}
		if n.alive != e.Alive || n.Boot != e.Boot {
			l.m.o.Logger.Info("node sighted", "id", e.ID, "node", e.Name, "boot", e.Boot, "status", e.Status, "alive", e.Alive)
			n.unreachable = false
		}
		n.alive, n.cluster, n.Sighting = e.Alive, e.Cluster, e.Sighting
	}
	l.onClaims(news.Claims)
	for _, r := range news.Refusals {
		l.reportRefusal(r)
	}
	l.refuseNames()
}

// reportRefusal reports a refusal once.
func (l *loop) reportRefusal(r gossip.Refusal) {
	if l.reported[r] || len(l.reported) >= maxReported {
		return
	}
	l.reported[r] = true
	l.m.o.Logger.Warn("node refused", "id", r.ID, "node", r.Name, "reason", r.Reason)
	if l.m.o.Events.Refused != nil {
		l.m.o.Events.Refused(r.ID, r.Name, r.Reason)
	}
}
