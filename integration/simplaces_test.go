package integration

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"crawlnode/config"
	"crawlnode/frontier/storage"
	"crawlnode/integration/simnet"
	crawlnode "crawlnode/node"
)

// This file holds where the simulated machines are: their addresses, their names,
// and the lists by which their nodes find each other.

// simGossip is the gossip port of each node; RPC and HTTP follow.
const simGossip = 7000

// numberOf is the 3 of n3.
func numberOf(name string) int {
	n, err := strconv.Atoi(name[1:])
	if err != nil {
		panic("BUG: node " + name)
	}
	return n
}

// simName is a node's name in the name service.
func simName(name string) string { return name + ".nodes.test" }

// simPort is the address of gossip (0) or RPC (1) or HTTP (2) at a host.
func simPort(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(simGossip+port))
}

// machine sets up a member's machine, before its first start.
func (s *simulation) machine(name string) *simMember {
	n := numberOf(name)
	m := &simMember{
		name:  name,
		path:  filepath.Join(s.dir, name),
		store: storage.NewMemory(),
		disk:  newMachineDisk(s.pace),
		clock: simnet.NewClock(time.Duration(n) * time.Hour),
		addr:  netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}),
	}
	for _, f := range s.plan.faults {
		if f.kind == skewClock && f.at < 0 && f.nodes[0] == name {
			s.skew(m, f)
		}
		if f.kind == otherRun && f.at < 0 && f.nodes[0] == name {
			m.flags = f.flags
		}
	}
	if h, ok := s.heirs[name]; ok {
		if m.as = h.old.label(); h.place && !s.occupied(m, h.old.addr) {
			m.addr = h.old.addr
		}
	}
	s.members[name], s.names = m, append(s.names, name)
	return m
}

// label is a member's name as a node: its machine's, or that of a lost one.
func (m *simMember) label() string { return cmp.Or(m.as, m.name) }

// nextAddress is where a member starts next: at the place that a fault has chosen,
// or at its last address, unless another node has it by now.
func (s *simulation) nextAddress(m *simMember) netip.Addr {
	want := m.addr
	if m.place != nil {
		want, m.place = m.place(), nil
	}
	if !want.IsValid() || s.occupied(m, want) {
		m.moved++
		want = netip.AddrFrom4([4]byte{10, 0, byte(m.moved), byte(numberOf(m.name))})
	}
	if want != m.addr {
		s.note("%s moves from %v to %v", m.name, m.addr, want)
	}
	return want
}

// occupied reports whether another member's machine is at an address: its process runs, or has
// ended by itself. One that was killed gives its address up.
func (s *simulation) occupied(by *simMember, addr netip.Addr) bool {
	return slices.ContainsFunc(s.names, func(name string) bool {
		m := s.members[name]
		return m != by && m.addr == addr && !m.life.crashed
	})
}

// enterName puts a member's address into the name service; for one whose name
// resolves late, after a while.
func (s *simulation) enterName(m *simMember) {
	late := s.lateName(m.name)
	if late == 0 || m.life != nil {
		s.net.SetName(simName(m.label()), m.addr)
		return
	}
	addr := m.addr
	time.AfterFunc(late, func() { s.net.SetName(simName(m.name), addr) })
}

// lateName is how long after its first start a member's name resolves.
func (s *simulation) lateName(name string) time.Duration {
	for _, f := range s.plan.faults {
		if f.kind == lateName && f.nodes[0] == name {
			return f.lasts[0]
		}
	}
	return 0
}

// unnamed reports a member that advertises its address and not its name, which no host knew when it
// was first started.
func (s *simulation) unnamed(name string) bool { return s.lateName(name) > 0 }

// joinList is the --join list of a member. A cluster without names still needs one for a founder at
// another address: two nodes that swap their addresses cannot know where the other is. It has the
// first three and the other running ones, by name or by address. The first node of all has a list
// only if all have one.
func (s *simulation) joinList(m *simMember) []string {
	if home := fmt.Sprint("10.0.0.", numberOf(m.name)); m.name == "n1" && !s.plan.listed &&
		(s.plan.named || m.addr.String() == home) {
		return nil // it has founded the cluster, and the others know where it is
	}
	names := []string{"n1", "n2", "n3"}
	for _, name := range s.those(
		func(o *simMember) bool { return o != m && o.life != nil && o.runs() && !o.gone }) {
		if !slices.Contains(names, name) {
			names = append(names, name) // the first three may be no more
		}
	}
	var list []string
	for _, name := range names {
		switch o := s.members[name]; {
		case (s.plan.named || s.plan.listed) && o != nil:
			list = append(list, simPort(simName(o.label()), 0))
		case s.plan.named || s.plan.listed:
			list = append(list, simPort(simName(name), 0))
		case o != nil:
			list = append(list, simPort(o.addr.String(), 0))
		default:
			list = append(list, simPort(fmt.Sprint("10.0.0.", numberOf(name)), 0))
		}
	}
	for _, f := range s.plan.faults {
		if f.kind == wrongJoin && f.nodes[0] == m.name {
			list = append(list, f.wrong)
		}
	}
	return list
}

// wrongAddresses are what people write into --join by mistake: another port of a
// node, a machine that is none, something else that listens, a name that does not exist.
var wrongAddresses = []string{"10.0.0.2:7001", "10.0.0.1:7002", "10.9.9.9:7000", "127.0.0.1:80",
	"nobody.nodes.test:7000"}

// otherFlags are flags with which a node may be restarted. The cluster keeps its own settings;
// flags of the node take effect.
var otherFlags = []struct {
	what string
	set  func(*config.Config)
}{
	{"the same flags", func(*config.Config) {}},
	{"--max-pages 5", func(c *config.Config) { c.MaxPages = 5 }},
	{"--delay 10ms", func(c *config.Config) { c.Delay = 10 * time.Millisecond }},
	{"--mode host --max-depth 1", func(c *config.Config) { c.Mode, c.MaxDepth = "host", 1 }},
	{"--max-duration 20s", func(c *config.Config) { c.MaxDuration = 20 * time.Second }},
	{"--memory 64MiB --fetchers 1", func(c *config.Config) { c.Memory, c.Fetchers = 64<<20, 1 }},
	{"--replication 1 --max-pages-per-host 1", func(c *config.Config) { c.Replication, c.MaxPagesPerHost = 1, 1 }},
	// Only for nodes that already know the others: it comes last.
	{"--join of one that is gone", func(c *config.Config) { c.Join = []string{"10.9.9.9:7000"} }},
}

// endedOfDisk reports whether a process has ended because its disk failed, as it must.
func (l *life) endedOfDisk() bool { return l.spoiled && errors.Is(l.err, crawlnode.ErrStorage) }
