package peer

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestStreamsOfAConnectionAreBounded opens more calls on one connection than a node may,
// and keeps each open: what is too much is refused. Then it opens and resets 5,000 at once
// (rapid reset): the server keeps pace.
func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	to, _ := startServer(t, &fakeNode{}, "c1")
	conn, err := net.Dial("tcp", to.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	frame, err := framer.ReadFrame()
	settings, ok := frame.(*http2.SettingsFrame)
	if err != nil || !ok {
		t.Fatalf("the first frame is %v, %v", frame, err)
	}
	streams, _ := settings.Value(http2.SettingMaxConcurrentStreams)
	header, _ := settings.Value(http2.SettingMaxHeaderListSize)
	if streams != 256 || header != maxHeaderBytes {
		t.Errorf("the server allows %d streams and headers of %d bytes", streams, header)
	}
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	open := func(id uint32) error {
		block.Reset()
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"},
			{":path", Peer_Links_FullMethodName}, {":authority", "x"}, {"content-type", "application/grpc"},
			{"te", "trailers"},
			{nodeKey, "me"}, {clusterKey, "c1"}, {protocolKey, "0"},
			{targetKey, identity{to.ID, to.Boot}.String()}} {
			if err := enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				return err
			}
		}
		return framer.WriteHeaders(
			http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true})
	}
	const extra = 10
	for i := range uint32(256 + extra) {
		if err := open(2*i + 1); err != nil {
			t.Fatal(err)
		}
	}
	for refused := 0; refused < extra; {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("%d of %d were refused: %v", refused, extra, err)
		}
		if reset, ok := frame.(*http2.RSTStreamFrame); ok {
			if reset.ErrCode != http2.ErrCodeRefusedStream || reset.StreamID <= 2*255+1 {
				t.Fatalf("stream %d was reset: %v", reset.StreamID, reset.ErrCode)
			}
			refused++
		}
	}
	// so that there is room for one at a time
	if err := framer.WriteRSTStream(1, http2.ErrCodeCancel); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(5000) {
		id := 2*(256+extra+i) + 1
		if err := errors.Join(open(id), framer.WriteRSTStream(id, http2.ErrCodeCancel)); err != nil {
			t.Fatal(err)
		}
	}
	if err := framer.WritePing(false, [8]byte{1}); err != nil {
		t.Fatal(err)
	}
	for { // the server has kept pace when it answers
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if ping, ok := frame.(*http2.PingFrame); ok && ping.IsAck() {
			return
		}
	}
}
