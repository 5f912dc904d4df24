package dedupe

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // payload digests of WARC are SHA-1
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"crawlnode/crawl"
	"crawlnode/local/files"
	"crawlnode/output/archive"
	"crawlnode/web/cdx"
)

const (
	namePrefix = "payloads-"
	nameSuffix = ".index"
	tempSuffix = ".tmp"
	// sortMemory bounds the lines that are sorted at once, in bytes.
	sortMemory = 32 << 20
)

// ErrInput is inside the errors of what is wrong with the indexes: they are the user's to mend.
var ErrInput = errors.New("an index that is named cannot be used")

// Options say what is opened.
type Options struct {
	// Files are the indexes: CDXJ or CDX, plain or packed with gzip.
	Files []string
	// Dir is a folder for the Index's own file; it is made when it is missing. Nothing else may be
	// in it.
	Dir string
	// Making is called before a new file is made, with the bytes that are to be read. Nil: nobody.
	Making func(bytes int64)
}

// Open opens the Index of some indexes, and makes its file when there is none of them.
func Open(o Options) (*Index, error) {
	sources, key, err := look(o.Files)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return nil, err
	}
	name := namePrefix + key + nameSuffix
	if err := removeOthers(o.Dir, name); err != nil {
		return nil, err
	}
	path := filepath.Join(o.Dir, name)
	x, err := openFile(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errDamaged) {
		return x, err
	}
	if o.Making != nil {
		var size int64
		for _, s := range sources {
			size += s.info.Size()
		}
		o.Making(size)
	}
	if err := build(sources, o.Dir, path+tempSuffix); err != nil {
		return nil, errors.Join(err, removeIfThere(path+tempSuffix))
	}
	if err := os.Rename(path+tempSuffix, path); err != nil {
		return nil, err
	}
	if err := files.SyncDir(o.Dir); err != nil {
		return nil, err
	}
	return openFile(path)
}

// source is an index of the user's.
type source struct {
	path string
	info os.FileInfo // when it was looked at
}

// look checks that the indexes are there, and makes the key of what they are.
func look(paths []string) (sources []source, key string, err error) {
	sum := sha256.New()
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, "", err
		case info.IsDir():
			return nil, "", fmt.Errorf("%s is a folder: name an index file; crawlnode export cdxj "+
				"makes one of a data directory", path)
		case !info.Mode().IsRegular():
			return nil, "", fmt.Errorf("%s is no regular file", path)
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return nil, "", err
		}
		_, _ = fmt.Fprintf(sum, "%s\x00%d\x00%d\x00", full, info.Size(), info.ModTime().UnixNano())
		sources = append(sources, source{path, info})
	}
	return sources, hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// unchanged returns an error when an index is another than it was looked at.
func (s *source) unchanged() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if info.Size() != s.info.Size() || !info.ModTime().Equal(s.info.ModTime()) {
		return fmt.Errorf("%s changed while it was read: name one that is finished", s.path)
	}
	return nil
}

// removeOthers removes the files of other indexes, and what a crash left.
func removeOthers(dir, name string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		ours := strings.HasPrefix(e.Name(), namePrefix) && e.Name() != name
		if !ours {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// build writes the file of the indexes at a path.
func build(sources []source, dir, path string) (err error) {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	in := &lines{sources: sources}
	defer func() { err = errors.Join(err, in.close()) }()
	w := &writer{out: bufio.NewWriterSize(out, 1<<20)}
	if err := archive.SortLines(w, in, dir, sortMemory); err != nil {
		return err
	}
	if in.captures > 0 && in.usable == 0 {
		return fmt.Errorf("%w: none of the %d captures in %s has a payload with an SHA-1",
			ErrInput, in.captures, sources[0].path)
	}
	for i := range sources {
		if err := sources[i].unchanged(); err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
	}
	if err := w.finish(); err != nil {
		return err
	}
	return out.Sync()
}

// lines reads the captures of indexes as lines of ours, in the order of the indexes.
type lines struct {
	sources []source
	file    *os.File // of the first source
	in      *cdx.Reader
	rest    []byte // of the line that is being read
	line    []byte

	captures, usable int64
}

// Read implements io.Reader. Its errors have ErrInput inside.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		switch err := l.next(); {
		case errors.Is(err, io.EOF):
			return 0, io.EOF
		case err != nil:
			return 0, fmt.Errorf("%w: %w", ErrInput, err)
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next reads the next capture; it has no line when it is passed over.
func (l *lines) next() (err error) {
	if len(l.sources) == 0 {
		return io.EOF
	}
	path := l.sources[0].path
	if l.file == nil {
		if l.file, err = os.Open(path); err != nil {
			return err
		}
		if l.in, err = cdx.NewReader(l.file); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	record, err := l.in.Next()
	bad := (*cdx.LineError)(nil)
	switch {
	case errors.Is(err, io.EOF):
		err = l.close()
		l.sources = l.sources[1:]
		return err
	case errors.As(err, &bad):
		return fmt.Errorf("%s:%d: %w", path, bad.Line, bad.Err)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	l.captures++
	if l.line = appendLine(l.line[:0], &record); len(l.line) > 0 {
		l.usable++
	}
	l.rest = l.line
	return nil
}

func (l *lines) close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// empty is the digest of no bytes. Nothing is gained by not storing it.
var empty = crawl.Digest(sha1.Sum(nil))

// appendLine appends the line of a capture that has its payload, with its end.
func appendLine(b []byte, r *cdx.Record) []byte {
	if r.IsRevisit() || r.Status == http.StatusNotModified || len(r.URL) > maxURL ||
		strings.ContainsFunc(r.URL, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return b
	}
	d, known := r.SHA1()
	at, dated := r.At()
	if !known || !dated || d == empty {
		return b
	}
	b = append(digits.AppendEncode(b, d[:]), ' ')
	b = append(at.AppendFormat(b, dateForm), ' ')
	return append(append(b, r.URL...), '\n')
}

// writer takes sorted lines in pieces, writes the first of each digest, and then the table.
type writer struct {
	out   *bufio.Writer
	part  []byte // of a line whose end is still to come
	last  [digestLen]byte
	table [tableLen]int64
	next  int // the first bucket that has no place yet
	at    int64
	count int64
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			w.part = append(w.part, p...)
			return n, nil
		}
		line := p[:i+1]
		if len(w.part) > 0 {
			w.part = append(w.part, line...)
			line = w.part
		}
		if err := w.take(line); err != nil {
			return 0, err
		}
		w.part, p = w.part[:0], p[i+1:]
	}
}

// take takes a line with its end.
func (w *writer) take(line []byte) error {
	if bytes.Equal(line[:digestLen], w.last[:]) {
		return nil
	}
	copy(w.last[:], line)
	var d crawl.Digest
	if _, err := digits.Decode(d[:], line[:digestLen]); err != nil {
		panic("BUG: a line without a digest: " + string(line))
	}
	for ; w.next <= bucket(d); w.next++ {
		w.table[w.next] = w.at
	}
	w.at += int64(len(line))
	w.count++
	_, err := w.out.Write(line)
	return err
}

// finish writes the table and the footer.
func (w *writer) finish() error {
	for ; w.next < tableLen; w.next++ {
		w.table[w.next] = w.at
	}
	b := make([]byte, 0, tableBytes+footerBytes)
	for _, at := range w.table {
		b = binary.BigEndian.AppendUint64(b, uint64(at))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(w.count))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	b = append(b, magic...)
	if _, err := w.out.Write(b); err != nil {
		return err
	}
	return w.out.Flush()
}
