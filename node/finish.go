package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/node/crawldoc"
	"crawlnode/peer"
)

// A link is always behind a leased page, in an outbox, or in its owner's store.
// So the crawl has ended when two rounds of asking find every member of the
// view idle, with the same boots and the same activity: whatever was on its way
// in the first round would have made somebody active before the second. The
// member with the lowest id asks; nobody needs to be chosen for that, because
// two who ask at once come to the same end.

// roundEvery is the pause between two rounds.
const roundEvery = 250 * time.Millisecond

// finisher asks the rounds.
type finisher struct{ node *Node }

// idleWord is what one member says in a round.
type idleWord struct {
	Boot      crawl.Boot
	Idle      bool
	Activity  uint64
	Exhausted bool
	WhyNot    string
	Block     crawl.NodeBlock
}

func (f *finisher) run(ctx context.Context) error {
	tick := time.NewTicker(roundEvery)
	defer tick.Stop()
	var rounds rounds
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		n := f.node
		if !n.asksRounds() {
			rounds.forget()
			continue
		}
		if reason := n.timeIsUp(time.Now()); reason != "" {
			if err := f.end(ctx, reason, nil); err != nil {
				return err
			}
			continue
		}
		view := n.viewNumber()
		words := f.round(ctx, view)
		if !rounds.agree(view, words) {
			continue
		}
		if reason := f.verdict(words); reason != "" {
			if err := f.end(ctx, reason, words); err != nil {
				return err
			}
		}
	}
}

// rounds remembers the round before.
type rounds struct {
	view  crawl.Epoch
	words map[crawl.NodeID]idleWord // nil: not all were idle
}

func (r *rounds) forget() { r.words = nil }

// agree takes in a round, nil when not all were idle, and reports whether it is the second
// in which nothing had happened. Then the next one is a first one again.
func (r *rounds) agree(view crawl.Epoch, words map[crawl.NodeID]idleWord) bool {
	if words == nil || r.words == nil || view != r.view || !same(r.words, words) {
		r.words, r.view = words, view
		return false
	}
	r.forget()
	return true
}

// asksRounds reports whether this node has to ask: the crawl runs and no other
// member that gossip can reach has a lower id.
func (n *Node) asksRounds() bool {
	if n.engine.Load() == nil || n.doc.Current().Doc.State != crawl.CrawlRunning {
		return false
	}
	snap := n.members.Snapshot()
	for _, m := range snap.View.Members {
		if m.ID < n.id && n.reachable(m.ID) {
			return false
		}
	}
	return true
}

// timeIsUp is the reason to end now, whatever is queued.
func (n *Node) timeIsUp(now time.Time) string {
	d := n.doc.Current().Doc
	if limit := d.Settings.MaxDuration; limit > 0 && d.RunningFor(now) >= limit {
		return crawl.FinishMaxDuration
	}
	return ""
}

// round asks every member of the view; nil unless all are idle and hold all
// partitions together.
func (f *finisher) round(ctx context.Context, view crawl.Epoch) map[crawl.NodeID]idleWord {
	n := f.node
	own := n.idleWord()
	if !own.Idle {
		return nil
	}
	words := map[crawl.NodeID]idleWord{n.id: own}
	var mu sync.Mutex // guards words
	var wg sync.WaitGroup
	for _, m := range n.others() {
		wg.Go(func() {
			w, err := f.ask(ctx, m, view)
			if err != nil {
				return
			}
			mu.Lock()
			words[m.ID] = w
			mu.Unlock()
		})
	}
	wg.Wait()
	if !allIdle(n.members.Snapshot().View.Members, words, n.partitions()) {
		return nil
	}
	return words
}

// allIdle reports whether all members have said in their present boots that they are idle,
// and hold all partitions together: else somebody's are on their way or away.
func allIdle(members []membership.Member, words map[crawl.NodeID]idleWord, partitions int) bool {
	held := 0
	for _, m := range members {
		w, ok := words[m.ID]
		if !ok || !w.Idle || w.Boot != m.Boot {
			return false
		}
		if h := w.Block.Node.Partitions.Held; h != nil {
			held += *h
		}
	}
	return held == partitions
}

func (f *finisher) ask(ctx context.Context, m membership.Member, view crawl.Epoch) (idleWord, error) {
	reply, err := peer.Call(ctx, f.node.pool, targetOf(m), &peer.IdleRequest{View: uint64(view)}, peer.PeerClient.Idle)
	if err != nil {
		return idleWord{}, err
	}
	if reply.View != uint64(view) {
		return idleWord{}, fmt.Errorf("member %s is at view %d, not %d", m.Name, reply.View, view)
	}
	w := idleWord{Boot: crawl.Boot(reply.Boot), Idle: reply.Idle, Activity: reply.Activity, Exhausted: reply.Exhausted, WhyNot: reply.WhyNot}
	if reply.Idle {
		err = json.Unmarshal(reply.Block, &w.Block)
	}
	return w, err
}

// same reports whether nothing happened between two rounds.
func same(a, b map[crawl.NodeID]idleWord) bool {
	if len(a) != len(b) {
		return false
	}
	for id, x := range a {
		y, ok := b[id]
		if !ok || x.Boot != y.Boot || x.Activity != y.Activity {
			return false
		}
	}
	return true
}

// verdict names why the crawl has ended; "" when it has not: permits were
// counted too high, and more will be granted after the next count.
func (f *finisher) verdict(words map[crawl.NodeID]idleWord) string {
	var pages, queued int64
	for _, w := range words {
		pages += w.Block.Counters.Pages
		queued += w.Block.Counters.QueuedTotal()
	}
	limit := f.node.doc.Current().Doc.Settings.MaxPages
	if queued == 0 {
		return crawl.FinishExhausted
	}
	if limit > 0 && pages >= limit {
		return crawl.FinishMaxPages
	}
	return "" // the granter counts again
}

// finishNote carries the end to the members: the document and everybody's last
// block, so that all show the same totals at once.
type finishNote struct {
	Document *crawldoc.Document               `json:"document"`
	Blocks   map[crawl.NodeID]crawl.NodeBlock `json:"blocks"`
}

// end stores the end here and tells every member, the last of them within a few
// seconds or by the next renewal.
func (f *finisher) end(ctx context.Context, reason string, words map[crawl.NodeID]idleWord) error {
	n := f.node
	doc, err := n.doc.Change(func(d *crawldoc.Document) *crawldoc.Document {
		if d.State != crawl.CrawlRunning {
			return nil
		}
		return d.Enter(crawl.CrawlFinished, reason, n.id, time.Now())
	})
	if err != nil || doc == nil {
		return err
	}
	note := finishNote{Document: doc, Blocks: map[crawl.NodeID]crawl.NodeBlock{}}
	for id, w := range words {
		note.Blocks[id] = w.Block
	}
	raw, err := json.Marshal(note)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var wg sync.WaitGroup
	for _, m := range n.others() {
		wg.Go(func() {
			req := &peer.IdleRequest{View: uint64(n.viewNumber()), Finish: raw}
			if _, err := peer.Call(ctx, n.pool, targetOf(m), req, peer.PeerClient.Idle); err != nil {
				n.log.Warn("a member was not told at once that the crawl has ended; it will hear with the next renewal", "peer", m.Name, "error", err)
			}
		})
	}
	wg.Wait()
	n.takeBlocks(note.Blocks)
	n.documentChanged()
	return nil
}

// takeBlocks stores the members' last blocks, where nothing newer was heard of them.
func (n *Node) takeBlocks(blocks map[crawl.NodeID]crawl.NodeBlock) {
	infos := n.peers.all()
	for id, b := range blocks {
		have := infos[id].block
		if newer := have.Boot == b.Boot && !b.At.After(have.At); id != n.id && !newer {
			n.peers.put(id, peerInfo{block: b, held: infos[id].held, heard: time.Now()}, n.partitions())
		}
	}
}

// idleWord is this node's own word.
func (n *Node) idleWord() idleWord {
	w := idleWord{Boot: n.members.Self().Boot, WhyNot: n.whyNotIdle(), Activity: n.activity()}
	w.Idle = w.WhyNot == ""
	w.Exhausted = n.limitReached()
	if w.Idle {
		w.Block = *n.block()
	}
	return w
}

// Idle answers a round, or takes the end of the crawl.
func (h handler) Idle(_ context.Context, _ string, req *peer.IdleRequest) (*peer.IdleReply, error) {
	n := h.node
	if len(req.Finish) > 0 {
		if err := n.takeFinish(req.Finish); err != nil {
			return nil, err
		}
	}
	w := n.idleWord()
	reply := &peer.IdleReply{View: uint64(n.viewNumber()), Boot: uint64(w.Boot), Idle: w.Idle, Activity: w.Activity, Exhausted: w.Exhausted, WhyNot: w.WhyNot}
	if w.Idle {
		block, err := json.Marshal(w.Block)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		reply.Block = block
	}
	return reply, nil
}

func (n *Node) takeFinish(raw []byte) error {
	var note finishNote
	if err := json.Unmarshal(raw, &note); err != nil || note.Document == nil {
		return status.Error(codes.InvalidArgument, fmt.Sprintf("the end of the crawl: %v", err))
	}
	changed, err := n.doc.Merge(note.Document, time.Now())
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	// A renewal may have brought the document before; the blocks come only here.
	if d := n.doc.Current().Doc; changed || d.Version == note.Document.Version && d.By == note.Document.By {
		n.takeBlocks(note.Blocks)
	}
	if changed {
		n.documentChanged()
	}
	return nil
}

// errFinished ends Run after --exit-when-done.
var errFinished = errors.New("the crawl has ended")
