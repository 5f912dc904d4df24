package archive

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sort"

	"crawlnode/crawl"
)

// Key is the key of a canonical URL in an index: see surt.
func Key(url string) string { return surt(url) }

// InRange reports whether a line of an index, without its end, is in a range.
func InRange(r crawl.IndexRange, line []byte) bool {
	return string(line) >= r.From && !isBeyond(r, line)
}

// isBeyond reports whether a line, and so every later one, is behind a range.
func isBeyond(r crawl.IndexRange, line []byte) bool { return r.To != "" && string(line) >= r.To }

// OfKey is the range of one key's lines.
func OfKey(key string) crawl.IndexRange { return crawl.IndexRange{From: key + " ", To: key + "!"} }

// rangeOf reads what a sorted index has in a range, and closes f. Nil: there is nothing.
func rangeOf(f *os.File, r crawl.IndexRange) (io.ReadCloser, error) {
	if r == (crawl.IndexRange{}) {
		return f, nil
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	lines, err := RangeOf(f, size, r)
	if err != nil || lines == nil {
		return nil, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{lines, f}, nil
}

// RangeOf reads what a sorted index of that size has in a range. Nil: there is nothing.
func RangeOf(f io.ReaderAt, size int64, r crawl.IndexRange) (io.Reader, error) {
	start, err := seekLine(f, size, r.From)
	if err != nil {
		return nil, err
	}
	first, _, err := lineFrom(f, size, start)
	if err != nil || first == nil || isBeyond(r, first) {
		return nil, err
	}
	return &selection{in: bufio.NewReaderSize(io.NewSectionReader(f, start, size-start), readBuffer), r: r, sorted: true}, nil
}

// seekLine finds the start of the first line that is not before from, in a sorted file; size when there is none.
func seekLine(f io.ReaderAt, size int64, from string) (int64, error) {
	var failed error
	at := sort.Search(int(size), func(pos int) bool {
		line, _, err := lineFrom(f, size, int64(pos))
		if err != nil {
			failed = err
		}
		return line == nil || string(line) >= from
	})
	if failed != nil {
		return 0, failed
	}
	_, start, err := lineFrom(f, size, int64(at))
	return start, err
}

// lineFrom reads the first line that starts at pos or behind it, without its end; nil: there is none.
func lineFrom(f io.ReaderAt, size, pos int64) (line []byte, start int64, err error) {
	start = max(pos-1, 0)
	in := bufio.NewReaderSize(io.NewSectionReader(f, start, size-start), 4<<10)
	if pos > 0 {
		rest, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil, size, nil
		}
		if err != nil {
			return nil, 0, err
		}
		start += int64(len(rest))
	}
	line, err = in.ReadBytes('\n')
	if err == io.EOF {
		return nil, size, nil
	}
	return bytes.TrimSuffix(line, []byte("\n")), start, err
}

// selection reads the whole lines of an index that are in a range.
type selection struct {
	in     *bufio.Reader
	r      crawl.IndexRange
	sorted bool // the first line beyond the range is the end
	rest   []byte
}

// Read implements io.Reader.
func (s *selection) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		line, err := s.in.ReadSlice('\n')
		if err != nil {
			return 0, err // a line without its end is being written
		}
		bare := line[:len(line)-1]
		if s.sorted && isBeyond(s.r, bare) {
			return 0, io.EOF
		}
		if InRange(s.r, bare) {
			s.rest = line
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
