package fetcher

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Cut is why a payload is not whole, in the words of WARC-Truncated; "": it is.
type Cut string

// The reasons.
const (
	CutLength     Cut = "length"     // a limit of size, on the wire or while decoding
	CutTime       Cut = "time"       // a limit of time
	CutDisconnect Cut = "disconnect" // the server ended it early, or sent what cannot be read further
)

// ended decides, for every protocol, what becomes of an answer whose payload ended with err after
// bytes of it had come. What came is kept and marked. An answer of which nothing came fails, so
// that it is asked for again, unless its head is all that counts (a redirect), or the request was
// the last try. What the caller cancelled, and a flood, are never answers.
func (x *exchange) ended(err error, bytes int, redirect bool) (Cut, *Error) {
	failure := x.failed(true, err)
	if x.ctx.Err() != nil || errors.Is(err, errNoMemory) || errors.Is(err, ErrFlood) {
		return "", failure
	}
	if bytes == 0 && !redirect && !x.req.lastTry {
		return "", failure
	}
	if failure.Category == Timeout {
		return CutTime, nil
	}
	return CutDisconnect, nil
}

// payload reads the payload of h, without its transfer coding; nil: it has none.
func (w *wire) payload(h *head) io.Reader {
	switch h.framing {
	case byLength:
		return &counting{r: w, left: h.length}
	case byChunks:
		return &chunks{br: w.br}
	case untilClose:
		return w
	}
	return nil
}

// counting reads a payload of known length.
type counting struct {
	r    io.Reader
	left int64
}

func (c *counting) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if errors.Is(err, io.EOF) && c.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

var errChunk = errors.New("malformed chunked encoding")

const (
	// freeOverhead and overheadRatio bound what a chunked payload may have besides its bytes: so
	// many bytes, and so many for each byte.
	freeOverhead, overheadRatio = 64 << 10, 16
)

// chunks reads a chunked payload (RFC 9112, section 7.1). Lines may end with LF alone, as browsers
// have it.
type chunks struct {
	br       *bufio.Reader
	left     int64 // bytes of the current chunk
	started  bool
	done     bool
	clean    bool // the trailer was read to its end
	payload  int64
	overhead int64
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.done {
		return 0, io.EOF
	}
	if c.left == 0 {
		if err := c.next(); err != nil {
			if errors.Is(err, io.EOF) && !c.done {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
	n, err := c.br.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	c.payload += int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// next reads up to the bytes of the next chunk. At the end it is io.EOF.
func (c *chunks) next() error {
	if c.started { // the line end behind the last chunk's bytes
		if line, err := c.line(); err != nil || len(line) > 0 {
			return cmpErr(err, fmt.Errorf("%w: %.20q behind a chunk", errChunk, line))
		}
	}
	c.started = true
	line, err := c.line()
	if err != nil {
		return err
	}
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, err := strconv.ParseUint(strings.Trim(string(size), " \t"), 16, 63)
	if err != nil {
		return fmt.Errorf("%w: size %.20q", errChunk, size)
	}
	if c.left = int64(n); n > 0 {
		return nil
	}
	c.done = true
	for { // trailer fields are of no use; the payload is whole, whatever follows
		line, err := c.line()
		if c.clean = err == nil && len(line) == 0; c.clean || err != nil {
			return io.EOF
		}
	}
}

// line reads a line without its end.
func (c *chunks) line() ([]byte, error) {
	line, err := c.br.ReadSlice('\n')
	c.overhead += int64(len(line))
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || c.overhead > freeOverhead+overheadRatio*c.payload:
		return nil, fmt.Errorf("%w: more around the payload than payload", errChunk)
	case err != nil:
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

func cmpErr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}
