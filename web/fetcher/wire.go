package fetcher

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
)

const (
	// wireBytes is the size of one read: most pages, head and payload, need one system call.
	wireBytes = 32 << 10
	// parserBytes is the buffer between a wire and the reader of chunks. It is small because
	// payload bytes in it are copied once more.
	parserBytes = 4 << 10
)

// wire reads one answer from a connection. It keeps the bytes of the head, and
// turns a deadline that passed into the limit that it stands for.
//
//	connection -> buf -> head
//	connection -> buf -> payload     what came with the head, and small pieces; chunks by br
//	connection -> payload            large pieces
type wire struct {
	br *bufio.Reader // reads from the wire itself
	x  *exchange
	nc net.Conn

	buf      []byte // received bytes; while inHead, all of them
	taken    int    // bytes of buf that were read from the wire
	err      error  // the error that came with the last bytes
	inHead   bool
	limit    error // the limit that the head exceeded
	bodyFrom time.Time
	received int64 // since the connection was taken, or since bodyFrom
}

func newWire() *wire {
	return &wire{br: bufio.NewReaderSize(nil, parserBytes), buf: make([]byte, 0, wireBytes)}
}

func (w *wire) start(x *exchange, nc net.Conn) {
	w.x, w.nc, w.inHead, w.limit, w.received = x, nc, true, nil, 0
	w.buf, w.taken, w.err = w.buf[:0], 0, nil
	w.br.Reset(w)
}

// end returns w to its pool, unless a large head has made it too large.
func (w *wire) end() {
	f := w.x.f
	w.x, w.nc, w.err = nil, nil, nil
	if cap(w.buf) <= 2*wireBytes {
		f.wires.Put(w)
	}
}

// ahead counts the bytes that were received and not used.
func (w *wire) ahead() int { return w.br.Buffered() + len(w.buf) - w.taken }

// readHead reads the head of the final answer and skips interim ones (RFC 9110
// section 15.2). All of them together are bounded by Options.MaxHead.
func (w *wire) readHead() (*head, error) {
	from := 0
	for {
		to, err := w.endOfHead(from)
		if err != nil {
			return nil, err
		}
		if to > w.x.f.o.MaxHead {
			return nil, errHeadTooLarge
		}
		h, err := parseHead(w.buf[from:to])
		switch {
		case err != nil:
			return nil, err
		case h.status == http.StatusSwitchingProtocols:
			return nil, errSwitching
		case h.status >= 200:
			w.taken = to
			return h, nil
		}
		from = to
	}
}

// endOfHead receives the head that starts at from, up to the empty line, and returns where it ends.
// What cannot be a head fails at once.
func (w *wire) endOfHead(from int) (int, error) {
	line, begun, known := from, false, false
	for at := from; ; {
		n := bytes.IndexByte(w.buf[at:], '\n')
		for ; n >= 0; n = bytes.IndexByte(w.buf[at:], '\n') {
			empty := len(bytes.TrimRight(w.buf[line:at+n], "\r")) == 0
			at += n + 1
			if empty && begun {
				return at, nil
			}
			line, begun = at, begun || !empty
		}
		at = len(w.buf)
		if start := bytes.TrimLeft(w.buf[from:], "\r\n"); !known && len(start) >= firstBytes {
			if known = true; statusStart(start) < 0 {
				return 0, fmt.Errorf("%w: it starts with %.40q", errNotHTTP, start)
			}
		}
		w.taken = len(w.buf)
		err := w.err
		if err == nil {
			err = w.fill()
		}
		if err != nil {
			if errors.Is(err, io.EOF) && len(w.buf) > 0 {
				err = errHalfHead
			}
			return 0, err
		}
	}
}

// startBody starts the payload's time limits.
func (w *wire) startBody() {
	w.inHead, w.bodyFrom, w.received = false, time.Now(), int64(w.ahead())
	w.extend()
}

// extend sets the deadline that the bytes received so far have earned, and reports whether it is in
// the future. It is set only when the last one passed, so a page that arrives quickly costs one
// timer.
func (w *wire) extend() bool {
	earned := w.x.earned(w.bodyFrom, w.received)
	if !earned.After(time.Now()) {
		return false
	}
	w.nc.SetReadDeadline(earned)
	// a cancelled fetch may have been woken by a deadline that the line above replaced
	return w.x.ctx.Err() == nil
}

// Read hands out what was received, and receives more when nothing is left.
func (w *wire) Read(p []byte) (int, error) {
	if w.taken == len(w.buf) {
		switch {
		case w.err != nil:
			return 0, w.err
		case !w.inHead && len(p) >= wireBytes/2:
			return w.receive(p)
		}
		if err := w.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.buf[w.taken:])
	w.taken += n
	return n, nil
}

// fill receives into buf, which is fully used. The bytes of the head stay.
func (w *wire) fill() error {
	if !w.inHead {
		w.buf, w.taken = w.buf[:0], 0
	} else if len(w.buf) >= w.x.f.o.MaxHead {
		w.limit = errHeadTooLarge
		return w.limit
	}
	w.buf = slices.Grow(w.buf, 1)
	n, err := w.receive(w.buf[len(w.buf):cap(w.buf)])
	w.buf = w.buf[:len(w.buf)+n]
	if n > 0 {
		w.err, err = err, nil
	}
	return err
}

// receive reads from the connection.
func (w *wire) receive(p []byte) (int, error) {
	for {
		n, err := w.nc.Read(p)
		w.received += int64(n)
		if err == nil || n > 0 || !isTimeout(err) {
			return n, err
		}
		if w.inHead {
			w.limit = errNoHeadInTime
			return 0, w.limit
		}
		if !w.extend() {
			return 0, tooSlow(w.received, w.bodyFrom)
		}
	}
}
