package mirror

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// key is a hash of what a table is asked for. It is cryptographic, so two that are equal are of the
// same text, whatever a hostile site serves.
type key [16]byte

// keyOf makes the key of a text of a kind: tables hold several.
func keyOf(kind byte, text string) key {
	sum := sha256.Sum256(append([]byte{kind}, text...))
	return key(sum[:16])
}

const (
	slotBytes = 24 // key, and the value plus 1: 0 is an empty slot
	// firstSlots is the size of a new table.
	firstSlots = 1 << 12
	// slotsAtOnce are read together when a key is looked for.
	slotsAtOnce = 8
)

// table maps keys to numbers that are not negative, in a file: open addressing, at most half full.
// Look-ups may run at once with each other, but not with set.
type table struct {
	file  *os.File
	slots int64 // a power of two
	used  int64
	// newFile makes the file of a larger table.
	newFile func() (*os.File, error)
}

func newTable(newFile func() (*os.File, error)) (*table, error) {
	t := &table{slots: firstSlots, newFile: newFile}
	return t, t.create()
}

// create makes an empty file. It has holes: a slot takes no space before it is written.
func (t *table) create() (err error) {
	if t.file, err = t.newFile(); err != nil {
		return err
	}
	return t.file.Truncate(t.slots * slotBytes)
}

// get returns the value of a key; false when it has none.
func (t *table) get(k key) (value int64, ok bool, err error) {
	_, value, ok, err = t.find(k)
	return value, ok, err
}

// find returns the slot of a key, or the empty one where it belongs.
func (t *table) find(k key) (slot, value int64, ok bool, err error) {
	var buffer [slotsAtOnce * slotBytes]byte
	slot = int64(binary.LittleEndian.Uint64(k[:]) & uint64(t.slots-1))
	for {
		n := min(slotsAtOnce, t.slots-slot)
		b := buffer[:n*slotBytes]
		if _, err := t.file.ReadAt(b, slot*slotBytes); err != nil {
			return 0, 0, false, err
		}
		for ; len(b) > 0; b, slot = b[slotBytes:], slot+1 {
			stored := binary.LittleEndian.Uint64(b[16:slotBytes])
			if stored == 0 {
				return slot, 0, false, nil
			}
			if key(b[:16]) == k {
				return slot, int64(stored - 1), true, nil
			}
		}
		slot &= t.slots - 1
	}
}

// set sets the value of a key.
func (t *table) set(k key, value int64) error {
	if (t.used+1)*2 > t.slots {
		if err := t.grow(); err != nil {
			return err
		}
	}
	slot, _, ok, err := t.find(k)
	if err != nil {
		return err
	}
	if !ok {
		t.used++
	}
	var b [slotBytes]byte
	copy(b[:], k[:])
	binary.LittleEndian.PutUint64(b[16:], uint64(value)+1)
	_, err = t.file.WriteAt(b[:], slot*slotBytes)
	return err
}

// grow moves everything into a table of four times the size.
func (t *table) grow() error {
	old := t.file
	defer func() { _ = old.Close() }()
	larger := &table{slots: t.slots * 4, newFile: t.newFile}
	if err := larger.create(); err != nil {
		return err
	}
	buffer := make([]byte, 1024*slotBytes)
	in := io.NewSectionReader(old, 0, t.slots*slotBytes)
	for {
		n, err := io.ReadFull(in, buffer)
		for b := buffer[:n/slotBytes*slotBytes]; len(b) > 0; b = b[slotBytes:] {
			if stored := binary.LittleEndian.Uint64(b[16:slotBytes]); stored != 0 {
				if err := larger.set(key(b[:16]), int64(stored-1)); err != nil {
					return errors.Join(err, larger.close())
				}
			}
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			*t = *larger
			return nil
		}
		if err != nil {
			return errors.Join(err, larger.close())
		}
	}
}

func (t *table) close() error { return t.file.Close() }
