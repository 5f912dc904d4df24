package heartbeat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
)

// Every is how often each member tells each other one what it is and holds. Other nodes' figures in
// /status are at most twice as old.
const Every = time.Second

// maxBlockBytes bounds what a peer may say of itself.
const maxBlockBytes = 256 << 10

// Members is what heartbeats need of package membership. Its methods do not block.
type Members interface {
	Self() membership.Member
	// LeaseAsked is the moment from which a lease counts that is asked for now.
	LeaseAsked() time.Duration
	LeaseGranted(view crawl.Epoch, by crawl.NodeID, asked time.Duration)
	// LeaseGrantedStalled is LeaseGranted of a member whose own disk does not answer.
	LeaseGrantedStalled(view crawl.Epoch, by crawl.NodeID, asked time.Duration)
	// Grant decides whether another member gets its lease.
	Grant(view crawl.Epoch, to crawl.NodeID, boot crawl.Boot) bool
	ClockReading() time.Duration
	ClockTold(id crawl.NodeID, boot crawl.Boot, reading time.Duration)
	ClockAnswered(id crawl.NodeID, boot crawl.Boot, reading, asked time.Duration)
	// ClockCompared is ClockReading at the last of these that could tell that this machine stood still.
	ClockCompared() time.Duration
	// SharesClock: a member's readings never tell that, because it runs on the same machine.
	SharesClock(membership.Member) bool
}

// Rules is what heartbeats carry of the crawl document and the scope entries.
type Rules interface {
	// Stamp names the document and the entries of this moment.
	Stamp() *peer.RulesStamp
	// Compare takes the stamp of a member; a difference is exchanged later.
	Compare(id crawl.NodeID, theirs *peer.RulesStamp)
	// Correct takes how long the crawl of that document has run, by the member's clock.
	Correct(theirs *peer.RulesStamp, ran time.Duration)
	// Ran is how long the crawl has run, by this node's clock.
	Ran() time.Duration
}

// Options are what heartbeats are made of. No function may block.
type Options struct {
	Self       crawl.NodeID
	Members    Members
	Rules      Rules
	Table      *Table
	Others     func() []membership.Member // the other members of the view
	View       func() crawl.Epoch         // 0: none yet
	Partitions func() int                 // 0: not joined yet
	Held       func() []byte              // bitmap of the partitions held here
	Block      func() *crawl.NodeBlock    // the status of this node
	Stalled    func() bool                // its disk does not answer
	// Revisits is what this node says of its known pages, nil for nothing; TakeRevisits takes what a member says. A
	// member whose words cannot be read stays a member.
	Revisits     func() []byte
	TakeRevisits func(id crawl.NodeID, boot crawl.Boot, said []byte)
	// Call carries a heartbeat to a member, Clock a reading of the clock; they may block.
	Call  func(ctx context.Context, to membership.Member, req *peer.RenewRequest) (*peer.RenewReply, error)
	Clock func(ctx context.Context, to membership.Member, req *peer.ClockRequest) (*peer.ClockReply, error)
}

// Heartbeat tells the other members every second, and at once when the holdings changed, what this
// node is and holds. New makes it.
type Heartbeat struct {
	o    Options
	now  chan struct{} // capacity 1
	busy busy
	told told
	// What was last sent, with its number. Run's goroutine owns them.
	number      uint64
	block, held []byte
}

// message is a heartbeat to all members: full for those that do not have the block and the bitmap
// of its number, brief for the others.
type message struct{ full, brief *peer.RenewRequest }

// New makes a Heartbeat; Run sends.
func New(o Options) *Heartbeat {
	return &Heartbeat{o: o, now: make(chan struct{}, 1)}
}

// Soon sends the next heartbeat at once.
func (h *Heartbeat) Soon() {
	crawl.Signal(h.now)
}

// Run sends heartbeats until ctx ends, and waits for the calls under way.
func (h *Heartbeat) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		var msg *message // made when there is somebody to tell
		others := h.o.Others()
		h.told.keep(others)
		for _, m := range others {
			if !h.busy.claim(m.ID) {
				continue
			}
			if msg == nil {
				msg = h.message()
			}
			wg.Go(func() {
				defer h.busy.free(m.ID)
				h.tell(ctx, m, msg)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-h.now:
		}
	}
}

// tell sends a member what it needs of a message: in full when it has another number, which its
// last answer said or its next one will. Both calls together have the time of one, so that what
// arrives is never older: the end of a crawl counts on it.
func (h *Heartbeat) tell(ctx context.Context, m membership.Member, msg *message) {
	ctx, cancel := context.WithTimeout(ctx, 2*Every)
	defer cancel()
	if h.told.number(m) == msg.full.Number {
		if said := h.send(ctx, m, msg.brief); said == msg.full.Number || said == unanswered {
			return
		}
	}
	h.send(ctx, m, msg.full)
}

// unanswered is no number of a block.
const unanswered = math.MaxUint64

// send makes one call and takes the answer in. It returns the number of what the member has of this node.
func (h *Heartbeat) send(ctx context.Context, m membership.Member, req *peer.RenewRequest) (said uint64) {
	members := h.o.Members
	asked := members.LeaseAsked()
	reply, err := h.o.Call(ctx, m, req)
	if err != nil {
		return unanswered // the next one comes in a second; membership finds out who is gone
	}
	members.ClockAnswered(m.ID, m.Boot, time.Duration(reply.ClockNs), asked)
	switch { // by that very boot: an answer of another one does not come through
	case !reply.Granted || req.Stalled || h.o.Stalled():
	case reply.Stalled:
		members.LeaseGrantedStalled(crawl.Epoch(req.View), m.ID, asked)
	default:
		members.LeaseGranted(crawl.Epoch(req.View), m.ID, asked)
	}
	h.o.Rules.Correct(reply.Rules, time.Duration(reply.RunNs))
	h.o.Rules.Compare(m.ID, reply.Rules)
	h.told.set(m, reply.Number)
	return reply.Number
}

// message is what this node says of itself now. Only Run's goroutine calls it.
func (h *Heartbeat) message() *message {
	rest, vitals := split(*h.o.Block())
	block, err := json.Marshal(rest)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	held := h.o.Held()
	if h.number == 0 || !bytes.Equal(block, h.block) || !bytes.Equal(held, h.held) {
		h.number, h.block, h.held = h.number+1, block, bytes.Clone(held)
	}
	request := func(block, held []byte) *peer.RenewRequest {
		return &peer.RenewRequest{Stalled: h.o.Stalled(), ClockNs: int64(h.o.Members.ClockReading()), View: uint64(h.o.View()),
			Boot: uint64(h.o.Members.Self().Boot), Rules: h.o.Rules.Stamp(), Block: block, Held: held, Revisits: h.o.Revisits(),
			Number: h.number, Vitals: vitals}
	}
	return &message{full: request(h.block, h.held), brief: request(nil, nil)}
}

// Serve takes another member's heartbeat in, and grants it its lease.
func (h *Heartbeat) Serve(id crawl.NodeID, req *peer.RenewRequest) (*peer.RenewReply, error) {
	partitions, members := h.o.Partitions(), h.o.Members
	if partitions == 0 {
		return nil, status.Error(codes.Unavailable, "this node has not joined yet")
	}
	if len(req.Block) > maxBlockBytes || len(req.Held) > (partitions+7)/8 {
		return nil, status.Error(codes.InvalidArgument, "the block or the bitmap is too large")
	}
	report, known, err := h.report(id, req)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	boot := crawl.Boot(req.Boot)
	h.o.Rules.Compare(id, req.Rules) // first: a member that is in the table has told its rules
	if known {
		h.o.Table.Put(id, report, partitions)
	}
	h.o.TakeRevisits(id, boot, req.Revisits)
	members.ClockTold(id, boot, time.Duration(req.ClockNs))
	granted := !req.Stalled && members.Grant(crawl.Epoch(req.View), id, boot)
	return &peer.RenewReply{Stalled: h.o.Stalled(), RunNs: int64(h.o.Rules.Ran()), ClockNs: int64(members.ClockReading()), Node: string(h.o.Self), Granted: granted,
		View: uint64(h.o.View()), Boot: uint64(members.Self().Boot), Rules: h.o.Rules.Stamp(), Number: h.o.Table.Number(id, boot)}, nil
}

// report is what a member says of itself. It is not known when a heartbeat without a block names
// another number than the report in the table: the answer tells the member, which sends all.
func (h *Heartbeat) report(id crawl.NodeID, req *peer.RenewRequest) (r Report, known bool, err error) {
	if !numbers(req.Vitals) {
		return Report{}, false, errors.New("the vitals are no numbers")
	}
	if len(req.Block) == 0 && req.Number > 0 {
		r = h.o.Table.Last(id)
		known = r.Block.Boot == crawl.Boot(req.Boot) && r.Number == req.Number
	} else {
		r, known = Report{Held: req.Held, Number: req.Number}, true
		if err := json.Unmarshal(req.Block, &r.Block); err != nil {
			return Report{}, false, fmt.Errorf("the block: %w", err)
		}
	}
	if req.Vitals != nil || len(req.Block) == 0 { // else the sender is older, and the block has them
		r.Block = join(r.Block, req.Vitals)
	}
	r.Block.Boot, r.Heard = crawl.Boot(req.Boot), time.Now()
	return r, known, nil
}

// busy are the members that have a call under way.
type busy struct {
	mu  sync.Mutex // guards ids
	ids map[crawl.NodeID]bool
}

// claim begins a call; false: one is under way.
func (b *busy) claim(id crawl.NodeID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ids[id] {
		return false
	}
	if b.ids == nil {
		b.ids = map[crawl.NodeID]bool{}
	}
	b.ids[id] = true
	return true
}

// free ends a call.
func (b *busy) free(id crawl.NodeID) {
	b.mu.Lock()
	delete(b.ids, id)
	b.mu.Unlock()
}

// told has the number of what each member has of this node, as its last answer said.
type told struct {
	mu      sync.Mutex // guards numbers
	numbers map[toldTo]uint64
}

type toldTo struct {
	id   crawl.NodeID
	boot crawl.Boot
}

// number is 0 for a boot that has not answered yet.
func (t *told) number(m membership.Member) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.numbers[toldTo{m.ID, m.Boot}]
}

func (t *told) set(m membership.Member, number uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.numbers == nil {
		t.numbers = map[toldTo]uint64{}
	}
	t.numbers[toldTo{m.ID, m.Boot}] = number
}

// keep forgets all but the given members, so that it has no more entries than these and those with a
// call under way.
func (t *told) keep(members []membership.Member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.numbers) <= len(members) {
		return
	}
	maps.DeleteFunc(t.numbers, func(to toldTo, _ uint64) bool {
		return !slices.ContainsFunc(members, func(m membership.Member) bool { return m.ID == to.id && m.Boot == to.boot })
	})
}
