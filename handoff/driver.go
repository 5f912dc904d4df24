package handoff

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"crawlnode/crawl"
)

// retryEvery is how often moves that broke, or were told "later", are tried.
const retryEvery = 100 * time.Millisecond

// Entry is one key of a partition, relative to it; Deleted in a Mutation only.
type Entry struct {
	Key, Value []byte
	Deleted    bool
}

// Mutation is one numbered change of a partition.
type Mutation struct {
	Seq     crawl.Seq
	Entries []Entry
}

// Store is the node's frontier as the driver needs it. A returned error other
// than a cancelled context, from the methods that name it, ends the driver:
// a disk that cannot keep a release cannot keep a promise.
type Store interface {
	// Export attaches a tail and opens a snapshot of a held or released partition.
	Export(ctx context.Context, p crawl.Partition) (Export, error)
	// BeginImport makes room for a fresh copy.
	BeginImport(ctx context.Context, p crawl.Partition) (Import, error)
	// Freeze makes the store refuse every change of p; Unfreeze undoes that.
	Freeze(ctx context.Context, p crawl.Partition) error
	Unfreeze(ctx context.Context, p crawl.Partition) error
	// StoreReleased and StoreHolder are on disk when they return; fatal.
	StoreReleased(ctx context.Context, p crawl.Partition, to crawl.NodeID, view crawl.Epoch) error
	StoreHolder(ctx context.Context, p crawl.Partition) error
	// Delete forgets a released partition; fatal.
	Delete(ctx context.Context, p crawl.Partition) error
}

// Export is an outgoing copy.
type Export interface {
	Snapshot(ctx context.Context, chunkBytes int, f func([]Entry) error) error
	// Tail blocks for the next mutations. It gives io.EOF when the partition is
	// frozen and everything was given.
	Tail(ctx context.Context) ([]Mutation, error)
	// Lag is how many mutations wait for Tail.
	Lag() int
	// Seq is the last mutation that the snapshot holds.
	Seq() crawl.Seq
	Close()
}

// Import is an arriving copy. Commit is on disk when it returns; an error other
// than ErrImportOver is fatal.
type Import interface {
	Put(ctx context.Context, es []Entry) error
	Apply(ctx context.Context, ms []Mutation) error
	// Seq is the last mutation that has arrived.
	Seq() crawl.Seq
	Commit(ctx context.Context, epoch crawl.Epoch) error
	Abort(ctx context.Context)
}

// Fetching is the node's dispatcher.
type Fetching interface {
	// Freeze hands out no more visits of p and returns when all were settled.
	Freeze(ctx context.Context, p crawl.Partition) error
	// Resume undoes Freeze.
	Resume(p crawl.Partition)
	// Hold starts the visits of a partition that was just acquired.
	Hold(p crawl.Partition, epoch crawl.Epoch)
}

// Transport opens streams to other nodes.
type Transport interface {
	Move(ctx context.Context, to crawl.NodeID) (Stream, error)
}

// Stream is one move, seen from the sender.
type Stream interface {
	Offer(p crawl.Partition, view, epoch crawl.Epoch, released bool) (Reply, error)
	Chunk(es []Entry) error
	Tail(ms []Mutation) error
	Token(seq crawl.Seq) (Reply, error)
	Close()
}

// Options configure a Driver. All fields but Logger and BytesPerSecond are required.
type Options struct {
	Self           crawl.NodeID
	Partitions     int
	Limits         Limits
	BytesPerSecond float64 // of all snapshots together; 0: 64 MiB
	Store          Store
	Fetching       Fetching
	Transport      Transport
	// Changed is called after each change of who holds what; it must not block.
	Changed func()
	Logger  *slog.Logger
}

// Driver carries the machine's decisions out. Run must be running for any
// other method to return.
type Driver struct {
	opts    Options
	machine *Machine // owned by Run
	inbox   chan Event
	done    chan struct{} // closed when Run returns
	limiter *rate.Limiter
	wg      sync.WaitGroup
	sends   map[crawl.Partition]*sender    // owned by Run
	imports map[crawl.Partition]*receiving // owned by Run
	status  atomic.Pointer[Status]
	bytes   atomic.Int64
}

// Status is what the driver says of itself.
type Status struct {
	View        crawl.Epoch
	Moving      int // on their way now
	Outstanding int // that must still leave or arrive, those on their way included
	Held        int
	States      []State // by partition
}

// NewDriver returns a driver that Run starts. loaded is what the disk says.
func NewDriver(o Options, loaded []Loaded) *Driver {
	if o.BytesPerSecond == 0 {
		o.BytesPerSecond = 64 << 20
	}
	d := &Driver{opts: o, machine: NewMachine(o.Self, o.Partitions, o.Limits),
		inbox: make(chan Event, 64), done: make(chan struct{}),
		limiter: rate.NewLimiter(rate.Limit(o.BytesPerSecond), 1<<20),
		sends:   map[crawl.Partition]*sender{}, imports: map[crawl.Partition]*receiving{}}
	for _, l := range loaded {
		d.machine.Step(l)
	}
	d.publish()
	return d
}

// Status returns the driver's state as of its last event.
func (d *Driver) Status() *Status { return d.status.Load() }

// BytesMoved counts the bytes of snapshots sent and received so far.
func (d *Driver) BytesMoved() int64 { return d.bytes.Load() }

// Installed tells the driver that a view is installed durably. It blocks while
// the inbox is full.
func (d *Driver) Installed(v ViewInstalled) { d.post(context.Background(), v) }

// post hands an event to Run; it is dropped when the driver has ended or ctx is
// over. A sender posts under its own ctx, which Run cancels before it waits for
// the sender, so a full inbox cannot lock the two.
func (d *Driver) post(ctx context.Context, e Event) bool {
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
	ctx, cancel := context.WithCancel(ctx)
	defer d.wg.Wait()
	defer cancel()
	defer d.abandon(context.WithoutCancel(ctx))
	defer close(d.done)
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case e := <-d.inbox:
			err = d.step(ctx, e)
		case <-retry.C:
			err = d.step(ctx, Retry{})
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// step feeds one event to the machine and does what it says. Actions that
// finish at once feed their own event.
func (d *Driver) step(ctx context.Context, e Event) error {
	if b, ok := e.(began); ok {
		d.adopt(ctx, b)
		return nil
	}
	todo := []Event{e}
	for len(todo) > 0 {
		actions := d.machine.Step(todo[0])
		todo = todo[1:]
		for _, a := range actions {
			next, err := d.perform(ctx, a)
			if err != nil {
				return err
			}
			if next != nil {
				todo = append(todo, next)
			}
		}
		if _, idle := e.(Retry); !idle || len(actions) > 0 {
			d.publish()
		}
	}
	return nil
}

func (d *Driver) publish() {
	m := d.machine
	s := &Status{View: m.view, States: make([]State, len(m.parts))}
	s.Moving, s.Outstanding = m.Progress()
	for i := range m.parts {
		s.States[i] = m.parts[i].state
		switch m.parts[i].state {
		case Holding, Copying, Freezing:
			s.Held++
		}
	}
	d.status.Store(s)
}

// perform does one action. The event it returns, if any, goes to the machine next.
func (d *Driver) perform(ctx context.Context, a Action) (Event, error) {
	switch a := a.(type) {
	case StartCopy:
		d.startSender(ctx, a)
	case AbortCopy:
		d.endSender(a.P)
	case Freeze:
		d.tell(a.P, a.Attempt, orderFreeze)
	case PassToken:
		d.tell(a.P, a.Attempt, orderPass)
	case Resume:
		if err := d.opts.Store.Unfreeze(ctx, a.P); err != nil {
			return nil, fmt.Errorf("handoff: unfreeze partition %d: %w", a.P, err)
		}
		d.opts.Fetching.Resume(a.P)
	case StoreReleased:
		if err := d.opts.Store.StoreReleased(ctx, a.P, a.To, a.View); err != nil {
			return nil, fmt.Errorf("handoff: store the release of partition %d: %w", a.P, err)
		}
		return ReleaseStored{P: a.P, Attempt: a.Attempt}, nil
	case StoreHolder:
		d.endSender(a.P)
		if err := d.opts.Store.StoreHolder(ctx, a.P); err != nil {
			return nil, fmt.Errorf("handoff: take partition %d back: %w", a.P, err)
		}
		d.opts.Fetching.Resume(a.P)
		d.opts.Changed()
	case Delete:
		d.endSender(a.P)
		if err := d.opts.Store.Delete(ctx, a.P); err != nil {
			return nil, fmt.Errorf("handoff: delete partition %d: %w", a.P, err)
		}
		d.opts.Changed()
	case Answer:
		a.To <- a
	case BeginImport, AbortImport, CommitImport, Acquired:
		return d.performImport(ctx, a)
	default:
		panic(fmt.Sprintf("BUG: unknown action %T", a))
	}
	return nil, nil
}
