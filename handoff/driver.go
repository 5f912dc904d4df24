package handoff

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// retryEvery is how often what broke, or was told "later", is tried.
const retryEvery = 100 * time.Millisecond

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
	// HandedOver, when set, is told how long nobody crawled the hosts of a partition
	// that went to another node: from its freeze to the receiver's word. It must
	// not block.
	HandedOver func(pause time.Duration)
	// TailDir is the folder for what replicas miss while they do not answer; "": it is
	// not kept, and they are copied as a whole. TailRoom, when set, says whether the
	// disk has space for some of it.
	TailDir  string
	TailRoom func() bool
	Logger   *slog.Logger
}

// Driver carries the machine's decisions out. Run must be running for any
// other method to return.
type Driver struct {
	opts    Options
	machine *machine.Machine            // owned by Run
	absent  map[crawl.Partition]absence // of what this node should hold and cannot have; owned by Run
	inbox   chan machine.Event
	done    chan struct{} // closed when Run returns
	limiter *rate.Limiter
	started time.Time
	ctx     context.Context // ends with Run
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	moves   map[crawl.Partition]*move         // owned by Run
	froze   map[crawl.Partition]time.Duration // when; owned by Run
	single  map[crawl.Partition]time.Duration // since when there is one copy only; owned by Run
	gate    gate
	marks   marks
	wanted  wantedCopies
	bases   *bases
	acks    *ackBook
	peers   *replicas
	sets    *recorder
	tail    *tail
	status  atomic.Pointer[Status]
	words   atomic.Pointer[words]
	turn    atomic.Int64 // when the event at hand last got on, in nanoseconds from started, at least 1; 0: none is
	bytes   atomic.Int64
	// copied and caughtUp count the replicas that were brought up by a copy and from
	// the tail.
	copied, caughtUp atomic.Int64

	came      chan struct{} // capacity 1: arrivals are not empty
	arrivedMu sync.Mutex    // guards arrivals
	arrivals  map[crawl.Partition]crawl.Epoch
}

// NewDriver returns a driver that Run starts. loaded is what the disk says.
func NewDriver(o Options, loaded []machine.Loaded) *Driver {
	if o.BytesPerSecond == 0 {
		o.BytesPerSecond = 64 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Driver{opts: o, machine: machine.New(o.Self, o.Partitions, o.Factor, o.Limits),
		inbox: make(chan machine.Event, 256), done: make(chan struct{}), started: time.Now(),
		limiter: rate.NewLimiter(rate.Limit(o.BytesPerSecond), 1<<20),
		moves:   map[crawl.Partition]*move{}, froze: map[crawl.Partition]time.Duration{}, single: map[crawl.Partition]time.Duration{}, absent: map[crawl.Partition]absence{}, acks: newAckBook(o.Partitions),
		came: make(chan struct{}, 1), arrivals: map[crawl.Partition]crawl.Epoch{}}
	d.marks.parts = map[crawl.Partition]mark{}
	d.wanted.parts = map[crawl.Partition]machine.RequestCopy{}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.bases = findBases(o.Store, loaded)
	d.peers = newReplicas(d)
	d.sets = newRecorder(d)
	d.tail = newTail(o.TailDir, o.TailRoom, o.Logger)
	for _, l := range loaded {
		d.machine.Step(l)
	}
	d.sayWords(nil)
	d.publish()
	return d
}

// now is the driver's clock.
func (d *Driver) now() time.Duration { return time.Since(d.started) }

// CaughtUp counts the replicas that went on where they were after a silence, Copied
// those that were copied as a whole.
func (d *Driver) CaughtUp() int64 { return d.caughtUp.Load() }

// Copied is explained at CaughtUp.
func (d *Driver) Copied() int64 { return d.copied.Load() }

// BytesMoved counts the bytes of snapshots sent and received so far.
func (d *Driver) BytesMoved() int64 { return d.bytes.Load() }

// Members says who the members of an installed view are.
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
// over. Whoever posts does it under a context that Run cancels before it waits
// for him, so a full inbox cannot lock the two.
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
	defer d.peers.end()
	defer d.acks.close()
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
	d.wg.Go(func() { d.tail.run(ctx) })
	retry := time.NewTicker(retryEvery)
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
	}
}

// getsOn notes that the event at hand has made a step.
func (d *Driver) getsOn() { d.turn.Store(max(1, int64(d.now()))) }

// Stalled is for how long the driver has not got on with the event at hand: it waits
// for the disk. 0: it is idle.
func (d *Driver) Stalled() time.Duration {
	turn := d.turn.Load()
	if turn == 0 {
		return 0
	}
	return d.now() - time.Duration(turn)
}

// takeArrivals empties what the receivers have left.
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
		d.wanted.clear()
		d.gate.install(&v.Members)
		d.peers.keep(v.Boots)
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

// step feeds events to the machine and does what it says. Actions that finish at
// once feed their own events.
func (d *Driver) step(ctx context.Context, events []machine.Event) error {
	acted := false
	for len(events) > 0 {
		d.getsOn()
		var actions []machine.Action
		for _, e := range events {
			actions = append(actions, d.machine.Step(e)...)
		}
		acted = acted || len(actions) > 0
		if len(actions) > 0 || d.words.Load().view != d.machine.View() {
			d.sayWords(actions)
		}
		var err error
		if events, err = d.performAll(ctx, actions); err != nil {
			return err
		}
	}
	if acted {
		d.sayWords(nil)
	}
	if acted || d.status.Load().stale(d.now()) {
		d.publish()
	}
	return nil
}
