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

// InRange reports whether a line of an index, without its end and of today's form, is in a range.
func InRange(r crawl.IndexRange, line []byte) bool {
	return string(line) >= r.From && !isBeyond(r, line) && (r.URL == "" || isOf(line, r.URL))
}

// isOf reports whether a line is one of a URL's.
func isOf(line []byte, url string) bool {
	_, fields, ok := bytes.Cut(line, []byte(` {"url":"`))
	if rest, same := bytes.CutPrefix(fields, []byte(url)); ok && same {
		return bytes.HasPrefix(rest, []byte(`",`))
	}
	if !bytes.ContainsRune(fields, '\\') {
		return false
	}
	e, err := ParseEntry(line)
	return err == nil && e.URL == url
}

// isBeyond reports whether a line, and so every later one, is behind a range.
func isBeyond(r crawl.IndexRange, line []byte) bool { return r.To != "" && string(line) >= r.To }

// OfURL is the range of one canonical URL's lines.
func OfURL(url string) crawl.IndexRange {
	r := OfKey(Key(url))
	r.URL = url
	return r
}

// OfKey is the range of one key's lines.
func OfKey(key string) crawl.IndexRange { return crawl.IndexRange{From: key + " ", To: key + "!"} }

// rangeOf reads what a sorted index has in a range, and closes f. Nil: there is nothing. What a
// file of an earlier release has is sorted by today's keys, in a nameless file in dir.
func rangeOf(f *os.File, r crawl.IndexRange, dir string) (io.ReadCloser, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	lines, sorted, err := selectOf(f, size, r)
	if err != nil || lines == nil {
		return nil, errors.Join(err, f.Close())
	}
	if !sorted {
		anew, err := SortedLines(dir, lines)
		return anew, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{lines, f}, nil
}

// RangeOf reads what a sorted index of that size has in a range. Nil: there is nothing. Lines of an
// earlier release come with today's keys, in the order of theirs: SortedLines sorts them.
func RangeOf(f io.ReaderAt, size int64, r crawl.IndexRange) (io.Reader, error) {
	lines, _, err := selectOf(f, size, r)
	return lines, err
}

// selectOf is RangeOf, and reports whether the lines come in the order of today's keys.
func selectOf(
	f io.ReaderAt,
	size int64,
	r crawl.IndexRange,
) (lines io.Reader, sorted bool, err error) {
	first, _, err := lineFrom(f, size, 0)
	if err != nil || first == nil {
		return nil, false, err
	}
	in, sorted := r, !isFormer(first)
	if !sorted {
		in = formerRange(r)
	}
	start := int64(0)
	if in.From != "" {
		if start, err = seekLine(f, size, in.From); err != nil {
			return nil, false, err
		}
		first, _, err = lineFrom(f, size, start)
	}
	if err != nil || first == nil || isBeyond(in, first) {
		return nil, false, err
	}
	from := io.NewSectionReader(f, start, size-start)
	if sorted && r == (crawl.IndexRange{}) {
		return from, true, nil
	}
	return &selection{
		in:     bufio.NewReaderSize(from, readBuffer),
		r:      r,
		sorted: true,
		end:    in.To,
	}, sorted, nil
}

// seekLine finds the start of the first line that is not before from, in a sorted file; size when
// there is none.
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

// lineFrom reads the first line that starts at pos or behind it, without its end; nil: there is
// none.
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
	sorted bool   // the first line that is not before end is the end
	end    string // as the file is sorted; "": there is none
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
		if s.sorted && s.end != "" && string(bare) >= s.end {
			return 0, io.EOF
		}
		if isCurrent(bare) {
			if InRange(s.r, bare) {
				s.rest = line
			}
		} else if bare = currentLine(bare); InRange(s.r, bare) {
			s.rest = append(bytes.Clone(bare), '\n')
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
