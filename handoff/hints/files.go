package hints

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"crawlnode/crawl"
	"crawlnode/handoff/wire"
)

// A file of hints is a sequence of records. Little endian:
//
//	CRC-32C of the rest (4) length of the body (4) body
//
// The body is a mutation as it goes over the wire: partition, epoch, sequence, entries.
const recordHead = 8

// errRecord means that a record is not what was written.
var errRecord = errors.New("handoff: a damaged record of a hint")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendRecord(b []byte, p crawl.Partition, m *crawl.Mutation) []byte {
	from := len(b)
	b = append(b, make([]byte, recordHead)...)
	b = wire.AppendMutation(b, p, m)
	binary.LittleEndian.PutUint32(b[from+4:], uint32(len(b)-from-recordHead))
	binary.LittleEndian.PutUint32(b[from:], crc32.Checksum(b[from+4:], castagnoli))
	return b
}

// readRecord decodes a record. The mutation shares its bytes.
func readRecord(b []byte) (m crawl.CopyMutation, err error) {
	le := binary.LittleEndian
	if len(b) < recordHead || int64(le.Uint32(b[4:])) != int64(len(b)-recordHead) || le.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return m, errRecord
	}
	r := wire.NewReader(b[recordHead:])
	m = r.Mutation()
	if r.End("record of a hint") != nil {
		return m, errRecord
	}
	return m, nil
}

// file is one file. It is deleted when none of its hints is needed any more.
type file struct {
	f     *os.File
	path  string
	size  int64
	users int  // hints and readers
	dead  bool // removed from the list: the last user closes it
}

// read reads one record, which must be the mutation that is asked for.
func (f *file) read(p crawl.Partition, epoch crawl.Epoch, seq crawl.Seq, at int64, size int) (*crawl.Mutation, error) {
	b := make([]byte, size)
	if _, err := f.f.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("handoff: read a hint: %w", err)
	}
	m, err := readRecord(b)
	if err == nil && (m.Partition != p || m.Epoch != epoch || m.Seq != seq) {
		err = errRecord
	}
	return &m.Mutation, err
}

// files are the files, the oldest first. The Log's mutex guards them.
type files struct {
	dir    string
	list   []*file
	bytes  int64
	number int
	unused []*file       // to be deleted by the writer, because a disk may be slow
	wake   chan struct{} // capacity 1: something waits to be written or deleted
	most   int64         // bytes of all
	each   int64         // bytes of one; it is closed when it has as many
	closed bool
}

// open makes the folder, and deletes the files of an earlier process.
func (fs *files) open() error {
	if err := os.RemoveAll(fs.dir); err != nil {
		return err
	}
	return os.MkdirAll(fs.dir, 0o700)
}

// current is the file that is written to; nil when a new one is needed.
func (fs *files) current() *file {
	if n := len(fs.list); n > 0 && fs.list[n-1].size < fs.each {
		return fs.list[n-1]
	}
	return nil
}

// create makes a file. Only the writer calls it, without the mutex.
func (fs *files) create() (*file, error) {
	fs.number++
	path := filepath.Join(fs.dir, fmt.Sprintf("%08d", fs.number))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return &file{f: f, path: path}, nil
}

// wakeWriter has Run look for work.
func (fs *files) wakeWriter() {
	crawl.Signal(fs.wake)
}

func (fs *files) adopt(f *file) { fs.list = append(fs.list, f) }

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
		_ = os.Remove(f.path) // what stays is deleted at the next start
	}
}

func (fs *files) removeAll() {
	for _, f := range slices.Clone(fs.list) {
		fs.remove(f)
	}
}
