package handoff

import (
	"context"
	"slices"

	"crawlnode/crawl"
)

// PartStatus is a partition that this node holds, is passing on, or should hold
// by the table.
type PartStatus struct {
	P     crawl.Partition
	State State
	Epoch crawl.Epoch // of the tenure; 0 when Absent
	// InSync is the newest recorded set that is known here, sorted; while a change
	// of it is being recorded, the set before. nil: none is known.
	InSync []crawl.NodeID
	// Away says that an Absent partition cannot be had until a node comes back or
	// is forgotten; Reason, why it is not here. "": nothing is known against it.
	Away   bool
	Reason string
}

// List tells what this node has, by number. It waits for Run's next turn.
func (d *Driver) List(ctx context.Context) ([]PartStatus, error) {
	reply := make(chan []PartStatus, 1)
	if !d.post(ctx, ListAsked{reply}) {
		return nil, errEnded
	}
	select {
	case ps := <-reply:
		return ps, nil
	case <-d.done:
		return nil, errEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *Machine) onListAsked(e ListAsked) {
	var out []PartStatus
	for i := range m.parts {
		p, x := crawl.Partition(i), &m.parts[i]
		if !x.held() && m.ownerOf(p) != m.self {
			continue
		}
		out = append(out, PartStatus{P: p, State: x.state, Epoch: x.epoch, InSync: slices.Clone(x.set.Members), Away: x.away, Reason: x.offline})
	}
	m.do(TellList{Parts: out, Reply: e.Reply})
}
