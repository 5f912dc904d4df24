package network

import (
	"context"
	"net"

	"github.com/hashicorp/memberlist"

	"crawlnode/dnscache"
	"crawlnode/frontier/storage"
	"crawlnode/membership"
)

// Network replaces the operating system's network, for simulations. A nil
// *Network is the real one. A field that may be nil says what happens then; nil Fetch and
// Exchange are the real ones.
type Network struct {
	// Listen opens a stream listener for the API or the calls of peers.
	Listen func(addr string) (net.Listener, error)
	// Dial opens a stream to another node.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Gossip carries memberlist's packets and streams.
	Gossip memberlist.Transport
	// Fetch opens a connection to a web server at "ip:port"; network is "tcp".
	Fetch func(ctx context.Context, network, addr string) (net.Conn, error)
	// Exchange asks one of --dns, which must be given with it.
	Exchange dnscache.ExchangeFunc
	// Lookup finds the IP addresses of another node's name; nil: the system's resolver.
	Lookup func(ctx context.Context, name string) ([]string, error)
	// Clock gives all times that the node stores or sends, and measures leases; nil: the
	// system's.
	Clock membership.Clock
	// Machine names the run of the machine whose BootTime Clock gives. With "" a restarted
	// node does not know how much time has passed.
	Machine string
	// Probe connects to a node and hangs up, to find out whether it is dead; nil: Dial.
	Probe func(ctx context.Context, addr string) error
	// Processes reports whether a member's process is gone; nil: that is never known.
	Processes func(membership.Member) (gone, known bool)
}

// TimeSource is the node's clock, and the name of this run of its machine.
func (w *Network) TimeSource() (c membership.Clock, machine string) {
	if w == nil || w.Clock == nil {
		return membership.SystemClock(), storage.MachineRun()
	}
	return w.Clock, w.Machine
}

// Hook puts what a simulation replaces into membership's options.
func (w *Network) Hook(o *membership.Options) {
	if w == nil {
		return
	}
	o.Clock, o.Dial, o.Processes, o.Lookup = w.Clock, w.Probe, w.Processes, w.Lookup
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, addr string) error {
			c, err := w.Dial(ctx, addr)
			if err != nil {
				return err
			}
			return c.Close()
		}
	}
	if o.Processes == nil {
		o.Processes = func(membership.Member) (gone, known bool) { return false, false }
	}
}

// Dialer opens streams to other nodes; nil: TCP.
func (w *Network) Dialer() func(context.Context, string) (net.Conn, error) {
	if w == nil {
		return nil
	}
	return w.Dial
}

// Transport carries gossip; nil: UDP and TCP.
func (w *Network) Transport() memberlist.Transport {
	if w == nil {
		return nil
	}
	return w.Gossip
}

// Fetcher connects to web servers; nil: TCP.
func (w *Network) Fetcher() func(context.Context, string, string) (net.Conn, error) {
	if w == nil {
		return nil
	}
	return w.Fetch
}

// Exchanger asks name servers; nil: UDP and TCP.
func (w *Network) Exchanger() dnscache.ExchangeFunc {
	if w == nil {
		return nil
	}
	return w.Exchange
}
