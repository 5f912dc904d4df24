package addresses

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"crawlnode/crawl"
)

// Node is what a Table asks of its node. All methods must be cheap, and must not call the Table.
type Node interface {
	// Gap is the least gap between two requests to an address; 0: it has no turns.
	Gap(ip netip.Addr) time.Duration
	// Partition is the partition whose holder keeps an address.
	Partition(ip netip.Addr) crawl.Partition
	// Holder is who holds a partition, as far as is known.
	Holder(p crawl.Partition) (Member, bool)
	// Crawls reports whether this node may hand out visits at all: if not, it asks for no turn.
	Crawls() bool
	// May reports whether this node may give turns of a partition that it holds: no other
	// process can hold it.
	May(p crawl.Partition) bool
}

// Table has the turns that this node has, or waits for, and those that it keeps for others. Its
// methods are not safe for concurrent use.
type Table struct {
	self   Member
	node   Node
	asks   map[netip.Addr]*turn
	keeps  map[crawl.Partition]*tenure
	kept   int    // addresses in keeps
	last   uint64 // tenure
	stamp  time.Duration
	local  []Message // of this node to itself
	out    map[Member][]Message
	came   []netip.Addr
	missed uint64 // messages that were dropped
}

// New returns a member's table, which keeps nothing.
func New(self Member, n Node) *Table {
	return &Table{
		self: self, node: n,
		asks: make(map[netip.Addr]*turn), keeps: make(map[crawl.Partition]*tenure),
		out: make(map[Member][]Message),
	}
}

// Receive takes messages of a member in.
func (t *Table) Receive(now time.Duration, from Member, messages []Message) {
	for i := range messages {
		t.receive(now, from, &messages[i])
	}
	t.settle(now)
}

func (t *Table) receive(now time.Duration, from Member, m *Message) {
	if m.Addr = m.Addr.Unmap(); !m.Addr.IsValid() {
		return
	}
	m.Rest = min(max(m.Rest, 0), max(maxRest, longer(t.node.Gap(m.Addr))))
	switch m.Kind {
	case Ask:
		t.asked(now, from, m)
	case Return:
		t.returned(now, from, m)
	case Grant:
		t.granted(now, from, m)
	case Wait:
		t.heard(now, from, m)
	case Call:
		t.called(now, from, m)
	}
}

// settle delivers what this node told itself.
func (t *Table) settle(now time.Duration) {
	for len(t.local) > 0 {
		m := t.local[0]
		t.local = t.local[1:]
		t.receive(now, t.self, &m)
	}
	t.local = nil
}

// Tick repeats asks, extends turns in use, and passes on those that are over. It is called
// each Every.
func (t *Table) Tick(now time.Duration) {
	t.tickAsks(now)
	t.tickKeeps(now)
	t.settle(now)
}

// TakeFor returns up to n messages for one member: the oldest.
func (t *Table) TakeFor(to Member, n int) []Message {
	out := t.out[to]
	if len(out) <= n {
		delete(t.out, to)
		return out
	}
	t.out[to] = out[n:]
	return out[:n:n]
}

// Waiting reports whether there are messages.
func (t *Table) Waiting() bool { return len(t.out) > 0 }

// Targets returns the members for which there are messages, in order.
func (t *Table) Targets() []Member {
	return slices.SortedFunc(maps.Keys(t.out), func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Boot, b.Boot))
	})
}

// Came returns the addresses whose turn has come since the last call.
func (t *Table) Came() []netip.Addr {
	out := t.came
	t.came = nil
	return out
}

// send queues a message. What does not fit is lost, as it could be on its way.
func (t *Table) send(to Member, m Message) {
	if to == t.self {
		t.local = append(t.local, m)
		return
	}
	if len(t.out[to]) >= maxQueued {
		t.missed++
		return
	}
	t.out[to] = append(t.out[to], m)
}

// nextStamp is now, or the least time after the last stamp.
func (t *Table) nextStamp(now time.Duration) time.Duration {
	t.stamp = max(now, t.stamp+1)
	return t.stamp
}

// Counts are figures of a table, for people.
type Counts struct {
	Wanted int // addresses that hosts here wait for, or are requested at
	Held   int // turns that this node has
	Kept   int // addresses that it keeps
	// addresses wanted whose keeper has not answered for longer than a given time
	Unheard int
	Longest time.Duration // for how long, at most
}

// Counts counts; unheard is that time.
func (t *Table) Counts(now, unheard time.Duration) Counts {
	c := Counts{Kept: t.kept}
	for _, u := range t.asks {
		if u.usable(now) {
			c.Held++
		}
		if u.wanted {
			c.Wanted++
			if silent := u.silent(now); silent > unheard {
				c.Unheard++
				c.Longest = max(c.Longest, silent)
			}
		}
	}
	return c
}
