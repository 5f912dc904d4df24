package handoff

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/acks"
	"crawlnode/handoff/copies"
	"crawlnode/handoff/hints"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/replication"
	"crawlnode/ticks"
)

const (
	// retryEvery is how often what broke, or was told "later", is tried.
	retryEvery = 100 * time.Millisecond
	// restEvery is how often the machine gets a turn while nothing waits for one: for its sweeps.
	restEvery = 5 * time.Second
)

// Options configure a Driver. All fields but Logger and BytesPerSecond are required.
type Options struct {
	Self           crawl.NodeID
	Boot           crawl.Boot
	Partitions     int
	Factor         int // copies of a partition, the holder's included
	Limits         Limits
	BytesPerSecond float64 // of all snapshots together; 0: 64 MiB
	Store          Store
	Fetching       Fetching
	Transport      Transport
	// Changed is called after each change of who holds what; it must not block.
	Changed func()
	// HandedOver, when set, is told how long no node crawled the hosts of a partition
	// that went to another node: from its freeze to the receiver's answer. It must
	// not block.
	HandedOver func(pause time.Duration)
	// Hints is what is kept of what replicas miss while they do not answer. The zero value keeps
	// nothing, and they are copied as a whole. Its Logger is set to that of the driver.
	Hints  hints.Options
	Logger *slog.Logger
}

// Driver carries the machine's decisions out. Run must be running for any
// other method to return.
type Driver struct {
	opts      Options
	machine   *machine.Machine // owned by Run
	inbox     chan machine.Event
	done      chan struct{} // closed when Run returns
	started   time.Time
	ctx       context.Context // ends with Run
	cancel    context.CancelFunc
	wg        sync.WaitGroup
	moves     map[crawl.Partition]*move         // owned by Run
	froze     map[crawl.Partition]time.Duration // when; owned by Run
	single    map[crawl.Partition]time.Duration // since when there is one copy only; owned by Run
	absent    map[crawl.Partition]absence       // what should be here and is not; owned by Run
	gate      gate
	acks      *acks.Tracker
	hints     *hints.Log
	replicas  *replication.Replicas
	copies    *copies.Copies
	sets      *recorder
	status    atomic.Pointer[Status]
	behind    bool // an event has come since status was published; owned by Run
	ownership atomic.Pointer[ownership]
	// when the event at hand last made a step, in nanoseconds from started, at least 1; 0: there is
	// none
	turn atomic.Int64

	came      chan struct{} // capacity 1: arrivals are not empty
	arrivedMu sync.Mutex    // guards arrivals
	arrivals  map[crawl.Partition]crawl.Epoch
}

// NewDriver returns a driver that Run starts. loaded is what the disk held. The hints of the last
// process are taken up here, before the store changes.
func NewDriver(o Options, loaded []machine.Loaded) *Driver {
	if o.BytesPerSecond == 0 {
		o.BytesPerSecond = 64 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Hints.Logger = o.Logger
	d := &Driver{opts: o, machine: machine.New(o.Self, o.Partitions, o.Factor, o.Limits),
		inbox: make(chan machine.Event, 256), done: make(chan struct{}), started: time.Now(),
		moves: map[crawl.Partition]*move{}, froze: map[crawl.Partition]time.Duration{},
		single: map[crawl.Partition]time.Duration{}, absent: map[crawl.Partition]absence{},
		acks: acks.New(o.Partitions), hints: hints.New(o.Hints),
		came: make(chan struct{}, 1), arrivals: map[crawl.Partition]crawl.Epoch{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.replicas = replication.New(d.ctx, replication.Options{
		Boot: o.Boot, Store: o.Store, Transport: o.Transport, Call: d.call, Post: d.post,
		Acks: d.acks, Hints: d.hints, BytesPerSecond: o.BytesPerSecond, Logger: o.Logger}, loaded)
	d.copies = copies.New(copies.Options{Partitions: o.Partitions, Store: o.Store, Gate: &d.gate,
		Call: d.call, Arrived: d.arrived, Changed: o.Changed, History: d.hints, Logger: o.Logger})
	d.sets = newRecorder(d)
	d.replicas.ResumeHints(d.ctx)
	for _, l := range loaded {
		d.machine.Step(l)
	}
	d.publishOwnership(nil)
	d.publish()
	return d
}

// now is the driver's clock.
func (d *Driver) now() time.Duration { return time.Since(d.started) }

// CaughtUp counts the replicas that went on where they were after a silence, Copied
// those that were copied as a whole.
func (d *Driver) CaughtUp() int64 { return d.replicas.CaughtUp() }

// Copied is explained at CaughtUp.
func (d *Driver) Copied() int64 { return d.replicas.Copied() }

// HintBytes is what is kept on the disk of what replicas miss.
func (d *Driver) HintBytes() int64 { return d.hints.Bytes() }

// BytesMoved counts the bytes of snapshots sent and received so far.
func (d *Driver) BytesMoved() int64 { return d.replicas.BytesSent() + d.copies.BytesReceived() }

// Members are the members of an installed view, by their boots.
type Members struct {
	ViewInstalled
	Boots map[crawl.NodeID]crawl.Boot
}

// Installed tells the driver that a view is installed durably. It blocks while
// the inbox is full.
func (d *Driver) Installed(m Members) { d.post(context.Background(), installed{m}) }

// installed is the driver's own: it closes the gate before the machine steps.
type installed struct{ Members }

// post hands an event to Run; it is dropped when the driver has ended or ctx is
// over. A goroutine that Run waits for posts under a context that Run cancels before,
// so a full inbox cannot lock the two.
func (d *Driver) post(ctx context.Context, e machine.Event) bool {
	select {
	case d.inbox <- e:
		return true
	case <-d.done:
		return false
	case <-ctx.Done():
		return false
	}
}

// Run owns the machine until ctx ends or the disk fails. It returns when every
// goroutine that it started has ended.
func (d *Driver) Run(ctx context.Context) error {
	unhook := context.AfterFunc(ctx, d.cancel)
	defer unhook()
	defer d.wg.Wait()
	defer d.replicas.End()
	defer d.acks.Close()
	defer d.cancel()
	defer close(d.done)
	ctx = d.ctx
	var fatal error
	failed := make(chan struct{})
	d.wg.Go(func() {
		if err := d.sets.run(ctx); err != nil {
			fatal = err
			close(failed)
		}
	})
	d.wg.Go(func() { d.hints.Run(ctx) })
	retry := ticks.New(retryEvery)
	defer retry.Stop()
	for {
		var err error
		d.turn.Store(0)
		select {
		case <-ctx.Done():
			return nil
		case <-failed:
			return fatal
		case e := <-d.inbox:
			err = d.take(ctx, e)
		case <-d.came:
			err = d.step(ctx, d.takeArrivals())
		case <-retry.C:
			err = d.step(ctx, []machine.Event{machine.Retry{Now: d.now()}})
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		retry.Reset(d.pace())
	}
}

// pace is how often the machine needs a turn, after an event.
func (d *Driver) pace() time.Duration {
	if d.machine.Waits() || d.behind {
		return retryEvery
	}
	return restEvery
}

// progressed notes that the event at hand has made a step.
func (d *Driver) progressed() { d.turn.Store(max(1, int64(d.now()))) }

// Stalled is for how long the event at hand has made no step, because the disk does not
// answer. 0: the driver is idle.
func (d *Driver) Stalled() time.Duration {
	turn := d.turn.Load()
	if turn == 0 {
		return 0
	}
	return d.now() - time.Duration(turn)
}

// arrived takes the arrival of a copy of a later tenure from a stream or a call. It does
// not wait for Run, which may wait for the gate.
func (d *Driver) arrived(p crawl.Partition, epoch crawl.Epoch) {
	d.arrivedMu.Lock()
	d.arrivals[p] = max(d.arrivals[p], epoch)
	d.arrivedMu.Unlock()
	crawl.Signal(d.came)
}

// HandleStream takes copies and mutations from another node until the stream
// ends. The error is for that node.
func (d *Driver) HandleStream(ctx context.Context, from crawl.NodeID, s Stream) error {
	return d.copies.HandleStream(ctx, from, s)
}

// takeArrivals returns the arrivals since the last time as events.
func (d *Driver) takeArrivals() []machine.Event {
	d.arrivedMu.Lock()
	defer d.arrivedMu.Unlock()
	var es []machine.Event
	for p, epoch := range d.arrivals {
		es = append(es, machine.CopyArrived{P: p, Epoch: epoch})
	}
	clear(d.arrivals)
	return es
}

// maxTogether bounds the events that are taken at once, so that what they store
// shares a sync of the disk.
const maxTogether = 64

// take feeds an event to the machine, together with those that wait behind it. A
// view is always alone, and each partition comes once: what an event orders to be
// stored is on disk before the next one of the partition is looked at.
func (d *Driver) take(ctx context.Context, e machine.Event) error {
	if v, ok := e.(installed); ok {
		d.copies.ViewChanges()
		d.gate.install(&v.Members)
		d.replicas.KeepMembers(v.Boots)
		d.sets.setView(v.View, v.ViewInstalled.Members)
		v.Now = d.now()
		return d.step(ctx, []machine.Event{v.ViewInstalled})
	}
	events := []machine.Event{e}
	at := machine.EventPart(e)
	seen := map[crawl.Partition]bool{at: true}
	for at != machine.NoPartition && len(events) < maxTogether {
		select {
		case next := <-d.inbox:
			if at = machine.EventPart(next); at == machine.NoPartition || seen[at] {
				if err := d.step(ctx, events); err != nil {
					return err
				}
				return d.take(ctx, next)
			}
			seen[at] = true
			events = append(events, next)
			continue
		default:
		}
		break
	}
	return d.step(ctx, events)
}

// step feeds events to the machine and does what it orders. Actions that finish at
// once feed their own events.
func (d *Driver) step(ctx context.Context, events []machine.Event) error {
	acted := false
	for len(events) > 0 {
		d.progressed()
		var actions []machine.Action
		for _, e := range events {
			actions = append(actions, d.machine.Step(e)...)
		}
		acted = acted || len(actions) > 0
		if len(actions) > 0 || d.ownership.Load().view != d.machine.View() {
			d.publishOwnership(actions)
		}
		var err error
		if events, err = d.performAll(ctx, actions); err != nil {
			return err
		}
	}
	if acted {
		d.publishOwnership(nil)
	}
	d.behind = true
	if s := d.status.Load(); acted || s.View != d.machine.View() || s.stale(d.now()) {
		d.publish()
	}
	return nil
}
