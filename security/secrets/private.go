package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
)

const (
	// maxFile and maxLines bound a file, in bytes and lines.
	maxFile  = 1 << 20
	maxLines = 10_000
)

// readPrivate reads a file that its owner alone may read. Its errors do not name the file; remedy
// is how the message names it in the command that mends it.
func readPrivate(path, remedy string) ([]byte, error) {
	// Without O_NONBLOCK, opening a FIFO waits for its writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case info.IsDir():
		return nil, errors.New("it is a folder, not a file")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	if mode := info.Mode().Perm(); tooOpen(mode, ownerOf(info), os.Geteuid()) &&
		runtime.GOOS != "windows" {
		return nil, fmt.Errorf("others than its owner may use it (mode %04o): chmod 600 %s", mode, remedy)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	return text, nil
}

// tooOpen reports whether a file of that owner may be used by more than the user self. Where the
// file is somebody else's, the group may read it: a volume of Kubernetes has the secrets as files
// of root that only the pod's group can read.
func tooOpen(mode fs.FileMode, owner, self int) bool {
	if owner != self {
		return mode&0o037 != 0
	}
	return mode&0o077 != 0
}

// ownerOf is the user whose file it is.
func ownerOf(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return os.Geteuid()
}

// withoutPath is an error of a file without the file's name.
func withoutPath(err error) error {
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// lineError is a mistake in a line. It never shows the line.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// lines calls use with each line and its number, from 1, without the end of the line. It takes
// UTF-8 with a byte order mark, and line ends of Windows.
func lines(text []byte, use func(number int, line string) error) error {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if bytes.HasPrefix(text, []byte{0xfe, 0xff}) || bytes.HasPrefix(text, []byte{0xff, 0xfe}) {
		return &lineError{1, "the file is UTF-16: save it as UTF-8"}
	}
	number := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if number++; number > maxLines && line != "" {
			return &lineError{number, fmt.Sprintf("a file has at most %d lines", maxLines)}
		}
		line = strings.TrimSuffix(line, "\r")
		if strings.ContainsFunc(line, isControl) {
			return &lineError{number, "has a control character"}
		}
		if err := use(number, line); err != nil {
			return err
		}
	}
	return nil
}

// isControl reports whether r may stand in no line: a tab may.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
