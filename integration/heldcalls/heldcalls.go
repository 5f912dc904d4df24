package heldcalls

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync/atomic"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Client has opened calls, and sends all but the end of a message on each until its connection is
// closed.
type Client struct {
	conn   net.Conn
	framer *http2.Framer
	ended  atomic.Int64
	failed chan error
}

// Open opens calls of a method on one connection to addr. size is that of each message, in bytes.
func Open(addr, method string, calls, size int) (*Client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	h := &Client{conn: conn, framer: http2.NewFramer(conn, conn), failed: make(chan error, 1)}
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		return nil, err
	}
	if err := h.framer.WriteSettings(); err != nil {
		return nil, err
	}
	var head bytes.Buffer
	coder := hpack.NewEncoder(&head)
	message := binary.BigEndian.AppendUint32([]byte{0}, uint32(size))
	message = append(message, make([]byte, 16<<10-len(message))...)
	left, window := map[uint32]int{}, map[uint32]int{}
	all := 65535
	for i := range calls {
		head.Reset()
		for _, f := range [][2]string{
			{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "x"},
			{"content-type", "application/grpc"}, {"te", "trailers"},
		} {
			if err := coder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				return nil, err
			}
		}
		id := uint32(2*i + 1)
		first := http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true}
		if err := h.framer.WriteHeaders(first); err != nil {
			return nil, err
		}
		left[id], window[id] = size-100, 64<<10-1
	}
	go func() { // sends as the windows allow, and ends with the connection
		begun := map[uint32]bool{}
		send := func(id uint32) error {
			for {
				n := min(left[id], window[id], all, len(message))
				if n <= 0 {
					return nil
				}
				part := make([]byte, n)
				if !begun[id] {
					copy(part, message[:5])
					begun[id] = true
				}
				left[id], window[id], all = left[id]-n, window[id]-n, all-n
				if err := h.framer.WriteData(id, false, part); err != nil {
					return err
				}
			}
		}
		for id := range left {
			if err := send(id); err != nil {
				h.failed <- err
				return
			}
		}
		for {
			f, err := h.framer.ReadFrame()
			if err != nil {
				h.failed <- err
				return
			}
			switch f := f.(type) {
			case *http2.SettingsFrame:
				if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
					for id := range window {
						window[id] += int(size) - 65535
					}
				}
				if !f.IsAck() {
					err = h.framer.WriteSettingsAck()
				}
			case *http2.PingFrame:
				if !f.IsAck() {
					err = h.framer.WritePing(true, f.Data)
				}
			case *http2.WindowUpdateFrame:
				if f.StreamID == 0 {
					all += int(f.Increment)
				} else if _, ok := window[f.StreamID]; ok {
					window[f.StreamID] += int(f.Increment)
				}
			case *http2.HeadersFrame:
				if _, ok := left[f.StreamID]; ok && f.StreamEnded() {
					delete(left, f.StreamID)
					h.ended.Add(1)
				}
			case *http2.RSTStreamFrame:
				if _, ok := left[f.StreamID]; ok {
					delete(left, f.StreamID)
					h.ended.Add(1)
				}
			}
			for id := range left {
				if err == nil {
					err = send(id)
				}
			}
			if err != nil {
				h.failed <- err
				return
			}
		}
	}()
	return h, nil
}

// Ended is how many of the calls the server has ended.
func (h *Client) Ended() int64 { return h.ended.Load() }

// Failed has the error that ended the connection.
func (h *Client) Failed() <-chan error { return h.failed }

// Close closes the connection, and returns when nothing is sent any more. It may be called once.
func (h *Client) Close() {
	_ = h.conn.Close()
	<-h.failed
}
