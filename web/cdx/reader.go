package cdx

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// MaxLine bounds a line of an index, in bytes. A URL has at most a few thousand, and what else
// stands in a line less.
const MaxLine = 64 << 10

// LineError says what is wrong with a line.
type LineError struct {
	Line int64 // from 1
	Err  error
}

// Error implements error.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong, without the number.
func (e *LineError) Unwrap() error { return e.Err }

// Reader reads an index. It is not for several goroutines at once.
type Reader struct {
	in   *bufio.Reader
	line int64
	l    legend
}

// NewReader makes a reader of an index, which is unpacked when it begins as gzip does.
func NewReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReaderSize(r, MaxLine)
	if begin, _ := in.Peek(2); string(begin) == "\x1f\x8b" { // an error comes again when it is read
		z, err := gzip.NewReader(in)
		if err != nil { // an io.EOF inside would say that the index is empty
			return nil, fmt.Errorf("it begins as gzip does, and is damaged: %v", err)
		}
		in = bufio.NewReaderSize(z, MaxLine)
	}
	return &Reader{in: in, l: usual}, nil
}

// Line is the number of the line that was read last, from 1.
func (r *Reader) Line() int64 { return r.line }

// Next reads the next capture. io.EOF: there is none. After a *LineError the next can be read.
func (r *Reader) Next() (Record, error) {
	for {
		line, err := r.next()
		if err != nil {
			return Record{}, err
		}
		if r.line == 1 {
			l, found, err := parseLegend(line)
			if err != nil { // without its legend no line can be read
				return Record{}, err
			}
			if found {
				r.l = l
				continue
			}
		}
		if isNoCapture(line) {
			continue
		}
		record, err := parse(line, &r.l)
		if err != nil {
			return record, &LineError{r.line, err}
		}
		return record, nil
	}
}

// next reads a line without its end; it is good until the next call. The last one may lack its end.
func (r *Reader) next() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return nil, io.EOF
	}
	r.line++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.in.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, readError(err)
		}
		return nil, &LineError{r.line, fmt.Errorf("it is longer than %d bytes", MaxLine)}
	case err != nil && !errors.Is(err, io.EOF):
		return nil, readError(err)
	}
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

func readError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) ||
		errors.Is(err, gzip.ErrHeader) {
		return fmt.Errorf("the packed file is cut off or damaged: %w", err)
	}
	return err
}
