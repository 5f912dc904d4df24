package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"crawlnode/local/files"
)

const (
	openSuffix  = files.OpenSuffix // of a file being written, and of its index until that is sorted
	indexSuffix = ".cdxj"
)

// file is the WARC file being written, with its index.
type file struct {
	dir   string
	name  string // final name
	warc  files.File
	index files.File
	size  int64
	first int64 // size of the warcinfo record
	// unsynced says that something was written since the last sync; pending are the index lines of
	// the unsynced captures.
	unsynced bool
	pending  []byte
	// waiting are records behind those that are written, at most gather bytes of them. size counts
	// them.
	waiting []byte
	gather  int
	end     files.End
}

// create makes the next file with its warcinfo record. The caller holds writing.
func (a *Archive) create() (*file, error) {
	now := time.Now()
	for range 10000 {
		stem := fmt.Sprintf("%s-%s-%05d-%s", files.SafeName(a.opts.Prefix),
			now.UTC().Format("20060102150405"), a.serial, files.SafeName(a.opts.Name))
		a.serial++
		if a.taken(stem) {
			continue
		}
		name := stem + suffixes[a.opts.Compression]
		warc, err := a.opts.OpenFile(filepath.Join(a.dir, name+openSuffix),
			os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f := &file{dir: a.dir, name: name, warc: warc}
		if err := f.start(newEncoder(a.opts.Rand, a.opts.Compression), now, &a.opts); err != nil {
			f.abandon()
			if isFull(err) { // each attempt would leave an empty file
				f.remove()
			}
			return nil, err
		}
		return f, nil
	}
	return nil, fmt.Errorf("find no free file name in %s", a.dir)
}

// taken reports whether an older file, of either compression, has the name: both would share an
// index.
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

// start writes the beginning of every file.
func (f *file) start(e *encoder, now time.Time, o *Options) (err error) {
	f.index, err = o.OpenFile(filepath.Join(f.dir, indexName(f.name)+openSuffix),
		os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return err
	}
	if err := e.info(f.name, now, o); err != nil {
		return err
	}
	if err := f.append(e.out); err != nil {
		return err
	}
	f.first, f.gather = f.size, o.Gather
	return files.SyncDir(f.dir)
}

// isFullFor reports whether n more bytes need another file. A file with only its warcinfo record
// takes any size.
func (f *file) isFullFor(n int, limit int64) bool {
	return f.size > f.first && f.size+int64(n) > limit
}

// append adds b at the end: to what waits, or to the file when b is larger than what may wait. When
// the disk is full nothing is changed. After any other error the file is unusable.
func (f *file) append(b []byte) error {
	if len(f.waiting)+len(b) > f.gather {
		if err := f.flush(); err != nil {
			return err
		}
	}
	if len(b) <= f.gather {
		f.waiting = append(f.waiting, b...)
	} else if err := f.write(b, f.size); err != nil {
		return err
	}
	f.size += int64(len(b))
	f.unsynced = true
	return nil
}

// flush writes what waits. When the disk is full it waits on.
func (f *file) flush() error {
	size := f.size - int64(len(f.waiting))
	if len(f.waiting) == 0 {
		return f.end.Cut(f.warc, size)
	}
	if err := f.write(f.waiting, size); err != nil {
		return err
	}
	f.waiting = f.waiting[:0]
	return nil
}

// write writes b at the file's end, which is at size.
func (f *file) write(b []byte, size int64) error {
	if err := f.end.Append(f.warc, size, b); err != nil {
		return fmt.Errorf("write to %s at %d: %w", f.name, size, err)
	}
	return nil
}

// sync flushes the file to the disk, and then writes the index lines of the flushed captures. When
// the disk is full, rest is the part of the lines that is not written.
func (f *file) sync(lines []byte) (rest []byte, err error) {
	if err := f.warc.Sync(); err != nil {
		// after a failed sync the system may drop the data
		return nil, final(fmt.Errorf("sync %s: %w", f.name, err))
	}
	if n, err := f.index.Write(lines); err != nil {
		return lines[n:], fmt.Errorf("write index of %s: %w", f.name, err)
	}
	return nil, nil
}

// finish syncs the file and gives it its final name. When the disk is full it stays
// open and usable.
func (f *file) finish() error {
	rest, err := f.pending, f.flush()
	if err == nil {
		rest, err = f.sync(f.pending)
	}
	if isFull(err) {
		f.pending = rest
		return err
	}
	if err == nil {
		err = f.index.Sync()
	}
	if e := errors.Join(f.warc.Close(), f.index.Close()); err == nil {
		err = e
	}
	if err != nil {
		return final(fmt.Errorf("close %s: %w", f.name, err))
	}
	return final(files.Finish(f.dir, f.name))
}

// isFull reports whether an error says that the disk is full and nothing worse: the failed call has
// changed nothing.
func isFull(err error) bool { return files.NoRoom(err) }

// final marks an error as permanent, even if a full disk caused it: a retry does not help.
func final(err error) error {
	if isFull(err) {
		return errors.New(err.Error())
	}
	return err
}

// remove deletes a file to which nothing was added.
func (f *file) remove() {
	for _, name := range [...]string{f.name, indexName(f.name)} {
		_ = os.Remove(filepath.Join(f.dir, name+openSuffix)) // else the next Open does
	}
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
	if c := compressionOf(name); c != "" {
		return strings.TrimSuffix(name, suffixes[c]) + indexSuffix
	}
	return strings.TrimSuffix(name, plainSuffix) + indexSuffix
}
