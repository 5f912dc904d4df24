package scopeset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

const logSuffix = ".log"

// maxOrigin bounds an origin's name, which becomes a file's.
const maxOrigin = 64

// Piece is a part of a log: whole lines, from an offset on.
type Piece struct {
	Origin string
	From   int64
	Lines  string
}

func (p *Piece) check() error {
	if err := checkOrigin(p.Origin); err != nil {
		return err
	}
	if p.From < 0 || !strings.HasSuffix(p.Lines, "\n") {
		return fmt.Errorf("%w: a piece of %d bytes from %d that does not end with a line", ErrEntry,
			len(p.Lines), p.From)
	}
	for line := range strings.Lines(p.Lines) {
		if err := checkEntry(strings.TrimSuffix(line, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// checkOrigin accepts only names that lead to no other folder.
func checkOrigin(origin string) error {
	if origin == "" || len(origin) > maxOrigin ||
		strings.Trim(origin, "0123456789abcdefghijklmnopqrstuvwxyz-") != "" {
		return fmt.Errorf("%w: %.80q", ErrOrigin, origin)
	}
	return nil
}

func checkEntry(e string) error {
	if e == "" || len(e) > MaxEntry || strings.ContainsAny(e, "\r\n\x00") || !utf8.ValidString(e) {
		return fmt.Errorf("%w: %d bytes with %.80q", ErrEntry, len(e), e)
	}
	return nil
}

// log is the file of one origin.
type log struct {
	file *os.File
	size int64 // bytes of whole lines; bytes after them are ignored
	keep bool  // those bytes are left where they are
}

func openLog(path string) (*log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	return &log{file: f}, nil
}

// openLogReadOnly opens a log that is not to be changed.
func openLogReadOnly(path string) (*log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &log{file: f, keep: true}, nil
}

// replayBytes is how much of a log is replayed at once.
const replayBytes = 64 << 10

// replay passes on all whole lines and cuts off the rest: a crash may leave half a line, or zeros.
func (l *log) replay(take func(lines string)) error {
	var part strings.Builder
	r := bufio.NewReaderSize(l.file, MaxEntry+1)
	for {
		line, err := r.ReadSlice('\n')
		if err == nil && checkEntry(string(line[:len(line)-1])) == nil {
			part.Write(line)
			l.size += int64(len(line))
		} else if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		} else {
			take(part.String())
			if l.keep {
				return nil
			}
			return l.file.Truncate(l.size)
		}
		if part.Len() >= replayBytes {
			take(part.String())
			part.Reset()
		}
	}
}

// append writes whole lines and syncs them. After an error the log is unchanged.
func (l *log) append(lines string) error {
	_, err := l.file.WriteAt([]byte(lines), l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil { // a torn line must not be joined to the next one
		return errors.Join(err, l.file.Truncate(l.size))
	}
	l.size += int64(len(lines))
	return nil
}

// read returns the whole lines among n bytes from an offset on.
func (l *log) read(from, n int64) (string, error) {
	b := make([]byte, n)
	if _, err := l.file.ReadAt(b, from); err != nil {
		return "", err
	}
	return string(b[:strings.LastIndexByte(string(b), '\n')+1]), nil
}
