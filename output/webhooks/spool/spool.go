package spool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"crawlnode/local/files"
)

// Limits bound a spool.
type Limits struct {
	Messages int64 // in all segments
	Bytes    int64 // of all segments
	Segment  int64 // bytes at which a new segment begins; what is removed is a segment
	Message  int   // bytes of one message
}

// Options say where a spool is.
type Options struct {
	Dir       string
	Receivers []string // names; a cursor of a name that is not among them is forgotten
	Limits    Limits
	// OpenFile opens the segments; nil: files.OpenFile.
	OpenFile files.Opener
}

// Figures are what is known of a receiver.
type Figures struct {
	Queued int64 // messages that it has not taken
	Taken  int64 // since its name was given for the first time
	Lost   int64 // of them were removed before it took them; likewise
}

// Spool is a queue on disk. Open makes it.
type Spool struct {
	o Options

	disk sync.Mutex // held by those who write; guards out
	out  files.File // of the last segment; nil: the next Append begins one

	mu       sync.Mutex // guards the rest; never held during I/O
	segments []*segment // the oldest first
	bytes    int64
	messages int64
	newest   uint64 // number of the newest message that there ever was
	cursors  map[string]*cursor
	damaged  int64
}

// cursor is what is stored of a receiver.
type cursor struct {
	At    uint64 `json:"at"` // number of the last message that it has taken
	Taken int64  `json:"taken"`
	Lost  int64  `json:"lost"`
}

// cursorFile is the content of cursors.json.
type cursorFile struct {
	Newest  uint64             `json:"newest"`
	Cursors map[string]*cursor `json:"cursors"`
}

// ErrTooLarge is in the error of a message beyond Limits.Message.
var ErrTooLarge = errors.New("is larger than a message may be")

// Open opens or makes a spool. A new receiver gets what is appended from now on. Its errors are
// those of the disk; damaged segments are none.
func Open(o Options) (*Spool, error) {
	if o.OpenFile == nil {
		o.OpenFile = files.OpenFile
	}
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return nil, err
	}
	s := &Spool{o: o, cursors: map[string]*cursor{}}
	stored, err := s.readCursors()
	if err != nil {
		return nil, err
	}
	s.newest = stored.Newest
	paths, err := segmentsIn(o.Dir)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		seg, damaged, err := readSegment(path, sumDigits+numberDigits+2+o.Limits.Message)
		if err != nil {
			return nil, err
		}
		s.damaged += damaged
		s.segments = append(s.segments, seg)
		s.bytes += seg.bytes
		s.messages += int64(len(seg.lines))
		s.newest = max(s.newest, seg.last())
	}
	for _, name := range o.Receivers {
		c := stored.Cursors[name]
		if c == nil {
			c = &cursor{At: s.newest}
		}
		s.cursors[name] = c
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	return s, errors.Join(s.store(), s.removeTaken())
}

// readCursors reads cursors.json. A file that cannot be understood is as none: all that is there is
// sent again.
func (s *Spool) readCursors() (cursorFile, error) {
	stored := cursorFile{}
	text, err := os.ReadFile(s.cursorPath())
	if errors.Is(err, fs.ErrNotExist) {
		return stored, nil
	}
	if err != nil {
		return stored, err
	}
	if json.Unmarshal(text, &stored) == nil {
		return stored, nil
	}
	stored = cursorFile{Cursors: map[string]*cursor{}}
	for _, name := range s.o.Receivers {
		stored.Cursors[name] = &cursor{}
	}
	return stored, nil
}

func (s *Spool) cursorPath() string { return filepath.Join(s.o.Dir, "cursors.json") }

// Append adds messages, in this order. They are synced when it returns without an error; with one,
// the caller tries again: some of them may be there then, and come twice after a new start. A
// message is one line: it has no line end. A message that is too large fails with ErrTooLarge
// before anything is written.
func (s *Spool) Append(messages ...[]byte) error {
	for _, m := range messages {
		if len(m) > s.o.Limits.Message {
			return fmt.Errorf("a message of %d bytes %w: %d", len(m), ErrTooLarge, s.o.Limits.Message)
		}
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	seg, err := s.openSegment()
	if err != nil {
		return err
	}
	s.mu.Lock()
	number, at := s.newest, seg.bytes
	s.mu.Unlock()
	var text []byte
	added := make([]line, 0, len(messages))
	for _, m := range messages {
		number++
		b := encode(number, m)
		added = append(added, line{number, at + int64(len(text)), len(b)})
		text = append(text, b...)
	}
	if n, err := s.out.Write(text); err != nil || n != len(text) {
		err = cmp.Or(err, io.ErrShortWrite)
		return s.abandon(number, fmt.Errorf("append to %s: %w", seg.path, err))
	}
	if err := s.out.Sync(); err != nil {
		return s.abandon(number, fmt.Errorf("sync %s: %w", seg.path, err))
	}
	s.mu.Lock()
	seg.lines = append(seg.lines, added...)
	seg.bytes += int64(len(text))
	s.bytes += int64(len(text))
	s.messages += int64(len(added))
	s.newest = number
	s.mu.Unlock()
	return s.makeRoom()
}

// abandon gives the last segment up after an error: what stands behind its last whole message may
// be anything, and a later sync of the same file proves nothing. The numbers up to tried may stand
// there, and are not used again, or two messages would have the same one.
func (s *Spool) abandon(tried uint64, err error) error {
	s.mu.Lock()
	size := s.segments[len(s.segments)-1].bytes
	s.newest = tried
	s.mu.Unlock()
	_ = s.out.Truncate(size) // or the messages come twice after a new start
	_ = s.out.Close()
	s.out = nil
	return err
}

// openSegment returns the segment for the next message. It is called with disk held.
func (s *Spool) openSegment() (*segment, error) {
	s.mu.Lock()
	first := s.newest + 1
	var last *segment
	if len(s.segments) > 0 {
		last = s.segments[len(s.segments)-1]
	}
	s.mu.Unlock()
	if s.out != nil && last.bytes < s.o.Limits.Segment {
		return last, nil
	}
	if s.out != nil {
		err := s.out.Close()
		if s.out = nil; err != nil {
			return nil, err
		}
	}
	path := filepath.Join(s.o.Dir, segmentName(first))
	if last != nil && last.path == path { // it has no whole message
		s.mu.Lock()
		s.segments = s.segments[:len(s.segments)-1]
		s.bytes -= last.bytes
		s.mu.Unlock()
	}
	out, err := s.o.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	if err := files.SyncDir(s.o.Dir); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	seg := &segment{path: path}
	s.out = out
	s.mu.Lock()
	s.segments = append(s.segments, seg)
	s.mu.Unlock()
	return seg, nil
}

// makeRoom removes the oldest segments while the spool is larger than it may be, but never the last
// one. It is called with disk held.
func (s *Spool) makeRoom() error {
	lost := false
	var gone []*segment
	s.mu.Lock()
	for len(s.segments) > 1 && (s.messages > s.o.Limits.Messages || s.bytes > s.o.Limits.Bytes) {
		oldest := s.segments[0]
		for _, c := range s.cursors {
			if n := oldest.after(c.At); n > 0 {
				c.Lost += n
				c.At, lost = oldest.last(), true
			}
		}
		gone = append(gone, s.dropOldest())
	}
	s.mu.Unlock()
	if lost {
		if err := s.store(); err != nil {
			return err
		}
	}
	return remove(gone)
}

// dropOldest forgets the oldest segment. It is called with mu held.
func (s *Spool) dropOldest() *segment {
	oldest := s.segments[0]
	s.segments = slices.Delete(s.segments, 0, 1)
	s.bytes -= oldest.bytes
	s.messages -= int64(len(oldest.lines))
	return oldest
}

// removeTaken removes the segments that every receiver has taken, but for the one that grows. It is
// called with disk held.
func (s *Spool) removeTaken() error {
	var gone []*segment
	s.mu.Lock()
	for len(s.segments) > 0 && (s.out == nil || len(s.segments) > 1) && s.takenLocked(s.segments[0]) {
		gone = append(gone, s.dropOldest())
	}
	s.mu.Unlock()
	return remove(gone)
}

func (s *Spool) takenLocked(seg *segment) bool {
	for _, c := range s.cursors {
		if seg.after(c.At) > 0 {
			return false
		}
	}
	return true
}

func remove(segments []*segment) error {
	var errs []error
	for _, seg := range segments {
		if err := os.Remove(seg.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Message is a message and its number.
type Message struct {
	Number uint64
	Text   []byte
}

// Next returns the oldest message that a receiver has not taken; false: there is none. A message
// that turns out to be damaged is lost, and passed over.
func (s *Spool) Next(receiver string) (Message, bool, error) {
	for {
		at, path, ok := s.locate(receiver)
		if !ok {
			return Message{}, false, nil
		}
		m, err := readAt(path, at)
		if err == nil {
			return m, true, nil
		}
		if now, _, there := s.locate(receiver); !there || now.number != at.number {
			continue // its segment was removed meanwhile
		}
		if !errors.Is(err, errDamaged) && !errors.Is(err, fs.ErrNotExist) {
			return Message{}, false, err
		}
		if err := s.move(receiver, at.number, false); err != nil {
			return Message{}, false, err
		}
	}
}

func (s *Spool) locate(receiver string) (line, string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cursorLocked(receiver)
	for _, seg := range s.segments {
		if i := seg.index(c.At + 1); i < len(seg.lines) {
			return seg.lines[i], seg.path, true
		}
	}
	return line{}, "", false
}

func (s *Spool) cursorLocked(receiver string) *cursor {
	c := s.cursors[receiver]
	if c == nil {
		panic("BUG: the spool has no receiver " + receiver)
	}
	return c
}

// errDamaged is in the error of a message that is not as it was written.
var errDamaged = errors.New("is damaged")

func readAt(path string, at line) (Message, error) {
	f, err := os.Open(path)
	if err != nil {
		return Message{}, err
	}
	defer func() { _ = f.Close() }()
	text := make([]byte, at.bytes)
	if _, err := f.ReadAt(text, at.offset); err != nil && !errors.Is(err, io.EOF) {
		return Message{}, err
	}
	number, message, ok := decode(text[:at.bytes-1])
	if !ok || number != at.number {
		return Message{}, fmt.Errorf("the message at %d of %s %w", at.offset, path, errDamaged)
	}
	return Message{number, message}, nil
}

// Took moves a receiver's cursor behind the message that Next has returned, durably.
func (s *Spool) Took(receiver string, number uint64) error { return s.move(receiver, number, true) }

func (s *Spool) move(receiver string, number uint64, taken bool) error {
	s.disk.Lock()
	defer s.disk.Unlock()
	s.mu.Lock()
	c := s.cursorLocked(receiver)
	switch {
	case taken:
		if c.Taken++; number <= c.At { // it was removed meanwhile, and counted as lost
			c.Lost--
		}
	case number > c.At:
		c.Lost++
	}
	c.At = max(c.At, number)
	s.mu.Unlock()
	return errors.Join(s.store(), s.removeTaken())
}

// store writes the cursors. It is called with disk held.
func (s *Spool) store() error {
	s.mu.Lock()
	text, err := json.Marshal(cursorFile{s.newest, s.cursors})
	s.mu.Unlock()
	if err != nil {
		panic("BUG: cursors cannot be written as JSON: " + err.Error())
	}
	if err := files.Replace(s.cursorPath(), text); err != nil {
		return fmt.Errorf("store the cursors: %w", err)
	}
	return nil
}

// Lose counts messages that could not be appended as lost for every receiver.
func (s *Spool) Lose(n int64) error {
	s.disk.Lock()
	defer s.disk.Unlock()
	s.mu.Lock()
	for _, c := range s.cursors {
		c.Lost += n
	}
	s.mu.Unlock()
	return s.store()
}

// Figures are what is known of a receiver at the moment.
func (s *Spool) Figures(receiver string) Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cursorLocked(receiver)
	f := Figures{Taken: c.Taken, Lost: c.Lost}
	for _, seg := range s.segments {
		f.Queued += seg.after(c.At)
	}
	return f
}

// Damaged is how many messages Open found damaged.
func (s *Spool) Damaged() int64 { return s.damaged }

// Close closes the segment that grows. Nothing may be called afterwards.
func (s *Spool) Close() error {
	s.disk.Lock()
	defer s.disk.Unlock()
	if s.out == nil {
		return nil
	}
	err := s.out.Close()
	s.out = nil
	return err
}
