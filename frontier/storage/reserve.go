package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"crawlnode/local/files"
)

// The reserve is a file beside the store whose blocks are set aside when it is made:
// what is written there needs no free space. While the disk is full, changes of what
// partitions are to this node, and votes for in-sync sets, go there instead of into
// the store, so that a node with a full disk still lets go of partitions, takes them
// over, and lets others do so. They go into the store with its next write, in their
// order, and at the next start.
//
// The file is a sequence of records. Little endian:
//
//	CRC-32C of the rest (4) length of the body (4) number (8) body
//
// The body are entries: length of the key (2), of the value (4), key, value. Numbers
// rise by one from record to record and go on when the file begins anew, so that
// what is left of an older round is not taken for its continuation. A record is
// synced before it is acknowledged; one that cannot be read ends the file.
const (
	reserveFile  = "RESERVE"
	reserveSize  = 4 << 20
	recordHead   = 16
	maxReserveID = 1<<63 - 1
)

// reserve is the open file. It belongs to the store's one writer.
type reserve struct {
	file *os.File
	size int64
	end  int64   // where the next record goes
	next uint64  // its number
	kept []Entry // in the file and not in the store, in their order
}

// errReserveFull says that not even the reserve has room.
var errReserveFull = fmt.Errorf("%w, and so is what was set aside for it", ErrNoSpace)

// openReserve opens or makes the file and reads what is in it.
func openReserve(path string, size int64) (*reserve, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	r := &reserve{file: file, size: size}
	if err = preallocate(file, size); err == nil {
		err = r.load()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return r, nil
}

func (r *reserve) load() error {
	raw, err := io.ReadAll(io.NewSectionReader(r.file, 0, r.size))
	if err != nil {
		return err
	}
	for {
		number, body, ok := readRecord(raw[r.end:])
		if !ok || r.end > 0 && number != r.next {
			break
		}
		entries, err := readEntries(body)
		if err != nil {
			return err
		}
		r.kept = append(r.kept, entries...)
		r.end += recordHead + int64(len(body))
		r.next = number + 1
	}
	if r.end == 0 && len(raw) >= recordHead { // it began anew: what is left says how far the numbers were
		r.next = binary.LittleEndian.Uint64(raw[8:])&maxReserveID + 1
	}
	return nil
}

// readRecord reads the record at the beginning of raw.
func readRecord(raw []byte) (number uint64, body []byte, ok bool) {
	if len(raw) < recordHead {
		return 0, nil, false
	}
	le := binary.LittleEndian
	length := int64(le.Uint32(raw[4:]))
	if length == 0 || recordHead+length > int64(len(raw)) {
		return 0, nil, false
	}
	whole := raw[:recordHead+length]
	return le.Uint64(raw[8:]), whole[recordHead:], crc32.Checksum(whole[4:], castagnoli) == le.Uint32(raw)
}

func readEntries(body []byte) (es []Entry, err error) {
	le := binary.LittleEndian
	for len(body) > 0 {
		if len(body) < 6 {
			return nil, fmt.Errorf("an entry of the reserve %w", ErrDamaged)
		}
		k, v := int64(le.Uint16(body)), int64(le.Uint32(body[2:]))
		if body = body[6:]; k+v > int64(len(body)) {
			return nil, fmt.Errorf("an entry of the reserve %w", ErrDamaged)
		}
		es = append(es, Entry{Key: body[:k:k], Value: body[k : k+v : k+v]})
		body = body[k+v:]
	}
	return es, nil
}

// add writes entries, durably.
func (r *reserve) add(entries []Entry) error {
	le := binary.LittleEndian
	b := make([]byte, recordHead, 256)
	for _, e := range entries {
		b = le.AppendUint16(b, uint16(len(e.Key)))
		b = le.AppendUint32(b, uint32(len(e.Value)))
		b = append(append(b, e.Key...), e.Value...)
	}
	if r.end+int64(len(b)) > r.size {
		return errReserveFull
	}
	le.PutUint32(b[4:], uint32(len(b)-recordHead))
	le.PutUint64(b[8:], r.next)
	le.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	if err := r.write(b, r.end); files.NoRoom(err) { // a file system that never writes in place, or a quota there
		return fmt.Errorf("%w: %w", errReserveFull, err)
	} else if err != nil {
		return err
	}
	r.end += int64(len(b))
	r.next++
	r.kept = append(r.kept, entries...)
	return nil
}

// clear begins the file anew: all that was kept is in the store, durably.
func (r *reserve) clear() error {
	var b [recordHead]byte // no record; its number is the last one's
	binary.LittleEndian.PutUint64(b[8:], r.next-1)
	if err := r.write(b[:], 0); err != nil {
		return err
	}
	r.end, r.kept = 0, nil
	return nil
}

func (r *reserve) write(b []byte, at int64) error {
	if _, err := r.file.WriteAt(b, at); err != nil {
		return fmt.Errorf("frontier: the reserve: %w", err)
	}
	if err := r.file.Sync(); err != nil {
		return fmt.Errorf("frontier: the reserve: %w", err)
	}
	return nil
}

// touch writes the last byte of the file, which no record reaches. The store's own
// files are mapped into memory: a write to them blocks the whole process while the file
// system does not answer, and kills it on an error. This write is an ordinary call: only
// its goroutine waits, and an error is returned.
func (r *reserve) touch() error {
	if _, err := r.file.WriteAt([]byte{0}, r.size); err != nil {
		return fmt.Errorf("frontier: the disk of the store: %w", err)
	}
	return nil
}

func (r *reserve) close() error { return r.file.Close() }

// fillZero writes a file out to size, where blocks cannot be had otherwise.
func fillZero(file *os.File, size int64) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	_, err = file.WriteAt(make([]byte, max(0, size-info.Size())), info.Size())
	return err
}

// OwnRange begins the keys of the node's own range. They are read at the start only, so
// they may wait in the reserve.
const OwnRange = "\xff\xff"

// InOwnRange reports whether all entries are of the node's own range.
func InOwnRange(entries []Entry) bool {
	for i := range entries {
		if !bytes.HasPrefix(entries[i].Key, []byte(OwnRange)) {
			return false
		}
	}
	return true
}
