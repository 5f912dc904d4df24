package files

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// spareSuffix and oldSuffix end the names of the other copy of a file that Replace
	// keeps, and of the one that is being replaced.
	spareSuffix, oldSuffix = ".spare", ".old"
	// leastBytes is the least size of a file that Replace keeps.
	leastBytes = 16 << 10
)

// Replace replaces a small file of text: after a crash it holds the old or the new
// content, whole, with blanks behind it. It needs free space only when the file grows:
// the content goes into a spare file whose blocks were written before, and what is
// replaced becomes the spare one of the next time.
func Replace(path string, content []byte) error {
	size := leastBytes
	for size < len(content) {
		size *= 2
	}
	spare, old := path+spareSuffix, path+oldSuffix
	if err := tidy(path, spare, old); err != nil {
		return err
	}
	if err := overwrite(spare, content, size); err != nil {
		return err
	}
	// The old file gets another name first, and so keeps its blocks. Without one, and
	// where files have one name only, a new file is made.
	linked := os.Link(path, old) == nil
	if err := os.Rename(spare, path); err != nil {
		return err
	}
	if linked {
		if err := os.Rename(old, spare); err != nil {
			return err
		}
	}
	if info, err := os.Stat(spare); err != nil || info.Size() < int64(size) {
		_ = overwrite(spare, nil, size) // for the next call, which says so when there is no room
	}
	return SyncDir(filepath.Dir(path))
}

// tidy makes good what a crash has left: a spare or old name of the file itself goes, and
// the file that was being replaced becomes the spare one, with its blocks. A disk that has
// filled up since has none for another.
func tidy(path, spare, old string) error {
	for _, other := range []string{spare, old} {
		if err := notTheSame(path, other); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(spare); err == nil {
		return removeIfThere(old)
	}
	if err := os.Rename(old, spare); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// notTheSame removes a name that is another one of the file.
func notTheSame(path, other string) error {
	a, err := os.Stat(path)
	b, err2 := os.Stat(other)
	if err != nil || err2 != nil || !os.SameFile(a, b) {
		return nil //nolint:nilerr // what is not there is not the same; other errors come again
	}
	return os.Remove(other)
}

// overwrite writes content and blanks into a file, over what it has, and syncs it. The
// file gets size bytes, or keeps more; where there is no room to grow, it keeps what
// it has if the content fits.
func overwrite(path string, content []byte, size int) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(overwriteFile(f, content, size), f.Close())
}

func overwriteFile(f *os.File, content []byte, size int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	had := int(info.Size())
	if had < size {
		if _, err := f.WriteAt(bytes.Repeat([]byte{'\n'}, size-had), int64(had)); err != nil && had < len(content) {
			return err
		} else if err == nil {
			had = size
		}
	}
	whole := append(bytes.Clone(content), bytes.Repeat([]byte{'\n'}, max(0, had-len(content)))...)
	if _, err := f.WriteAt(whole, 0); err != nil {
		return err
	}
	return f.Sync()
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
