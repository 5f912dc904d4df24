package stdio

import (
	"bufio"
	"errors"
	"io"
)

// MaxLine bounds a line, without its end, in bytes.
const MaxLine = 4 << 20

// errLong is the error of a line of more than MaxLine bytes.
var errLong = errors.New("the line is longer than 4 MiB")

// lineReader reads lines.
type lineReader struct{ in *bufio.Reader }

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{bufio.NewReaderSize(in, 64<<10)}
}

// next returns the next line without its end, of which no more is held than MaxLine bytes. errLong:
// it was longer, and has been skipped. io.EOF comes alone: a last line without an end is a line.
func (r *lineReader) next() (line []byte, err error) {
	long := false
	for {
		part, err := r.in.ReadSlice('\n')
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		if long = long || len(line)+len(part) > MaxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case ended && long:
			return nil, errLong
		case ended:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && long:
			return nil, errLong
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}
