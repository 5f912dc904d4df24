package finish

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/peer/fanout"
	"crawlnode/ticks"
)

// roundEvery is the pause between two rounds, and waitingEvery that while the crawl waits for
// revisits, perhaps for days: its end does not hang on them.
const (
	roundEvery   = 250 * time.Millisecond
	waitingEvery = 2 * time.Second
)

// Finisher asks the members, in rounds, whether they are idle, and ends the crawl. It also answers
// the rounds of other nodes.
type Finisher struct {
	o       Options
	permits *Permits
	waiting atomic.Bool
}

// New makes a node's Finisher.
func New(o Options, permits *Permits) *Finisher { return &Finisher{o: o, permits: permits} }

// Waiting reports that the rounds of this node have found nothing to do until the next known page
// is due. False as well when another node asks the rounds.
func (f *Finisher) Waiting() bool { return f.waiting.Load() }

// answer is the answer of one member in a round.
type answer struct {
	Boot      crawl.Boot
	Idle      bool
	Activity  uint64
	Exhausted bool
	WhyNot    string
	Block     crawl.NodeBlock
}

// Run asks rounds while the crawl runs and this node is the one to ask. It returns when ctx ends,
// or when the end of the crawl cannot be stored.
func (f *Finisher) Run(ctx context.Context) error {
	tick := ticks.New(roundEvery)
	defer tick.Stop()
	var last rounds
	var asked time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !f.asks() {
			last.forget()
			f.waiting.Store(false)
			continue
		}
		if reason := timeIsUp(f.o.Documents.Current().Doc, time.Now()); reason != "" {
			if err := f.end(ctx, reason, nil); err != nil {
				return err
			}
			continue
		}
		if f.waiting.Load() && time.Since(asked) < waitingEvery && f.o.Engine.Work().Idle() {
			continue
		}
		asked = time.Now()
		if err := f.judge(ctx, &last); err != nil {
			return err
		}
	}
}

// judge asks a round, and acts on it when it is the second in a row that found nothing to do.
func (f *Finisher) judge(ctx context.Context, last *rounds) error {
	view := f.o.viewNumber()
	answers := f.round(ctx, view)
	if answers == nil {
		f.waiting.Store(false)
	}
	if !last.agree(view, answers) {
		return nil
	}
	reason := verdict(answers, f.o.settings())
	f.waiting.Store(reason == waits)
	if reason == "" || reason == waits {
		return nil
	}
	return f.end(ctx, reason, answers)
}

// asks reports whether this node asks the rounds: the crawl runs, and gossip reaches no member with
// a lower id.
func (f *Finisher) asks() bool {
	if f.o.Cluster.Partitions() == 0 || f.o.Documents.Current().Doc.State != crawl.CrawlRunning {
		return false
	}
	for _, m := range f.o.others() {
		if m.ID < f.o.Self && f.o.Cluster.Reachable(m.ID) {
			return false
		}
	}
	return true
}

// rounds holds the previous round.
type rounds struct {
	view    crawl.Epoch
	answers map[crawl.NodeID]answer // nil: not all were idle
}

func (r *rounds) forget() { r.answers = nil }

// agree adds a round, nil when not all were idle. It reports whether this is the second round in a
// row without any activity. The next one then counts as a first one again.
func (r *rounds) agree(view crawl.Epoch, answers map[crawl.NodeID]answer) bool {
	if answers == nil || r.answers == nil || view != r.view || !same(r.answers, answers) {
		r.answers, r.view = answers, view
		return false
	}
	r.forget()
	return true
}

// same reports whether nothing happened between two rounds.
func same(a, b map[crawl.NodeID]answer) bool {
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

// round asks every member of the view; nil unless all are idle and hold all partitions together.
func (f *Finisher) round(ctx context.Context, view crawl.Epoch) map[crawl.NodeID]answer {
	own := f.own()
	if !own.Idle {
		return nil
	}
	answers := map[crawl.NodeID]answer{f.o.Self: own}
	for _, a := range fanout.Ask(f.o.others(),
		func(m membership.Member) (answer, error) { return f.ask(ctx, m, view) }) {
		if a.Err == nil {
			answers[a.Node.ID] = a.Value
		}
	}
	if !allIdle(f.o.Cluster.View().Members, answers, f.o.Cluster.Partitions()) {
		return nil
	}
	return answers
}

// allIdle reports whether all members are idle, by answers of their current boots, and hold all
// partitions together. If they hold fewer, a partition is moving or offline.
func allIdle(members []membership.Member, answers map[crawl.NodeID]answer, partitions int) bool {
	held := 0
	for _, m := range members {
		a, ok := answers[m.ID]
		if !ok || !a.Idle || a.Boot != m.Boot {
			return false
		}
		if h := a.Block.Node.Partitions.Held; h != nil {
			held += *h
		}
	}
	return held == partitions
}

// ask asks one member. An answer from another view is an error.
func (f *Finisher) ask(ctx context.Context, m membership.Member, view crawl.Epoch) (answer, error) {
	reply, err := f.o.Peers.Idle(ctx, m, &peer.IdleRequest{View: uint64(view)})
	if err != nil {
		return answer{}, err
	}
	if reply.View != uint64(view) {
		return answer{}, fmt.Errorf("member %s is at view %d, not %d", m.Name, reply.View, view)
	}
	a := answer{
		Boot:      crawl.Boot(reply.Boot),
		Idle:      reply.Idle,
		Activity:  reply.Activity,
		Exhausted: reply.Exhausted,
		WhyNot:    reply.WhyNot,
	}
	if reply.Idle {
		err = json.Unmarshal(reply.Block, &a.Block)
	}
	return a, err
}

// own is this node's own answer.
func (f *Finisher) own() answer {
	work := f.o.Engine.Work()
	a := answer{Boot: f.o.Boot, WhyNot: work.WhyNotIdle(), Activity: f.o.Engine.Activity()}
	a.Idle = a.WhyNot == ""
	a.Exhausted = f.permits.LimitReached()
	if a.Idle {
		a.Block = *f.o.Engine.Block()
	}
	return a
}

// Serve answers a round of another node, or accepts the end of the crawl from it.
func (f *Finisher) Serve(req *peer.IdleRequest) (*peer.IdleReply, error) {
	if len(req.Finish) > 0 {
		if err := f.takeEnd(req.Finish); err != nil {
			return nil, err
		}
	}
	a := f.own()
	reply := &peer.IdleReply{
		View:      uint64(f.o.viewNumber()),
		Boot:      uint64(a.Boot),
		Idle:      a.Idle,
		Activity:  a.Activity,
		Exhausted: a.Exhausted,
		WhyNot:    a.WhyNot,
	}
	if a.Idle {
		block, err := json.Marshal(a.Block)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		reply.Block = block
	}
	return reply, nil
}
