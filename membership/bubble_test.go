package membership

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
)

// cuttable is a transport without sockets that can be cut off from all others.
type cuttable struct {
	*memberlist.MockTransport
	own string
	cut *atomic.Pointer[string] // the address that is cut off, or ""
}

func (c *cuttable) blocked(to string) bool {
	cut := *c.cut.Load()
	return cut != "" && (cut == c.own) != (cut == to)
}

func (c *cuttable) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	if c.blocked(to.Addr) {
		return time.Now(), nil
	}
	return c.MockTransport.WriteToAddress(b, to)
}

func (c *cuttable) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	if c.blocked(to.Addr) {
		time.Sleep(timeout)
		return nil, errors.New("timeout")
	}
	return c.MockTransport.DialAddressTimeout(to, timeout)
}

// TestHealsAfterCut runs three nodes in virtual time, as simulations do: they
// join, one is cut off for so long that gossip forgets it for good, and then
// they find each other again. All must end, and nothing may block the clock.
func TestHealsAfterCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var network memberlist.MockNetwork
		var cut atomic.Pointer[string]
		cut.Store(new(string))
		names := []string{"n1", "n2", "n3"}
		var transports []*cuttable
		for _, name := range names { // before anybody runs: the network has no lock
			mock := network.NewTransport(name)
			ip, port, err := mock.FinalAdvertiseAddr("", 0)
			if err != nil {
				t.Fatal(err)
			}
			transports = append(transports, &cuttable{mock, hostPort{ip.String(), port}.String(), &cut})
		}
		x := new(exchange)
		ctx, cancel := context.WithCancel(t.Context())
		var nodes []*Membership
		var ended []chan error
		for i, name := range names {
			o := x.options(name)
			o.Transport = transports[i]
			if i > 0 {
				o.Join = []string{transports[0].own}
			}
			m, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			x.set(o.RPC, m)
			done := make(chan error, 1)
			go func() { done <- m.Run(ctx) }()
			nodes, ended = append(nodes, m), append(ended, done)
		}
		check := func(when, n3 string) {
			for _, m := range nodes {
				s := m.Snapshot()
				if s.Status != Active || len(s.View.Members) != 3 {
					t.Errorf("%s: %s is %s in %s", when, m.Self().Name, s.Status, showView(s.View))
				}
				for _, p := range s.Peers {
					want := crawl.NodeAlive
					if p.ID != m.self.ID && (p.Name == "n3" || m.self.Name == "n3") {
						want = n3
					}
					if p.State != want {
						t.Errorf("%s: for %s %s is %s, want %s", when, m.self.Name, p.Name, p.State, want)
					}
				}
			}
		}
		time.Sleep(10 * time.Second)
		check("joined", crawl.NodeAlive)
		cut.Store(&transports[2].own)
		x.set(nodes[2].self.RPC, nil)
		time.Sleep(5 * time.Minute)
		check("cut", crawl.NodeFailed)
		cut.Store(new(string))
		x.set(nodes[2].self.RPC, nodes[2])
		time.Sleep(10 * time.Second)
		check("healed", crawl.NodeAlive)
		cancel()
		for _, done := range ended {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute) // memberlist does not wait for its goroutines
	})
}
