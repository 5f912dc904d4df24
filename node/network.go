package node

import (
	"context"
	"net"

	"github.com/hashicorp/memberlist"

	"crawlnode/dnscache"
	"crawlnode/frontier"
	"crawlnode/membership"
)

// Network replaces the operating system's network, for simulations. A nil
// *Network is the real one; of one that is given, Fetch and Exchange may be nil
// and are the real ones then.
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
	// Clock tells the node all times that it stores or sends, and measures leases; nil is
	// the system's.
	Clock membership.Clock
	// Machine names the run of the machine whose BootTime Clock tells; "" is none: then
	// a node that starts again does not know how much time has passed.
	Machine string
	// Probe connects to a node and hangs up, to see whether it is dead; nil uses
	// Dial.
	Probe func(ctx context.Context, addr string) error
	// Processes tells whether a member's process is gone; nil: that is never
	// known.
	Processes func(membership.Member) (gone, known bool)
}

// clock is what tells the node the time, and the run of its machine.
func (w *Network) clock() (c membership.Clock, machine string) {
	if w == nil || w.Clock == nil {
		return membership.SystemClock(), frontier.MachineRun()
	}
	return w.Clock, w.Machine
}

// hook puts what a simulation replaces into membership's options.
func (w *Network) hook(o *membership.Options) {
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

func (w *Network) dialer() func(context.Context, string) (net.Conn, error) {
	if w == nil {
		return nil
	}
	return w.Dial
}

func (w *Network) transport() memberlist.Transport {
	if w == nil {
		return nil
	}
	return w.Gossip
}

func (w *Network) fetch() func(context.Context, string, string) (net.Conn, error) {
	if w == nil {
		return nil
	}
	return w.Fetch
}

func (w *Network) exchange() dnscache.ExchangeFunc {
	if w == nil {
		return nil
	}
	return w.Exchange
}
