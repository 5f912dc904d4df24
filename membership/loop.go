package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/ring"
)

// stoppedAfter is a gap between two ticks that shows that this node stood
// still: others may have called in vain.
const stoppedAfter = 2 * time.Second

// maxTold bounds the refusals that are remembered so as to be told once.
const maxTold = 256

// loop is the one goroutine that owns the core and everything it decides on.
type loop struct {
	m       *Membership
	nodes   map[crawl.NodeID]*node // all others that gossip spoke of
	status  consensus.Status       // this node's own, as announced
	table   *ring.Table            // of core.View()
	calling map[crawl.NodeID]int   // calls under way
	results chan result            // filled by the calls, emptied by the loop
	rounds  chan joinRound         // filled by the rejoiner, emptied by the loop
	// twinSought is filled by the call to a process with this node's id, boot 0 when
	// none answered; emptied by the loop. seeking: that call is under way.
	twinSought chan Member
	seeking    bool
	nameAsked  chan nameAnswer  // filled by the call to who has this node's name, emptied by the loop
	told       map[refusal]bool // refusals already logged, at most maxTold
	calls      sync.WaitGroup
	// numbers are the newest views of which members have said that they have
	// them installed; of others nothing is kept.
	numbers map[crawl.NodeID]crawl.Epoch

	ticked    time.Duration       // boot time of the last tick
	listed    map[string]*listing // by address of Join
	first     time.Time           // since when this node finds itself at the first address of Join
	askedName time.Time           // when the member with this node's name was asked last, or its answer is due
	waitsFor  crawl.NodeID        // the member of whose name people were told
	alone     time.Time           // since when no node of a cluster, nor one that founds it, was in sight
}

func newLoop(m *Membership) *loop {
	return &loop{
		m: m, nodes: make(map[crawl.NodeID]*node), calling: make(map[crawl.NodeID]int),
		results: make(chan result), rounds: make(chan joinRound), twinSought: make(chan Member), nameAsked: make(chan nameAnswer), told: make(map[refusal]bool),
		numbers: make(map[crawl.NodeID]crawl.Epoch), listed: make(map[string]*listing),
	}
}

// Run takes part in the cluster until ctx ends, says goodbye to gossip and
// waits for everything it started. It must be called once. It returns nil when
// ctx ended it, ErrMismatch, ErrNameTaken, ErrTwin or ErrForgotten when this node
// cannot join, and an error of the Storage, after which the process must end.
func (m *Membership) Run(ctx context.Context) error {
	defer close(m.stopped)
	l := newLoop(m)
	if err := l.seekFirst(ctx); err != nil {
		return errors.Join(err, m.transport.Shutdown())
	}
	if err := m.gossip.start(&m.o, m.transport, m.advertise); err != nil {
		return errors.Join(err, m.transport.Shutdown())
	}
	ctx, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { m.gossip.publish(ctx, m.announce, m.o.Logger) })
	parts.Go(func() { m.rejoin(ctx, l.rounds) })
	parts.Go(func() { m.prober.Run(ctx) })
	err := l.run(ctx)
	cancel()
	l.calls.Wait()
	parts.Wait()
	l.say(consensus.Left)
	m.gossip.stop()
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
	if err := l.settle(ctx); err != nil {
		return err
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			err = l.tick(ctx)
		case <-l.m.gossip.inbox.wake:
			l.observe(ctx)
		case in := <-l.m.calls:
			err = l.answer(ctx, in)
		case r := <-l.results:
			err = l.finish(ctx, r)
		case r := <-l.rounds:
			err = l.consider(r)
		case proof := <-l.m.prober.Proofs:
			l.m.o.Logger.Info("proof of death", "id", proof.ID, "boot", proof.Boot)
			err = l.step(ctx, proof, nil)
		case other := <-l.twinSought:
			err = l.giveWay(other)
		case a := <-l.nameAsked:
			err = l.nameTaken(a)
		case f := <-l.m.forgets:
			err = l.forget(ctx, f)
		}
		if err == nil {
			err = l.settle(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// tick passes one unit of time on, after what happened since the last one.
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
		return nil // silent; the gap shows that this node stood still
	}
	now := l.m.o.Clock.BootTime()
	if l.ticked != 0 && now-l.ticked > stoppedAfter {
		l.m.o.Logger.Warn("this node stood still", "for", now-l.ticked)
		if err := l.step(ctx, consensus.Woken{}, nil); err != nil {
			return err
		}
	}
	l.ticked = now
	if err := l.considerFounding(); err != nil {
		return err
	}
	return l.step(ctx, consensus.Tick{Random: l.m.o.Random()}, nil)
}

// step runs one event through the core and carries the actions out. Sends to
// the node that waits for an answer are appended to *reply instead.
func (l *loop) step(ctx context.Context, e consensus.Event, reply *[]consensus.Message) error {
	if r, ok := e.(consensus.Received); ok {
		l.hears(&r.Message)
	}
	actions := l.m.core.Step(e)
	if granting := l.m.leases.granting.Load(); granting != nil && granting != l.m.core.Grants() {
		// No grant may follow an acceptance, nor a view that is left.
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
		l.m.doc.moved(old, s.View)
	}
	l.m.doc.State = s
	if s.View != nil {
		l.m.doc.Cluster = s.View.Cluster
	}
	return l.save()
}

func (l *loop) save() error {
	return l.m.saving.during(func() error { return l.m.o.Storage.Save(encodeDocument(&l.m.doc)) })
}

// install shows a new view before the lease follows it: a lease that needs
// nobody's grant must not be good while the old view is still shown. Whom the new
// view drops sees that it is not listed any more.
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

// settle does what any event may have made necessary.
func (l *loop) settle(ctx context.Context) error {
	if err := l.publish(); err != nil {
		return err
	}
	if v := l.m.core.View(); v != nil && v.Bars(l.m.self.ID) {
		return fmt.Errorf("%w (view %d): its data cannot be used again; start with an empty data directory to join as a new node", ErrForgotten, v.Number)
	}
	l.askForName(ctx)
	return l.leftBehind()
}

// publish announces this node's status, shows the core what is in sight, and
// renews the snapshot, the peers on the disk and the rejoiner's plan, as far
// as they have changed.
func (l *loop) publish() error {
	v := l.m.core.View()
	if v != nil && (l.m.snapshot.Load() == nil || l.m.snapshot.Load().View != v || l.table == nil) {
		table, err := ring.Build(v.Active(), v.Cluster.Partitions, v.Replicas())
		if err != nil {
			return fmt.Errorf("membership: view %d: %w", v.Number, err)
		}
		l.table = table
	}
	l.say(l.ownStatus(v))
	l.m.core.Step(consensus.Seen{Nodes: l.sightings()})
	l.prune(v)
	l.m.prober.Watch(l.targets(v))
	all := l.withSelf()
	now := &Snapshot{View: v, Table: l.table, Peers: peers(v, all, l.m.core), Status: l.status, Minority: l.minority(v), Followed: l.followed(v)}
	now.Join = l.joinTroubles(now.Peers)
	if old := l.m.snapshot.Load(); old != nil && old.equal(now) {
		return nil
	}
	l.m.snapshot.Store(now)
	l.m.watchers.wake()
	return l.remember(now)
}

// hears notes how far a member is.
func (l *loop) hears(m *consensus.Message) {
	if v := l.m.core.View(); v != nil && listed(v, m.From) || m.View != nil && listed(m.View, m.From) {
		l.numbers[m.From] = max(l.numbers[m.From], m.Number)
	}
}

// followed reports whether more than half of a view's members are known to have
// it installed, and forgets what others said.
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

// say puts status and cluster into the gossip metadata.
func (l *loop) say(s consensus.Status) {
	l.status = s
	cluster := l.m.doc.Cluster
	out, err := (&meta{
		Boot: l.m.self.Boot, Status: s, Name: l.m.self.Name, Cluster: cluster, RPC: l.m.self.RPC, HTTP: l.m.self.HTTP, Process: l.m.self.Process,
	}).encode()
	if err != nil {
		panic("BUG: checked by Open: " + err.Error())
	}
	if old := l.m.gossip.meta.Load(); old != nil && slices.Equal(*old, out) {
		return
	}
	l.m.gossip.cluster.Store(&cluster)
	l.m.gossip.meta.Store(&out)
	signal(l.m.announce)
}

// observe takes in what gossip saw.
func (l *loop) observe(ctx context.Context) {
	made := l.m.gossip.inbox.takeClaims() // before the events: they are older
	events, refusals, twin := l.m.gossip.inbox.take()
	if twin.Boot > 0 {
		l.seek(ctx, twin)
	}
	for _, e := range events {
		n := l.nodes[e.id]
		if n == nil {
			n = new(node)
			l.nodes[e.id] = n
		}
		if n.alive != e.alive || n.Boot != e.meta.Boot {
			l.m.o.Logger.Info("node sighted", "id", e.id, "node", e.meta.Name, "boot", e.meta.Boot, "status", e.meta.Status, "alive", e.alive)
			n.unreachable = false
		}
		n.alive, n.cluster = e.alive, e.meta.Cluster.ID
		n.Sighting = consensus.Sighting{
			ID: e.id, Name: e.meta.Name, Boot: e.meta.Boot, Status: e.meta.Status,
			RPC: e.meta.RPC, HTTP: e.meta.HTTP, Gossip: e.gossip, Process: e.meta.Process,
		}
	}
	l.claims(made)
	for _, r := range refusals {
		l.tell(r)
	}
	l.namesTaken()
}

// tell reports a refusal once.
func (l *loop) tell(r refusal) {
	if l.told[r] || len(l.told) >= maxTold {
		return
	}
	l.told[r] = true
	l.m.o.Logger.Warn("node refused", "id", r.id, "node", r.name, "reason", r.reason)
	if l.m.o.Events.Refused != nil {
		l.m.o.Events.Refused(r.id, r.name, r.reason)
	}
}
