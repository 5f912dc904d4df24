package gossip

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// Timing. A probe must not time out sooner than half a second: on a loaded machine
// shorter ones report living nodes as dead.
const (
	probeInterval    = time.Second
	probeTimeout     = 500 * time.Millisecond
	gossipInterval   = 100 * time.Millisecond
	pushPullInterval = 10 * time.Second
	streamTimeout    = 2 * time.Second // dial, and one push/pull
	// reclaimAfter lets a dead node come back under another address.
	reclaimAfter  = time.Second
	updateTimeout = 500 * time.Millisecond
	leaveTimeout  = time.Second
)

var (
	// ErrAddressInUse: the gossip port is taken.
	ErrAddressInUse = errors.New("membership: the gossip address is in use")
	// ErrMismatch: the cluster that answered differs in what all members share.
	// The error's text names the difference.
	ErrMismatch = errors.New("membership: that node does not fit to this one")
)

// Options are what New needs.
type Options struct {
	// Self is this node's id.
	Self crawl.NodeID
	// Cluster is the cluster's name; packets that do not carry it are dropped.
	Cluster string
	// SecretKey encrypts what is sent: 16, 24 or 32 bytes; nil sends it in the clear.
	SecretKey []byte
	// AlsoKeys are accepted as well in what is received; see SetKeys.
	AlsoKeys [][]byte
	Logger   *slog.Logger
}

// secretKeys are all accepted keys, the one in use first; none without a key.
func (o *Options) secretKeys() [][]byte {
	if len(o.SecretKey) == 0 {
		return nil
	}
	return append([][]byte{o.SecretKey}, o.AlsoKeys...)
}

// Gossip is this node's part in the gossip of a cluster. memberlist calls it back
// while it holds its own locks, and passes live memory: so callbacks copy what they
// need into the inbox, signal, and return.
type Gossip struct {
	o         Options
	meta      atomic.Pointer[[]byte]            // what NodeMeta answers
	cluster   atomic.Pointer[consensus.Cluster] // what others are compared with
	changed   chan struct{}                     // cap 1: meta has changed
	inbox     inbox
	list      *memberlist.Memberlist // nil before Start
	keys      *memberlist.Keyring    // nil: no key
	transport memberlist.Transport
	exchange
}

// New prepares the gossip of a node over a transport: of Listen, or a simulation's.
func New(o Options, transport memberlist.Transport) (*Gossip, error) {
	g := &Gossip{o: o, transport: transport, changed: make(chan struct{}, 1),
		inbox: inbox{wake: make(chan struct{}, 1)}}
	rand.Read(g.mark[:]) // it never fails
	if len(o.SecretKey) == 0 {
		return g, nil
	}
	var err error
	if g.keys, err = memberlist.NewKeyring(o.AlsoKeys, o.SecretKey); err != nil {
		return nil, fmt.Errorf("membership: the gossip keys: %w", err)
	}
	return g, nil
}

// Mark is the random number that this process drew to tell itself from others, in
// hex.
func (g *Gossip) Mark() string { return hex.EncodeToString(g.mark[:]) }

// Start joins memberlist to the transport. SetMeta must have been called.
func (g *Gossip) Start(advertise Address) error {
	conf := memberlist.DefaultLANConfig()
	conf.Name = string(g.o.Self)
	conf.Transport = g.transport
	conf.AdvertiseAddr, conf.AdvertisePort = advertise.Host, advertise.Port
	conf.Label = g.o.Cluster
	conf.Keyring = g.keys
	conf.ProbeInterval, conf.ProbeTimeout = probeInterval, probeTimeout
	conf.GossipInterval, conf.PushPullInterval = gossipInterval, pushPullInterval
	conf.TCPTimeout, conf.DeadNodeReclaimTime = streamTimeout, reclaimAfter
	to := delegate{g}
	conf.Delegate, conf.Events, conf.Alive, conf.Merge, conf.Conflict = to, to, to, to, to
	conf.Logger = bridge(g.o.Logger)
	list, err := memberlist.Create(conf)
	if err != nil {
		return fmt.Errorf("membership: start gossip: %w", err)
	}
	g.list = list
	return nil
}

// Join exchanges states with the nodes at some addresses, IP:port. memberlist's errors
// are texts: only one of ErrMismatch can be recognised, by its text.
func (g *Gossip) Join(addrs ...string) error {
	_, err := g.list.Join(addrs)
	return err
}

// SetMeta replaces the metadata that this node sends, and the cluster with which
// other nodes are compared. Metadata for which Fits has answered no is a mistake of the
// caller's.
func (g *Gossip) SetMeta(m Meta) {
	out, err := m.encode()
	if err != nil {
		panic("BUG: the metadata were not checked: " + err.Error())
	}
	if old := g.meta.Load(); old != nil && string(*old) == string(out) {
		return
	}
	g.cluster.Store(&m.Cluster)
	g.meta.Store(&out)
	crawl.Signal(g.changed)
}

// Publish sends the metadata out whenever they have changed, until ctx ends.
func (g *Gossip) Publish(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.changed:
			if err := g.list.UpdateNode(updateTimeout); err != nil {
				g.o.Logger.Debug("gossip update not sent yet", "err", err)
			}
		}
	}
}

// Stop sends the last metadata, announces the leave, and ends memberlist and the
// transport. Errors have no consequence: the other nodes detect the silence.
func (g *Gossip) Stop() {
	_ = g.list.UpdateNode(updateTimeout)
	_ = g.list.Leave(leaveTimeout)
	_ = g.list.Shutdown()
}

// delegate has the methods that memberlist calls, so that they are no part of Gossip's
// own interface.
type delegate struct{ *Gossip }

// NodeMeta implements memberlist.Delegate.
func (g delegate) NodeMeta(int) []byte { return *g.meta.Load() }

// NotifyMsg implements memberlist.Delegate; nothing is sent that way.
func (g delegate) NotifyMsg([]byte) {}

// GetBroadcasts implements memberlist.Delegate; nothing is sent that way.
func (g delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements memberlist.Delegate.
func (g delegate) LocalState(bool) []byte { return g.exchange.encode(g.o.Self) }

// MergeRemoteState implements memberlist.Delegate. It is called before the Join that
// brought the state returns.
func (g delegate) MergeRemoteState(b []byte, _ bool) {
	if id, first, ok := g.exchange.decode(b); ok {
		g.inbox.claim(id, first)
	}
}

// NotifyJoin implements memberlist.EventDelegate.
func (g delegate) NotifyJoin(n *memberlist.Node) { g.notice(n, true) }

// NotifyUpdate implements memberlist.EventDelegate.
func (g delegate) NotifyUpdate(n *memberlist.Node) { g.notice(n, true) }

// NotifyLeave implements memberlist.EventDelegate. It does not tell a crash
// from a polite end; the status in the metadata does.
func (g delegate) NotifyLeave(n *memberlist.Node) { g.notice(n, false) }

func (g *Gossip) notice(n *memberlist.Node, alive bool) {
	if n.Name == string(g.o.Self) {
		return
	}
	m, err := decodeMeta(n.Meta)
	if err != nil {
		return // NotifyAlive has refused it already
	}
	g.inbox.put(Event{Sighting: m.sighting(crawl.NodeID(n.Name), addressOf(n)), Cluster: m.Cluster.ID,
		Alive: alive})
}

// NotifyAlive implements memberlist.AliveDelegate: a node of another cluster never
// enters the list, whichever way it is learned of.
func (g delegate) NotifyAlive(n *memberlist.Node) error { return g.check(n) }

// NotifyMerge implements memberlist.MergeDelegate: it is asked when one side
// joins the other, with all that the other side knows. It refuses when none of those
// nodes fits; single ones are refused by NotifyAlive.
func (g delegate) NotifyMerge(nodes []*memberlist.Node) error {
	var err error
	for _, n := range nodes {
		if n.Name == string(g.o.Self) || n.State == memberlist.StateDead ||
			n.State == memberlist.StateLeft {
			continue
		}
		if err = g.check(n); err == nil {
			return nil
		}
	}
	return err
}

// NotifyConflict implements memberlist.ConflictDelegate: two living nodes have one id.
// A restart under a new address looks the same for some seconds. A conflict about
// this node's own id goes into Received.Duplicate.
func (g delegate) NotifyConflict(existing, other *memberlist.Node) {
	m, err := decodeMeta(other.Meta)
	if other.Name == string(g.o.Self) {
		if err == nil {
			g.inbox.duplicate(consensus.Member{ID: g.o.Self, Name: m.Name, Boot: m.Boot, RPC: m.RPC,
				HTTP: m.HTTP, Gossip: addressOf(other), Process: m.Process})
		}
		return
	}
	g.inbox.refuse(Refusal{crawl.NodeID(other.Name), m.Name, fmt.Sprintf(
		"its id is in use at %s and at %s (restarted under another address, or a copied data directory)", addressOf(existing), addressOf(other))})
}

// check compares a node with what all members share.
func (g *Gossip) check(n *memberlist.Node) error {
	if n.Name == string(g.o.Self) {
		return nil
	}
	m, err := decodeMeta(n.Meta)
	if err == nil {
		err = consensus.ValidateID(crawl.NodeID(n.Name))
	}
	var reason string
	if err != nil {
		reason = err.Error()
	} else {
		reason = g.cluster.Load().Difference(m.Cluster)
	}
	if reason == "" {
		return nil
	}
	g.inbox.refuse(Refusal{crawl.NodeID(n.Name), m.Name, reason})
	return fmt.Errorf("%w: node %q at %s: %s", ErrMismatch, m.Name, addressOf(n), reason)
}

func addressOf(n *memberlist.Node) string {
	return net.JoinHostPort(n.Addr.String(), strconv.Itoa(int(n.Port)))
}
