package node

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
)

// renewEvery is how often each member tells each other one what it is and
// holds. Other nodes' figures in /status are at most twice as old. The lease
// will ride on the same call.
const renewEvery = time.Second

// maxBlockBytes bounds what a peer may say of itself.
const maxBlockBytes = 256 << 10

// peerInfo is the last that was heard of another node.
type peerInfo struct {
	block crawl.NodeBlock
	held  []byte // bitmap of partitions
	heard time.Time
}

// peerTable is what this node knows of the others: their blocks and who holds
// which partition. Readers of routes take no lock.
type peerTable struct {
	mu     sync.Mutex // guards infos
	infos  map[crawl.NodeID]peerInfo
	routes atomic.Pointer[[]crawl.NodeID] // holder by partition, "" unknown
}

func newPeerTable() *peerTable { return &peerTable{infos: map[crawl.NodeID]peerInfo{}} }

// holder names the other node that said last that it holds p, or "".
func (t *peerTable) holder(p crawl.Partition) crawl.NodeID {
	if r := t.routes.Load(); r != nil && int(p) < len(*r) {
		return (*r)[p]
	}
	return ""
}

// put stores what a peer said. The routes are made anew only when it holds
// other partitions than before: each peer says so each second, and most say
// what they said last.
func (t *peerTable) put(id crawl.NodeID, info peerInfo, partitions int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.infos[id]
	if old.block.Boot > info.block.Boot {
		return // a late message of an earlier life
	}
	t.infos[id] = info
	routes := t.routes.Load()
	switch {
	case routes == nil || len(*routes) != partitions || frees(*routes, old.held, info.held, id):
		t.rebuildLocked(partitions) // somebody else may hold what id has no longer
	case !leadsTo(*routes, info.held, id):
		next := slices.Clone(*routes)
		for p := range eachBit(info.held, partitions) {
			next[p] = id
		}
		t.routes.Store(&next)
	}
}

// keep forgets the holdings of all but the given members. The blocks stay, so
// that a node that left or failed is shown with its last data.
func (t *peerTable) keep(members map[crawl.NodeID]bool, partitions int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, info := range t.infos {
		if !members[id] && info.held != nil {
			info.held = nil
			t.infos[id] = info
		}
	}
	t.rebuildLocked(partitions)
}

func (t *peerTable) rebuildLocked(partitions int) {
	routes := make([]crawl.NodeID, partitions)
	newest := make([]time.Time, partitions)
	for id, info := range t.infos {
		for p := range eachBit(info.held, partitions) {
			if routes[p] == "" || info.heard.After(newest[p]) {
				routes[p], newest[p] = id, info.heard
			}
		}
	}
	t.routes.Store(&routes)
}

// all returns a copy of what is known of the others.
func (t *peerTable) all() map[crawl.NodeID]peerInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(map[crawl.NodeID]peerInfo, len(t.infos))
	for id, info := range t.infos {
		c[id] = info
	}
	return c
}

// silentFor is how long nothing was heard of a node.
func (t *peerTable) silentFor(id crawl.NodeID, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Sub(t.infos[id].heard)
}

// eachBit yields the bits that are set, as far as they are below limit.
func eachBit(b []byte, limit int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, left := range b {
			for ; left != 0; left &= left - 1 {
				if p := i*8 + bits.TrailingZeros8(left); p >= limit || !yield(p) {
					return
				}
			}
		}
	}
}

// frees reports whether id, which held was and holds now, gives up a partition
// whose route ended there.
func frees(routes []crawl.NodeID, was, now []byte, id crawl.NodeID) bool {
	for p := range eachBit(was, len(routes)) {
		if routes[p] == id && !crawl.HasBit(now, p) {
			return true
		}
	}
	return false
}

// leadsTo reports whether the routes of all that is held end at id.
func leadsTo(routes []crawl.NodeID, held []byte, id crawl.NodeID) bool {
	for p := range eachBit(held, len(routes)) {
		if routes[p] != id {
			return false
		}
	}
	return true
}

// renewals tells the other members every second, and at once when the holdings
// changed, what this node is and holds. Each peer has at most one call under
// way, so a stopped peer delays nobody.
type renewals struct {
	node *Node
	now  chan struct{} // capacity 1

	mu   sync.Mutex // guards busy
	busy map[crawl.NodeID]bool
}

func (r *renewals) soon() {
	select {
	case r.now <- struct{}{}:
	default:
	}
}

func (r *renewals) run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		req := r.node.renewRequest()
		for _, m := range r.node.others() {
			if !r.claim(m.ID) {
				continue
			}
			wg.Go(func() {
				defer r.free(m.ID)
				r.renew(ctx, m, req)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-r.now:
		}
	}
}

func (r *renewals) claim(id crawl.NodeID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy[id] {
		return false
	}
	r.busy[id] = true
	return true
}

func (r *renewals) free(id crawl.NodeID) {
	r.mu.Lock()
	delete(r.busy, id)
	r.mu.Unlock()
}

func (r *renewals) renew(ctx context.Context, m membership.Member, req *peer.RenewRequest) {
	ctx, cancel := context.WithTimeout(ctx, 2*renewEvery)
	defer cancel()
	asked := r.node.members.LeaseAsked()
	reply, err := peer.Call(ctx, r.node.pool, targetOf(m), req, peer.PeerClient.Renew)
	if err != nil {
		return // the next one comes in a second; membership tells who is gone
	}
	r.node.members.ClockAnswered(m.ID, m.Boot, time.Duration(reply.ClockNs), asked)
	switch { // by that very boot: no other's answer comes so far
	case !reply.Granted || req.Stalled || r.node.progress.stalled() != nil:
	case reply.Stalled:
		r.node.members.LeaseGrantedStalled(crawl.Epoch(req.View), m.ID, asked)
	default:
		r.node.members.LeaseGranted(crawl.Epoch(req.View), m.ID, asked)
	}
	r.node.doc.Correct(reply.Rules.GetCrawlVersion(), crawl.NodeID(reply.Rules.GetCrawlBy()), time.Duration(reply.RunNs), time.Now())
	r.node.compareRules(m.ID, reply.Rules)
}

// renewRequest is what this node says of itself now.
func (n *Node) renewRequest() *peer.RenewRequest {
	block, err := json.Marshal(n.block())
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return &peer.RenewRequest{Stalled: n.progress.stalled() != nil, ClockNs: int64(n.members.ClockReading()), View: uint64(n.viewNumber()), Boot: uint64(n.members.Self().Boot), Rules: stampOf(n.doc), Block: block, Held: n.heldBits()}
}

// streamEnded takes the first half of a proof of death to membership: the other
// side closed a connection on which this boot had answered.
func (n *Node) streamEnded(was peer.Target) {
	n.members.StreamEnded(crawl.NodeID(was.ID), crawl.Boot(was.Boot), was.Addr)
}

// Renew answers another member's renewal, and grants it its lease.
func (h handler) Renew(_ context.Context, from string, req *peer.RenewRequest) (*peer.RenewReply, error) {
	n := h.node
	if n.partitions() == 0 {
		return nil, status.Error(codes.Unavailable, "this node has not joined yet")
	}
	if len(req.Block) > maxBlockBytes || len(req.Held) > (n.partitions()+7)/8 {
		return nil, status.Error(codes.InvalidArgument, "the block or the bitmap is too large")
	}
	var block crawl.NodeBlock
	if err := json.Unmarshal(req.Block, &block); err != nil {
		return nil, status.Error(codes.InvalidArgument, fmt.Sprintf("the block: %v", err))
	}
	block.Boot = crawl.Boot(req.Boot)
	id := crawl.NodeID(from)
	n.compareRules(id, req.Rules) // first: who was heard of late has told its rules
	n.peers.put(id, peerInfo{block: block, held: req.Held, heard: time.Now()}, n.partitions())
	n.members.ClockTold(id, crawl.Boot(req.Boot), time.Duration(req.ClockNs))
	granted := !req.Stalled && n.members.Grant(crawl.Epoch(req.View), id, crawl.Boot(req.Boot))
	return &peer.RenewReply{Stalled: n.progress.stalled() != nil, RunNs: int64(n.doc.Runs(time.Now())), ClockNs: int64(n.members.ClockReading()), Node: string(n.id), Granted: granted, View: uint64(n.viewNumber()), Boot: uint64(n.members.Self().Boot), Rules: stampOf(n.doc)}, nil
}
