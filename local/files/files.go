package files

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// OpenSuffix follows the final name of a file that is not complete yet.
const OpenSuffix = ".open"

const maxNameLen = 64 // bytes of a node's name inside a file name

// Finish renames the open file to its final name, durably. It never replaces another file.
func Finish(dir, name string) error {
	final := filepath.Join(dir, name)
	if _, err := os.Lstat(final); err == nil {
		return fmt.Errorf("%s already exists; move it away, so that %s can be renamed to it", final,
			name+OpenSuffix)
	}
	if err := os.Rename(final+OpenSuffix, final); err != nil {
		return err
	}
	return SyncDir(dir)
}

// SyncDir makes new and changed names in dir durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}

// SafeName keeps letters, digits, dot, dash and underscore of a name, so that it leads out of no
// folder and is valid in any file system. It begins with no dot and has at most 64 bytes.
func SafeName(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' ||
			r == '_' {
			return r
		}
		return '_'
	}, s)
	return strings.TrimLeft(clean[:min(len(clean), maxNameLen)], ".")
}

// Source counts the bytes read from R and keeps a failure of the disk, which must not be mistaken
// for a torn file.
type Source struct {
	R   io.Reader
	N   int64 // offset in the file of the next read
	Err error // the failure; nil at a normal end
}

// Read reads from R.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.R.Read(p)
	s.N += int64(n)
	if err != nil && err != io.EOF {
		s.Err = err
	}
	return n, err
}
