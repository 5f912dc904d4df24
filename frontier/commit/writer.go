package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"crawlnode/frontier/storage"
	"crawlnode/local/files"
)

// Request is one atomic change. The writer calls Apply with the group into
// which it goes; Apply either returns an error and has changed nothing, or
// nil. done gets the answer once the group is committed.
type Request struct {
	Apply func(*Group) error
	Solo  bool // it goes into a group of its own
	// Patient requests wait for others, at most for Options.CommitPace.
	Patient bool
	// Small requests go on while the disk is full: they write nothing, or what has a
	// place in the store's reserve. Apply may then be called again.
	Small bool
	Sync  bool // it is answered when the group is synced to disk
	// Entries and Bytes are what it puts into the group; 0 for one that adds no
	// more than a request may have.
	Entries, Bytes int
	ctx            context.Context // of the caller; bounds the wait for space
	err            error
	done           chan error
}

// Do hands a request to the writer and waits for the answer. Since the channel
// has no buffer, a request that was accepted is always answered.
func (w *Writer) Do(ctx context.Context, r *Request) error {
	r.done, r.ctx = make(chan error, 1), ctx
	select {
	case w.in <- r:
		return <-r.done
	case <-w.stopped:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Change is Do for an ordinary request, which is patient.
func (w *Writer) Change(ctx context.Context, apply func(*Group) error) error {
	return w.Do(ctx, &Request{Apply: apply, Patient: true})
}

// Run is the writer: the one goroutine that changes the frontier. It returns
// when ctx has ended, all accepted requests are answered and the filters are
// saved; or, with the error, when the store fails, which nothing here can mend.
// Call it once.
func (w *Writer) Run(ctx context.Context) error {
	bg, cancel := context.WithCancel(ctx)
	defer cancel()
	var background sync.WaitGroup
	background.Go(func() { w.rebuildFilters(bg) })
	background.Go(func() { w.sweep(bg) })
	over := make(chan struct{})
	go func() {
		background.Wait()
		close(over)
	}()
	synced := make(chan struct{})
	go func() {
		w.syncs.run()
		close(synced)
	}()
	err := w.serve(over, cancel)
	w.syncs.close()
	<-synced
	if err == nil {
		err = w.syncs.failure()
	}
	close(w.stopped)
	if err == nil {
		err = w.saveFilters()
	}
	return err
}

// serve answers requests until the background is over, then those that still
// wait. After the first failure of the store it changes nothing any more and
// answers everything with that failure.
func (w *Writer) serve(over <-chan struct{}, cancel func()) error {
	var failed error
	step := func(rs []*Request) {
		if failed == nil {
			failed = w.work(rs)
		} else {
			answer(rs, failed)
		}
		if failed != nil {
			answer(w.held, failed)
			w.held = nil
		}
	}
	syncFailed := w.syncs.failed
	look := time.NewTicker(storage.SpaceAgain)
	defer look.Stop()
	var last time.Time // when the last group was begun
	for {
		var again <-chan time.Time // nil: a ticker for which nobody waits wakes nothing
		if len(w.held) > 0 {
			again = look.C
		}
		select {
		case r := <-w.in:
			rs := w.gather(r, time.Until(last.Add(w.pace())))
			last = time.Now()
			step(rs)
		case <-again:
			step(w.takeHeld())
		case <-syncFailed:
			syncFailed = nil
			if failed == nil {
				failed = w.syncs.failure()
			}
		case <-over:
			rest := w.waiting(w.takeHeld())
			if len(rest) == 0 {
				return failed
			}
			step(rest)
			answer(w.held, storage.ErrNoSpace) // a full disk must not keep the node from stopping
			w.held = nil
		}
		if failed != nil {
			cancel()
		}
	}
}

// pace is the least time between the beginnings of two commits now. The more members a cluster has,
// the fewer requests of each come within a time, and each commit has its messages to replicas.
func (w *Writer) pace() time.Duration {
	pace := w.O.CommitPace
	if w.O.Members == nil {
		return pace
	}
	return min(pace+pace/2*time.Duration(max(w.O.Members()-1, 0)), pace*9/2)
}

// MaxGroup bounds the requests that are taken at once.
const MaxGroup = 512

// gather takes first and, while all are patient, what comes within wait; then whatever
// else waits. A commit costs as much as several small requests, and each mutation costs
// a message to every replica and an answer. Waiting 10 ms makes a page a tenth cheaper
// (decision 0247).
func (w *Writer) gather(first *Request, wait time.Duration) []*Request {
	rs := []*Request{first}
	if !first.Patient || wait <= 0 {
		return w.waiting(rs)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for len(rs) < MaxGroup {
		select {
		case r := <-w.in:
			if rs = append(rs, r); !r.Patient {
				return w.waiting(rs)
			}
		case <-timer.C:
			return w.waiting(rs)
		}
	}
	return rs
}

// waiting takes the requests whose callers wait at this moment, after rs.
func (w *Writer) waiting(rs []*Request) []*Request {
	for len(rs) < MaxGroup {
		select {
		case r := <-w.in:
			rs = append(rs, r)
		default:
			return rs
		}
	}
	return rs
}

// work commits the requests in one or more groups and answers them, save those
// that have to wait for the disk. Its error is a failure of the store.
func (w *Writer) work(rs []*Request) error {
	for len(rs) > 0 {
		full := w.room()
		missing := full
		if full == nil {
			missing = w.before(rs)
		}
		if errors.Is(missing, storage.ErrNoSpace) {
			if rs = w.hold(rs); len(rs) == 0 {
				return nil
			}
		} else if missing != nil {
			err := w.broken(missing)
			answer(rs, err)
			return err
		}
		g := newGroup(w)
		n := 0
		for n < len(rs) && (n == 0 || !rs[n].Solo && !rs[n-1].Solo && g.hasRoom(rs[n])) {
			rs[n].err = rs[n].Apply(g)
			n++
		}
		begun := time.Now()
		err := g.commit(full)
		if w.O.OnCommit != nil && len(g.entries) > 0 { // a beat writes nothing
			w.O.OnCommit(time.Since(begun))
		}
		if errors.Is(err, storage.ErrNoSpace) { // it is not that small
			w.held, rs = append(w.held, rs[:n]...), rs[n:]
			continue
		}
		if err != nil {
			err = w.broken(err)
			answer(rs, err)
			return err
		}
		for _, r := range rs[:n] {
			if r.Sync && r.err == nil {
				w.syncs.add(r)
			} else {
				r.done <- r.err
			}
		}
		rs = rs[n:]
	}
	return nil
}

// before has written what must be on the disk before these requests are: what they say is done was
// handed to it before they came here. It is called before any of them is applied: only a small one
// may be applied twice.
func (w *Writer) before(rs []*Request) error {
	if w.O.BeforeCommit == nil || !slices.ContainsFunc(rs, func(r *Request) bool { return !r.Small }) {
		return nil
	}
	err := w.writing.during(w.O.BeforeCommit)
	if files.NoRoom(err) {
		return fmt.Errorf("%w: %w", storage.ErrNoSpace, err)
	}
	return err
}

// broken is the answer to every request once the store has failed.
func (w *Writer) broken(err error) error {
	err = fmt.Errorf("frontier: the store failed, nothing more is written: %w", err)
	w.log.Error("the store of the frontier failed", "node", w.O.Node, "err", err)
	return err
}

// Hurry ends all waits for disk space, now and later. It is for a node that stops.
func (w *Writer) Hurry() { w.hurried.Store(true) }

// hold sets the requests aside that need space on the disk, and returns the others.
// They wait until there is some, or until their callers have gone.
func (w *Writer) hold(rs []*Request) (small []*Request) {
	for _, r := range rs {
		if r.Small {
			small = append(small, r)
		} else {
			w.held = append(w.held, r)
		}
	}
	return small
}

// takeHeld returns what has waited for space and is still wanted.
func (w *Writer) takeHeld() (rs []*Request) {
	held := w.held
	w.held = nil
	var full error // that a node which stops does not wait for
	if w.hurried.Load() {
		if full = w.room(); full == nil {
			full = w.before(held)
		}
	}
	for _, r := range held {
		switch err := r.ctx.Err(); {
		case err != nil:
			r.done <- fmt.Errorf("%w: %w", storage.ErrNoSpace, err)
		case errors.Is(full, storage.ErrNoSpace):
			r.done <- storage.ErrNoSpace
		default:
			rs = append(rs, r)
		}
	}
	return rs
}

func answer(rs []*Request, err error) {
	for _, r := range rs {
		r.done <- err
	}
}

// isStop reports whether a background task ended because the frontier does.
func isStop(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, ErrStopped)
}

// Alone is Do for a request that changes what partitions are: it has a group
// of its own, so nothing else in the group sees two generations. It is small: a full
// disk does not keep partitions from changing hands.
func (w *Writer) Alone(ctx context.Context, toDisk bool, apply func(*Group) error) error {
	return w.Do(ctx, &Request{Apply: apply, Solo: true, Small: true, Sync: toDisk})
}
