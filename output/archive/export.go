package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crawlnode/crawl"
)

// maxMerge bounds the indexes that are merged at once: each takes a file
// descriptor and 64 KiB.
const maxMerge = 64

// WriteIndex writes one line for each earlier capture, in the order of LC_ALL=C sort. Puts may run
// meanwhile.
func (a *Archive) WriteIndex(out io.Writer) error { return a.WriteRange(out, crawl.IndexRange{}) }

// WriteRange writes the lines of WriteIndex that are in a range. In finished indexes it is found by
// bisection, those that are being written are read from end to end.
func (a *Archive) WriteRange(out io.Writer, r crawl.IndexRange) error {
	if err := a.Sync(); err != nil {
		return err
	}
	return WriteRange(a.dir, out, r)
}

// WriteRange is Archive.WriteRange for the archive in a folder, which another process may be
// writing. Indexes of earlier releases and of other programs are read too; all lines have today's
// keys.
func WriteRange(dir string, out io.Writer, r crawl.IndexRange) error {
	var parts []io.ReadCloser
	defer func() {
		for _, p := range parts {
			_ = p.Close()
		}
	}()
	// Open indexes come first: one that is sorted meanwhile is found under its final name, or
	// twice, and the merge removes doubles.
	for _, suffix := range [...]string{indexSuffix + openSuffix, indexSuffix} {
		names, err := filesWith(dir, suffix)
		if err != nil {
			return err
		}
		for _, name := range names {
			p, err := openIndex(dir, name, r)
			if errors.Is(err, os.ErrNotExist) && suffix != indexSuffix {
				continue
			}
			if err != nil {
				return fmt.Errorf("index %s: %w", name, err)
			}
			if p == nil {
				continue
			}
			if parts = append(parts, p); len(parts) < maxMerge {
				continue
			}
			if parts, err = mergeParts(dir, parts); err != nil {
				return err
			}
		}
	}
	w := bufio.NewWriterSize(out, readBuffer)
	if err := MergeLines(w, readers(parts)...); err != nil {
		return err
	}
	return w.Flush()
}

// openIndex opens what an index has in a range for reading, sorted. Nil: there is nothing.
func openIndex(dir, name string, r crawl.IndexRange) (io.ReadCloser, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, indexSuffix) {
		return rangeOf(f, r, dir)
	}
	defer func() { _ = f.Close() }()
	lines := io.Reader(f)
	if r != (crawl.IndexRange{}) {
		lines = &selection{in: bufio.NewReaderSize(f, readBuffer), r: r}
	}
	return SortedLines(dir, lines)
}

// SortedLines sorts lines of indexes by today's keys, in nameless files in dir.
func SortedLines(dir string, lines io.Reader) (io.ReadCloser, error) {
	return sortedBy(dir, lines, currentLine)
}

// SortedForeign sorts lines of AppendForeign by the keys that they have, as SortedLines does.
func SortedForeign(dir string, lines io.Reader) (io.ReadCloser, error) {
	return sortedBy(dir, lines, func(line []byte) []byte { return line })
}

func sortedBy(dir string, lines io.Reader, as func([]byte) []byte) (io.ReadCloser, error) {
	sorted, err := namelessFile(dir)
	if err != nil {
		return nil, err
	}
	if err := sortTo(sorted, lines, dir, sortMemory, as); err != nil {
		return nil, errors.Join(err, sorted.Close())
	}
	return rewound(sorted)
}

// mergeParts merges and closes parts, and returns them as one.
func mergeParts(dir string, parts []io.ReadCloser) ([]io.ReadCloser, error) {
	merged, err := namelessFile(dir)
	if err != nil {
		return parts, err
	}
	w := bufio.NewWriterSize(merged, readBuffer)
	if err := errors.Join(MergeLines(w, readers(parts)...), w.Flush()); err != nil {
		return parts, errors.Join(err, merged.Close())
	}
	for _, p := range parts {
		_ = p.Close()
	}
	one, err := rewound(merged)
	return []io.ReadCloser{one}, err
}

func rewound(f *os.File) (io.ReadCloser, error) {
	_, err := f.Seek(0, io.SeekStart)
	return f, err
}

func readers(parts []io.ReadCloser) []io.Reader {
	rs := make([]io.Reader, len(parts))
	for i, p := range parts {
		rs[i] = p
	}
	return rs
}

// filesWith lists the files in dir whose names end in suffix.
func filesWith(dir, suffix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) && isRegular(dir, e) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// ErrNoCapture says that no record begins at a position.
var ErrNoCapture = errors.New("no such record")

// Member is one record as it stands in its file: a gzip member or a zstd frame.
type Member struct {
	io.Reader
	Size int64
	file io.Closer // nil: there is nothing to close
}

// Close closes the file.
func (m *Member) Close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}

// OpenMember opens the member at an offset of a file, finished or open, after checking that it is a
// whole record. ErrNoCapture: there is no such file, or no record begins there.
func (a *Archive) OpenMember(file string, offset int64) (*Member, error) {
	if file != filepath.Base(file) || compressionOf(file) == "" || offset < 0 {
		return nil, fmt.Errorf("%w: %.200q at %d is not a position in an archive", ErrNoCapture, file,
			offset)
	}
	path := filepath.Join(a.dir, file)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.Open(path + openSuffix)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: this node has no file %s", ErrNoCapture, file)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m, err := MemberAt(f, info.Size(), file, offset)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m.file = f
	return m, nil
}

// MemberAt is OpenMember for a file of that size that is read by r, which has to outlive the
// member.
func MemberAt(r io.ReaderAt, size int64, file string, offset int64) (*Member, error) {
	if offset >= size {
		return nil, fmt.Errorf("%w: %s ends before offset %d", ErrNoCapture, file, offset)
	}
	record, err := readAt(r, crawl.ArchiveRef{File: file, Offset: offset, Length: size - offset})
	if err != nil {
		if _, ok := errors.AsType[*DamageError](err); ok {
			err = fmt.Errorf("%w: %w", ErrNoCapture, err)
		}
		return nil, err
	}
	return &Member{
		Reader: io.NewSectionReader(r, record.Offset, record.Length),
		Size:   record.Length,
	}, nil
}
