package hints

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"crawlnode/crawl"
)

const (
	// maxBytes bounds all files; beyond it the oldest file is deleted.
	maxBytes = 256 << 20
	// maxFileBytes is the size at which a file is closed and the next one begun.
	maxFileBytes = 16 << 20
	// maxBuffered bounds the bytes that wait to be written. maxHints bounds the hints
	// in memory and on disk: an entry in the index takes 80 bytes.
	maxBuffered = 64 << 20
	maxHints    = 200_000
	// writeBytes is how much is written at once.
	writeBytes = 1 << 20
	// keepFor is how long hints are kept for a replica that does not return.
	keepFor = 5 * time.Minute
)

// ErrGone means that the hints do not reach back to the mutation that is asked for:
// the replica has to be copied as a whole.
var ErrGone = errors.New("handoff: the hints do not reach so far back")

// Log is the hints of all partitions of a node: one log on disk.
type Log struct {
	log  *slog.Logger
	room func() bool // reports whether the disk has space for one more file

	mu       sync.Mutex // guards the rest; held for moments, also by the frontier's writer
	parts    map[crawl.Partition]*series
	hints    int // of all series
	buffered int // bytes
	unsaved  []*hint
	files    files
}

// series is the hints of one partition.
type series struct {
	epoch  crawl.Epoch
	from   crawl.Epoch                // of the copy that was promoted at base; 0: it begins later
	base   crawl.Seq                  // the mutations after this one are here
	hints  []*hint                    // in order, without a gap
	behind map[crawl.NodeID]time.Time // replicas that need them, and since when
}

func (x *series) last() crawl.Seq { return x.base + crawl.Seq(len(x.hints)) }

// hint is one mutation: in memory until it is written, then in a file.
type hint struct {
	p     crawl.Partition
	m     *crawl.Mutation // nil: it is in the file
	bytes int
	file  *file
	at    int64
	size  int
	gone  bool // no replica needs it any more
}

// New returns a Log that keeps its files in dir; with "" it keeps nothing. room reports
// whether the disk has space for one more file; nil: always. Run writes the files.
func New(dir string, room func() bool, log *slog.Logger) *Log {
	if room == nil {
		room = func() bool { return true }
	}
	return &Log{log: log, room: room, parts: map[crawl.Partition]*series{},
		files: files{dir: dir, most: maxBytes, each: maxFileBytes, wake: make(chan struct{}, 1)}}
}

// Begin keeps hints for a node that falls behind at base; ms follow base without a gap.
// It reports whether the caller must Add what comes later: another link may do so already.
func (l *Log) Begin(id crawl.NodeID, p crawl.Partition, epoch crawl.Epoch, base crawl.Seq, ms []crawl.Mutation) (feed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files.dir == "" || l.files.closed {
		return false
	}
	x := l.parts[p]
	if x != nil && x.epoch == epoch {
		x.behind[id] = time.Now()
		return false
	}
	l.dropLocked(p)
	x = &series{epoch: epoch, base: base, behind: map[crawl.NodeID]time.Time{id: time.Now()}}
	l.parts[p] = x
	for i := range ms {
		if !l.addLocked(p, x, ms[i]) {
			return false
		}
	}
	return true
}

// Promoted is the copy (From, Seq) of a partition that became the partition, held in Epoch.
type Promoted struct {
	P           crawl.Partition
	Epoch, From crawl.Epoch
	Seq         crawl.Seq
}

// BeginTenure keeps hints from the beginning of a tenure on, for members of the set
// that are away: their copies may be exactly the promoted one. The caller must Add what
// comes later, if this returns true.
func (l *Log) BeginTenure(away []crawl.NodeID, b Promoted) (feed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files.dir == "" || l.files.closed {
		return false
	}
	l.dropLocked(b.P)
	x := &series{epoch: b.Epoch, from: b.From, base: b.Seq, behind: map[crawl.NodeID]time.Time{}}
	for _, id := range away {
		x.behind[id] = time.Now()
	}
	l.parts[b.P] = x
	return true
}

// BeganAt reports whether there are hints of the tenure, and they begin with exactly this copy.
func (l *Log) BeganAt(b Promoted) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.parts[b.P]
	return x != nil && x.epoch == b.Epoch && x.from != 0 && x.from == b.From && x.base == b.Seq
}

// Add takes the next mutation. False: hints of the partition are not kept any more.
func (l *Log) Add(p crawl.Partition, m crawl.Mutation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.parts[p]
	return x != nil && l.addLocked(p, x, m)
}

// addLocked drops a series that would have a gap, or for which there is no room.
func (l *Log) addLocked(p crawl.Partition, x *series, m crawl.Mutation) bool {
	if m.Epoch == x.epoch && m.Seq <= x.last() {
		return true // two links feed it for a moment
	}
	n := m.Bytes()
	if m.Epoch != x.epoch || m.Seq != x.last()+1 || l.buffered+n > maxBuffered || l.hints == maxHints {
		l.dropLocked(p)
		return false
	}
	it := &hint{p: p, m: &m, bytes: n}
	x.hints = append(x.hints, it)
	l.unsaved = append(l.unsaved, it)
	l.hints++
	l.buffered += n
	l.files.wakeWriter()
	return true
}

// Covers reports whether every mutation after seq is here.
func (l *Log) Covers(p crawl.Partition, epoch crawl.Epoch, seq crawl.Seq) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.parts[p]
	return x != nil && x.epoch == epoch && seq >= x.base && seq <= x.last()
}

// CaughtUp tells that a replica is up to date. The last one ends the series.
func (l *Log) CaughtUp(id crawl.NodeID, p crawl.Partition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.parts[p]; x != nil {
		if delete(x.behind, id); len(x.behind) == 0 {
			l.dropLocked(p)
		}
	}
}

// Drop deletes the hints of a partition: its tenure is over.
func (l *Log) Drop(p crawl.Partition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropLocked(p)
}

func (l *Log) dropLocked(p crawl.Partition) {
	if x := l.parts[p]; x != nil {
		delete(l.parts, p)
		l.forget(x.hints)
		if len(l.parts) == 0 {
			l.files.removeAll()
		}
	}
}

// forget deletes hints, and the files that have no others. l.mu is held.
func (l *Log) forget(hs []*hint) {
	l.hints -= len(hs)
	for _, it := range hs {
		it.gone = true
		if it.m != nil {
			l.buffered -= it.bytes
			it.m = nil
		}
		if it.file != nil {
			l.files.release(it.file)
			it.file = nil
		}
	}
}

// Read returns mutations after seq, in order, up to last, and about so many bytes of them.
func (l *Log) Read(p crawl.Partition, epoch crawl.Epoch, seq, last crawl.Seq, bytes int) ([]crawl.Mutation, error) {
	type place struct {
		m    *crawl.Mutation
		file *file
		at   int64
		size int
	}
	l.mu.Lock()
	x := l.parts[p]
	if x == nil || x.epoch != epoch || seq < x.base || last > x.last() {
		l.mu.Unlock()
		return nil, ErrGone
	}
	var places []place
	for _, it := range x.hints[seq-x.base : last-x.base] {
		if bytes <= 0 {
			break
		}
		if it.file != nil {
			it.file.users++
		}
		places = append(places, place{it.m, it.file, it.at, it.size})
		bytes -= it.bytes
	}
	l.mu.Unlock()
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
	l.mu.Lock()
	for _, at := range places {
		if at.file != nil {
			l.files.release(at.file)
		}
	}
	l.mu.Unlock()
	return ms, err
}

// Run writes hints to the disk until ctx ends, and deletes the files then.
func (l *Log) Run(ctx context.Context) {
	defer l.end()
	if l.files.dir == "" {
		return
	}
	if err := l.files.open(); err != nil {
		l.log.Warn("hints cannot be kept: replicas that fall behind are copied as a whole", "dir", l.files.dir, "err", err)
		return
	}
	age := time.NewTicker(keepFor / 20)
	defer age.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-age.C:
			l.expire(time.Now())
		case <-l.files.wake:
			for l.save() {
			}
			l.clean()
		}
	}
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

// save writes some of the hints that wait. False: none is left.
func (l *Log) save() bool {
	l.mu.Lock()
	var batch []*hint
	var frame []byte
	n := 0
	for n < len(l.unsaved) && len(frame) < writeBytes {
		it := l.unsaved[n]
		n++
		if it.gone {
			continue
		}
		from := len(frame)
		frame = appendRecord(frame, it.p, it.m)
		it.at, it.size = int64(from), len(frame)-from
		batch = append(batch, it)
	}
	l.unsaved = l.unsaved[n:]
	l.mu.Unlock()
	if len(batch) == 0 {
		return n > 0
	}
	file, at, err := l.write(frame)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.log.Warn("hints could not be written: replicas that fell behind are copied as a whole", "err", err)
		l.dropAll()
		return true
	}
	for _, it := range batch {
		if it.gone {
			continue
		}
		l.buffered -= it.bytes
		it.m, it.file, it.at = nil, file, it.at+at
		file.users++
	}
	l.files.release(file)
	return true
}

// errNoSpace drops hints that would fill the disk.
var errNoSpace = errors.New("the disk is nearly full")

// write appends to the newest file, or to a new one, for which the oldest is deleted.
func (l *Log) write(frame []byte) (*file, int64, error) {
	l.mu.Lock()
	file := l.files.current()
	for file == nil && l.files.bytes+l.files.each > l.files.most {
		l.dropOldest()
	}
	if file != nil {
		file.users++
	}
	l.mu.Unlock()
	if file == nil {
		if !l.room() {
			return nil, 0, errNoSpace
		}
		f, err := l.files.create()
		if err != nil {
			return nil, 0, err
		}
		l.mu.Lock()
		l.files.adopt(f)
		f.users++
		l.mu.Unlock()
		file = f
	}
	at := file.size
	if _, err := file.f.WriteAt(frame, at); err != nil {
		l.mu.Lock()
		l.files.release(file)
		l.mu.Unlock()
		return nil, 0, err
	}
	l.mu.Lock()
	file.size += int64(len(frame))
	l.files.bytes += int64(len(frame))
	l.mu.Unlock()
	return file, at, nil
}

// dropOldest deletes the oldest file, and the hints up to the last one in it. l.mu is held.
func (l *Log) dropOldest() {
	oldest := l.files.list[0]
	for p, x := range l.parts {
		n := 0
		for i, it := range x.hints {
			if it.file == oldest {
				n = i + 1
			}
		}
		l.forget(x.hints[:n])
		if n > 0 {
			x.hints, x.base, x.from = x.hints[n:], x.base+crawl.Seq(n), 0
		}
		if n > 0 && len(x.hints) == 0 {
			l.dropLocked(p)
		}
	}
	l.files.remove(oldest)
}

// expire ends the series whose replicas have not returned in time.
func (l *Log) expire(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p, x := range l.parts {
		for id, since := range x.behind {
			if now.Sub(since) > keepFor {
				delete(x.behind, id)
			}
		}
		if len(x.behind) == 0 {
			l.dropLocked(p)
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

func (l *Log) end() {
	l.mu.Lock()
	l.dropAll()
	l.files.closed = true
	l.mu.Unlock()
	l.clean()
	if l.files.dir != "" {
		_ = os.Remove(l.files.dir) // it is empty, or stays for the next start
	}
}
