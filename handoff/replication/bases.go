package replication

import (
	"sync"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// bases are the last mutations that this process has found on the disk, of the
// partitions that were held at its start. A loss of power may have taken the end of what was
// acknowledged from this disk, and not from a replica's. New mutations have the
// numbers of the lost ones by the time the replica is asked. So its copy is compared
// with what was found, until it is known not to be ahead; from then on this process
// writes it.
type bases struct {
	mu    sync.Mutex // guards parts
	parts map[crawl.Partition]*base
}

type base struct {
	epoch crawl.Epoch
	seq   crawl.Seq
	met   map[crawl.NodeID]bool // nodes whose copy was compared
}

func findBases(s Store, loaded []machine.Loaded) *bases {
	b := &bases{parts: map[crawl.Partition]*base{}}
	for _, l := range loaded {
		if k := s.Kept(l.P); l.State == machine.Holding && k.State == machine.Holding {
			b.parts[l.P] = &base{epoch: k.Epoch, seq: k.Seq, met: map[crawl.NodeID]bool{}}
		}
	}
	return b
}

// ahead reports whether a node's copy of the tenure, at seq, has mutations that
// were lost here; own is the last one here now.
func (b *bases) ahead(
	p crawl.Partition,
	epoch crawl.Epoch,
	id crawl.NodeID,
	seq, own crawl.Seq,
) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.parts[p]; x != nil && x.epoch == epoch && !x.met[id] {
		return seq > x.seq
	}
	return seq > own
}

// meet notes that this process is about to write a node's copy.
func (b *bases) meet(p crawl.Partition, id crawl.NodeID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.parts[p]; x != nil {
		x.met[id] = true
	}
}
