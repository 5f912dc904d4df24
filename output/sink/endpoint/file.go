package endpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
)

// fileSink appends lines to a file.
type fileSink struct {
	f    *os.File
	size int64
	buf  bytes.Buffer
}

// openFile opens a file to append to. A line that an earlier process has left in part is ended:
// readers skip it, and the event comes again.
func openFile(path string) (*fileSink, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o640)
	if err != nil {
		return nil, err
	}
	s := &fileSink{f: f}
	if err := s.endLine(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// endLine ends a line that was written in part.
func (s *fileSink) endLine() error {
	info, err := s.f.Stat()
	if err != nil {
		return err
	}
	if s.size = info.Size(); s.size == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := s.f.ReadAt(last, s.size-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	n, err := s.f.WriteString("\n")
	s.size += int64(n)
	return err
}

// Refresh goes to the file that has the name now: a program that rotates logs has moved or removed
// the open one. One that was cut to nothing stays open; the next line is appended to it.
func (s *fileSink) Refresh() error {
	own, err := s.f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(s.f.Name())
	if err == nil && os.SameFile(own, named) {
		s.size = min(s.size, own.Size())
		return nil
	}
	next, err := openFile(s.f.Name())
	if err != nil {
		return fmt.Errorf("open %s again, which was moved away: %w", s.f.Name(), err)
	}
	old := s.f
	s.f, s.size = next.f, next.size
	_ = old.Close() // all of it is synced
	return nil
}

// Send appends the events. After an error the file has none of them, if it can be cut.
func (s *fileSink) Send(ctx context.Context, events []Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.Refresh(); err != nil {
		return err
	}
	s.buf.Reset()
	for _, e := range events {
		s.buf.Write(e.Line)
		s.buf.WriteByte('\n')
	}
	n, err := s.f.Write(s.buf.Bytes())
	if err != nil {
		return fmt.Errorf("append to %s: %w", s.f.Name(), errors.Join(err, s.takeBack(n)))
	}
	s.size += int64(n)
	if err := s.f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", s.f.Name(), err)
	}
	return nil
}

// takeBack cuts off the n bytes of a write that failed. If the file cannot be cut, or if it has
// lines of another process, such as of a second node with the same sink, only the line is ended.
func (s *fileSink) takeBack(n int) error {
	info, err := s.f.Stat()
	if err == nil && info.Size() == s.size+int64(n) {
		if err = s.f.Truncate(s.size); err == nil {
			return nil
		}
	}
	return errors.Join(err, s.endLine())
}

func (s *fileSink) Close() error { return s.f.Close() }
