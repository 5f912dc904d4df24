package hints

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// A file of hints is a sequence of records. Little endian:
//
//	CRC-32C of the rest (4) length of the body (4) kind (1) previous (4) body
//
//	'h' head: JSON, the states of all series that were alive when the file was begun
//	's' state: JSON, of one series from here on; without it, it is over
//	'm' mutation: id of the series, then as it goes over the wire: partition, epoch, sequence, entries
//	'f' foot, of a file that is closed: partition, id, first and last sequence number, place of the
//	    last record, of each series that is in it. Its length follows behind it (4)
//
// Previous is 1 + the place of the record of the mutation before, of the same series in the same
// file; 0: there is none, or the record is no mutation. So the index in memory has one entry for
// each partition and file, however many mutations there are.
const (
	recordHead = 13

	kindHead     = 'h'
	kindState    = 's'
	kindMutation = 'm'
	kindFoot     = 'f'
)

// maxRecord bounds what is believed of a length on the disk. A mutation is below 16 MiB.
const maxRecord = 64 << 20

// errRecord means that a record is not what was written.
var errRecord = errors.New("handoff: a damaged record of a hint")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// state is a series as a file has it.
type state struct {
	Partition crawl.Partition            `json:"partition"`
	ID        uint64                     `json:"id,omitempty"`
	Series    *machine.Series            `json:"series,omitempty"` // nil: it is over
	Since     map[crawl.NodeID]time.Time `json:"since,omitempty"`  // when each node fell behind
}

// appendRecord appends a record whose body is what body appends.
func appendRecord(b []byte, kind byte, previous uint32, body func([]byte) []byte) []byte {
	from := len(b)
	b = append(b, make([]byte, recordHead)...)
	b = body(b)
	head := b[from:]
	binary.LittleEndian.PutUint32(head[4:], uint32(len(head)-recordHead))
	head[8] = kind
	binary.LittleEndian.PutUint32(head[9:], previous)
	binary.LittleEndian.PutUint32(head, crc32.Checksum(head[4:], castagnoli))
	return b
}

func appendMutation(
	b []byte,
	previous uint32,
	id uint64,
	p crawl.Partition,
	m *crawl.Mutation,
) []byte {
	return appendRecord(b, kindMutation, previous, func(b []byte) []byte {
		return wire.AppendMutation(binary.AppendUvarint(b, id), p, m)
	})
}

func recordJSON(kind byte, v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return appendRecord(nil, kind, 0, func(b []byte) []byte { return append(b, raw...) })
}

// record is one record, as it was read.
type record struct {
	kind     byte
	previous uint32
	body     []byte
}

// bodyLength reads the head of a record.
func bodyLength(head []byte) (int, error) {
	n := binary.LittleEndian.Uint32(head[4:])
	if n > maxRecord {
		return 0, errRecord
	}
	return int(n), nil
}

// parseRecord checks a whole record. It shares the bytes.
func parseRecord(b []byte) (record, error) {
	if len(b) < recordHead {
		return record{}, errRecord
	}
	n, err := bodyLength(b)
	sum := binary.LittleEndian.Uint32(b)
	if err != nil || n != len(b)-recordHead || sum != crc32.Checksum(b[4:], castagnoli) {
		return record{}, errRecord
	}
	return record{kind: b[8], previous: binary.LittleEndian.Uint32(b[9:]), body: b[recordHead:]}, nil
}

// mutation decodes the body of a mutation. It shares the bytes.
func (r record) mutation() (id uint64, m crawl.CopyMutation, err error) {
	if r.kind != kindMutation {
		return 0, m, errRecord
	}
	read := wire.NewReader(r.body)
	id = read.Uint()
	m = read.Mutation()
	if read.End("record of a hint") != nil {
		return 0, m, errRecord
	}
	return id, m, nil
}

// place is where the mutations of one series are in one file: the records from the last one back.
type place struct {
	ID          uint64
	First, Last crawl.Seq
	At          uint32 // of the last one
}

// file is one file. It is deleted when no series has a mutation in it any more.
type file struct {
	f      *os.File
	path   string
	size   int64                     // the writer's, and guarded by the Log's mutex for others
	users  int                       // series with mutations in it, and readers
	dead   bool                      // removed from the list: the last user closes it
	closed bool                      // nothing is added any more
	places map[crawl.Partition]place // the writer's; nil once the file is closed
}

// recordAt reads the record at a place.
func (f *file) recordAt(at int64) (record, int64, error) {
	var head [recordHead]byte
	if _, err := f.f.ReadAt(head[:], at); err != nil {
		return record{}, 0, fmt.Errorf("handoff: read a hint: %w", err)
	}
	n, err := bodyLength(head[:])
	if err != nil {
		return record{}, 0, err
	}
	b := make([]byte, recordHead+n)
	if _, err := f.f.ReadAt(b, at); err != nil {
		return record{}, 0, fmt.Errorf("handoff: read a hint: %w", err)
	}
	r, err := parseRecord(b)
	return r, at + int64(len(b)), err
}

// back lists the places of the records of a series from first up to its last one in the file, in
// their order. It reads heads and numbers only: the records are checked when they are read.
func (f *file) back(p crawl.Partition, at place, first crawl.Seq) ([]uint32, error) {
	n := int(at.Last-first) + 1
	out := make([]uint32, n)
	next := at.At
	for i := n - 1; i >= 0; i-- {
		out[i] = next
		if i == 0 {
			break
		}
		var head [recordHead]byte
		if _, err := f.f.ReadAt(head[:], int64(next)); err != nil {
			return nil, fmt.Errorf("handoff: look for a hint of partition %d: %w", p, err)
		}
		previous := binary.LittleEndian.Uint32(head[9:])
		if previous == 0 || previous-1 >= next {
			return nil, errRecord
		}
		next = previous - 1
	}
	return out, nil
}

// read reads one record, which must be the mutation that is asked for.
func (f *file) read(
	p crawl.Partition,
	id uint64,
	seq crawl.Seq,
	at uint32,
) (crawl.Mutation, error) {
	r, _, err := f.recordAt(int64(at))
	if err != nil {
		return crawl.Mutation{}, err
	}
	of, m, err := r.mutation()
	if err == nil && (of != id || m.Partition != p || m.Seq != seq) {
		err = errRecord
	}
	return m.Mutation, err
}

// appendFoot appends the index of a file that is closed, and the length of that.
func (f *file) appendFoot(b []byte) []byte {
	from := len(b)
	b = appendRecord(b, kindFoot, 0, func(b []byte) []byte {
		for _, p := range slices.Sorted(maps.Keys(f.places)) {
			at := f.places[p]
			for _, v := range [...]uint64{uint64(p), at.ID, uint64(at.First), uint64(at.Last),
				uint64(at.At)} {
				b = binary.AppendUvarint(b, v)
			}
		}
		return b
	})
	return binary.LittleEndian.AppendUint32(b, uint32(len(b)-from))
}

// foot reads the index of a closed file. False: it has none that is whole.
func (f *file) foot() bool {
	var tail [4]byte
	if f.size < recordHead+4 {
		return false
	}
	if _, err := f.f.ReadAt(tail[:], f.size-4); err != nil {
		return false
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n < recordHead || n > f.size-4 {
		return false
	}
	r, end, err := f.recordAt(f.size - 4 - n)
	if err != nil || r.kind != kindFoot || end != f.size-4 {
		return false
	}
	read := wire.NewReader(r.body)
	for read.More() {
		p := read.Partition()
		at := place{ID: read.Uint()}
		at.First, at.Last, at.At = crawl.Seq(read.Uint()), crawl.Seq(read.Uint()), uint32(read.Uint())
		if at.First > at.Last || int64(at.At) >= f.size {
			return false
		}
		f.places[p] = at
	}
	return read.End("index of a file of hints") == nil
}

// previous is the place of the mutation before one, plus one; 0: it is not in the file.
func (f *file) previous(p crawl.Partition, id uint64, seq crawl.Seq) uint32 {
	if at, ok := f.places[p]; ok && at.ID == id && at.Last+1 == seq {
		return at.At + 1
	}
	return 0
}

// note takes a mutation into the index.
func (f *file) note(p crawl.Partition, id uint64, seq crawl.Seq, previous, at uint32) {
	x := place{ID: id, First: seq, Last: seq, At: at}
	if previous != 0 {
		x.First = f.places[p].First
	}
	f.places[p] = x
}

// head reads the states with which a file begins, and where they end.
func (f *file) head() (all []state, end int64, err error) {
	r, end, err := f.recordAt(0)
	if err == nil && (r.kind != kindHead || json.Unmarshal(r.body, &all) != nil) {
		err = errRecord
	}
	return all, end, err
}

// scan reads a file from a record on, up to the first one that is not whole: what follows was
// being written at a crash. It hands on states, and notes mutations.
func (f *file) scan(at int64, one func(state), mutation func(crawl.CopyMutation)) {
	for at < f.size {
		r, next, err := f.recordAt(at)
		if err != nil {
			return
		}
		switch r.kind {
		case kindState:
			var s state
			if json.Unmarshal(r.body, &s) != nil {
				return
			}
			one(s)
		case kindMutation:
			id, m, err := r.mutation()
			if err != nil {
				return
			}
			f.note(m.Partition, id, m.Seq, f.previous(m.Partition, id, m.Seq), uint32(at))
			mutation(m)
		}
		at = next
	}
}

// files are the files, the oldest first. The Log's mutex guards them.
type files struct {
	dir    string
	list   []*file
	bytes  int64
	number uint64
	unused []*file       // to be deleted by the writer, because a disk may be slow
	wake   chan struct{} // capacity 1: something waits to be written or deleted
	most   int64         // bytes of all
	each   int64         // bytes of one; it is closed when it has as many
	closed bool
}

// found opens the files of an earlier process, in their order.
func (fs *files) found() error {
	if err := os.MkdirAll(fs.dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(fs.dir) // sorted: the names have one length
	if err != nil {
		return err
	}
	for _, e := range entries {
		number, err := strconv.ParseUint(e.Name(), 10, 64)
		if err != nil {
			_ = os.RemoveAll(filepath.Join(fs.dir, e.Name())) // not ours
			continue
		}
		fs.number = max(fs.number, number)
		path := filepath.Join(fs.dir, e.Name())
		f, err := os.OpenFile(path, os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		x := &file{f: f, path: path, places: map[crawl.Partition]place{}}
		fs.list = append(fs.list, x)
		info, err := f.Stat()
		if err != nil {
			return err
		}
		x.size = info.Size()
		fs.bytes += x.size
	}
	return nil
}

// current is the file that is written to; nil when a new one is needed.
func (fs *files) current() *file {
	if n := len(fs.list); n > 0 && !fs.list[n-1].closed && fs.list[n-1].size < fs.each {
		return fs.list[n-1]
	}
	return nil
}

// create makes a file that begins with the states of the series. Only the writer calls it, without
// the mutex.
func (fs *files) create(head []state) (*file, error) {
	fs.number++
	path := filepath.Join(fs.dir, fmt.Sprintf("%012d", fs.number))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	b := recordJSON(kindHead, head)
	if _, err := f.Write(b); err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		return nil, err
	}
	return &file{f: f, path: path, size: int64(len(b)), places: map[crawl.Partition]place{}}, nil
}

// sync makes what was created and deleted in the folder survive a loss of power.
func (fs *files) sync() error {
	d, err := os.Open(fs.dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// wakeWriter has Run look for work.
func (fs *files) wakeWriter() {
	crawl.Signal(fs.wake)
}

func (fs *files) adopt(f *file) {
	fs.list = append(fs.list, f)
	fs.bytes += f.size
}

// grow counts what was appended to a file. One that is dead is counted no more.
func (fs *files) grow(f *file, bytes int) {
	f.size += int64(bytes)
	if !f.dead {
		fs.bytes += int64(bytes)
	}
}

// release ends one use. A file without uses is deleted, unless it is the current one.
func (fs *files) release(f *file) {
	f.users--
	if f.users > 0 {
		return
	}
	if f.dead {
		fs.unused = append(fs.unused, f)
		fs.wakeWriter()
	} else if f != fs.current() {
		fs.remove(f)
	}
}

// remove takes a file off the list. It is deleted when its last reader has ended.
func (fs *files) remove(f *file) {
	if f.dead {
		return
	}
	f.dead = true
	fs.list = slices.DeleteFunc(fs.list, func(o *file) bool { return o == f })
	fs.bytes -= f.size
	if f.users == 0 {
		fs.unused = append(fs.unused, f)
		fs.wakeWriter()
	}
}

// deleteAll deletes files, without the mutex.
func deleteAll(unused []*file) {
	for _, f := range unused {
		_ = f.f.Close()
		_ = os.Remove(f.path) // what stays is looked at by the next start
	}
}

func (fs *files) removeAll() {
	for _, f := range slices.Clone(fs.list) {
		fs.remove(f)
	}
}

// clear deletes everything, also what was not opened, so that no power loss brings it back.
func (fs *files) clear() error {
	entries, err := os.ReadDir(fs.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(fs.dir, e.Name())))
	}
	return errors.Join(err, fs.sync())
}

// closeAll closes what is open. The files stay for the next process.
func (fs *files) closeAll() {
	for _, f := range fs.list {
		_ = f.f.Close()
	}
	fs.list = nil
}
