package membership

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/gossip"
	"crawlnode/membership/join"
	"crawlnode/membership/prober"
	"crawlnode/membership/storage"
	"crawlnode/ring"
)

// Errors of SetLeft and Handle; those of Run are in name.go, duplicate.go and forget.go.
var (
	// ErrLastActive: no other active member could take over, so this node stays in the
	// view. Its process may end all the same.
	ErrLastActive = errors.New("membership: no other active member is left")
	// ErrStopped: Run has ended.
	ErrStopped = errors.New("membership: stopped")
)

// Errors of Open and Run that are found below this package.
var (
	// ErrCorrupt: the state file is damaged.
	ErrCorrupt = storage.ErrCorrupt
	// ErrForeign: the state file is a newer release's, or another cluster's.
	ErrForeign = storage.ErrForeign
	// ErrAddressInUse: the gossip port is taken.
	ErrAddressInUse = gossip.ErrAddressInUse
	// ErrMismatch: the cluster that answered differs in what all members share.
	ErrMismatch = gossip.ErrMismatch
)

// What the members decide: the nouns of package consensus.
type (
	// View is a numbered set of members.
	View = consensus.View
	// Member is a node as a view lists it.
	Member = consensus.Member
	// Removal is a member of the view before that a view dropped.
	Removal = consensus.Removal
	// Departure is a polite leave.
	Departure = consensus.Departure
)

// Fence is how long a new owner waits before it may do what a removed member had the right to do.
const Fence = consensus.Fence

// Membership is one node's part in deciding who is a member. Its methods may
// be called from any goroutine, unless they say otherwise.
type Membership struct {
	o         Options
	self      Member // identity and addresses; Since, Draining and Place are not kept
	place     Place  // owned by Open, then by Run
	transport memberlist.Transport
	advertise gossip.Address
	gossip    *gossip.Gossip
	doc       storage.Document // owned by Open, then by Run
	core      *consensus.Core  // the same
	leases    *leasing
	prober    *prober.Prober
	joiner    *join.Joiner

	wish   atomic.Uint32 // the Status this node asks for: Active, Draining, Leaving
	wished chan struct{} // cap 1: wish or flags has changed
	// flags are what SetPlaceFlags has set, until the loop takes them.
	flags    atomic.Pointer[Place]
	calls    chan incoming   // unbuffered: Handle waits for the loop
	forgets  chan forgetting // unbuffered: Forget waits for the loop
	placings chan placing    // unbuffered: SetPlace waits for the loop
	stopped  chan struct{}   // closed when Run has ended
	stalled  atomic.Bool     // the disk does not answer: SetStalled
	saving   stopwatch       // of the loop's writes
	snapshot atomic.Pointer[Snapshot]
	watchers watchers
	// leaseEnded, cap 1: this machine stood still.
	leaseEnded chan struct{}
}

// Open loads the node's state, raises its boot number, binds the gossip
// address and, without data and without Join, founds a cluster. It starts no
// traffic; Run does. If Run is never called, Close must be.
//
// Errors: ErrCorrupt, ErrForeign, ErrMismatch (the data contradict the options),
// ErrAddressInUse, and errors of Options, Storage and network.
func Open(o Options) (*Membership, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	doc, err := loadDocument(&o)
	if err != nil {
		return nil, err
	}
	transport := o.Transport
	if transport == nil {
		if transport, err = gossip.Listen(o.gossip(doc.ID), o.Bind); err != nil {
			return nil, err
		}
	}
	m, err := open(o, *doc, transport)
	if err != nil {
		return nil, errors.Join(err, transport.Shutdown())
	}
	return m, nil
}

func open(o Options, doc storage.Document, transport memberlist.Transport) (*Membership, error) {
	m := &Membership{
		o: o, transport: transport, doc: doc,
		calls: make(chan incoming), forgets: make(chan forgetting), placings: make(chan placing), stopped: make(chan struct{}),
		wished: make(chan struct{}, 1), leaseEnded: make(chan struct{}, 1), saving: stopwatch{base: time.Now()},
	}
	m.place = placeOf(&o, &m.doc)
	address, err := m.findAddress()
	if err != nil {
		return nil, err
	}
	o.RPC, o.HTTP = m.reachable(o.RPC), m.reachable(o.HTTP)
	m.o.RPC, m.o.HTTP = o.RPC, o.HTTP
	m.self = Member{ID: doc.ID, Name: o.Name, Boot: doc.Boot, RPC: o.RPC, HTTP: o.HTTP, Gossip: address, Process: prober.OwnProcess()}
	if m.gossip, err = gossip.New(o.gossip(doc.ID), transport); err != nil {
		return nil, err
	}
	m.joiner = join.New(join.Options{Listed: o.Join, Own: address, Gossip: m.gossip, Lookup: o.Lookup})
	// The largest metadata this node can ever send must fit.
	full := gossip.Meta{Boot: consensus.MaxNumber, Name: o.Name, RPC: o.RPC, HTTP: o.HTTP, Process: m.self.Process, Cluster: consensus.Cluster{
		ID: newClusterID(), Name: o.Cluster, Partitions: ring.MaxPartitions, VirtualNodes: ring.VirtualNodes, Protocol: ProtocolVersion},
		Place: Place{Weight: ring.MaxWeight, Zone: strings.Repeat("z", consensus.MaxZoneBytes), Changes: math.MaxUint32}}
	if err := full.CheckSize(); err != nil {
		return nil, err
	}
	if o.Random == nil {
		m.o.Random = mathrand.Uint64
	}
	m.core = consensus.New(consensus.Identity{ID: doc.ID, Boot: doc.Boot, Mark: m.gossip.Mark(), Cluster: doc.Cluster, QuorumOff: o.QuorumOff}, doc.State)
	m.leases = newLeasing(o.Clock, doc.ID, doc.Boot, o.QuorumOff)
	m.leases.shares = sharesClock(m.self.Process, o.Clock)
	m.leases.follow(m.core.View(), m.core.Grants())
	m.prober = prober.New(m.self.Process, o.Dial, o.Processes)
	m.wish.Store(uint32(consensus.Active))
	if err := o.Storage.Save(storage.Encode(&m.doc)); err != nil {
		return nil, err
	}
	l := newLoop(m)
	if doc.State.View == nil && len(o.Join) == 0 && len(doc.Peers) == 0 {
		if err := l.found(); err != nil {
			return nil, err
		}
	}
	return m, l.publish()
}

// loadDocument reads the state and counts the start.
func loadDocument(o *Options) (*storage.Document, error) {
	raw, err := o.Storage.Load()
	if err != nil {
		return nil, err
	}
	doc := &storage.Document{ID: o.ID}
	if len(raw) > 0 {
		if doc, err = storage.Decode(raw); err != nil {
			return nil, err
		}
	} else if doc.ID == "" {
		doc.ID = crawl.NodeID(randomHex(8))
	}
	doc.Boot++
	ours := consensus.Cluster{Name: o.Cluster, Partitions: o.RequirePartitions, VirtualNodes: ring.VirtualNodes, Protocol: ProtocolVersion}
	if doc.Cluster.ID == "" {
		doc.Cluster = ours
		return doc, nil
	}
	if doc.Cluster.Name != o.Cluster {
		return nil, fmt.Errorf("%w: it holds a node of cluster %q, this node was started for cluster %q (--cluster); use another data directory", ErrForeign, doc.Cluster.Name, o.Cluster)
	}
	doc.Upgrade()
	if difference := ours.Difference(doc.Cluster); difference != "" {
		return nil, fmt.Errorf("%w: the data directory's cluster: %s", ErrMismatch, difference)
	}
	return doc, nil
}

// Close releases the gossip address. It is for an opened Membership whose
// Run was never called; Run does it itself.
func (m *Membership) Close() error { return m.transport.Shutdown() }

// Self returns this node's id, name, boot and addresses. Since, Draining and Place
// are in the view.
func (m *Membership) Self() Member { return m.self }

// StreamEnded reports that an authenticated connection to exactly that boot of
// another node, at that IP:port, was closed by its side, by FIN or RST. A connection
// that this side closed, or that timed out, must not be reported.
func (m *Membership) StreamEnded(id crawl.NodeID, boot crawl.Boot, at string) {
	m.prober.StreamEnded(id, boot, at)
}

// Snapshot returns what is known now: view and table fit together.
func (m *Membership) Snapshot() *Snapshot { return m.snapshot.Load() }

// View returns the newest installed view, nil before the first. For view and
// table of one moment use Snapshot.
func (m *Membership) View() *View { return m.Snapshot().View }

// Table returns the table of the newest view, nil before the first.
func (m *Membership) Table() *ring.Table { return m.Snapshot().Table }

// Watch returns a channel that receives whenever Snapshot has changed. It
// holds one signal at most, and exists as long as m.
func (m *Membership) Watch() <-chan struct{} { return m.watchers.add() }

// SetDraining asks for a view in which this node owns nothing. It holds for
// this boot and returns at once. If no active member would remain, the view
// stays as it is.
func (m *Membership) SetDraining() { m.ask(consensus.Draining) }

// SetLeft asks for a view without this node and waits for it. The node must hold no
// partition any more. SetLeft returns nil once such a view is installed here and by more
// than half of its members: if this node were the only one that has it and then ended,
// no later view could be decided. It returns ErrLastActive when no other node could take
// over, ErrStopped, or ctx's error; in these cases the node stays in the view, and its
// data must be kept.
func (m *Membership) SetLeft(ctx context.Context) error {
	changed := m.watchers.add()
	defer m.watchers.remove(changed)
	m.ask(consensus.Leaving)
	for {
		s := m.Snapshot()
		if s.View == nil {
			return nil
		}
		me, ok := s.View.Member(m.self.ID)
		if !ok && s.Followed {
			return nil
		}
		if ok && !me.Draining && !m.hasSuccessor(s) {
			return ErrLastActive
		}
		select {
		case <-changed:
		case <-m.stopped:
			return ErrStopped
		case <-ctx.Done():
			if !ok {
				return fmt.Errorf("membership: too few members have reported that they have installed the view without this node: %w", ctx.Err())
			}
			return fmt.Errorf("membership: no view without this node was decided: %w", ctx.Err())
		}
	}
}

// hasSuccessor reports whether another active member is alive and does not want to drain
// as well.
func (m *Membership) hasSuccessor(s *Snapshot) bool {
	return slices.ContainsFunc(s.View.Members, func(other Member) bool {
		return other.ID != m.self.ID && !other.Draining && !slices.ContainsFunc(s.Peers, func(p Peer) bool {
			return p.ID == other.ID && (p.State == crawl.NodeDraining || p.State == crawl.NodeLeft || p.State == crawl.NodeFailed)
		})
	})
}

// ask raises the wish, which never goes back within a boot.
func (m *Membership) ask(s consensus.Status) {
	for {
		old := m.wish.Load()
		if old >= uint32(s) || m.wish.CompareAndSwap(old, uint32(s)) {
			break
		}
	}
	crawl.Signal(m.wished)
}

// incoming are another node's messages that wait for the loop.
type incoming struct {
	messages []consensus.Message
	reply    chan []consensus.Message // cap 1
}

// Handle takes a payload that another node's Caller sent and returns the
// answer for it. It waits until all that the answer promises is on the disk.
// It returns ErrPayload, ErrStopped or ctx's error.
func (m *Membership) Handle(ctx context.Context, payload []byte) ([]byte, error) {
	messages, err := consensus.Decode(payload)
	if err != nil {
		return nil, err
	}
	in := incoming{messages: messages, reply: make(chan []consensus.Message, 1)}
	select {
	case m.calls <- in:
	case <-m.stopped:
		return nil, ErrStopped
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case out := <-in.reply:
		return consensus.Encode(out), nil
	case <-m.stopped:
		return nil, ErrStopped
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func newClusterID() consensus.ClusterID {
	return consensus.ClusterID(randomHex(consensus.ClusterIDBytes))
}

// randomHex returns n random bytes as hex digits. rand.Read never fails.
func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}
