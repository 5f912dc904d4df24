package handoff

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// This file keeps what a replica misses while it does not answer, so that it can go
// on where it was, without a copy of everything. Nothing is kept while all replicas
// answer. When a link is given up, what the replica has not acknowledged goes into the
// tail, and the link's sink goes on to feed it; the next link to that replica reads it
// from there (catchup.go).
//
// A tail begins at the last mutation that the first replica to fall behind has
// acknowledged, has all that came after it, and is of one tenure. It is an optimisation
// and nothing else: it may be lost at any moment, with the process, the disk's space or
// its time, and then a whole copy is made. So its files are deleted at each start, and
// an error of the disk is the end of what they hold.
//
// What stands in the way of a log that every replica reads from, and that survives a
// restart, is only when it is written: the format has partition, epoch and sequence.

const (
	// tailBytes bounds the files of the tail; the oldest one gives way.
	tailBytes = 256 << 20
	// tailFileBytes closes a file.
	tailFileBytes = 16 << 20
	// tailBuffer bounds what waits to be written, tailItems the mutations that are
	// known by their place: 80 bytes each.
	tailBuffer = 64 << 20
	tailItems  = 200_000
	// tailWrite is how much is written at once.
	tailWrite = 1 << 20
	// tailKeep is for how long a tail is kept after the last replica fell behind.
	tailKeep = 5 * time.Minute
)

// errNoTail says that a mutation is not in the tail any more.
var errNoTail = fmt.Errorf("%w: the tail does not reach so far back", ErrGap)

// tail is the tails of all partitions of a node: one log on disk.
type tail struct {
	log  *slog.Logger
	room func() bool   // whether the disk has space for one more file
	wake chan struct{} // capacity 1: something waits to be written

	mu       sync.Mutex // guards the rest; held for moments, also by the frontier's writer
	parts    map[crawl.Partition]*tailPart
	items    int
	buffered int // bytes
	unsaved  []*tailItem
	files    tailFiles
}

// tailPart is the tail of one partition.
type tailPart struct {
	epoch  crawl.Epoch
	from   crawl.Epoch // of the copy that was promoted at base; 0: it begins later
	base   crawl.Seq   // the mutations after this one are here
	items  []*tailItem // in order, without a gap
	behind map[crawl.NodeID]time.Time
}

func (x *tailPart) last() crawl.Seq { return x.base + crawl.Seq(len(x.items)) }

// tailItem is one mutation: in memory until it is written, then in a file.
type tailItem struct {
	p     crawl.Partition
	m     *crawl.Mutation // nil: it is in the file
	bytes int
	file  *tailFile
	at    int64
	size  int
	gone  bool // nobody wants it any more
}

// newTail returns a tail that keeps its files in dir; with "" it keeps nothing. run
// writes them.
func newTail(dir string, room func() bool, log *slog.Logger) *tail {
	if room == nil {
		room = func() bool { return true }
	}
	wake := make(chan struct{}, 1)
	return &tail{log: log, room: room, wake: wake, parts: map[crawl.Partition]*tailPart{},
		files: tailFiles{dir: dir, most: tailBytes, each: tailFileBytes, wake: wake}}
}

// begin keeps a tail for a node that falls behind at base; items follow it without
// a gap. It reports whether the caller is to feed it: another link may do so already.
func (t *tail) begin(id crawl.NodeID, p crawl.Partition, epoch crawl.Epoch, base crawl.Seq, items []crawl.Mutation) (feed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files.dir == "" || t.files.closed {
		return false
	}
	x := t.parts[p]
	if x != nil && x.epoch == epoch {
		x.behind[id] = time.Now()
		return false
	}
	t.dropLocked(p)
	x = &tailPart{epoch: epoch, base: base, behind: map[crawl.NodeID]time.Time{id: time.Now()}}
	t.parts[p] = x
	for i := range items {
		if !t.addLocked(p, x, items[i]) {
			return false
		}
	}
	return true
}

// beginTenure keeps a tail from the beginning of a tenure on, for members of the set
// that are away: they may have just what was promoted. The caller feeds it.
func (t *tail) beginTenure(ids []crawl.NodeID, a *machine.Promote) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files.dir == "" || t.files.closed {
		return false
	}
	t.dropLocked(a.P)
	x := &tailPart{epoch: a.Epoch, from: a.FromEpoch, base: a.Seq, behind: map[crawl.NodeID]time.Time{}}
	for _, id := range ids {
		x.behind[id] = time.Now()
	}
	t.parts[a.P] = x
	return true
}

// beganAt reports whether a tail of the tenure begins with this very copy.
func (t *tail) beganAt(p crawl.Partition, epoch, from crawl.Epoch, seq crawl.Seq) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.parts[p]
	return x != nil && x.epoch == epoch && x.from != 0 && x.from == from && x.base == seq
}

// add takes the next mutation; false when nobody wants it.
func (t *tail) add(p crawl.Partition, m crawl.Mutation) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.parts[p]
	return x != nil && t.addLocked(p, x, m)
}

// addLocked ends a tail that would have a gap, or for which there is no room.
func (t *tail) addLocked(p crawl.Partition, x *tailPart, m crawl.Mutation) bool {
	if m.Epoch == x.epoch && m.Seq <= x.last() {
		return true // two links feed it for a moment
	}
	n := m.Bytes()
	if m.Epoch != x.epoch || m.Seq != x.last()+1 || t.buffered+n > tailBuffer || t.items == tailItems {
		t.dropLocked(p)
		return false
	}
	it := &tailItem{p: p, m: &m, bytes: n}
	x.items = append(x.items, it)
	t.unsaved = append(t.unsaved, it)
	t.items++
	t.buffered += n
	signal(t.wake)
	return true
}

// covers reports whether everything after seq is here.
func (t *tail) covers(p crawl.Partition, epoch crawl.Epoch, seq crawl.Seq) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.parts[p]
	return x != nil && x.epoch == epoch && seq >= x.base && seq <= x.last()
}

// caught says that a node has all again. The last one ends the tail.
func (t *tail) caught(id crawl.NodeID, p crawl.Partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.parts[p]; x != nil {
		if delete(x.behind, id); len(x.behind) == 0 {
			t.dropLocked(p)
		}
	}
}

// drop ends the tail of a partition: its tenure is over.
func (t *tail) drop(p crawl.Partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropLocked(p)
}

func (t *tail) dropLocked(p crawl.Partition) {
	if x := t.parts[p]; x != nil {
		delete(t.parts, p)
		t.forget(x.items)
		if len(t.parts) == 0 {
			t.files.removeAll()
		}
	}
}

// forget lets go of items, and of the files that have no others. t.mu is held.
func (t *tail) forget(items []*tailItem) {
	t.items -= len(items)
	for _, it := range items {
		it.gone = true
		if it.m != nil {
			t.buffered -= it.bytes
			it.m = nil
		}
		if it.file != nil {
			t.files.release(it.file)
			it.file = nil
		}
	}
}

// read returns the mutations after seq, in order, up to last and about so many bytes.
func (t *tail) read(p crawl.Partition, epoch crawl.Epoch, seq, last crawl.Seq, bytes int) ([]crawl.Mutation, error) {
	type place struct {
		m    *crawl.Mutation
		file *tailFile
		at   int64
		size int
	}
	t.mu.Lock()
	x := t.parts[p]
	if x == nil || x.epoch != epoch || seq < x.base || last > x.last() {
		t.mu.Unlock()
		return nil, errNoTail
	}
	var places []place
	for _, it := range x.items[seq-x.base : last-x.base] {
		if bytes <= 0 {
			break
		}
		if it.file != nil {
			it.file.users++
		}
		places = append(places, place{it.m, it.file, it.at, it.size})
		bytes -= it.bytes
	}
	t.mu.Unlock()
	ms := make([]crawl.Mutation, 0, len(places))
	var err error
	for _, at := range places {
		m := at.m
		if m == nil && err == nil {
			m, err = at.file.read(p, epoch, seq+crawl.Seq(len(ms))+1, at.at, at.size)
		}
		if err == nil {
			ms = append(ms, *m)
		}
	}
	t.mu.Lock()
	for _, at := range places {
		if at.file != nil {
			t.files.release(at.file)
		}
	}
	t.mu.Unlock()
	return ms, err
}

// run writes what waits, until ctx ends; then the files are gone.
func (t *tail) run(ctx context.Context) {
	defer t.end()
	if t.files.dir == "" {
		return
	}
	if err := t.files.open(); err != nil {
		t.log.Warn("what replicas miss cannot be kept; they are copied as a whole", "dir", t.files.dir, "err", err)
		return
	}
	age := time.NewTicker(tailKeep / 20)
	defer age.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-age.C:
			t.expire(time.Now())
		case <-t.wake:
			for t.save() {
			}
			t.clean()
		}
	}
}

// clean deletes the files that nobody needs. Nothing waits for it: the driver and the
// frontier's writer end tails, and must not wait for a disk.
func (t *tail) clean() {
	t.mu.Lock()
	trash := t.files.trash
	t.files.trash = nil
	t.mu.Unlock()
	burn(trash)
}

// save writes some of what waits; false when nothing is left.
func (t *tail) save() bool {
	t.mu.Lock()
	var batch []*tailItem
	var frame []byte
	n := 0
	for n < len(t.unsaved) && len(frame) < tailWrite {
		it := t.unsaved[n]
		n++
		if it.gone {
			continue
		}
		from := len(frame)
		frame = appendTailRecord(frame, it.p, it.m)
		it.at, it.size = int64(from), len(frame)-from
		batch = append(batch, it)
	}
	t.unsaved = t.unsaved[n:]
	t.mu.Unlock()
	if len(batch) == 0 {
		return n > 0
	}
	file, at, err := t.write(frame)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.log.Warn("what replicas miss could not be kept; they are copied as a whole", "err", err)
		t.dropAll()
		return true
	}
	for _, it := range batch {
		if it.gone {
			continue
		}
		t.buffered -= it.bytes
		it.m, it.file, it.at = nil, file, it.at+at
		file.users++
	}
	t.files.release(file)
	return true
}

// errTailRoom ends a tail that would fill the disk.
var errTailRoom = errors.New("the disk is nearly full")

// write appends to the newest file, or a new one; the oldest gives way.
func (t *tail) write(frame []byte) (*tailFile, int64, error) {
	t.mu.Lock()
	file := t.files.current()
	for file == nil && t.files.bytes+t.files.each > t.files.most {
		t.dropOldest()
	}
	if file != nil {
		file.users++
	}
	t.mu.Unlock()
	if file == nil {
		if !t.room() {
			return nil, 0, errTailRoom
		}
		f, err := t.files.create()
		if err != nil {
			return nil, 0, err
		}
		t.mu.Lock()
		t.files.adopt(f)
		f.users++
		t.mu.Unlock()
		file = f
	}
	at := file.size
	if _, err := file.f.WriteAt(frame, at); err != nil {
		t.mu.Lock()
		t.files.release(file)
		t.mu.Unlock()
		return nil, 0, err
	}
	t.mu.Lock()
	file.size += int64(len(frame))
	t.files.bytes += int64(len(frame))
	t.mu.Unlock()
	return file, at, nil
}

// dropOldest cuts every tail behind what it has in the oldest file. t.mu is held.
func (t *tail) dropOldest() {
	oldest := t.files.list[0]
	for p, x := range t.parts {
		n := 0
		for i, it := range x.items {
			if it.file == oldest {
				n = i + 1
			}
		}
		t.forget(x.items[:n])
		if n > 0 {
			x.items, x.base, x.from = x.items[n:], x.base+crawl.Seq(n), 0
		}
		if n > 0 && len(x.items) == 0 {
			t.dropLocked(p)
		}
	}
	t.files.remove(oldest)
}

// expire ends the tails whose replicas have not come back.
func (t *tail) expire(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, x := range t.parts {
		for id, since := range x.behind {
			if now.Sub(since) > tailKeep {
				delete(x.behind, id)
			}
		}
		if len(x.behind) == 0 {
			t.dropLocked(p)
		}
	}
}

// dropAll ends all tails. t.mu is held.
func (t *tail) dropAll() {
	for p := range t.parts {
		t.dropLocked(p)
	}
	t.unsaved = nil
	t.files.removeAll()
}

func (t *tail) end() {
	t.mu.Lock()
	t.dropAll()
	t.files.closed = true
	t.mu.Unlock()
	t.clean()
	if t.files.dir != "" {
		_ = os.Remove(t.files.dir) // it is empty, or stays for the next start
	}
}
