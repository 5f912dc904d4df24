package drain

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/handoff"
	"crawlnode/membership"
)

// openVisitsGrace is how long a stopping node waits for open visits, at most.
const openVisitsGrace = 3 * time.Second

// Members is the cluster as a drain sees it.
type Members interface {
	// SetDraining asks for a view in which this node is draining; it does not block.
	SetDraining()
	// SetLeft returns when a view goes on without this node.
	SetLeft(ctx context.Context) error
	// Others are the other members of the view.
	Others() []membership.Member
	// State is what gossip says of a node, crawl.NodeAlive and so on; "" is unknown.
	State(id crawl.NodeID) string
	// Active reports whether the view lists this node, and not as draining.
	Active() bool
}

// Store is what a drain reads of the frontier.
type Store interface {
	Metas() []frontier.Meta
	Set(p crawl.Partition) (frontier.SetRecord, bool)
}

// Engine is what of the node has work to finish.
type Engine interface {
	// Moves is the state of the partitions' moves; nil before the node has joined.
	Moves() *handoff.Status
	// StopVisits lets no more visits be handed out. It may be called twice.
	StopVisits()
	// Open counts the visits that are not done.
	Open() int
}

// Options are what a Drainer is made of.
type Options struct {
	Self    crawl.NodeID
	Timeout time.Duration // --drain-timeout, for everything
	Members Members
	Store   Store
	Engine  Engine
	Stop    <-chan struct{} // closed when the node must end at once
	Log     *slog.Logger
}

// Drainer ends a node politely.
type Drainer struct {
	o        Options
	together signal // all nodes stop: the data stays in place
	noVisits signal // after that, no visit is open
	end      signal // after that, this node may end
}

// New makes a Drainer.
func New(o Options) *Drainer {
	return &Drainer{o: o, together: newSignal(), noVisits: newSignal(), end: newSignal()}
}

// Leave drains the node, and returns when it has left or when it is to stop with its data in place.
func (d *Drainer) Leave(ctx context.Context) {
	// The time for what is open is a part of the time-out, not on top of it.
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout-openVisitsTime(d.o.Timeout))
	defer cancel()
	stopped := make(chan struct{})
	go func() { // a second signal ends the wait
		select {
		case <-d.o.Stop:
			cancel()
		case <-stopped:
		}
	}()
	defer close(stopped)
	if d.together.given() {
		d.stopTogether(ctx)
		return
	}
	if d.o.Engine.Moves() == nil || !d.HasHeir() {
		d.endVisits(ctx)
		d.o.Log.Info(
			"stopping with all data in place: no other member could take it over; the same command resumes")
		return
	}
	d.o.Log.Info("draining: partitions move to the other members", "timeout", d.o.Timeout)
	d.o.Members.SetDraining()
	if !d.handOver(ctx) {
		return
	}
	if err := d.o.Members.SetLeft(ctx); err != nil {
		d.o.Log.Warn("the others have not confirmed the leave in time; they will see this node as failed",
			"error", err)
		return
	}
	d.o.Log.Info("left the cluster; everything was handed over")
}

// handOver waits until nothing is left here. False: it stays here, and no visit is open.
func (d *Drainer) handOver(ctx context.Context) bool {
	for !d.emptied() {
		if d.together.given() {
			d.stopTogether(ctx)
			return false
		}
		if !d.HasHeir() {
			d.endVisits(ctx)
			d.o.Log.Info("stopping with all data in place: every other member is leaving or gone")
			return false
		}
		select {
		case <-ctx.Done():
			d.endVisits(context.WithoutCancel(ctx))
			d.o.Log.Warn("not everything could be handed over, or copied elsewhere, in time; "+
				"it stays here and this node stays a member: start it again, "+
				"or wait longer with --drain-timeout",
				"partitions_left", d.o.Engine.Moves().Held, "copies_left", d.copiesThatCount())
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
	return true
}

// copiesThatCount counts the copies on this disk that an in-sync set names. Without such a copy
// the loss of one more node could take acknowledged mutations.
func (d *Drainer) copiesThatCount() int {
	count := 0
	for _, m := range d.o.Store.Metas() {
		if m.State != frontier.Copy {
			continue
		}
		if set, ok := d.o.Store.Set(m.Partition); ok && slices.Contains(set.Members, d.o.Self) {
			count++
		}
	}
	return count
}

// HasHeir reports whether another active member could take over: one that is not leaving as
// well and that gossip has not given up. One that is suspect may still do it.
func (d *Drainer) HasHeir() bool {
	for _, m := range d.o.Members.Others() {
		switch d.o.Members.State(m.ID) {
		case crawl.NodeAlive, crawl.NodeSuspect:
			if !m.Draining {
				return true
			}
		}
	}
	return false
}

// emptied reports whether nothing is left here that counts.
func (d *Drainer) emptied() bool {
	s := d.o.Engine.Moves()
	return s.Held == 0 && s.Moving == 0 && !d.o.Members.Active() && d.copiesThatCount() == 0
}

// openVisitsTime is the part of a drain's time-out that is left for open visits.
func openVisitsTime(drainTimeout time.Duration) time.Duration {
	return min(openVisitsGrace, drainTimeout/5)
}

// endVisits lets no more visits be handed out and waits for the open ones, for openVisitsTime: a
// page whose disk is full would wait for ever.
func (d *Drainer) endVisits(ctx context.Context) {
	if d.o.Engine.Moves() == nil {
		return
	}
	d.o.Engine.StopVisits()
	ctx, cancel := context.WithTimeout(ctx, openVisitsTime(d.o.Timeout))
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for d.o.Engine.Open() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-d.o.Stop:
			return
		case <-again.C:
		}
	}
}
