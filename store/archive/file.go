package archive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"crawlnode/store/files"
)

const (
	openSuffix  = files.OpenSuffix // of a file being written, and of its index until that is sorted
	indexSuffix = ".cdxj"
)

// file is the WARC file being written, with its index.
type file struct {
	dir   string
	name  string // final name
	warc  *os.File
	index *os.File
	size  int64
	first int64 // size of the warcinfo record
	// unsynced says that something was written since the last sync; pending are the
	// index lines of the captures among it.
	unsynced bool
	pending  []byte
}

// create makes the next file with its warcinfo record. The caller holds writing.
func (a *Archive) create() (*file, error) {
	now := time.Now()
	for range 10000 {
		stem := fmt.Sprintf("%s-%s-%05d-%s", files.SafeName(a.opts.Prefix), now.UTC().Format("20060102150405"), a.serial, files.SafeName(a.opts.Name))
		a.serial++
		if a.taken(stem) {
			continue
		}
		name := stem + suffixes[a.opts.Compression]
		warc, err := os.OpenFile(filepath.Join(a.dir, name+openSuffix), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o640)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f := &file{dir: a.dir, name: name, warc: warc}
		if err := f.start(newEncoder(a.opts.Rand, a.opts.Compression), now, &a.opts); err != nil {
			f.abandon()
			return nil, err
		}
		return f, nil
	}
	return nil, fmt.Errorf("find no free file name in %s", a.dir)
}

// taken reports whether an older file, of either compression, has the name: they
// would share an index.
func (a *Archive) taken(stem string) bool {
	for _, suffix := range suffixes {
		for _, state := range [...]string{"", openSuffix} {
			if _, err := os.Lstat(filepath.Join(a.dir, stem+suffix+state)); err == nil {
				return true
			}
		}
	}
	return false
}

// start writes what every file begins with.
func (f *file) start(e *encoder, now time.Time, o *Options) (err error) {
	f.index, err = os.OpenFile(filepath.Join(f.dir, indexName(f.name)+openSuffix), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	if err := e.info(f.name, now, o); err != nil {
		return err
	}
	if err := f.append(e.out); err != nil {
		return err
	}
	f.first = f.size
	return files.SyncDir(f.dir)
}

// isFullFor reports whether n more bytes need another file. A file with nothing
// but its warcinfo takes anything.
func (f *file) isFullFor(n int, limit int64) bool {
	return f.size > f.first && f.size+int64(n) > limit
}

// append writes b at the end. After an error the file is no longer usable; what
// was written in part is cut off if the disk still allows it.
func (f *file) append(b []byte) error {
	n, err := f.warc.Write(b)
	if err == nil && n != len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		_ = f.warc.Truncate(f.size)
		return fmt.Errorf("write to %s at %d: %w", f.name, f.size, err)
	}
	f.size += int64(n)
	f.unsynced = true
	return nil
}

// sync brings what was written to the disk, and then writes the index lines
// that name it.
func (f *file) sync(lines []byte) error {
	if err := f.warc.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", f.name, err)
	}
	if _, err := f.index.Write(lines); err != nil {
		return fmt.Errorf("write index of %s: %w", f.name, err)
	}
	return nil
}

// finish syncs the file and gives it its final name.
func (f *file) finish() error {
	err := f.sync(f.pending)
	if err == nil {
		err = f.index.Sync()
	}
	if e := errors.Join(f.warc.Close(), f.index.Close()); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("close %s: %w", f.name, err)
	}
	return files.Settle(f.dir, f.name)
}

// abandon closes the file as it is.
func (f *file) abandon() {
	_ = f.warc.Close()
	if f.index != nil {
		_ = f.index.Close()
	}
}

// indexName returns the name of the index beside a WARC file.
func indexName(name string) string {
	return strings.TrimSuffix(name, suffixes[compressionOf(name)]) + indexSuffix
}
