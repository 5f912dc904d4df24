package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"crawlnode/crawl"
)

// ReadRecord reads one record from r, as OpenMember gives it.
func ReadRecord(r io.Reader) (Record, error) {
	var record Record
	_, err := scan(r, 0, maxBlockBytes, func(found Record) error {
		record = found
		return errEnough
	})
	switch {
	case errors.Is(err, errEnough):
		return record, nil
	case err == nil:
		return record, fmt.Errorf("%w: nothing was sent", ErrNoCapture)
	}
	return record, err
}

// Find looks in the indexes of a folder for the newest capture of a canonical URL. With a
// payload digest ("sha1:...") it looks for the record that has that payload, of the URL too,
// and passes revisits over. It reads the indexes that are being written from end to end.
// ErrNoCapture: there is none.
func Find(dir, url, payload string) (crawl.ArchiveRef, error) {
	return find(dir, &finder{url: url, payload: payload})
}

// FindBefore looks for the newest record of a canonical URL, until a time, that has a payload
// itself: what a 304 stands for whose record does not name the digest. In an index, times are whole
// seconds.
func FindBefore(dir, url string, until time.Time) (crawl.ArchiveRef, error) {
	return find(dir, &finder{url: url, stored: true, until: until.UTC().Format(indexDate)})
}

// FindAnswer looks for the newest answer with status 2xx of a canonical URL, until a time: what a
// 304 of the URL stands for, whether the record has the payload or refers to it. payload, when not
// "", is its digest.
func FindAnswer(dir, url, payload string, until time.Time) (crawl.ArchiveRef, error) {
	return find(dir, &finder{url: url, payload: payload, answers: true,
		until: until.UTC().Format(indexDate)})
}

func find(dir string, f *finder) (crawl.ArchiveRef, error) {
	var names []string
	for _, suffix := range [...]string{indexSuffix, indexSuffix + openSuffix} {
		found, err := filesWith(dir, suffix)
		if err != nil {
			return crawl.ArchiveRef{}, err
		}
		names = append(names, found...)
	}
	f.key, f.former = append([]byte(Key(f.url)), ' '), append([]byte(formerKey(f.url)), ' ')
	for _, name := range names {
		if err := f.read(filepath.Join(dir, name)); err != nil {
			return crawl.ArchiveRef{}, err
		}
	}
	if f.date == nil {
		return crawl.ArchiveRef{}, fmt.Errorf("%w: no index in %s has a capture of %s", ErrNoCapture, dir,
			f.url)
	}
	return f.best, nil
}

// finder keeps the newest line that fits.
type finder struct {
	key     []byte // with the space behind it
	former  []byte // that of earlier releases
	url     string
	payload string // "": any
	stored  bool   // revisits are passed over, as with a payload
	answers bool   // those that are no 2xx are passed over, revisits are not
	until   string // as in an index; "": any time

	date []byte // of best; nil: there is none
	best crawl.ArchiveRef
}

func (f *finder) read(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was finished, and has its other name now
	}
	if err != nil {
		return err
	}
	lines := io.ReadCloser(file)
	if strings.HasSuffix(path, indexSuffix) {
		found, err := f.linesOf(file)
		if err != nil || found == nil {
			return errors.Join(err, file.Close())
		}
		lines = struct {
			io.Reader
			io.Closer
		}{found, file}
	}
	defer func() { _ = lines.Close() }()
	in := bufio.NewReaderSize(lines, readBuffer)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil // a line without its end is being written
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		rest, ok := bytes.CutPrefix(line, f.key)
		if !ok {
			rest, ok = bytes.CutPrefix(line, f.former)
		}
		if ok {
			if err := f.consider(line, rest); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
}

// linesOf selects the lines of the URL in a sorted index. Nil: there are none.
func (f *finder) linesOf(file *os.File) (io.Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	lines, err := RangeOf(file, info.Size(), OfURL(f.url))
	if lines == nil || err != nil {
		return nil, err
	}
	return lines, nil
}

// consider takes a line that has the key of the URL; rest begins with the date.
func (f *finder) consider(line, rest []byte) error {
	date, fields, _ := bytes.Cut(rest, []byte(" "))
	if f.date != nil && bytes.Compare(date, f.date) < 0 || f.until != "" && string(date) > f.until {
		return nil
	}
	var l indexFields
	if err := json.Unmarshal(fields, &l); err != nil {
		return fmt.Errorf("index line: %w", err)
	}
	own := f.stored || f.payload != "" && !f.answers // the record has the payload itself
	if l.URL != f.url || f.payload != "" && l.Digest != f.payload || own && l.MIME == revisitMIME ||
		f.answers && !strings.HasPrefix(l.Status, "2") {
		return nil
	}
	ref, err := parseIndexLine(line)
	if err != nil {
		return err
	}
	f.date, f.best = bytes.Clone(date), ref
	return nil
}

// Lookup calls fn with each capture of a canonical URL in the indexes of a folder, by time.
func Lookup(dir, url string, fn func(*Entry) error) error { return lookup(dir, OfURL(url), fn) }

// LookupAlike is like Lookup, for all URLs that have the key of a URL. They are other pages:
// whoever asks for a URL wants to see them only when nothing is stored of the URL itself.
func LookupAlike(dir, url string, fn func(*Entry) error) error {
	return lookup(dir, OfKey(Key(url)), fn)
}

func lookup(dir string, in crawl.IndexRange, fn func(*Entry) error) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() { // ends when the range does, or at the first write after r is closed
		err := WriteRange(dir, w, in)
		done <- err
		_ = w.CloseWithError(err)
	}()
	err := ReadEntries(r, func(e Entry) error { return fn(&e) })
	_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	if failed := <-done; err == nil {
		err = failed
	}
	return err
}

// ErrShared is inside the error of IndexFile for a file in which members have several records.
var ErrShared = errors.New("a member has several records, which have no places of their own")

// IndexFile writes a sorted index of a WARC file of whatever origin; the lines name the file by
// name, "": its own. Sorting takes nameless files in dir. It returns the first damage after what
// was read before it.
func IndexFile(path, name, dir string, out io.Writer) error {
	lines, err := namelessFile(dir)
	if err != nil {
		return err
	}
	defer func() { _ = lines.Close() }()
	name = cmp.Or(name, nameOf(path))
	w := bufio.NewWriterSize(lines, readBuffer)
	_, damage := Scan(path, func(r Record) error {
		if r.Length == 0 {
			return fmt.Errorf("%s: %w", path, ErrShared)
		}
		if !r.isCapture() {
			return nil
		}
		_, err := w.Write(appendIndexLine(nil, r.line(name)))
		return err
	})
	if err := w.Flush(); err != nil {
		return err
	}
	if _, err := lines.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sorted, err := SortedLines(dir, lines)
	if err != nil {
		return err
	}
	defer func() { _ = sorted.Close() }()
	if _, err := io.Copy(out, sorted); err != nil {
		return err
	}
	return damage
}
