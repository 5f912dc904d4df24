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

const (
	// clocksEvery is how long a node compares its clock with no other machine's at most: when no heartbeat, and no question
	// of another member, has brought a reading for so long, it asks for one. A machine that stood still learns of it with
	// the first message that comes after; until then its lease seems good, and nothing on the machine says otherwise.
	clocksEvery = 250 * time.Millisecond
	// clocksEarly is how much earlier it may ask, in place of being woken once more.
	clocksEarly = clocksEvery / 10
)

// ClockWatch asks the members on other machines in turn for readings of their clocks.
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
	timer := time.NewTimer(clocksEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		rest, others := w.due()
		timer.Reset(rest)
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

// due returns whom to ask now, nobody if a reading came lately, and how long to wait before the next look.
func (w *ClockWatch) due() (rest time.Duration, ask []membership.Member) {
	others := w.o.Others()
	if len(others) < 2 {
		return Every, nil // such a lease needs no other grant, and nobody takes over without proof
	}
	others = slices.DeleteFunc(slices.Clone(others), w.o.Members.SharesClock)
	if len(others) == 0 {
		return Every, nil
	}
	lately := w.o.Members.ClockReading() - w.o.Members.ClockCompared()
	if rest = clocksEvery - lately; rest > clocksEarly && lately >= 0 {
		return rest, nil
	}
	return clocksEvery, others
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
