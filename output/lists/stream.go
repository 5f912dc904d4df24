package lists

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"crawlnode/local/files"
)

const (
	// memberBytes is how much text makes a member of lines.
	memberBytes = 1 << 20
	// checkpointBytes is how much text makes a checkpoint at a Sync worthwhile; with less, one is
	// due checkpointAge after the last.
	checkpointBytes = 256 << 10
	checkpointAge   = time.Minute
	// maxTail bounds the tail when Sync is never called.
	maxTail = 16 << 20
)

// stream is one output: the file being written, and how the next ones are named.
type stream struct {
	dir, kind, suffix string
	node              string // as written in file names
	limit             int64  // bytes of a file
	// head makes the beginning of a file of texts; nil: the file has lines.
	head func(name string, now time.Time) ([]byte, error)
	sum  bool // lines that differ only in their count are summed
	// durable: Sync syncs the tail to the disk.
	durable bool
	// files and bytes are those of Stats.
	files, bytes *atomic.Int64

	// token serves as a lock that may be held across I/O; it guards the fields below.
	token  chan struct{}
	serial int   // of the next file
	file   *file // nil: none is open
	closed bool
	packer packer
}

func newStream(dir, kind string, serial int, o *Outputs) *stream {
	s := &stream{
		dir: dir, kind: kind, suffix: linesSuffix, node: files.SafeName(o.opts.Name),
		limit: o.opts.MaxFileBytes, files: &o.files, bytes: &o.bytes,
		sum: kind == Hosts, durable: kind != Skipped, token: make(chan struct{}, 1), serial: serial,
	}
	if kind == Text {
		s.suffix, s.head = textSuffix, o.fileHead
	}
	return s
}

// append writes b: whole lines, or a whole member of a text file. The caller holds
// the token. When the disk is full it changes nothing and may be called again; after
// another error the stream is no longer usable.
func (s *stream) append(b []byte) error {
	switch f := s.file; {
	case s.closed:
		return ErrClosed
	case f == nil:
	case s.head == nil && f.size >= s.limit,
		s.head != nil && f.size > f.first && f.size+int64(len(b)) > s.limit:
		if err := s.finish(); err != nil {
			return err
		}
	}
	if s.file == nil {
		if err := s.create(); err != nil {
			return err
		}
	}
	f := s.file
	if err := s.makeUp(); err != nil {
		return err
	}
	if s.head != nil {
		return f.write(b)
	}
	if err := f.note(b); err != nil {
		return err
	}
	// The lines are safe in the tail; work for which there is no room now is done later.
	var err error
	if len(f.pending) >= memberBytes {
		err = s.pack()
	}
	if err == nil && f.tailSize >= maxTail {
		err = s.checkpoint()
	}
	if isFull(err) {
		return nil
	}
	return err
}

// makeUp does the work that a full disk has prevented, so that neither the waiting lines nor the
// tail grow beyond their bounds.
func (s *stream) makeUp() error {
	f := s.file
	if f.headless {
		if err := f.beginTail(); err != nil {
			return err
		}
	}
	if f.tailSize >= maxTail {
		return s.checkpoint()
	}
	if len(f.pending) >= memberBytes {
		return s.pack()
	}
	return nil
}

// pack makes a member of the waiting lines.
func (s *stream) pack() error {
	f := s.file
	if len(f.pending) == 0 {
		return nil
	}
	member, err := s.packer.lines(f.pending, s.sum)
	if err != nil {
		return err
	}
	if err := f.write(member); err != nil {
		return err
	}
	f.pending = f.pending[:0]
	return nil
}

// checkpoint syncs the file to the disk and empties its tail.
func (s *stream) checkpoint() error {
	if err := s.pack(); err != nil {
		return err
	}
	return s.file.checkpoint()
}

// sync makes everything durable that was written before.
func (s *stream) sync() error {
	s.token <- struct{}{}
	f := s.file
	if f == nil {
		<-s.token
		return nil
	}
	if waits := len(f.pending); f.size > f.after || waits >= checkpointBytes ||
		waits > 0 && time.Since(f.since) >= checkpointAge {
		defer func() { <-s.token }()
		return s.checkpoint()
	}
	due := s.durable && f.dirty
	f.dirty = false
	<-s.token
	if !due {
		return nil
	}
	// Other callers write meanwhile. A caller that closes the file has synced it.
	if err := f.tail.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("sync the tail of %s: %w", f.name, lasting(err))
	}
	return nil
}

// finish closes the file under its final name.
func (s *stream) finish() error {
	f := s.file
	if err := s.pack(); err != nil {
		return err
	}
	if err := f.gzEnd.Cut(f.gz, f.size); err != nil { // a text that was given up
		return err
	}
	s.file = nil
	err := lasting(f.gz.Sync())
	if e := errors.Join(f.gz.Close(), f.tail.Close()); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("close %s: %w", f.name, err)
	}
	return finish(s.dir, f.name)
}

// close ends the stream. whole is false after a failure; the file then stays as it is.
func (s *stream) close(whole bool) error {
	s.token <- struct{}{}
	defer func() { <-s.token }()
	s.closed = true
	if s.file == nil {
		return nil
	}
	var err error
	if whole {
		if err = s.finish(); s.file == nil {
			return err
		}
	}
	_, _ = s.file.gz.Close(), s.file.tail.Close() // the next Open repairs them
	s.file = nil
	return err
}
