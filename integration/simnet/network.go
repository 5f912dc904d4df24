package simnet

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"sync"
	"time"
)

// Link describes one direction between two hosts. The zero value is perfect.
type Link struct {
	Delay  time.Duration // of everything
	Jitter time.Duration // added to Delay, drawn evenly from zero to this
	Drop   float64       // share of messages lost, 0 to 1
	Dup    float64       // share of packets that come twice
	Reset  float64       // share of stream writes that break the connection
}

// Network is a set of hosts and the links between them. All methods may be
// called at any time.
type Network struct {
	seed uint64

	mu       sync.Mutex // guards what follows; the innermost lock: nothing is taken under it
	hosts    map[string]*Host
	byAddr   map[netip.Addr]*Host
	links    map[[2]string]Link
	standard Link
	messages map[[2]string]uint64 // messages so far, by directed link
	group    map[string]int       // side of a partition; absent: 0
	cut      map[[2]string]bool   // directed cuts
	paused   map[string]bool
	dark     map[string]bool    // without power
	conns    map[*Conn]struct{} // open ends, to be woken when a link changes
	stalled  map[[2]string]int  // directed: how many Stalls hold the streams
	names    map[string]netip.Addr
	heard    map[[2]string]answer // by host and name
	ttl      time.Duration        // of what is heard
	watch    func(from, to string)
}

// New makes an empty network. The seed decides about every fault.
func New(seed uint64) *Network {
	return &Network{
		seed:     seed,
		hosts:    map[string]*Host{},
		byAddr:   map[netip.Addr]*Host{},
		links:    map[[2]string]Link{},
		messages: map[[2]string]uint64{},
		group:    map[string]int{},
		cut:      map[[2]string]bool{},
		paused:   map[string]bool{},
		dark:     map[string]bool{},
		conns:    map[*Conn]struct{}{},
		stalled:  map[[2]string]int{},
		names:    map[string]netip.Addr{},
		heard:    map[[2]string]answer{},
	}
}

// AddHost adds a host with one or more addresses; its peers see the first. A name that is taken, or
// an address of a running host, is a mistake of the test.
func (n *Network) AddHost(name string, addrs ...netip.Addr) *Host {
	if len(addrs) == 0 {
		panic("BUG: simnet: host " + name + " has no address")
	}
	n.mayTake(name, addrs)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts[name] != nil {
		panic("BUG: simnet: host " + name + " is there already")
	}
	return n.bootLocked(name, addrs)
}

// bootLocked starts a process's life on a host.
func (n *Network) bootLocked(name string, addrs []netip.Addr) *Host {
	h := &Host{
		net:       n,
		name:      name,
		addrs:     addrs,
		listeners: map[int]*Listener{},
		packets:   map[int]*Transport{},
		conns:     map[*Conn]struct{}{},
		nextPort:  32768,
	}
	n.hosts[name] = h
	for _, addr := range addrs {
		n.byAddr[addr] = h
	}
	return h
}

// Watch lets f hear of each piece of a stream when it is on its way. The writer
// calls it, so it must not wait. Call Watch before the first Dial.
func (n *Network) Watch(f func(from, to string)) { n.watch = f }

// SetDefault describes the links that SetLink does not name.
func (n *Network) SetDefault(l Link) { n.change(func() { n.standard = l }) }

// SetLink describes the direction from one host to another.
func (n *Network) SetLink(from, to string, l Link) {
	n.change(func() { n.links[[2]string{from, to}] = l })
}

// Cut stops everything from one host to another, in this direction only.
func (n *Network) Cut(from, to string) { n.change(func() { n.cut[[2]string{from, to}] = true }) }

// Mend ends one Cut.
func (n *Network) Mend(from, to string) {
	n.change(func() { delete(n.cut, [2]string{from, to}) })
}

// Stall blocks streams from one host to another, in this direction only: the reader reads nothing,
// its kernel accepts connections and keeps what fits into its buffers. A reset arrives. Packets
// pass.
func (n *Network) Stall(from, to string) {
	n.change(func() { n.stalled[[2]string{from, to}]++ })
}

// Unstall ends one Stall.
func (n *Network) Unstall(from, to string) {
	n.change(func() { n.stalled[[2]string{from, to}] = max(0, n.stalled[[2]string{from, to}]-1) })
}

// Tear resets every open stream between two hosts. What has been read stays read:
// a call may have been done whose answer is lost with the stream.
func (n *Network) Tear(a, b string) {
	n.mu.Lock()
	var torn []*Conn
	for c := range n.conns {
		if c.out.from == a && c.out.to == b {
			torn = append(torn, c)
		}
	}
	n.mu.Unlock()
	for _, c := range torn {
		c.reset()
	}
}

// Partition lets only hosts of one group reach each other; hosts that are named
// in no group form one more.
func (n *Network) Partition(groups ...[]string) {
	n.change(func() {
		clear(n.group)
		for i, group := range groups {
			for _, name := range group {
				n.group[name] = i + 1
			}
		}
	})
}

// Heal ends every Cut, Stall and Partition.
func (n *Network) Heal() {
	n.change(func() {
		clear(n.group)
		clear(n.cut)
		clear(n.stalled)
	})
}

// Pause stops a host's process as far as its peers can see, until Resume: it
// sends nothing, reads nothing and opens nothing, while what it sent before still
// comes and its kernel still accepts connections.
func (n *Network) Pause(name string) { n.change(func() { n.paused[name] = true }) }

// Resume ends a Pause.
func (n *Network) Resume(name string) {
	n.change(func() { delete(n.paused, name) })
	n.host(name).flushHeld()
}

// Crash ends a host's process as its peers see it: its ports are gone and its
// connections reset. What is left of the process can neither dial nor listen nor
// send; Restart begins a new one.
func (n *Network) Crash(name string) {
	n.change(func() { delete(n.paused, name) })
	n.host(name).crash()
}

// PowerOff ends a host's machine: it sends nothing any more, and dials to it hang instead of being
// refused. Restart brings it back.
func (n *Network) PowerOff(name string) {
	n.change(func() { n.dark[name] = true })
	n.Crash(name)
}

// Restart begins a new process, with no port open, on a host that has crashed: at
// its old addresses, or at others.
func (n *Network) Restart(name string, addrs ...netip.Addr) *Host {
	old := n.host(name)
	old.crash()
	if len(addrs) == 0 {
		addrs = old.addrs
	}
	n.mayTake(name, addrs)
	var h *Host
	n.change(func() {
		delete(n.paused, name)
		delete(n.dark, name)
		n.leaveLocked(old, addrs)
		h = n.bootLocked(name, addrs)
	})
	return h
}

// change alters the state of the links and wakes all waiters.
func (n *Network) change(f func()) {
	n.mu.Lock()
	f()
	open := make([]*Conn, 0, len(n.conns))
	for c := range n.conns {
		open = append(open, c)
	}
	n.mu.Unlock()
	for _, c := range open {
		c.in.wakeAll()
		c.out.wakeAll()
	}
}

func (n *Network) host(name string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.hosts[name]
	if h == nil {
		panic(fmt.Sprintf("BUG: simnet: no host %q", name))
	}
	return h
}

func (n *Network) hostAt(addr netip.Addr) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byAddr[addr.Unmap()]
}

// passes reports whether messages go from one host to another now. cut tells a
// broken link from a paused end.
func (n *Network) passes(from, to string) (ok, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	cut = n.isCutLocked(from, to)
	return !cut && !n.paused[from] && !n.paused[to], cut
}

// flows reports whether the reader of a stream receives anything now, whether that is more than the
// stream's end, and whether it also gets what its writer sent while it was paused.
func (n *Network) flows(from, to string) (ok, data, late bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ok = !n.isCutLocked(from, to) && !n.paused[to]
	return ok, ok && n.stalled[[2]string{from, to}] == 0, !n.paused[from]
}

func (n *Network) isCutLocked(from, to string) bool {
	if n.dark[from] || n.dark[to] {
		return true
	}
	return from != to && (n.group[from] != n.group[to] || n.cut[[2]string{from, to}])
}

func (n *Network) isPaused(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused[name]
}

// delivery is how the link treats one message.
type delivery struct {
	delay            time.Duration
	drop, dup, reset bool
	tail             bool // a stream that dies with this message: what was sent still comes
}

// draw decides how the next message on a directed link is treated.
func (n *Network) draw(from, to string) delivery {
	n.mu.Lock()
	key := [2]string{from, to}
	l, ok := n.links[key]
	if !ok {
		l = n.standard
	}
	number := n.messages[key]
	n.messages[key]++
	n.mu.Unlock()

	h := fnv.New64a()
	fmt.Fprintf(h, "%d\x00%s\x00%s\x00%d", n.seed, from, to, number)
	state := h.Sum64()
	next := func() float64 {
		state = mix(state)
		return float64(state>>11) / (1 << 53)
	}
	return delivery{
		drop:  next() < l.Drop,
		dup:   next() < l.Dup,
		reset: next() < l.Reset,
		delay: l.Delay + time.Duration(next()*float64(l.Jitter)),
		tail:  next() < 0.5,
	}
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
