package integration

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// floodHosts is how many hosts flood at a time, each in its own way.
const floodHosts = 20

// floodKinds are the frames that they repeat without end.
var floodKinds = []struct {
	name  string
	write func(fr *http2.Framer, stream uint32) error
}{
	{"PING", func(fr *http2.Framer, _ uint32) error { return fr.WritePing(false, [8]byte{}) }},
	{"SETTINGS", func(fr *http2.Framer, _ uint32) error { return fr.WriteSettings() }},
	{"empty DATA", func(fr *http2.Framer, s uint32) error { return fr.WriteData(s, false, nil) }},
	{"RST_STREAM", func(fr *http2.Framer, s uint32) error { return fr.WriteRSTStream(s+2, http2.ErrCodeCancel) }},
	{"PRIORITY", func(fr *http2.Framer, s uint32) error { return fr.WritePriority(s, http2.PriorityParam{}) }},
	{"WINDOW_UPDATE", func(fr *http2.Framer, _ uint32) error { return fr.WriteWindowUpdate(0, 1) }},
	{"CONTINUATION", func(fr *http2.Framer, s uint32) error { return fr.WriteContinuation(s, false, nil) }},
	{"interim answers", func(fr *http2.Framer, s uint32) error {
		return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: statusBlock("103"), EndHeaders: true})
	}},
}

func statusBlock(code string) []byte {
	var b bytes.Buffer
	_ = hpack.NewEncoder(&b).WriteField(hpack.HeaderField{Name: ":status", Value: code}) // a buffer takes all
	return b.Bytes()
}

// floods serves HTTP/2 at an address of its own, and floods whoever asks.
func (s *siege) floods(ip string, kind int, cfg *tls.Config) {
	s.t.Helper()
	ln, err := tls.Listen("tcp", net.JoinHostPort(ip, fmt.Sprint(s.port)), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = ln.Close() }) // the test is over
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go flood(c, kind)
		}
	}()
}

// flood ends when the client closes the connection.
func flood(c net.Conn, kind int) {
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
	go func() { // what the client says must not fill its buffers
		for {
			if _, err := fr.ReadFrame(); err != nil {
				return
			}
		}
	}()
	k := floodKinds[kind]
	switch k.name {
	case "CONTINUATION":
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: statusBlock("200")}) // the next write tells
	case "empty DATA":
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: statusBlock("200"), EndHeaders: true}) // the next write tells
	}
	for k.write(fr, stream) == nil {
	}
}

// TestSharesFloods is F40: 20 hosts flood whoever asks with HTTP/2 frames that carry
// nothing, for as long as the connection stands.
func TestSharesFloods(t *testing.T) {
	besieged(t, false)
	s := newSiege(t)
	plain := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	cfg := plain.TLS.Clone()
	cfg.NextProtos = []string{"h2"}
	c := newCluster(t, "--dns", s.names, "--allow-net", sharesNet, "--delay", "500ms", "--scope", "any", "--tls-verify", "record", "--log-level", "debug")
	c.addReady(1)
	n := c.nodes[0]
	var good, bad []string
	for i := range siegeHosts {
		good = append(good, s.url(fmt.Sprint("good", i)))
	}
	for i := range floodHosts {
		s.floods(dripAddr(i), i%len(floodKinds), cfg)
		bad = append(bad, fmt.Sprintf("https://n%d.drip%d.test:%d/", i, i, s.port))
	}
	n.seed(good...)
	until(t, 30*time.Second, func() string {
		if got := s.requests(); got < 4*siegeHosts {
			return fmt.Sprintf("the good hosts have had %d requests", got)
		}
		return ""
	})
	pid := n.cmd.Process.Pid
	measure := func() (rate, core float64, memory int64) {
		cpu, begun := cpuTime(pid), time.Now()
		rate = s.rate(10 * time.Second)
		return rate, (cpuTime(pid) - cpu).Seconds() / time.Since(begun).Seconds(), rssAnon(pid)
	}
	before, idle, small := measure()
	n.seed(bad...)
	during, busy, large := measure()
	t.Logf("before: %.1f requests a second, %.3f of a core, %d MiB; during: %.1f, %.3f, %d MiB", before, idle, small>>20, during, busy, large>>20)
	appendHostile(t, "F40", "20 hosts flood with HTTP/2 frames: rate of five established hosts, of a core and MiB of memory more than without",
		fmt.Sprintf("%.0f %%, %.3f, %d", 100*during/before, busy-idle, (large-small)>>20))
	if raceDetector {
		return
	}
	if during < 0.95*before || busy-idle > 0.1 || large-small > 32<<20 {
		t.Errorf("the established hosts keep %.0f %%, want 95; the floods cost %.3f of a core, want 0.1, and %d MiB, want 32", 100*during/before, busy-idle, (large-small)>>20)
	}
}
