package simnet

import (
	"bytes"
	"maps"
	"net"
	"slices"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// floods are the HTTP/2 frames that a hostile server repeats without end once it has a
// request, on stream s.
var floods = map[string]func(fr *http2.Framer, s uint32) error{
	"PING":       func(fr *http2.Framer, _ uint32) error { return fr.WritePing(false, [8]byte{1}) },
	"PING ACK":   func(fr *http2.Framer, _ uint32) error { return fr.WritePing(true, [8]byte{1}) },
	"SETTINGS":   func(fr *http2.Framer, _ uint32) error { return fr.WriteSettings() },
	"empty DATA": func(fr *http2.Framer, s uint32) error { return fr.WriteData(s, false, nil) },
	"small DATA": func(fr *http2.Framer, s uint32) error {
		return fr.WriteData(s, false, []byte("x"))
	},
	"RST_STREAM": func(fr *http2.Framer, s uint32) error {
		return fr.WriteRSTStream(s, http2.ErrCodeCancel)
	},
	"RST of others": func(fr *http2.Framer, s uint32) error {
		return fr.WriteRSTStream(s+2, http2.ErrCodeCancel)
	},
	"PRIORITY": func(fr *http2.Framer, s uint32) error {
		return fr.WritePriority(s, http2.PriorityParam{Weight: 7})
	},
	"WINDOW_UPDATE": func(fr *http2.Framer, _ uint32) error { return fr.WriteWindowUpdate(0, 1) },
	"unknown": func(fr *http2.Framer, s uint32) error {
		return fr.WriteRawFrame(0x42, 0, s, nil)
	},
	"CONTINUATION": func(fr *http2.Framer, s uint32) error {
		return fr.WriteContinuation(s, false, nil)
	},
	"interim answers": func(fr *http2.Framer, s uint32) error {
		return fr.WriteHeaders(
			http2.HeadersFrameParam{StreamID: s, BlockFragment: HTTP2Status("103"), EndHeaders: true})
	},
}

// Floods are the kinds of Flood.
func Floods() []string { return slices.Sorted(maps.Keys(floods)) }

// HTTP2Status is the block of headers of an answer.
func HTTP2Status(code string) []byte {
	var b bytes.Buffer
	// a buffer takes all
	_ = hpack.NewEncoder(&b).WriteField(hpack.HeaderField{Name: ":status", Value: code})
	return b.Bytes()
}

// Flood speaks HTTP/2 to a client on any network until a request comes, and then sends
// frames that carry nothing, for as long as the client keeps the connection. It closes c.
func Flood(c net.Conn, kind string) {
	defer c.Close()
	if _, err := c.Read(make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	fr := http2.NewFramer(c, c)
	fr.AllowIllegalWrites = true
	if fr.WriteSettings() != nil {
		return
	}
	stream := uint32(0)
	for stream == 0 {
		f, err := fr.ReadFrame()
		if err != nil {
			return
		}
		if h, ok := f.(*http2.HeadersFrame); ok {
			stream = h.StreamID
		}
	}
	read := make(chan struct{})
	go func() { // what the client says must not fill its buffers
		defer close(read)
		for {
			if _, err := fr.ReadFrame(); err != nil {
				return
			}
		}
	}()
	answer := http2.HeadersFrameParam{StreamID: stream, BlockFragment: HTTP2Status("200")}
	var err error
	switch kind {
	case "CONTINUATION":
		err = fr.WriteHeaders(answer)
	case "empty DATA", "small DATA":
		answer.EndHeaders = true
		err = fr.WriteHeaders(answer)
	}
	for err == nil {
		err = floods[kind](fr, stream)
	}
	_ = c.Close() // ends the reader
	<-read
}
