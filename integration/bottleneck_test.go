package integration

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"crawlnode/simweb"
)

// Each situation that holds a crawl back is provoked on a real node, which must name it steadily. A
// slow disk is provoked in package node, a full one by TestDiskFillsUp.
func TestBottleneckIsNamed(t *testing.T) {
	needsProcesses(t) // and not beside other tests, which would be the bottleneck
	for _, s := range []struct {
		cause, says string
		web         simweb.Config
		delay       time.Duration
		flags       []string
		slowNames   time.Duration
	}{
		{"politeness", "--delay", simweb.Config{Hosts: 3, PagesPerHost: 300}, time.Second, nil, 0},
		{"fetchers", "--fetchers",
			simweb.Config{Hosts: 40, PagesPerHost: 300, Slow: 1000, SlowBy: 300 * time.Millisecond},
			20 * time.Millisecond, []string{"--fetchers", "2"}, 0},
		{"dns", "--dns", simweb.Config{Hosts: 1500, PagesPerHost: 1}, 20 * time.Millisecond, nil, 900 * time.Millisecond},
		{"cpu", "processors", simweb.Config{Hosts: 400, PagesPerHost: 200}, 0, nil, 0},
	} {
		t.Run(s.cause, func(t *testing.T) {
			s.web.Seed, s.web.Skew = 9, -1
			web, srv := serveSimweb(t, s.web)
			c := simCluster(t, srv, s.delay, s.flags...)
			if s.slowNames > 0 {
				c.flags[slices.Index(c.flags, "--dns")+1] = slowNames(t, srv.DNS.String(), s.slowNames)
			}
			c.addReady(1)
			n := c.nodes[0]
			n.heldBackBy("none", "nothing is queued")
			n.seed(web.Seeds()...)
			n.heldBackBy(s.cause, s.says)
			n.signal(syscall.SIGKILL) // the rest of the web is of no interest
		})
	}
	t.Run("handoff", func(t *testing.T) {
		web, srv := serveSimweb(t, simweb.Config{Seed: 9, Hosts: 16, PagesPerHost: 1200, Skew: -1})
		c := simCluster(t, srv, 200*time.Millisecond)
		c.addReady(1)
		first := c.nodes[0]
		first.seed(web.Seeds()...)
		first.heldBackBy("politeness", "--delay")
		c.add()
		until(t, time.Minute, func() string {
			s, err := first.status()
			if err != nil || s.Bottleneck.Cause != "handoff" ||
				!strings.Contains(s.Bottleneck.Message, "partitions are still moving") {
				return fmt.Sprintf("%+v, %v", s.Bottleneck, err)
			}
			return ""
		})
		c.converged(time.Minute)
		first.heldBackBy("politeness", "--delay")
		for _, n := range c.nodes {
			n.signal(syscall.SIGKILL)
		}
	})
}

// heldBackBy waits until the node names a cause and stays with that: in a second of
// twenty answers, eight of ten or more.
func (n *node) heldBackBy(cause, says string) {
	t := n.c.t
	t.Helper()
	const samples = 20
	until(t, 30*time.Second, func() string {
		told := map[string]int{}
		for range samples {
			s, err := n.status()
			if err != nil {
				return err.Error()
			}
			told[s.Bottleneck.Cause]++
			if s.Bottleneck.Cause == cause && !strings.Contains(s.Bottleneck.Message, says) {
				t.Errorf("%s: %q does not say %q", cause, s.Bottleneck.Message, says)
			}
			if told[cause] == 0 {
				return fmt.Sprintf("the bottleneck is %+v, want %s", s.Bottleneck, cause)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if told[cause] < samples*8/10 {
			return fmt.Sprintf("of %d answers only %d name %s: %v", samples, told[cause], cause, told)
		}
		return ""
	})
}

// slowNames is a name server that passes questions on, and keeps each answer for a while.
func slowNames(t *testing.T, to string, wait time.Duration) (addr string) {
	t.Helper()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started, done := make(chan struct{}), make(chan error, 1)
	srv := &dns.Server{
		PacketConn:        udp,
		NotifyStartedFunc: func() { close(started) },
		Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
			time.Sleep(wait) // this is the fault
			answer, _, err := new(dns.Client).Exchange(q, to)
			if err == nil {
				_ = w.WriteMsg(answer) // who asked may have gone
			}
		}),
	}
	go func() { done <- srv.ActivateAndServe() }()
	<-started
	t.Cleanup(func() {
		_ = srv.Shutdown() // its end is what is waited for
		<-done
	})
	return udp.LocalAddr().String()
}
