package handoff

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"crawlnode/crawl"
)

// A file of the tail is a sequence of records. Little endian:
//
//	CRC-32C of the rest (4) length of the body (4) body
//
// The body is a mutation as it goes over the wire: partition, epoch, sequence, entries.
const tailHead = 8

// errTailRecord says that a record cannot be what was written.
var errTailRecord = errors.New("handoff: a damaged record of the tail")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendTailRecord(b []byte, p crawl.Partition, m *crawl.Mutation) []byte {
	from := len(b)
	b = append(b, make([]byte, tailHead)...)
	b = appendMutation(b, p, m)
	binary.LittleEndian.PutUint32(b[from+4:], uint32(len(b)-from-tailHead))
	binary.LittleEndian.PutUint32(b[from:], crc32.Checksum(b[from+4:], castagnoli))
	return b
}

// readTailRecord takes a record apart. The mutation keeps the bytes.
func readTailRecord(b []byte) (m crawl.CopyMutation, err error) {
	le := binary.LittleEndian
	if len(b) < tailHead || int64(le.Uint32(b[4:])) != int64(len(b)-tailHead) || le.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return m, errTailRecord
	}
	fr := frameReader{b: b[tailHead:]}
	m = fr.mutation()
	if fr.end("record of the tail") != nil {
		return m, errTailRecord
	}
	return m, nil
}

// tailFile is one file. It is deleted when nothing in it is wanted any more.
type tailFile struct {
	f     *os.File
	path  string
	size  int64
	users int  // items and readers
	dead  bool // removed from the list: the last user closes it
}

// read reads one record, which must be the mutation that is asked for.
func (f *tailFile) read(p crawl.Partition, epoch crawl.Epoch, seq crawl.Seq, at int64, size int) (*crawl.Mutation, error) {
	b := make([]byte, size)
	if _, err := f.f.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("handoff: the tail: %w", err)
	}
	m, err := readTailRecord(b)
	if err == nil && (m.Partition != p || m.Epoch != epoch || m.Seq != seq) {
		err = errTailRecord
	}
	return &m.Mutation, err
}

// tailFiles are the files, the oldest first. The tail's mutex guards them.
type tailFiles struct {
	dir    string
	list   []*tailFile
	bytes  int64
	number int
	trash  []*tailFile   // to be deleted, by the writer: a disk may keep it waiting
	wake   chan struct{} // tells the writer
	most   int64         // bytes of all
	each   int64         // bytes of one; it is closed when it has as many
	closed bool
}

// open makes the folder, and deletes what an earlier process has left there.
func (t *tailFiles) open() error {
	if err := os.RemoveAll(t.dir); err != nil {
		return err
	}
	return os.MkdirAll(t.dir, 0o700)
}

// current is the file that is written to; nil when a new one is needed.
func (t *tailFiles) current() *tailFile {
	if n := len(t.list); n > 0 && t.list[n-1].size < t.each {
		return t.list[n-1]
	}
	return nil
}

// create makes a file. Only the writer calls it, without the mutex.
func (t *tailFiles) create() (*tailFile, error) {
	t.number++
	path := filepath.Join(t.dir, fmt.Sprintf("%08d", t.number))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return &tailFile{f: f, path: path}, nil
}

func (t *tailFiles) adopt(f *tailFile) { t.list = append(t.list, f) }

// release ends one use; a file that nobody uses is deleted, unless it is written to.
func (t *tailFiles) release(f *tailFile) {
	f.users--
	if f.users > 0 {
		return
	}
	if f.dead {
		t.trash = append(t.trash, f)
		signal(t.wake)
	} else if f != t.current() {
		t.remove(f)
	}
}

// remove takes a file off the list; it is deleted when nobody reads it any more.
func (t *tailFiles) remove(f *tailFile) {
	if f.dead {
		return
	}
	f.dead = true
	t.list = slices.DeleteFunc(t.list, func(o *tailFile) bool { return o == f })
	t.bytes -= f.size
	if f.users == 0 {
		t.trash = append(t.trash, f)
		signal(t.wake)
	}
}

// burn deletes files, without the mutex.
func burn(trash []*tailFile) {
	for _, f := range trash {
		_ = f.f.Close()
		_ = os.Remove(f.path) // what stays is deleted at the next start
	}
}

func (t *tailFiles) removeAll() {
	for _, f := range slices.Clone(t.list) {
		t.remove(f)
	}
}
