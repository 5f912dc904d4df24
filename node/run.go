package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/storage"
	"crawlnode/handoff"
	"crawlnode/handoff/hints"
	"crawlnode/handoff/transfer"
	"crawlnode/links"
	"crawlnode/local/datadir"
	"crawlnode/local/disk"
	"crawlnode/membership"
	"crawlnode/membership/heartbeat"
	"crawlnode/scheduler"
	"crawlnode/settings/crawldoc"
	"crawlnode/status/events"
)

// Run does everything until the node was drained or stopped, the crawl has
// ended with --exit-when-done, or something broke. It returns when all
// goroutines have ended and all files are closed. Call it once.
//
// The order of the end: the fetchers, movers and callers stop first,
// then the listener for other nodes' calls, then the store's writer. So nothing
// that was acknowledged is still on its way when the files close, and a node
// that finds the listener closed knows that this one fetches nothing any more.
//
// A disk that does not answer blocks its callers, and nothing can cancel their calls.
// So an end that was asked for does not wait for it: lastcall.go.
func (n *Node) Run(ctx context.Context) error {
	over := make(chan error, 1)
	go func() { over <- n.runAll(ctx) }()
	return n.awaitEnd(over)
}

// runAll is Run, for as long as the disk takes.
func (n *Node) runAll(ctx context.Context) error {
	defer n.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.running = ctx

	// The store's writer ends after all that write.
	storeCtx, stopStore := context.WithCancel(context.WithoutCancel(ctx))
	var store errgroup.Group
	store.Go(func() error { return n.front.Run(storeCtx) })

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer n.closing.Store(true) // a listener that fails is closed as well
		return n.server.Serve(n.rpc)
	})
	group.Go(func() error { return classed(n.members.Run(ctx)) })
	group.Go(func() error { return n.spread.Run(ctx) })
	group.Go(func() error { return n.rotator.Run(ctx) })
	group.Go(func() error {
		return disk.SyncLoop(ctx, n.space, func() error { return n.outputs.Sync(n.stalls.During) },
			n.front.Sync)
	})
	group.Go(func() error { return n.stalls.Run(ctx) })
	group.Go(func() error { return n.doc.KeepTime(ctx) })
	group.Go(func() error { return n.outputs.Run(ctx) })
	group.Go(func() error { n.sinks.Run(ctx); return nil })
	group.Go(func() error { n.webhooks.Run(ctx); return nil })
	group.Go(func() error { return n.lead(ctx) })
	group.Go(func() error {
		if err := store.Wait(); err != nil && ctx.Err() == nil {
			return datadir.StorageFirst(err, err)
		}
		return nil
	})
	group.Go(func() error { return n.untilTheEnd(ctx, cancel) })

	<-ctx.Done()
	cancel() // ends the waits for space on the disk
	n.front.Hurry()
	// lead, which started the engine, has to end before the writer may.
	err := n.waitForWriters(group, stopStore)
	if errors.Is(err, errFinished) || errors.Is(err, context.Canceled) {
		return nil
	}
	err = datadir.StorageFirst(err, store.Wait())
	if errors.Is(err, storage.ErrDamaged) && !errors.Is(err, datadir.ErrStorage) {
		err = datadir.Failed("read the frontier", err) // whichever part has read it
	}
	return err
}

// classed gives membership's errors their class: a node that may not join has a cluster
// problem, everything else that ends membership is the disk.
func classed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, membership.ErrMismatch), errors.Is(err, membership.ErrNameTaken),
		errors.Is(err, membership.ErrDuplicate):
		return clusterError("join", err)
	default:
		return datadir.Failed("keep the membership", err)
	}
}

// waitForWriters ends the listener and then the store's writer, when the
// goroutines that fetch and write have ended or had their time.
func (n *Node) waitForWriters(group *errgroup.Group, stopStore func()) error {
	done := make(chan struct{})
	go func() {
		select {
		case <-n.writersDone:
		case <-time.After(2*scheduler.StopGrace + 4*time.Second):
			// the dispatcher's own bounds and some more
		}
		n.closing.Store(true) // a node that finds the port closed may take over
		n.server.Stop()
		stopStore()
		close(done)
	}()
	err := group.Wait()
	<-done
	return err
}

// lead waits for the first view that lists this boot, then builds the engine
// and keeps it in step with the views.
func (n *Node) lead(ctx context.Context) error {
	defer close(n.writersDone)
	changed := n.members.Watch()
	for !n.listed() {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
	if err := n.spread.Found(); err != nil {
		return err
	}
	if err := n.buildEngine(ctx); err != nil {
		return err
	}
	e := n.engine.Load()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.moves.Run(ctx) })
	group.Go(func() error { return e.dispatcher.Run(ctx) })
	group.Go(func() error { return e.turns.Run(ctx) })
	group.Go(func() error { return n.pipelineRun(ctx, e) })
	group.Go(func() error { return n.heartbeat.Run(ctx) })
	group.Go(func() error { return n.clocks.Run(ctx) })
	group.Go(func() error { return n.outbox.Run(ctx) })
	group.Go(func() error { return n.rankingRun(ctx) })
	group.Go(func() error { return n.indexer.Run(ctx) })
	group.Go(func() error { return n.permits.Run(ctx) })
	group.Go(func() error { return n.finisher.Run(ctx) })
	group.Go(func() error { return n.revisitRun(ctx) })
	group.Go(func() error { return n.measure(ctx) })
	group.Go(func() error { return n.followViews(ctx, e) })
	group.Go(func() error { return scheduler.FollowLease(ctx, n.members, e.dispatcher) })
	group.Go(func() error { return n.joinCrawl(ctx) })
	return group.Wait()
}

// listed reports whether the installed view lists this very boot: until then
// the node may hold nothing (ownership rule 6).
func (n *Node) listed() bool {
	v := n.members.Snapshot().View
	return v != nil && v.Lists(n.id, n.members.Self().Boot)
}

// buildEngine makes the parts that need the number of partitions.
func (n *Node) buildEngine(ctx context.Context) error {
	snap := n.members.Snapshot()
	c := snap.View.Cluster
	if err := n.founder().Begin(ctx, snap.View, n.id); err != nil {
		return err
	}
	e := &engine{partitions: c.Partitions, replication: c.Replication}
	e.turns = n.newTurns(e)
	e.guests = n.newGuests(e)
	e.dispatcher = n.newDispatcher(e.turns, e.guests)
	e.completer = links.NewCompleter(n.router, n.outbox, countedVisits{e.dispatcher, n.revisits},
		links.Results{Outcomes: n.report, Failures: n.outputs, Payloads: n.contents})
	store := transfer.NewStore(n.front)
	loaded, err := n.loadedPartitions(ctx, store)
	if err != nil {
		return err
	}
	e.desk = n.newDesk(e)
	fetching := moveFetching{Dispatcher: e.dispatcher, node: n}
	if m, _ := n.front.Meta(0); m.State == frontier.Holder {
		fetching.loaded = m.Epoch
	}
	e.moves = handoff.NewDriver(handoff.Options{
		Self: n.id, Boot: n.members.Self().Boot, Partitions: c.Partitions, Factor: c.Replication,
		Limits: handoff.Limits{Out: tokensAtOnce},
		Store:  store, Fetching: e.turns.Beside(fetching, n.viewNumber),
		Transport: transfer.Transport{Pool: n.pool, Target: n.target},
		Changed:   n.holdingsChanged, HandedOver: n.timings.Pause.Observe, Logger: n.log,
		Hints: hints.Options{Dir: n.dir.Join("tail"), Keep: n.cfg.CatchUp, Free: n.freeForHints},
	}, loaded)
	n.engine.Store(e)
	return nil
}

// founder gives this node the partitions of a cluster that it founds.
func (n *Node) founder() transfer.Founder {
	return transfer.Founder{
		Dir:      n.dir,
		Frontier: n.front,
		Store:    n.kv,
		Room:     n.space.RoomForNew,
		Logger:   n.log,
	}
}

// freeForHints is the space on the disk of which what replicas miss may take a share, far above
// where fetching pauses.
func (n *Node) freeForHints() int64 {
	free, err := datadir.FreeBytes(n.dir.Path())
	if err != nil {
		return 0
	}
	return max(0, int64(free)-4*disk.LowBytes)
}

// tokensAtOnce bounds the partitions that a node passes on at a time; the
// copies that go before them are bounded by package handoff. Those that are on
// their way together share the syncs of both disks: on a slow one, that is what
// a move takes.
const tokensAtOnce = 32

// loadedPartitions is what the disk says this node holds.
func (n *Node) loadedPartitions(
	ctx context.Context,
	store transfer.Store,
) ([]handoff.Loaded, error) {
	loaded, suspect, err := store.Loaded(ctx)
	if err != nil {
		return nil, datadir.Failed("set a damaged partition aside", err)
	}
	if suspect > 0 {
		n.log.Warn("part of the store is lost: the best copies there are of these partitions are used",
			"partitions", suspect)
		n.events.Add(events.Damage(time.Now(), n.name, suspect))
	}
	return loaded, nil
}

// followViews passes each view on to the movers and keeps only members' connections.
func (n *Node) followViews(ctx context.Context, e *engine) error {
	installed, barred := crawl.Epoch(0), 0
	changed := n.members.Watch()
	for {
		snap := n.members.Snapshot()
		if snap.View != nil && snap.View.Number > installed && n.fences.Knows(snap.View.Number) {
			if self, _ := snap.View.Member(n.id); installed > 0 &&
				(self.Since > installed || self.ID == "") {
				n.permits.Lapse()
				n.synced.Store(false) // it does not know what was decided meanwhile
				crawl.Signal(n.excluded)
			}
			if len(snap.View.Barred) > barred {
				n.router.ForgetSent() // what only the forgotten node had is sent again
			}
			installed, barred = snap.View.Number, len(snap.View.Barred)
			e.moves.Installed(transfer.ViewFor(n.id, n.members.Self().Boot, snap,
				n.fences.Take(snap.View.Number)))
			n.viewChanged(snap)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-n.fences.Told():
		}
		n.heap.Work()
	}
}

// joinCrawl takes the crawl document and the scope entries over from the other
// members, before this node may judge a link or fetch a page, and again each time
// that it was excluded from the view.
func (n *Node) joinCrawl(ctx context.Context) error {
	for first := true; ; first = false {
		if !n.spread.CatchUp(ctx) {
			return nil
		}
		if first && n.adopt != nil {
			if err := n.adoptFlags(); err != nil {
				return err
			}
		}
		n.synced.Store(true)
		if first {
			close(n.joined)
		}
		n.documentChanged()
		if first {
			n.flags().Warn(n.log)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-n.excluded:
			n.synced.Store(false)
			n.documentChanged()
		}
	}
}

// flags are those of this start, beside the settings that the crawl has.
func (n *Node) flags() *crawldoc.Flags {
	f := &crawldoc.Flags{Self: n.id, Name: n.name, Dir: n.dir.Path(), HTTP: n.http.Addr().String(),
		Version: n.version, Config: &n.cfg, Given: n.given, Document: n.doc}
	if v := n.members.Snapshot().View; v != nil {
		f.Partitions, f.Replication = v.Cluster.Partitions, v.Cluster.Replication
	}
	return f
}

// adoptFlags makes the given settings those of the crawl, for Options.Adopt.
func (n *Node) adoptFlags() error {
	changed, err := n.flags().Adopt(time.Now())
	if refusal := (crawldoc.Refusal{}); errors.As(err, &refusal) {
		return usageError(err)
	}
	if err == nil && len(changed) > 0 {
		n.adopt(changed)
	}
	return err
}

// errFinished ends Run after --exit-when-done.
var errFinished = errors.New("the crawl has ended")

// untilTheEnd ends the node when it was asked to.
func (n *Node) untilTheEnd(ctx context.Context, cancel func()) error {
	for ended := false; !ended; {
		ended = true
		select {
		case <-ctx.Done():
			return nil
		case <-n.stop:
			n.log.Info("stopping now")
		case <-n.finished:
			ended = n.staysFinished(ctx)
		case <-n.drain:
			n.drainer.Leave(ctx)
		}
	}
	cancel()
	return fmt.Errorf("node: %w", errFinished)
}

// staysFinished waits for a moment, in which the others are told of the end; nothing is fetched
// any more. False: it was the end of an earlier run, and the seeds of this one have started the
// crawl again.
func (n *Node) staysFinished(ctx context.Context) bool {
	crawl.Wait(ctx, 2*heartbeat.Every)
	for n.seeder.Active() > 0 && !n.stopped.Load() && crawl.Wait(ctx, 20*time.Millisecond) {
	}
	reason, finished := n.Finished()
	if finished {
		n.log.Info("exiting, as asked, because the crawl has ended", "reason", reason)
	}
	return finished || n.stopped.Load()
}
