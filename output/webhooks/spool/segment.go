package spool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	segmentSuffix = ".spool"
	numberDigits  = 20 // of a segment's name, so that names are in the order of their numbers
	sumDigits     = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line is where a message is in its segment.
type line struct {
	number uint64
	offset int64
	bytes  int // with the line end
}

// segment is a file. Its lines are in order; what is damaged is left out.
type segment struct {
	path  string
	bytes int64
	lines []line
}

// last is the number of the newest message; 0: there is none.
func (s *segment) last() uint64 {
	if len(s.lines) == 0 {
		return 0
	}
	return s.lines[len(s.lines)-1].number
}

// after counts the messages behind a number.
func (s *segment) after(number uint64) int64 { return int64(len(s.lines) - s.index(number+1)) }

// index is where the first message with at least this number stands.
func (s *segment) index(number uint64) int {
	i, _ := slices.BinarySearchFunc(s.lines, number, func(l line, n uint64) int {
		if l.number < n {
			return -1
		}
		return 1
	})
	return i
}

func segmentName(first uint64) string {
	return fmt.Sprintf("%0*d%s", numberDigits, first, segmentSuffix)
}

// encode makes the line of a message.
func encode(number uint64, message []byte) []byte {
	b := make([]byte, sumDigits, sumDigits+numberDigits+3+len(message))
	b = append(b, ' ')
	b = strconv.AppendUint(b, number, 10)
	b = append(append(append(b, ' '), message...), '\n')
	copy(b, fmt.Sprintf("%08x", crc32.Checksum(b[sumDigits+1:len(b)-1], castagnoli)))
	return b
}

// decode reads a line without its end; false: it is damaged.
func decode(text []byte) (number uint64, message []byte, ok bool) {
	sum, rest, ok := bytes.Cut(text, []byte(" "))
	if !ok || len(sum) != sumDigits {
		return 0, nil, false
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || uint32(want) != crc32.Checksum(rest, castagnoli) {
		return 0, nil, false
	}
	digits, message, ok := bytes.Cut(rest, []byte(" "))
	if !ok {
		return 0, nil, false
	}
	number, err = strconv.ParseUint(string(digits), 10, 64)
	return number, message, err == nil && number > 0
}

// readSegment reads a file. Lines that are damaged, too long, or not behind the one before are left
// out and counted; a last line without an end was never acknowledged and is not.
func readSegment(path string, maxLine int) (s *segment, damaged int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	s = &segment{path: path}
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		text, size, err := readLine(in, maxLine)
		if errors.Is(err, io.EOF) {
			s.bytes += size
			return s, damaged, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read %s: %w", path, err)
		}
		number, _, ok := decode(text)
		if ok && number > s.last() {
			s.lines = append(s.lines, line{number, s.bytes, int(size)})
		} else {
			damaged++
		}
		s.bytes += size
	}
}

// readLine reads up to a line end, which it cuts off. Of a line longer than most it keeps the
// beginning. io.EOF: there is no further end; size is then what was left.
func readLine(in *bufio.Reader, most int) (text []byte, size int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		size += int64(len(part))
		if room := most + 1 - len(text); room > 0 {
			text = append(text, part[:min(len(part), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(text, []byte("\n")), size, err
	}
}

// segmentsIn lists the segments of a folder, the oldest first.
func segmentsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), segmentSuffix)
		if ok && len(digits) == numberDigits && strings.Trim(digits, "0123456789") == "" &&
			e.Type().IsRegular() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(paths)
	return paths, nil
}
