package hints

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

const (
	// maxBytes bounds all files; beyond it the oldest file is deleted. A page costs about 2 KB of
	// mutations, so that a node at 1,200 pages a second needs 8.6 GB for an hour.
	maxBytes = 16 << 30
	// share of the free space, what hints have of it included, that they take at the most.
	share = 8
	// maxFileBytes is the size at which a file is closed and the next one begun.
	maxFileBytes = 64 << 20
	// maxSpans bounds the index in memory: an entry for each partition in each file, of 56 bytes.
	maxSpans = 500_000
	// maxBuffered bounds the bytes that wait to be written.
	maxBuffered = 64 << 20
	// writeBytes is how much is written at once.
	writeBytes = 1 << 20
)

// ErrGone means that the hints do not reach back to the mutation that is asked for:
// the replica has to be copied as a whole.
var ErrGone = errors.New("handoff: the hints do not reach so far back")

// Options configure a Log.
type Options struct {
	Dir  string        // of the files; "": nothing is kept
	Keep time.Duration // how long for a node that does not return; 0: nothing is kept
	// Free is the space on the disk that hints may have a share of, in bytes; nil: unlimited.
	Free   func() int64
	Logger *slog.Logger
}

// Log is the hints of all partitions of a node: one log on disk.
type Log struct {
	opts Options

	mu       sync.Mutex // guards the rest; held for moments, also by the frontier's writer
	parts    map[crawl.Partition]*series
	spans    int // of all series
	buffered int // bytes
	unsaved  []*entry
	files    files
}

// series is the hints of one partition.
type series struct {
	machine.Series
	p     crawl.Partition
	id    uint64                     // in its records: those of an earlier series are none of it
	since map[crawl.NodeID]time.Time // when the nodes of Behind fell behind
	spans []span                     // what is in files, in order
	tail  []*entry                   // behind it, what waits to be written
	gone  bool                       // it is over
}

// span is a part of a series that is in one file.
type span struct {
	f           *file
	first, last crawl.Seq
	at          place // from which the records are found
}

// entry waits to be written: a mutation of a series, or a state.
type entry struct {
	x     *series
	m     *crawl.Mutation
	state []byte // the record; nil: a mutation
	bytes int
}

// New returns a Log. Load reads what an earlier process has left, and Run writes the files.
func New(o Options) *Log {
	if o.Free == nil {
		o.Free = func() int64 { return maxBytes * share }
	}
	return &Log{opts: o, parts: map[crawl.Partition]*series{},
		files: files{dir: o.Dir, most: maxBytes, each: maxFileBytes, wake: make(chan struct{}, 1)}}
}

func (l *Log) keeps() bool { return l.opts.Dir != "" && l.opts.Keep > 0 && !l.files.closed }

// Bytes is what the files have.
func (l *Log) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.files.bytes
}

// Behind is a replica that falls behind: it has acknowledged the mutations up to At.Seq, those up
// to Sent were on their way. Own is where its link was opened.
type Behind struct {
	Node      crawl.NodeID
	P         crawl.Partition
	At        machine.Found
	Own, Sent crawl.Seq
}

// Begin keeps hints for a replica; ms follow what it has acknowledged without a gap. It reports
// whether the caller must Add what comes later: somebody else may do so already.
func (l *Log) Begin(b Behind, ms []crawl.Mutation) (feed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.keeps() {
		return false
	}
	proof := machine.Proof{Epoch: b.At.Epoch, To: b.Sent}
	if x := l.parts[b.P]; x != nil && x.Epoch == b.At.Epoch {
		x.behind(b.Node, proof)
		l.noteLocked(x)
		return false
	}
	l.dropLocked(b.P)
	x := l.beginLocked(b.P, machine.BeginSeries(b.At, b.Own))
	x.behind(b.Node, proof)
	l.noteLocked(x)
	for i := range ms {
		if !l.addLocked(x, ms[i]) {
			return false
		}
	}
	return true
}

func (l *Log) beginLocked(p crawl.Partition, s machine.Series) *series {
	x := &series{Series: s, p: p, id: uint64(time.Now().UnixNano()),
		since: map[crawl.NodeID]time.Time{}}
	l.parts[p] = x
	return x
}

func (x *series) behind(id crawl.NodeID, proof machine.Proof) {
	x.Behind[id], x.since[id] = proof, time.Now()
}

// noteLocked has the state of a series written behind what was added so far.
func (l *Log) noteLocked(x *series) {
	s := x.Clone()
	record := recordJSON(kindState, state{Partition: x.p, ID: x.id, Series: &s, Since: x.since})
	l.queueLocked(&entry{x: x, state: record})
}

func (l *Log) queueLocked(e *entry) {
	l.unsaved = append(l.unsaved, e)
	l.files.wakeWriter()
}

// Promoted is the copy (From, Seq) of a partition that became the partition, held in Epoch, under
// a generation of the store.
type Promoted struct {
	P           crawl.Partition
	Generation  uint32
	Epoch, From crawl.Epoch
	Seq         crawl.Seq
}

// Promote goes on with the hints of a copy that was promoted, and keeps some for members of the
// set that are away: their copies may be exactly the promoted one. The caller must Add what comes
// later, if this returns true.
func (l *Log) Promote(away []crawl.NodeID, b Promoted) (feed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.keeps() {
		return false
	}
	x := l.parts[b.P]
	if x != nil && (x.Generation != b.Generation || !x.Series.Promote(b.From, b.Seq, b.Epoch)) {
		l.dropLocked(b.P)
		x = nil
	}
	if x == nil && len(away) == 0 {
		return false
	}
	if x == nil {
		at := machine.Found{Generation: b.Generation, Epoch: b.Epoch, Seq: b.Seq}
		x = l.beginLocked(b.P, machine.BeginSeries(at, b.Seq))
	}
	for _, id := range away {
		if _, known := x.Behind[id]; !known {
			x.behind(id, machine.Proof{Epoch: b.From, From: b.Seq, To: b.Seq})
		}
	}
	l.noteLocked(x)
	return true
}

// Adopt goes on with the hints of a copy that follows another holder from now on.
func (l *Log) Adopt(p crawl.Partition, from crawl.Epoch, seq crawl.Seq, to crawl.Epoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch x := l.parts[p]; {
	case x == nil:
	case x.Series.Adopt(from, seq, to):
		l.noteLocked(x)
	default:
		l.dropLocked(p)
	}
}

// Add takes the next mutation. False: hints of the partition are not kept any more.
func (l *Log) Add(p crawl.Partition, m crawl.Mutation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.parts[p]
	return x != nil && l.addLocked(x, m)
}

// addLocked drops a series that would have a gap, or for which there is no room.
func (l *Log) addLocked(x *series, m crawl.Mutation) bool {
	n := m.Bytes()
	next, ok := x.Follow(m.Epoch, m.Seq)
	if !ok || next && l.buffered+n > maxBuffered {
		l.dropLocked(x.p)
		return false
	}
	if next { // otherwise two links feed it for a moment
		e := &entry{x: x, m: &m, bytes: n}
		x.tail = append(x.tail, e)
		l.buffered += n
		l.queueLocked(e)
	}
	return true
}

// Continues decides how a node's copy goes on under this node's tenure.
func (l *Log) Continues(
	id crawl.NodeID,
	p crawl.Partition,
	tenure crawl.Epoch,
	c machine.Found,
) machine.Continuation {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.parts[p]; x != nil {
		return x.Series.Continues(id, tenure, c)
	}
	return machine.Anew
}

// Doubts reports whether a node's copy may have other mutations than the one here, although it has
// as many.
func (l *Log) Doubts(id crawl.NodeID, p crawl.Partition, c machine.Found) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.parts[p]
	return x != nil && x.Series.Doubts(id, c)
}

// Resumes tells that a node is being sent what it misses: from now on its copy is of the tenure,
// and has at the most what is sent.
func (l *Log) Resumes(id crawl.NodeID, p crawl.Partition, epoch crawl.Epoch, sent crawl.Seq) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.parts[p]; x != nil && x.Epoch == epoch {
		x.behind(id, machine.Proof{Epoch: epoch, To: sent})
		l.noteLocked(x)
	}
}

// CaughtUp tells that a replica is up to date. The last one ends the series.
func (l *Log) CaughtUp(id crawl.NodeID, p crawl.Partition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.parts[p]
	if x == nil {
		return
	}
	delete(x.Behind, id)
	delete(x.since, id)
	l.changedLocked(x)
}

// changedLocked has it written that fewer nodes are behind: after a restart the proof of one that
// has caught up would raise doubts about its copy. Without any the series is over.
func (l *Log) changedLocked(x *series) {
	if len(x.Behind) == 0 {
		l.dropLocked(x.p)
	} else {
		l.noteLocked(x)
	}
}

// InSync tells that another holder has recorded a set: nodes in it need nothing from here.
func (l *Log) InSync(p crawl.Partition, set machine.Set) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.parts[p]
	if x == nil {
		return
	}
	before := len(x.Behind)
	x.Series.InSync(set)
	maps.DeleteFunc(x.since, func(id crawl.NodeID, _ time.Time) bool {
		_, ok := x.Behind[id]
		return !ok
	})
	if len(x.Behind) < before {
		l.changedLocked(x)
	}
}

// Drop deletes the hints of a partition: its copy here is another one from now on, or none.
func (l *Log) Drop(p crawl.Partition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropLocked(p)
}

func (l *Log) dropLocked(p crawl.Partition) {
	x := l.parts[p]
	if x == nil {
		return
	}
	delete(l.parts, p)
	x.gone = true
	for _, e := range x.tail {
		l.buffered -= e.bytes
		e.m = nil
	}
	x.tail = nil
	l.forget(x, len(x.spans))
	if len(l.parts) == 0 {
		l.files.removeAll()
		return
	}
	l.queueLocked(&entry{state: recordJSON(kindState, state{Partition: p})})
}

// forget gives up the first spans of a series, and the files that no other one needs.
func (l *Log) forget(x *series, n int) {
	for _, s := range x.spans[:n] {
		l.files.release(s.f)
	}
	x.spans = x.spans[n:]
	l.spans -= n
}

// Cursor remembers where a reader is. The zero value is good for any series.
type Cursor struct {
	f      *file
	last   crawl.Seq
	places []uint32
	first  crawl.Seq // of places
}

// Read returns mutations after seq, in order, up to last, and about so many bytes of them.
func (l *Log) Read(
	c *Cursor,
	p crawl.Partition,
	seq, last crawl.Seq,
	bytes int,
) ([]crawl.Mutation, error) {
	l.mu.Lock()
	x := l.parts[p]
	if x == nil || seq < x.Base || last > x.Last {
		l.mu.Unlock()
		return nil, ErrGone
	}
	i := slices.IndexFunc(x.spans, func(s span) bool { return seq < s.last })
	if i < 0 { // all of it waits to be written
		defer l.mu.Unlock()
		var ms []crawl.Mutation
		for _, e := range x.tail {
			if e.m.Seq > seq && e.m.Seq <= last && bytes > 0 {
				ms = append(ms, *e.m)
				bytes -= e.bytes
			}
		}
		return ms, nil
	}
	s := x.spans[i]
	s.f.users++
	l.mu.Unlock()
	ms, err := c.read(p, s, seq, min(last, s.last), bytes)
	l.mu.Lock()
	l.files.release(s.f)
	l.mu.Unlock()
	return ms, err
}

// read reads from one file.
func (c *Cursor) read(
	p crawl.Partition,
	s span,
	seq, last crawl.Seq,
	bytes int,
) (ms []crawl.Mutation, err error) {
	if c.f != s.f || seq+1 < c.first || last > c.last {
		places, err := s.f.back(p, s.at, seq+1)
		if err != nil {
			return nil, err
		}
		*c = Cursor{f: s.f, places: places, first: seq + 1, last: s.at.Last}
	}
	for ; seq < last && bytes > 0; seq++ {
		m, err := s.f.read(p, s.at.ID, seq+1, c.places[seq+1-c.first])
		if err != nil {
			return nil, err
		}
		ms = append(ms, m)
		bytes -= m.Bytes()
	}
	return ms, nil
}

// Run writes hints to the disk until ctx ends, and leaves the files for the next process.
func (l *Log) Run(ctx context.Context) {
	defer l.end()
	if l.opts.Dir == "" || l.opts.Keep <= 0 {
		return
	}
	age := time.NewTicker(max(time.Second, l.opts.Keep/20))
	defer age.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-age.C:
			l.expire(time.Now())
		case <-l.files.wake:
			l.saveAll()
		}
	}
}

func (l *Log) saveAll() {
	for l.save() {
	}
	l.clean()
}

// clean deletes the files that are not needed any more. It runs on Run's goroutine alone:
// the driver and the frontier's writer end series too, and must not wait for a disk.
func (l *Log) clean() {
	l.mu.Lock()
	unused := l.files.unused
	l.files.unused = nil
	l.mu.Unlock()
	deleteAll(unused)
}

// take removes what is written next. l.unsaved is in order: a state stands behind the mutations
// that it counts.
func (l *Log) take() (batch []*entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size := 0, 0
	for n < len(l.unsaved) && size < writeBytes {
		e := l.unsaved[n]
		n++
		if e.x != nil && e.x.gone || e.x == nil && len(l.parts) == 0 {
			continue
		}
		size += e.bytes + len(e.state)
		batch = append(batch, e)
	}
	l.unsaved = l.unsaved[n:]
	return batch
}

// save writes some of the hints that wait. False: none is left.
func (l *Log) save() bool {
	batch := l.take()
	if len(batch) == 0 {
		return false
	}
	if err := l.write(batch); err != nil {
		l.opts.Logger.Warn("hints could not be written: replicas that fell behind are copied as a whole",
			"err", err)
		l.mu.Lock()
		l.dropAll()
		l.mu.Unlock()
	}
	return true
}

// errNoSpace drops hints that would fill the disk.
var errNoSpace = errors.New("the disk is nearly full")

// write appends to the newest file, or to a new one, for which the oldest is deleted.
func (l *Log) write(batch []*entry) error {
	f, err := l.open()
	if err != nil {
		return err
	}
	type written struct {
		x  *series
		at place
	}
	places := make([]written, 0, len(batch))
	var frame []byte
	for _, e := range batch {
		l.mu.Lock()
		m := e.m // nil when the series has ended meanwhile
		l.mu.Unlock()
		switch {
		case e.state != nil:
			frame = append(frame, e.state...)
		case m != nil:
			at, previous := uint32(f.size)+uint32(len(frame)), f.previous(e.x.p, e.x.id, m.Seq)
			frame = appendMutation(frame, previous, e.x.id, e.x.p, m)
			f.note(e.x.p, e.x.id, m.Seq, previous, at)
			places = append(places, written{e.x, place{ID: e.x.id, First: m.Seq, Last: m.Seq, At: at}})
		}
	}
	_, err = f.f.WriteAt(frame, f.size)
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.files.release(f)
	if err != nil {
		return err
	}
	l.files.grow(f, len(frame))
	for _, w := range places {
		if w.x.gone {
			continue
		}
		l.buffered -= w.x.tail[0].bytes
		w.x.tail[0].m, w.x.tail = nil, w.x.tail[1:]
		l.extend(w.x, f, w.at)
	}
	return nil
}

// extend adds a mutation that was written to the index.
func (l *Log) extend(x *series, f *file, at place) {
	if n := len(x.spans); n > 0 && x.spans[n-1].f == f {
		x.spans[n-1].last, x.spans[n-1].at = at.Last, at
		return
	}
	x.spans = append(x.spans, span{f: f, first: at.First, last: at.Last, at: at})
	f.users++
	l.spans++
}

// open returns the file that is written to, in use. A new one begins with the states of all series,
// as the files before it have them: what waits to be written follows.
func (l *Log) open() (*file, error) {
	l.mu.Lock()
	f := l.files.current()
	if f != nil {
		f.users++
		l.mu.Unlock()
		return f, nil
	}
	l.mu.Unlock()
	free := l.opts.Free() // asks the disk
	l.mu.Lock()
	most := min(l.files.most, (free+l.files.bytes)/share)
	for len(l.files.list) > 0 && (l.files.bytes+l.files.each > most || l.spans > maxSpans) {
		l.dropOldest()
	}
	fits := l.files.each <= most
	var last *file
	if n := len(l.files.list); n > 0 && !l.files.list[n-1].closed {
		last = l.files.list[n-1]
		last.users++
		last.closed = true
	}
	head := l.headLocked()
	l.mu.Unlock()
	if last != nil {
		l.closeFile(last)
	}
	if !fits {
		return nil, errNoSpace
	}
	f, err := l.files.create(head)
	if err != nil {
		return nil, err
	}
	// The head may be the only one that says where proofs end: older files are deleted later.
	if err := errors.Join(f.f.Sync(), l.files.sync()); err != nil {
		return nil, errors.Join(err, f.f.Close(), os.Remove(f.path))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files.adopt(f)
	f.users++
	return f, nil
}

// closeFile appends the index. A file without it is read as a whole at the next start.
func (l *Log) closeFile(f *file) {
	foot := f.appendFoot(nil)
	f.places = nil
	_, err := f.f.WriteAt(foot, f.size)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.files.grow(f, len(foot))
	}
	l.files.release(f)
}

// headLocked is the states of all series as they are in the files.
func (l *Log) headLocked() []state {
	var head []state
	for _, p := range slices.Sorted(maps.Keys(l.parts)) {
		x := l.parts[p]
		s := x.Clone()
		s.Last -= crawl.Seq(len(x.tail))
		head = append(head, state{Partition: p, ID: x.id, Series: &s, Since: maps.Clone(x.since)})
	}
	return head
}

// dropOldest deletes the oldest file, and the hints up to the last one in it. l.mu is held.
func (l *Log) dropOldest() {
	oldest := l.files.list[0]
	for p, x := range l.parts {
		if len(x.spans) == 0 || x.spans[0].f != oldest {
			continue
		}
		x.Trim(x.spans[0].last)
		l.forget(x, 1)
		maps.DeleteFunc(x.since, func(id crawl.NodeID, _ time.Time) bool {
			_, ok := x.Behind[id]
			return !ok
		})
		if len(x.Behind) == 0 {
			l.dropLocked(p)
		}
	}
	l.files.remove(oldest)
}

// expire ends the series whose replicas have not returned in time.
func (l *Log) expire(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.parts {
		before := len(x.Behind)
		for id, since := range x.since {
			if now.Sub(since) > l.opts.Keep {
				delete(x.since, id)
				delete(x.Behind, id)
			}
		}
		if len(x.Behind) < before {
			l.changedLocked(x)
		}
	}
}

// dropAll ends all series. l.mu is held.
func (l *Log) dropAll() {
	for p := range l.parts {
		l.dropLocked(p)
	}
	l.unsaved = nil
	l.files.removeAll()
}

// end writes what waits.
func (l *Log) end() {
	if l.opts.Dir == "" {
		return
	}
	l.saveAll()
	l.mu.Lock()
	l.files.closed = true
	last := l.files.current()
	l.mu.Unlock()
	// with its index the next start need not read it as a whole, once it has files of its own
	if last != nil {
		_, _ = last.f.WriteAt(last.appendFoot(nil), last.size) // without it, it is read as a whole
	}
	l.mu.Lock()
	l.files.closeAll()
	clear(l.parts)
	l.unsaved, l.buffered, l.spans = nil, 0, 0
	l.mu.Unlock()
	l.clean()
	_ = os.Remove(l.opts.Dir) // it is empty, or stays for the next start
}
