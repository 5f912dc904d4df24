package turns

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/scheduler/addresses"
	"crawlnode/ticks"
)

const (
	// Gather is how long messages to other members gather before they are sent.
	Gather = 10 * time.Millisecond
	// patience bounds one call.
	patience = time.Second
	// maxBatch bounds the messages of one call.
	maxBatch = 4096
)

// Member is a process of the cluster.
type Member = addresses.Member

// Cluster is what Turns asks of its node and the others. Its methods must not block, except Call,
// nor call the Turns.
type Cluster interface {
	// Holder is who holds a partition, as far as is known; "": nobody. It is Self's id exactly when
	// this node does.
	Holder(p crawl.Partition) crawl.NodeID
	// Target is how another member is called; the zero Target is no member.
	Target(id crawl.NodeID) peer.Target
	// Crawls reports whether this node may hand out visits at all: if not, it asks for no turn.
	Crawls() bool
	// May reports whether this node may give turns of addresses in a partition that it holds: it has
	// its lease, and no view since has ended the holding. Whether this node crawls itself does not
	// matter.
	May(p crawl.Partition) bool
	// Clock is the clock that leases are measured with: it counts through sleep.
	Clock() time.Duration
	// Gap is the least gap between two requests to an address; 0: none.
	Gap(ip netip.Addr) time.Duration
	// Came is called with addresses whose turn has come.
	Came(ips []netip.Addr)
	// Call sends a batch, and returns only what the target itself answers.
	Call(ctx context.Context, to peer.Target, b *peer.AddressBatch) (*peer.AddressBatch, error)
}

// Options are what Turns needs of the node. All are required.
type Options struct {
	Self addresses.Member
	// Partitions is the cluster's number of partitions.
	Partitions int
	Cluster    Cluster
}

// Turns knows whose turn it is to request an address. Its methods may be called from any
// goroutine.
type Turns struct {
	o    Options
	look chan struct{} // capacity 1: there are messages

	mu    sync.Mutex // guards the rest
	table *addresses.Table
	busy  map[addresses.Member]bool // a call is under way
}

// New returns the turns of a node that keeps no address yet.
func New(o Options) *Turns {
	t := &Turns{o: o, look: make(chan struct{}, 1), busy: make(map[addresses.Member]bool)}
	t.table = addresses.New(o.Self, tableNode{o.Cluster, t})
	return t
}

// tableNode is the node as the table sees it.
type tableNode struct {
	Cluster
	turns *Turns
}

func (n tableNode) Partition(ip netip.Addr) crawl.Partition {
	return PartitionOf(ip, n.turns.o.Partitions)
}

// Holder is the process that holds a partition.
func (n tableNode) Holder(p crawl.Partition) (addresses.Member, bool) {
	switch id := n.Cluster.Holder(p); id {
	case "":
		return addresses.Member{}, false
	case n.turns.o.Self.ID:
		return n.turns.o.Self, true
	default:
		to := n.Target(id)
		return addresses.Member{ID: id, Boot: crawl.Boot(to.Boot)}, to.ID != ""
	}
}

// PartitionOf is the partition whose holder keeps an address.
func PartitionOf(ip netip.Addr, partitions int) crawl.Partition {
	raw := ip.Unmap().As16()
	return crawl.Partition(xxhash.Sum64(raw[:]) % uint64(partitions))
}

// with runs f on the table, and then tells of what came of it.
func (t *Turns) with(f func(now time.Duration, table *addresses.Table)) {
	t.mu.Lock()
	f(t.o.Cluster.Clock(), t.table)
	came, waiting := t.table.Came(), t.table.Waiting()
	t.mu.Unlock()
	if len(came) > 0 {
		t.o.Cluster.Came(came)
	}
	if waiting {
		crawl.Signal(t.look)
	}
}

// Turn reports whether this node may request ip, after wait. If not, the turn is asked for, and
// Cluster.Came tells when it has come.
func (t *Turns) Turn(ip netip.Addr) (wait time.Duration, ok bool) {
	t.with(func(now time.Duration, table *addresses.Table) { wait, ok = table.Turn(now, ip) })
	return wait, ok
}

// Idle says that no host here needs ip any more.
func (t *Turns) Idle(ip netip.Addr) {
	t.with(func(now time.Duration, table *addresses.Table) { table.Idle(now, ip) })
}

// Begin says that a visit to ip was handed out. End follows.
func (t *Turns) Begin(ip netip.Addr) {
	t.with(func(now time.Duration, table *addresses.Table) { table.Begin(now, ip) })
}

// End says that the request of a visit has ended, or that it made none.
func (t *Turns) End(ip netip.Addr, requested bool) {
	t.with(func(now time.Duration, table *addresses.Table) { table.End(now, ip, requested) })
}

// MayWrite reports whether a request to ip may be written now, and counts it as made.
func (t *Turns) MayWrite(ip netip.Addr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.table.MayWrite(t.o.Cluster.Clock(), ip)
}

// Hold begins to keep the addresses of a partition that was acquired. fenced says that another
// process may have kept them until now.
func (t *Turns) Hold(p crawl.Partition, fenced bool) {
	t.with(func(now time.Duration, table *addresses.Table) { table.Hold(now, p, fenced) })
}

// Drop ends that. When it has returned, no turn is given any more.
func (t *Turns) Drop(p crawl.Partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table.Drop(p)
}

// Counts are figures for people: unheard counts addresses whose keeper has not answered for that
// long.
func (t *Turns) Counts(unheard time.Duration) addresses.Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.table.Counts(t.o.Cluster.Clock(), unheard)
}

// Silent counts the addresses that hosts here wait for and whose keepers have not answered for
// longer than patience, and says for how long at most.
func (t *Turns) Silent(patience time.Duration) (n int, longest time.Duration) {
	c := t.Counts(patience)
	return c.Unheard, c.Longest
}

// Run carries messages until ctx ends. Call it once.
func (t *Turns) Run(ctx context.Context) error {
	var calls sync.WaitGroup
	defer calls.Wait()
	tick := ticks.New(addresses.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			t.with(func(now time.Duration, table *addresses.Table) { table.Tick(now) })
			continue // what it has to send has signalled
		case <-t.look:
		}
		gather := time.NewTimer(Gather)
		select {
		case <-ctx.Done():
			gather.Stop()
			return nil
		case <-gather.C:
		}
		for to, batch := range t.outgoing() {
			calls.Go(func() { t.call(ctx, to, batch) })
		}
	}
}

// outgoing takes a batch for each member to which no call is under way.
func (t *Turns) outgoing() map[addresses.Member][]addresses.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[addresses.Member][]addresses.Message)
	for _, to := range t.table.Targets() {
		if !t.busy[to] {
			t.busy[to] = true
			out[to] = t.table.TakeFor(to, maxBatch)
		}
	}
	return out
}

// call sends a batch and takes the answer in.
func (t *Turns) call(ctx context.Context, to addresses.Member, batch []addresses.Message) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	target := t.o.Cluster.Target(to.ID)
	target.Boot = uint64(to.Boot) // another boot refuses
	reply, err := t.o.Cluster.Call(ctx, target, t.pack(batch))
	t.with(func(now time.Duration, table *addresses.Table) {
		delete(t.busy, to)
		if err == nil && reply.Boot == uint64(to.Boot) {
			table.Receive(now, to, unpack(reply))
		}
	})
}

// Serve takes a batch of a member in, and answers with what there is for it.
func (t *Turns) Serve(from crawl.NodeID, b *peer.AddressBatch) *peer.AddressBatch {
	who := addresses.Member{ID: from, Boot: crawl.Boot(b.Boot)}
	var answer []addresses.Message
	t.with(func(now time.Duration, table *addresses.Table) {
		table.Receive(now, who, unpack(b))
		answer = table.TakeFor(who, maxBatch)
	})
	return t.pack(answer)
}

// pack puts messages into their form between nodes.
func (t *Turns) pack(messages []addresses.Message) *peer.AddressBatch {
	b := &peer.AddressBatch{
		Boot:     uint64(t.o.Self.Boot),
		Messages: make([]*peer.AddressMessage, len(messages)),
	}
	for i, m := range messages {
		b.Messages[i] = &peer.AddressMessage{
			Kind:    uint32(m.Kind),
			Address: m.Addr.AsSlice(),
			StampNs: int64(m.Stamp),
			RestNs:  int64(m.Rest),
			Tenure:  m.Tenure,
			Others:  m.Others,
		}
	}
	return b
}

// unpack reads a batch. What is no address is left out, and what is more than a batch may hold is
// dropped, as if it was lost on the way.
func unpack(b *peer.AddressBatch) []addresses.Message {
	out := make([]addresses.Message, 0, min(len(b.Messages), maxBatch))
	for _, m := range b.Messages[:min(len(b.Messages), maxBatch)] {
		ip, ok := netip.AddrFromSlice(m.GetAddress())
		if !ok || m.GetKind() > uint32(addresses.Call) {
			continue
		}
		out = append(out,
			addresses.Message{Kind: addresses.Kind(m.Kind), Addr: ip, Stamp: time.Duration(m.StampNs),
				Rest: time.Duration(m.RestNs), Tenure: m.Tenure, Others: m.Others})
	}
	return out
}
