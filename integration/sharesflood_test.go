package integration

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"crawlnode/integration/simnet"
)

// floodHosts is how many hosts flood at a time, with one kind of frame.
const floodHosts = 20

// floods serves HTTP/2 at an address of its own, and floods every client.
func (s *siege) floods(ip, kind string, cfg *tls.Config) {
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
			go simnet.Flood(c, kind)
		}
	}()
}

// TestSharesFloods is F40: 20 hosts flood every client with HTTP/2 frames without content, of one
// kind, as long as the connection is open; then 20 others with another kind.
func TestSharesFloods(t *testing.T) {
	longBesieged(t)
	s := newSiege(t)
	plain := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	cfg := plain.TLS.Clone()
	cfg.NextProtos = []string{"h2"}
	c := newCluster(t, "--dns", s.names, "--allow-net", sharesNet, "--delay", "500ms", "--scope",
		"any", "--tls-verify", "record", "--log-level", "debug")
	c.addReady(1)
	n := c.nodes[0]
	var good []string
	for i := range siegeHosts {
		good = append(good, s.url(fmt.Sprint("good", i)))
	}
	n.seed(good...)
	until(t, 30*time.Second, func() string {
		if got := s.requests(); got < 4*siegeHosts {
			return fmt.Sprintf("the good hosts have had %d requests", got)
		}
		return ""
	})
	pid := n.cmd.Process.Pid
	measure := func() (rate, core float64) {
		cpu, begun := cpuTime(pid), time.Now()
		rate = s.rate(8 * time.Second)
		return rate, (cpuTime(pid) - cpu).Seconds() / time.Since(begun).Seconds()
	}
	before, idle := measure()
	for k, kind := range simnet.Floods() {
		var bad []string
		for i := k * floodHosts; i < (k+1)*floodHosts; i++ {
			s.floods(dripAddr(i), kind, cfg)
			bad = append(bad, fmt.Sprintf("https://n%d.drip%d.test:%d/", i, i, s.port))
		}
		small := rssAnon(pid)
		n.seed(bad...)
		during, busy := measure()
		more := (rssAnon(pid) - small) >> 20
		figure := fmt.Sprintf("%.0f %%, %.3f, %d", 100*during/before, busy-idle, more)
		t.Logf("%s: the established hosts keep %s", kind, figure)
		appendHostile(t, "F40", "20 hosts flood with "+kind+
			": rate of five established hosts, of a core and MiB of memory more than without", figure)
		if !raceDetector && (during < 0.95*before || busy-idle > 0.1 || more > 32) {
			t.Errorf("%s: the established hosts keep %.0f %%, want 95; the floods cost %.3f of a core, "+
				"want 0.1, and %d MiB, want 32", kind, 100*during/before, busy-idle, more)
		}
	}
}
