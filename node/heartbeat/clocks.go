package heartbeat

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
)

// clocksEvery is how often a node compares its clock with that of one other, beside the
// heartbeats. A machine that stood still learns of it with the first message that comes
// after; until then its lease seems good, and nothing on the machine says otherwise.
const clocksEvery = 250 * time.Millisecond

// ClockWatch asks the other members in turn for readings of their clocks.
type ClockWatch struct {
	o    Options
	last crawl.NodeID // the member that was asked last
	busy busy
}

// NewClockWatch makes a ClockWatch; Run asks.
func NewClockWatch(o Options) *ClockWatch { return &ClockWatch{o: o} }

// Run asks until ctx ends, and waits for the calls under way.
func (w *ClockWatch) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(clocksEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		others := w.o.Others()
		if len(others) < 2 {
			continue // such a lease needs no other grant, and nobody takes over without proof
		}
		m, ok := w.next(others)
		if !ok {
			continue
		}
		wg.Go(func() {
			defer w.busy.free(m.ID)
			w.ask(ctx, m)
		})
	}
}

// next claims the member after the last one that was asked, in the order of their ids, that has no
// call under way.
func (w *ClockWatch) next(others []membership.Member) (m membership.Member, ok bool) {
	sorted := slices.Clone(others)
	slices.SortFunc(sorted, func(a, b membership.Member) int { return strings.Compare(string(a.ID), string(b.ID)) })
	first, _ := slices.BinarySearchFunc(sorted, w.last, func(m membership.Member, last crawl.NodeID) int {
		if m.ID <= last {
			return -1
		}
		return 1
	})
	for i := range sorted {
		m := sorted[(first+i)%len(sorted)]
		if w.busy.claim(m.ID) {
			w.last = m.ID
			return m, true
		}
	}
	return membership.Member{}, false
}

// ask compares this node's clock with a member's.
func (w *ClockWatch) ask(ctx context.Context, m membership.Member) {
	ctx, cancel := context.WithTimeout(ctx, 2*Every)
	defer cancel()
	asked := w.o.Members.ClockReading()
	reply, err := w.o.Clock(ctx, m, &peer.ClockRequest{Boot: uint64(w.o.Members.Self().Boot), ClockNs: int64(asked)})
	if err == nil {
		w.o.Members.ClockAnswered(m.ID, m.Boot, time.Duration(reply.ClockNs), asked)
	}
}

// Serve answers with a reading of this node's clock.
func (w *ClockWatch) Serve(id crawl.NodeID, req *peer.ClockRequest) *peer.ClockReply {
	w.o.Members.ClockTold(id, crawl.Boot(req.Boot), time.Duration(req.ClockNs))
	return &peer.ClockReply{ClockNs: int64(w.o.Members.ClockReading())}
}
