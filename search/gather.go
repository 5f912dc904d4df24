package search

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer/fanout"
	"crawlnode/search/index"
)

// gather is the nodes as one source, for one question. One node answers for each partition: the
// holder, else another one that has it. Its methods are called one after the other.
type gather struct {
	x      *Indexer
	late   *lateNodes
	failed map[crawl.NodeID]bool // are not asked
	shares map[crawl.NodeID][]uint32
	// broken are nodes that have failed in this question, waited those that were late in its first
	// step.
	broken, waited     map[crawl.NodeID]bool
	documents, covered int64
	coveredBy          map[crawl.NodeID]int64
	documentsBy        map[crawl.NodeID]int64
	// began is when the first step began, once a node was late in it: then each node that is asked
	// has its last chance, until most later. patient says that nobody stands in for nodes that are
	// late: each of the other steps is their last chance.
	began      time.Time
	most       time.Duration
	patient    bool
	unanswered int  // partitions that nobody answers for
	copies     bool // some partitions are answered for by a node that does not hold them
	changed    bool // a node no longer had what it answers for
	found      map[string]crawl.NodeID
}

func newGather(x *Indexer, late *lateNodes, failed map[crawl.NodeID]bool) *gather {
	return &gather{
		x:           x,
		late:        late,
		failed:      failed,
		broken:      map[crawl.NodeID]bool{},
		waited:      map[crawl.NodeID]bool{},
		found:       map[string]crawl.NodeID{},
		coveredBy:   map[crawl.NodeID]int64{},
		documentsBy: map[crawl.NodeID]int64{},
	}
}

// candidate is the first node that has a partition and was not tried for it. A node that was late
// lately comes after the others, and one that was late in this question has a second chance when
// nobody else has the partition. Nodes that hang come last. more says that another one is left that
// may be as good.
func (g *gather) candidate(p uint32, tried map[uint32][]crawl.NodeID) (id crawl.NodeID, more bool) {
	var slow, again, hangs crawl.NodeID
	first := func(of *crawl.NodeID, h crawl.NodeID) {
		if *of == "" {
			*of = h
		}
	}
	for _, h := range g.x.o.Cluster.Holders(crawl.Partition(p)) {
		switch {
		case h == "" || g.failed[h]:
		case slices.Contains(tried[p], h):
			if g.waited[h] && !g.broken[h] && times(tried[p], h) == 1 {
				first(&again, h)
			}
		case g.broken[h]:
		case g.late.hangs(h, g.x.o.Now()):
			first(&hangs, h)
		case g.waited[h] || g.late.was(h, g.x.o.Now()):
			first(&slow, h)
		default:
			return h, true
		}
	}
	if slow != "" {
		return slow, again != ""
	}
	if again != "" {
		return again, false
	}
	return hangs, false
}

// times is how often a node was tried.
func times(tried []crawl.NodeID, id crawl.NodeID) (n int) {
	for _, t := range tried {
		if t == id {
			n++
		}
	}
	return n
}

// Statistics of the first call decides who answers for what.
func (g *gather) Statistics(ctx context.Context, q index.Question) (index.Statistics, error) {
	var sum index.Statistics
	if g.shares != nil {
		for _, a := range g.ask(ctx, g.shares,
			call{Step: stepStatistics, Plan: index.Plan{Question: q}}) {
			if a.Err == nil && a.Value.Statistics != nil {
				sum.Add(*a.Value.Statistics)
			}
		}
		return sum, ctx.Err()
	}
	g.shares = map[crawl.NodeID][]uint32{}
	tried := map[uint32][]crawl.NodeID{}
	left := make([]uint32, g.x.o.Cluster.Partitions())
	for p := range left {
		left[p] = uint32(p)
	}
	began := time.Now()
	for round := 0; len(left) > 0 && round < 3; round++ {
		shares := map[crawl.NodeID][]uint32{}
		var next []uint32
		most := callTime
		for _, p := range left {
			id, more := g.candidate(p, tried)
			if id == "" {
				next = append(next, p)
				continue
			}
			tried[p] = append(tried[p], id)
			shares[id] = append(shares[id], p)
			if more && round < 2 {
				most = hedgeAfter + (callTime-hedgeAfter)/2 // the rest is for the next round
			}
		}
		if len(g.waited) > 0 {
			if time.Since(began) >= most {
				break // a person waits: it is answered without them
			}
			g.began, g.most, g.patient = began, most, true
		}
		for _, a := range g.ask(ctx, shares, call{Step: stepStatistics, Plan: index.Plan{Question: q}}) {
			if a.Err != nil || a.Value.Statistics == nil {
				next = append(next, shares[a.Node]...)
				continue
			}
			next = append(next, g.take(a.Node, shares[a.Node], a.Value, &sum)...)
		}
		left = next
	}
	g.began = time.Time{}
	g.unanswered = len(left)
	return sum, ctx.Err()
}

// take takes a node's statistics, and returns the partitions that it does not have. The words of a
// node count once.
func (g *gather) take(id crawl.NodeID, asked []uint32, r *reply, sum *index.Statistics) []uint32 {
	g.documents += r.Documents
	g.covered += r.Covered
	g.coveredBy[id] += r.Covered
	g.documentsBy[id] += r.Documents
	missing := map[uint32]bool{}
	for _, p := range r.Missing {
		missing[p] = true
	}
	s := *r.Statistics
	if len(g.shares[id]) > 0 {
		s = index.Statistics{Held: s.Held}
	}
	for _, p := range asked {
		if !missing[p] {
			g.shares[id] = append(g.shares[id], p)
			g.copies = g.copies || g.x.o.Cluster.Holders(crawl.Partition(p))[0] != id
		}
	}
	sum.Add(s)
	return r.Missing
}

// Ask asks each node for its share.
func (g *gather) Ask(ctx context.Context, p index.Plan) (index.Answer, error) {
	var answers []index.Answer
	for _, a := range g.ask(ctx, g.shares, call{Step: stepAsk, Plan: p}) {
		if a.Err != nil || a.Value.Answer == nil {
			continue
		}
		for _, h := range a.Value.Answer.Hits {
			g.found[h.URL] = a.Node
		}
		g.judge(a.Node, a.Value.Still)
		answers = append(answers, *a.Value.Answer)
	}
	return index.Join(p.Depth, answers...), ctx.Err()
}

// judge notes what a node no longer has of what it answers for: what it had when it gave its
// statistics may be another copy, whose documents its index has not read.
func (g *gather) judge(id crawl.NodeID, s *still) {
	if s == nil || s.Missing == 0 && s.Documents-s.Covered <= g.documentsBy[id]-g.coveredBy[id] {
		return
	}
	if gone := g.coveredBy[id] - s.Covered; gone > 0 {
		g.changed = true
		g.covered -= gone
		g.coveredBy[id] -= gone
	}
}

// Show asks the nodes that have found the URLs.
func (g *gather) Show(
	ctx context.Context,
	p index.Plan,
	urls []string,
) (results []index.Result, err error) {
	of := map[crawl.NodeID][]string{}
	shares := map[crawl.NodeID][]uint32{}
	for _, u := range urls {
		id := g.found[u]
		of[id] = append(of[id], u)
		shares[id] = g.shares[id]
	}
	for _, a := range g.askEach(ctx, shares,
		func(id crawl.NodeID) call { return call{Step: stepShow, Plan: p, URLs: of[id]} }) {
		if a.Err == nil {
			results = append(results, a.Value.Results...)
		}
	}
	return results, ctx.Err()
}

func (g *gather) ask(
	ctx context.Context,
	shares map[crawl.NodeID][]uint32,
	c call,
) []fanout.Answer[crawl.NodeID, *reply] {
	return g.askEach(ctx, shares, func(crawl.NodeID) call { return c })
}

// askEach calls the nodes, each for its share, and notes who has failed.
func (g *gather) askEach(
	ctx context.Context,
	shares map[crawl.NodeID][]uint32,
	c func(crawl.NodeID) call,
) []fanout.Answer[crawl.NodeID, *reply] {
	var nodes []crawl.NodeID
	for id, share := range shares {
		if len(share) > 0 && !g.broken[id] {
			nodes = append(nodes, id)
		}
	}
	slices.Sort(nodes)
	asking, wait, hanging := g.wait(ctx, nodes)
	defer wait.stop()
	answers := fanout.Ask(nodes, func(id crawl.NodeID) (*reply, error) {
		one := c(id)
		one.Plan.Partitions = shares[id]
		r, err := g.one(asking, id, &one)
		if err == nil && !hanging[id] {
			wait.answered()
		}
		return r, err
	})
	late := errors.Is(context.Cause(asking), errLate)
	for _, a := range answers {
		if a.Err != nil {
			g.missed(a.Node, late, a.Err)
		} else {
			g.late.answered(a.Node)
		}
	}
	return answers
}

// wait starts to wait for nodes. hanging are those that are not waited for as long as others.
func (g *gather) wait(
	ctx context.Context,
	nodes []crawl.NodeID,
) (asking context.Context, p *patience, hanging map[crawl.NodeID]bool) {
	if !g.lastChance() {
		asking, p = newPatience(ctx, len(nodes))
		return asking, p, nil
	}
	began, most := g.began, g.most
	if began.IsZero() {
		began, most = time.Now(), callTime
	}
	hanging = map[crawl.NodeID]bool{}
	for _, id := range nodes {
		if g.late.hangs(id, g.x.o.Now()) {
			hanging[id] = true
		}
	}
	asking, p = newLastChance(ctx, began, most, len(nodes)-len(hanging))
	return asking, p, hanging
}

// lastChance reports whether who does not answer now is left out.
func (g *gather) lastChance() bool { return g.patient && len(g.shares) > 0 || !g.began.IsZero() }

// missed notes that a node has not answered. One that was late keeps its second chance in the first
// step, unless it hangs.
func (g *gather) missed(id crawl.NodeID, late bool, err error) {
	g.x.o.Log.Debug("a node has not answered a question", "node", id, "late", late, "error", err)
	if !late {
		g.broken[id] = true
		return
	}
	g.late.note(id, g.x.o.Now(), g.lastChance())
	if len(g.shares[id]) > 0 || g.waited[id] || g.late.hangs(id, g.x.o.Now()) {
		g.broken[id] = true
	}
	g.waited[id] = true
}

// one asks one node, which may be this one.
func (g *gather) one(ctx context.Context, id crawl.NodeID, c *call) (*reply, error) {
	if id == g.x.o.Self {
		return g.x.answer(ctx, c)
	}
	payload, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	b, err := g.x.o.Cluster.Call(ctx, id, payload)
	if err != nil {
		return nil, err
	}
	var r reply
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// lost reports whether a node has failed that answers for partitions, or no longer has them.
func (g *gather) lost() bool {
	if g.changed {
		return true
	}
	for id := range g.broken {
		if len(g.shares[id]) > 0 {
			return true
		}
	}
	return false
}

// coverage is the share of indexed documents that the answer covers. Of partitions that nobody
// answers for, what the nodes last said of the whole tells the number; and of those that only a
// node with a copy answers for, as the copy may be behind what the holder has.
func (g *gather) coverage() float64 {
	total := g.documents
	if g.copies {
		total = max(total, g.x.o.Cluster.Documents())
	}
	if g.unanswered > 0 {
		total = max(total, g.x.o.Cluster.Documents())
		if total == g.documents { // whoever had them is not known: a share of the partitions then
			if n := g.x.o.Cluster.Partitions(); n > g.unanswered {
				total = max(1, g.documents*int64(n)/int64(n-g.unanswered))
			} else {
				return 0
			}
		}
	}
	if total == 0 {
		return 1
	}
	covered := g.covered
	for id := range g.broken {
		covered -= g.coveredBy[id]
	}
	return float64(covered) / float64(total)
}
