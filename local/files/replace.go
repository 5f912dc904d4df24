package files

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// spareSuffix and oldSuffix end the names of the spare copy of a file that Replace keeps, and
	// of the file that is being replaced.
	spareSuffix, oldSuffix = ".spare", ".old"
	// leastBytes is the minimum size of a file that Replace keeps.
	leastBytes = 16 << 10
)

// Replace replaces a small text file. After a crash it has the old or the new content, whole,
// followed by blanks. It needs free space only when the file grows: the content goes into a spare
// file whose blocks are already allocated, and the replaced file becomes the next spare.
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
	// The old file gets another name first, and so keeps its blocks. If it does not exist, or the
	// file system has no hard links, a new file is made.
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
		_ = overwrite(spare, nil, size) // for the next call, which reports an error when there is no room
	}
	return SyncDir(filepath.Dir(path))
}

// tidy cleans up after a crash: a spare or old name of the file itself is removed, and the file
// that was being replaced becomes the spare, with its blocks. The disk may be full by now and have
// no others.
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
		return nil //nolint:nilerr // a missing file is not the same; other errors are found later
	}
	return os.Remove(other)
}

// overwrite writes content and blanks over a file and syncs it. The file grows to size bytes, or
// keeps its larger size. Where there is no room to grow, it keeps its size if the content fits.
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
		if _, err := f.WriteAt(bytes.Repeat([]byte{'\n'}, size-had), int64(had)); err != nil &&
			had < len(content) {
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
