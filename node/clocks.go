package node

import (
	"context"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
)

// clocksEvery is how often a node compares its clock with that of one other, beside the
// renewals. A machine that stood still learns of it with the first message that comes
// after; until then its lease seems good, and nothing on the machine says otherwise.
const clocksEvery = 250 * time.Millisecond

// clockWatch asks the other members in turn for the readings of their clocks. A peer that
// does not answer has one call under way, and delays no other.
type clockWatch struct {
	node *Node
	last crawl.NodeID // whom it asked

	mu   sync.Mutex // guards busy
	busy map[crawl.NodeID]bool
}

func (w *clockWatch) run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for waitFor(ctx, clocksEvery) {
		others := w.node.others()
		if len(others) < 2 {
			continue // such a lease needs nobody's grant, and nobody takes over without proof
		}
		m, ok := w.next(others)
		if !ok {
			continue
		}
		wg.Go(func() {
			defer w.free(m.ID)
			w.ask(ctx, m)
		})
	}
	return nil
}

// next is the member behind the last one that was asked, in the order of their ids, which
// has no call under way.
func (w *clockWatch) next(others []membership.Member) (m membership.Member, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	behind := func(a, b membership.Member) bool { // a comes before b, seen from the last one
		return (a.ID > w.last) != (b.ID > w.last) && a.ID > w.last || (a.ID > w.last) == (b.ID > w.last) && a.ID < b.ID
	}
	for _, o := range others {
		if !w.busy[o.ID] && (!ok || behind(o, m)) {
			m, ok = o, true
		}
	}
	if ok {
		w.last = m.ID
		w.busy[m.ID] = true
	}
	return m, ok
}

func (w *clockWatch) free(id crawl.NodeID) {
	w.mu.Lock()
	delete(w.busy, id)
	w.mu.Unlock()
}

func (w *clockWatch) ask(ctx context.Context, m membership.Member) {
	ctx, cancel := context.WithTimeout(ctx, 2*renewEvery)
	defer cancel()
	members := w.node.members
	asked := members.ClockReading()
	req := &peer.ClockRequest{Boot: uint64(members.Self().Boot), ClockNs: int64(asked)}
	reply, err := peer.Call(ctx, w.node.pool, targetOf(m), req, peer.PeerClient.Clock)
	if err == nil {
		members.ClockAnswered(m.ID, m.Boot, time.Duration(reply.ClockNs), asked)
	}
}

// Clock answers with a reading of this node's clock.
func (h handler) Clock(_ context.Context, from string, req *peer.ClockRequest) (*peer.ClockReply, error) {
	members := h.node.members
	members.ClockTold(crawl.NodeID(from), crawl.Boot(req.Boot), time.Duration(req.ClockNs))
	return &peer.ClockReply{ClockNs: int64(members.ClockReading())}, nil
}
