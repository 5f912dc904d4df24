package fetcher

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrFlood is in the chain of Do's error when the server sent far more HTTP/2 frames than an answer
// needs; the connection is then closed.
var ErrFlood = errors.New("the server floods the connection with HTTP/2 frames")

// What a connection may receive besides payload.
const (
	// floodAllowance is how many frames without content a connection may receive from its start,
	// floodPerFetch how many more for each fetch. Servers send a few for each answer, and a PING
	// now and then.
	floodAllowance, floodPerFetch = 500, 50
	// Each floodDataBytes of payload allow one more.
	floodDataBytes = 1 << 10
	// A DATA frame below smallData bytes counts as a frame without content.
	smallData = 16
	// maxHeadFrames bounds the frames of one header block.
	maxHeadFrames = 64
	// unknownCost is how many frames without content a frame of unknown type counts as: net/http
	// logs each.
	unknownCost = 25
)

// The frame types (RFC 9113, section 6) that are distinguished, and a flag.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameContinuation = 0x9 // the last one that net/http knows
	frameHeadBytes    = 9
	flagEndStream     = 0x1
)

// floodGuard counts the frames that an HTTP/2 server sends on a connection and fails its reads at a
// limit. It works below net/http, so the work that frames cause is bounded by the limit. One
// goroutine reads.
type floodGuard struct {
	*tls.Conn
	fetches atomic.Int64

	head     [frameHeadBytes]byte // of the current frame
	have     int                  // bytes of it
	left     int                  // bytes of the frame's payload that are still to come
	idle     int64                // frames without content
	payload  int64                // bytes of DATA
	headers  int                  // frames of the current header block
	headSize int                  // its bytes
	maxHead  int
}

// Read is net.Conn's.
func (g *floodGuard) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if flood := g.take(p[:n]); flood != nil {
		return 0, flood
	}
	return n, err
}

// take parses received bytes.
func (g *floodGuard) take(b []byte) error {
	for len(b) > 0 {
		if g.left > 0 {
			n := min(g.left, len(b))
			g.left -= n
			b = b[n:]
			continue
		}
		n := copy(g.head[g.have:], b)
		g.have += n
		b = b[n:]
		if g.have < frameHeadBytes {
			return nil
		}
		g.have = 0
		g.left = int(binary.BigEndian.Uint32(g.head[:4]) >> 8)
		if err := g.count(g.head[3], g.head[4], g.left); err != nil {
			return err
		}
	}
	return nil
}

// count counts one frame.
func (g *floodGuard) count(kind, flags byte, size int) error {
	switch kind {
	case frameData:
		g.payload += int64(size)
		if size < smallData && flags&flagEndStream == 0 {
			g.idle++
		}
	case frameHeaders:
		g.headers, g.headSize = 1, size
		if flags&flagEndStream == 0 { // an interim answer, or one with a payload
			g.idle++
		}
	case frameContinuation:
		g.headers++
		g.headSize += size
		if g.headers > maxHeadFrames || g.headSize > 2*g.maxHead {
			return fmt.Errorf("%w: a header block of %d frames, %d bytes", ErrFlood, g.headers, g.headSize)
		}
	default:
		g.idle++
		if kind > frameContinuation {
			g.idle += unknownCost - 1
		}
	}
	if limit := floodAllowance + floodPerFetch*g.fetches.Load() +
		g.payload/floodDataBytes; g.idle > limit {
		return fmt.Errorf("%w: %d without content", ErrFlood, g.idle)
	}
	return nil
}
