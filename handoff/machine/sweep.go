package machine

import (
	"time"

	"crawlnode/crawl"
)

// SweepEvery is the pause between two sweeps, and before the first one.
const SweepEvery = 10 * time.Second

// startSweep names what this node should have no copy of, by its owner.
func (m *Machine) startSweep() {
	if m.nextSweep == 0 {
		m.nextSweep = m.now + SweepEvery
	}
	if m.now < m.nextSweep || !m.listed || m.table == nil {
		return
	}
	m.nextSweep = m.now + SweepEvery
	parts := map[crawl.NodeID][]crawl.Partition{}
	for i := range m.parts {
		p := crawl.Partition(i)
		if m.parts[i].state == Absent && !m.mine(p, m.self) {
			owner := m.table.Owner(p)
			parts[owner] = append(parts[owner], p)
		}
	}
	if len(parts) > 0 {
		m.do(Sweep{View: m.view, Parts: parts})
	}
}

// mine reports whether the table gives a node the partition or a copy of it.
func (m *Machine) mine(p crawl.Partition, id crawl.NodeID) bool {
	if m.table.Owner(p) == id {
		return true
	}
	for _, r := range m.table.Replicas(p) {
		if r == id {
			return true
		}
	}
	return false
}

// onUselessAsked names the copies that may go: this node holds the partition, all
// that is acknowledged is on as many disks as it should be, and the asker's is
// not one of them, nor about to be. A node that drains keeps its copies, for it may be back.
func (m *Machine) onUselessAsked(e UselessAsked) {
	var drop []crawl.Partition
	for _, x := range e.Parts {
		p := &m.parts[x.P]
		if e.View == m.view && m.listed && m.table != nil && p.state == Holding &&
			p.proposed == nil && m.isFull(p) && x.Epoch <= p.epoch && !p.inSets(e.From) &&
			p.links[e.From] == nil && !m.mine(x.P, e.From) && !m.leaves(e.From) {
			drop = append(drop, x.P)
		}
	}
	m.do(TellUseless{Parts: drop, Reply: e.Reply})
}
