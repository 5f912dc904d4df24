package mirror

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// journal is a file of JSON lines that is written once and then read, in order or by offset.
type journal struct {
	file *os.File
	w    *bufio.Writer
	size int64
}

func newJournal(f *os.File) *journal { return &journal{file: f, w: bufio.NewWriterSize(f, 64<<10)} }

// add appends a line and returns its offset.
func (j *journal) add(v any) (offset int64, err error) {
	line, err := marshal(v)
	if err != nil {
		return 0, err
	}
	offset = j.size
	j.size += int64(len(line))
	_, err = j.w.Write(line)
	return offset, err
}

// marshal makes a line with its end. URLs stay readable: "&" is not escaped.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// usualLine is how much is read at first of a line, in bytes.
const usualLine = 512

// at reads the line at an offset into v. Lines that are still in the buffer are written first, so
// it may run at once with itself only when flush was called.
func (j *journal) at(offset int64, v any) error {
	if j.w.Buffered() > 0 {
		if err := j.w.Flush(); err != nil {
			return err
		}
	}
	return lineAt(j.file, offset, v)
}

func lineAt(f io.ReaderAt, offset int64, v any) error {
	for size := usualLine; ; size *= 4 {
		b := make([]byte, size)
		n, err := f.ReadAt(b, offset)
		if end := bytes.IndexByte(b[:n], '\n'); end >= 0 {
			return json.Unmarshal(b[:end], v)
		}
		if err != nil {
			return fmt.Errorf("line at %d: %w", offset, err)
		}
	}
}

// each calls fn with each line that stands there now, in order.
func (j *journal) each(fn func(offset int64, line []byte) error) error {
	if err := j.w.Flush(); err != nil {
		return err
	}
	return eachLine(io.NewSectionReader(j.file, 0, j.size), fn)
}

// eachLine calls fn with each whole line, without its end.
func eachLine(r io.Reader, fn func(offset int64, line []byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	offset := int64(0)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(offset, line[:len(line)-1]); err != nil {
			return err
		}
		offset += int64(len(line))
	}
}

func (j *journal) close() error { return j.file.Close() }
