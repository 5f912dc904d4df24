package archive

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"crawlnode/crawl"
	"crawlnode/local/files"
)

// Repair is the result for a file that a crash left open.
type Repair struct {
	File     string // its final name
	Kept     int64  // bytes
	Cut      int64  // bytes of a record that was not whole
	Captures int    // captures added to the index
	Removed  bool   // it had no whole record
	Reason   string // why something was cut; "" when nothing was
}

// repairAll repairs the files that are open by name.
func (a *Archive) repairAll() error {
	paths, err := Files(a.dir)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if !strings.HasSuffix(path, openSuffix) {
			continue
		}
		done, err := repair(a.dir, strings.TrimSuffix(filepath.Base(path), openSuffix))
		if err != nil {
			return fmt.Errorf("repair %s: %w", path, err)
		}
		if a.opts.OnRepair != nil {
			a.opts.OnRepair(done)
		}
	}
	return removeNamed(a.dir)
}

// repair cuts the open file with that final name after its last whole record, completes its index
// and closes it. It may be interrupted and repeated at any point.
func repair(dir, name string) (Repair, error) {
	done := Repair{File: name}
	path := filepath.Join(dir, name+openSuffix)
	warc, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return done, err
	}
	defer func() { _ = warc.Close() }()
	index, err := os.OpenFile(filepath.Join(dir, indexName(name)+openSuffix), os.O_CREATE|os.O_RDWR,
		0o640)
	if err != nil {
		return done, err
	}
	defer func() { _ = index.Close() }()
	info, err := warc.Stat()
	if err != nil {
		return done, err
	}
	start, indexed, err := trusted(warc, index, name)
	if err != nil {
		return done, err
	}
	var lines []byte
	whole, err := scan(io.NewSectionReader(warc, start, info.Size()-start), start, maxBlockBytes,
		func(r Record) error {
			if r.isCapture() {
				lines = appendIndexLine(lines, r.line(name))
				done.Captures++
			}
			return nil
		})
	if damage, ok := errors.AsType[*DamageError](err); ok {
		done.Reason = damage.Err.Error()
	} else if err != nil {
		return done, err // the disk fails: cutting could destroy good records
	}
	done.Kept, done.Cut = whole, info.Size()-whole
	if whole == 0 {
		done.Removed = true
		return done, remove(dir, name)
	}
	if err := cut(warc, whole, nil); err != nil {
		return done, err
	}
	if err := cut(index, indexed, lines); err != nil {
		return done, err
	}
	return done, files.Finish(dir, name)
}

// tailBytes is how much of an index is read to find its last line.
const tailBytes = 256 << 10

// trusted returns the end of the last record that the index names, and the end of that line. Both
// are 0 when the index cannot be used: then the whole file is read.
func trusted(warc io.ReaderAt, index *os.File, name string) (start, indexed int64, err error) {
	size, err := index.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, 0, err
	}
	tail := make([]byte, min(size, tailBytes))
	if _, err := index.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0, 0, err
	}
	last := bytes.LastIndexByte(tail, '\n')
	if last < 0 {
		return 0, 0, nil
	}
	line := tail[bytes.LastIndexByte(tail[:last], '\n')+1 : last]
	ref, err := parseIndexLine(line)
	if err != nil || ref.File != name {
		return 0, 0, nil //nolint:nilerr // a damaged index is rebuilt
	}
	if record, err := readAt(warc, ref); err != nil || record.Length != ref.Length {
		return 0, 0, nil //nolint:nilerr // so is one that names missing records
	}
	return ref.Offset + ref.Length, size - int64(len(tail)) + int64(last) + 1, nil
}

// cut truncates f to size, appends more and syncs it.
func cut(f *os.File, size int64, more []byte) error {
	if err := f.Truncate(size); err != nil {
		return err
	}
	if _, err := f.WriteAt(more, size); err != nil {
		return err
	}
	return f.Sync()
}

// remove deletes an open file without a whole record, and its index.
func remove(dir, name string) error {
	err := os.Remove(filepath.Join(dir, name+openSuffix))
	if e := os.Remove(filepath.Join(dir, indexName(name)+openSuffix)); err == nil &&
		!errors.Is(e, os.ErrNotExist) {
		err = e
	}
	return err
}

// isCapture reports whether an index names the record.
func (r *Record) isCapture() bool {
	return (r.Type == "response" || r.Type == "revisit") && strings.Contains(r.TargetURI, "://")
}

// line makes the index line of a response or revisit record.
func (r *Record) line(file string) indexLine {
	return newIndexLine(r.TargetURI, r.Date, r.ContentType, r.Type == "revisit", r.Status,
		cmp.Or(r.PayloadDigest, unknownDigest), r.Fields.Get(FieldPreferences),
		crawl.ArchiveRef{File: file, Offset: r.Offset, Length: r.Length})
}

// takeStock counts the contents of the folder and finds the next serial number.
func (a *Archive) takeStock() error {
	paths, err := Files(a.dir)
	if err != nil {
		return err
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		a.files.Add(1)
		a.bytes.Add(info.Size())
		if info, err := os.Stat(filepath.Join(a.dir, indexName(filepath.Base(path)))); err == nil {
			a.indexBytes.Add(info.Size()) // one that is not sorted yet is not counted
		}
		a.serial = max(a.serial, serialOf(filepath.Base(path))+1)
	}
	return nil
}

// serialOf finds the serial number in a file name: the first field of five digits or more after the
// time. Other names give -1.
func serialOf(name string) int {
	fields := strings.Split(name, "-")
	for i := 1; i+1 < len(fields); i++ {
		if len(fields[i]) == 14 && len(fields[i+1]) >= 5 {
			if n, err := strconv.Atoi(fields[i+1]); err == nil && n >= 0 {
				return n
			}
		}
	}
	return -1
}
