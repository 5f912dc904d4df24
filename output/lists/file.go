package lists

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"crawlnode/local/files"
)

const (
	openSuffix = files.OpenSuffix
	tailSuffix = ".tail"
)

// file is the file being written, with its tail.
type file struct {
	name     string // final name
	gz, tail handle
	size     int64         // of gz
	written  *atomic.Int64 // of all files
	first    int64         // bytes of gz that it began with
	after    int64         // bytes of gz that were on the disk when the tail was started
	tailSize int64
	pending  []byte // lines of the tail that gz lacks
	dirty    bool   // the tail has lines that are not on the disk
	headless bool   // the tail is empty: there was no room for its first line
	since    time.Time
	gzEnd    files.End
	tailEnd  files.End
}

// handle is an open file.
type handle interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// isFull reports whether a write failed for lack of space: then it has changed nothing, and may be
// repeated.
func isFull(err error) bool { return files.NoRoom(err) }

// lasting marks the error of a sync as permanent: data that one sync could not write is not written
// by the next either, even if that succeeds.
func lasting(err error) error {
	if isFull(err) {
		return errors.New(err.Error())
	}
	return err
}

// tailHead is the first line of a tail.
type tailHead struct {
	File  string `json:"file"`
	After int64  `json:"after"`
}

// create makes the next file. The caller holds the token.
func (s *stream) create() error {
	now := time.Now()
	for range 10000 {
		name := fmt.Sprintf("%s-%s-%05d-%s%s", s.kind, now.UTC().Format("20060102150405"), s.serial,
			s.node, s.suffix)
		s.serial++
		if _, err := os.Lstat(filepath.Join(s.dir, name)); err == nil {
			continue // an older file has that name
		}
		gz, err := os.OpenFile(filepath.Join(s.dir, name+openSuffix),
			os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o640)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		s.files.Add(1)
		f := &file{name: name, gz: gz, written: s.bytes}
		if err := s.start(f, now); err != nil {
			return s.undo(f, err)
		}
		s.file = f
		return nil
	}
	return fmt.Errorf("find no free file name in %s", s.dir)
}

// undo removes a file for which there was no room. After any other error the next Open removes it.
func (s *stream) undo(f *file, err error) error {
	_ = f.gz.Close()
	if f.tail != nil {
		_ = f.tail.Close()
	}
	if !isFull(err) {
		return err
	}
	s.files.Add(-1)
	s.bytes.Add(-f.size)
	if e := errors.Join(removeIfThere(filepath.Join(s.dir, f.name+openSuffix)),
		removeIfThere(filepath.Join(s.dir, tailName(f.name)))); e != nil {
		return e
	}
	return err
}

// start starts the file's tail, and writes the beginning of the file.
func (s *stream) start(f *file, now time.Time) (err error) {
	tail, err := os.OpenFile(filepath.Join(s.dir, tailName(f.name)),
		os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	f.tail = tail
	if err := f.beginTail(); err != nil {
		return err
	}
	if s.head == nil {
		return files.SyncDir(s.dir)
	}
	head, err := s.head(f.name, now)
	if err != nil {
		return err
	}
	if err := f.write(head); err != nil {
		return err
	}
	f.first = f.size
	return files.SyncDir(s.dir)
}

// write adds a member to the file.
func (f *file) write(member []byte) error {
	if err := f.gzEnd.Append(f.gz, f.size, member); err != nil {
		return fmt.Errorf("write to %s at %d: %w", f.name, f.size, err)
	}
	f.size += int64(len(member))
	f.written.Add(int64(len(member)))
	return nil
}

// note adds lines to the tail, and to the lines that wait to be compressed.
func (f *file) note(lines []byte) error {
	if err := f.tailEnd.Append(f.tail, f.tailSize, lines); err != nil {
		return fmt.Errorf("write to the tail of %s at %d: %w", f.name, f.tailSize, err)
	}
	f.tailSize += int64(len(lines))
	f.pending = append(f.pending, lines...)
	f.dirty = true
	return nil
}

// checkpoint syncs the file to the disk and then empties the tail.
func (f *file) checkpoint() error {
	if err := f.gz.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", f.name, lasting(err))
	}
	// If a power cut undoes the truncation, the old tail counts, as a whole.
	if err := f.tail.Sync(); err != nil {
		return fmt.Errorf("sync the tail of %s: %w", f.name, lasting(err))
	}
	if err := f.tail.Truncate(0); err != nil {
		return fmt.Errorf("empty the tail of %s: %w", f.name, err)
	}
	f.tailSize, f.dirty, f.headless, f.tailEnd = 0, false, true, files.End{}
	return f.beginTail()
}

// beginTail writes the first line of an empty tail. The whole file is on the disk then.
func (f *file) beginTail() error {
	line, err := json.Marshal(tailHead{File: f.name, After: f.size})
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if err := f.tailEnd.Append(f.tail, 0, line); err != nil {
		return fmt.Errorf("begin the tail of %s: %w", f.name, err)
	}
	f.after, f.tailSize, f.dirty, f.headless, f.since = f.size, int64(len(line)), false, false,
		time.Now()
	return nil
}

// finish gives the open file its final name, durably, and then removes its tail.
func finish(dir, name string) error {
	if err := files.Finish(dir, name); err != nil {
		return err
	}
	return removeIfThere(filepath.Join(dir, tailName(name)))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// tailName is the name of the tail beside a file of that final name; nameOfTail is its inverse.
func tailName(name string) string   { return strings.TrimSuffix(name, ".gz") + tailSuffix }
func nameOfTail(tail string) string { return strings.TrimSuffix(tail, tailSuffix) + ".gz" }

// isOurs reports whether a file of that final name is one of this package's.
func isOurs(name string) bool {
	kind, _, _ := strings.Cut(name, "-")
	switch kind {
	case Pages, Links, Hosts, Skipped:
		return strings.HasSuffix(name, linesSuffix)
	case Text:
		return strings.HasSuffix(name, textSuffix)
	}
	return false
}

// takeStock counts the contents of the folder and finds the next serial number.
func (s *Outputs) takeStock(dir string) (next int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if !isOurs(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		s.files.Add(1)
		s.bytes.Add(info.Size())
		if fields := strings.SplitN(e.Name(), "-", 4); len(fields) == 4 {
			if n, err := strconv.Atoi(fields[2]); err == nil && n >= next {
				next = n + 1
			}
		}
	}
	return next, nil
}
