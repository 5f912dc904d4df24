package handoff

import (
	"fmt"
	"maps"
	"slices"

	"crawlnode/crawl"
	"crawlnode/handoff/copies"
	"crawlnode/handoff/machine"
)

// This file models what goes between the nodes of the simulation.

func (n *simNode) open(a machine.OpenLink) {
	f := &simFlow{a: a, to: n.w.node(a.Node), opened: len(n.disk[a.P].content)}
	if n.flows[a.Node] == nil {
		n.flows[a.Node] = map[crawl.Partition]*simFlow{}
	}
	n.acks.LinkOpened(a.Node, a.P, a.Attempt)
	n.flows[a.Node][a.P] = f
	from := copies.Sender{ID: n.id, Boot: n.boot}
	if d := &n.disk[a.P]; a.Based && d.state == Holding && d.epoch == a.Epoch && len(d.content) == int(a.BaseSeq) {
		n.w.call(n, f.to, func() (any, bool) { return f.to.adopt(from, a) }, func(reply any, ok bool) {
			switch {
			case !ok:
				n.failFlow(f)
			case reply.(bool):
				n.goLive(f, int(a.BaseSeq))
			default:
				n.copyTo(f)
			}
		})
		return
	}
	f.a.Based = false
	n.w.call(n, f.to, func() (any, bool) {
		if f.to.machine == nil {
			return nil, false
		}
		f.to.marks.Note(a.P, from, a.Attempt)
		return f.to.disk[a.P].kept(), true
	}, func(reply any, ok bool) {
		if !ok {
			n.failFlow(f)
			return
		}
		n.judgeCopy(f, reply.(Kept))
	})
}

func (n *simNode) adopt(from copies.Sender, a machine.OpenLink) (any, bool) {
	if n.machine == nil {
		return nil, false
	}
	adopted := false
	err := n.gate.Pass(from.ID, from.Boot, func() error {
		if err := n.gate.InTenure(from.ID, a.Epoch); err != nil {
			return err
		}
		n.marks.Note(a.P, from, a.Attempt)
		n.arrived(a.P, a.Epoch)
		d := &n.disk[a.P]
		if d.copy && len(d.content) == int(a.BaseSeq) && (d.epoch == a.BaseEpoch || d.epoch == a.Epoch) && a.Epoch >= d.epoch {
			d.epoch = a.Epoch
			adopted = true
			if d.series != nil {
				d.keep(d.series.Adopt(a.BaseEpoch, a.BaseSeq, a.Epoch))
			}
		}
		return nil
	})
	return adopted, err == nil
}

func (n *simNode) arrived(p crawl.Partition, epoch crawl.Epoch) {
	if d := &n.disk[p]; d.state == Released && epoch > d.epoch {
		n.toCopy(p)
		n.later(machine.CopyArrived{P: p, Epoch: epoch})
	}
}

func (n *simNode) judgeCopy(f *simFlow, k Kept) {
	d := &n.disk[f.a.P]
	if f.over {
		return
	}
	same := k.Copy && k.Epoch == f.a.Epoch
	on := machine.Anew
	if s := d.series; k.Copy && s != nil && d.state == Holding && int(s.Last) == len(d.content) {
		on = s.Continues(f.to.id, f.a.Epoch, machine.Found{Epoch: k.Epoch, Seq: k.Seq})
	}
	switch {
	case k.State == Holding:
		n.failFlow(f)
	case same && int(k.Seq) > len(d.content) && d.state == Holding:
		n.w.fail("%s is ahead of %s", f.to.id, n.id)
	case same && int(k.Seq) == len(d.content) && d.state == Holding && d.epoch == f.a.Epoch &&
		(d.series == nil || !d.series.Doubts(f.to.id, machine.Found{Epoch: k.Epoch, Seq: k.Seq})):
		f.pending = nil // attached here
		n.goLive(f, int(k.Seq))
	case on == machine.ByTail:
		n.w.caughtUp++
		n.catchUp(f, int(k.Seq))
	case on == machine.ByTenure:
		n.adoptLate(f, k)
	default:
		n.copyTo(f)
	}
}

// catchUp sends what a copy misses, which is a beginning of what is here.
func (n *simNode) catchUp(f *simFlow, seq int) {
	d, there := &n.disk[f.a.P], &f.to.disk[f.a.P]
	if there.copy && there.epoch == f.a.Epoch && len(there.content) >= seq && !slices.Equal(there.content[:seq], d.content[:seq]) {
		n.w.fail("%s goes on from mutation %d of partition %d at %s, whose copy is not a beginning of what is here: %+v", n.id, seq, f.a.P, f.to.id, *there)
	}
	f.pending = nil
	for s := seq + 1; s <= len(d.content); s++ {
		f.pending = append(f.pending, simMutation{seq: s, id: d.content[s-1]})
	}
	if d.series != nil {
		d.series.Behind[f.to.id] = machine.Proof{Epoch: f.a.Epoch, To: crawl.Seq(len(d.content))}
		if d.taken {
			n.w.resumed++
		}
	}
	n.goLive(f, seq)
}

// adoptLate lets a node whose copy is of another tenure go on under this one.
func (n *simNode) adoptLate(f *simFlow, k Kept) {
	a := f.a
	a.BaseEpoch, a.BaseSeq = k.Epoch, k.Seq
	from := copies.Sender{ID: n.id, Boot: n.boot}
	n.w.call(n, f.to, func() (any, bool) { return f.to.adopt(from, a) }, func(reply any, ok bool) {
		d := &n.disk[a.P]
		switch {
		case !ok:
			n.failFlow(f)
		case f.over:
		case !reply.(bool) || d.state != Holding || d.epoch != a.Epoch:
			n.copyTo(f)
		default:
			n.w.caughtLate++
			n.catchUp(f, int(k.Seq))
		}
	})
}

func (n *simNode) copyTo(f *simFlow) {
	if f.over {
		return
	}
	f.a.Based = false
	n.later(machine.LinkCopying{P: f.a.P, Node: f.to.id, Attempt: f.a.Attempt})
	n.snapshot(f.a.P, f.to, f)
}

// snapshot sends what is here; with a flow its mutations follow.
func (n *simNode) snapshot(p crawl.Partition, to *simNode, f *simFlow) {
	d := &n.disk[p]
	if d.state == Absent && !d.copy {
		if f != nil {
			n.failFlow(f)
		}
		return
	}
	if f != nil {
		if f.a.Epoch != d.epoch {
			n.failFlow(f)
			return
		}
		f.pending = nil
	}
	epoch, content, boot := d.epoch, d.content, n.boot
	n.w.call(n, to, func() (any, bool) {
		return to.takeCopy(copies.Sender{ID: n.id, Boot: boot}, p, epoch, content, f != nil)
	}, func(_ any, ok bool) {
		switch {
		case f == nil:
		case !ok:
			n.failFlow(f)
		default:
			n.goLive(f, len(content))
		}
	})
}

func (n *simNode) takeCopy(from copies.Sender, p crawl.Partition, epoch crawl.Epoch, content []uint64, link bool) (any, bool) {
	if n.machine == nil {
		return nil, false
	}
	took := false
	_ = n.gate.Pass(from.ID, from.Boot, func() error {
		if err := n.gate.InTenure(from.ID, epoch); link && err != nil {
			return err
		}
		d := &n.disk[p]
		if link && (d.state == Holding || (d.copy || d.state == Released) && d.epoch > epoch) {
			return nil
		}
		if err := n.wanted.Check(from.ID, p, epoch, d.kept()); !link && err != nil {
			return nil
		}
		n.arrived(p, epoch)
		d.state, d.copy, d.epoch, d.content, took = Absent, true, epoch, slices.Clip(content), true
		d.copies++
		d.keep(false)
		return nil
	})
	return nil, took
}

func (n *simNode) failFlow(f *simFlow) {
	if f.over {
		return
	}
	n.keepHints(f)
	f.over = true
	if n.flows[f.to.id][f.a.P] == f {
		delete(n.flows[f.to.id], f.a.P)
	}
	n.acks.LinkClosed(f.to.id, f.a.P, f.a.Attempt)
	n.later(machine.LinkDown{P: f.a.P, Node: f.to.id, Attempt: f.a.Attempt})
}

// keepHints begins hints for a link that is given up, or goes on with those for another one.
func (n *simNode) keepHints(f *simFlow) {
	d := &n.disk[f.a.P]
	if !f.live && !f.a.Based || d.state != Holding || d.epoch != f.a.Epoch || n.w.chance(20) {
		return
	}
	if !f.live {
		f.acked = int(f.a.BaseSeq)
	}
	sent := f.acked
	if k := len(f.pending); k > 0 && f.live {
		sent = f.pending[k-1].seq
	}
	if s := d.series; s == nil || s.Epoch != d.epoch {
		at := d.found()
		at.Seq = crawl.Seq(f.acked)
		fresh := machine.BeginSeries(at, crawl.Seq(f.opened))
		fresh.Last = crawl.Seq(len(d.content)) // what waits for the link
		d.series, d.taken = &fresh, false
	}
	d.series.Behind[f.to.id] = machine.Proof{Epoch: d.epoch, To: crawl.Seq(sent)}
}

func (n *simNode) goLive(f *simFlow, seq int) {
	if f.over {
		return
	}
	f.live, f.upAt = true, seq
	f.pending = slices.DeleteFunc(f.pending, func(m simMutation) bool { return m.seq <= seq })
	if len(f.pending) > 0 {
		f.upAt = f.pending[len(f.pending)-1].seq
	}
	n.noted(f, seq)
}

func (n *simNode) noted(f *simFlow, seq int) {
	f.acked = seq
	n.acks.Acknowledged(f.to.id, f.a.P, f.a.Attempt, crawl.Seq(seq))
	if !f.follows && seq >= f.upAt {
		f.follows = true
		if d := &n.disk[f.a.P]; d.series != nil {
			delete(d.series.Behind, f.to.id)
			d.keep(true)
		}
		n.later(machine.LinkFollows{P: f.a.P, Node: f.to.id, Attempt: f.a.Attempt})
	}
}

// pump sends what waits on the links; one that is not answered is tried again or
// given up.
func (n *simNode) pump() {
	if !n.up || n.machine == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(n.flows)) {
		for _, p := range slices.Sorted(maps.Keys(n.flows[id])) {
			f := n.flows[id][p]
			if !f.live || f.flying || len(f.pending) == 0 {
				continue
			}
			f.flying = true
			ms := slices.Clone(f.pending[:1+n.w.rng.IntN(len(f.pending))])
			from, epoch := copies.Sender{ID: n.id, Boot: n.boot}, f.a.Epoch
			n.w.call(n, f.to, func() (any, bool) { return f.to.apply(from, p, epoch, ms) }, func(reply any, ok bool) {
				f.flying = false
				switch {
				case f.over:
				case !ok && n.w.chance(50): // sent again
				case !ok || !reply.(bool):
					n.failFlow(f)
				default:
					last := ms[len(ms)-1].seq
					f.pending = slices.DeleteFunc(f.pending, func(m simMutation) bool { return m.seq <= last })
					n.noted(f, last)
				}
			})
		}
	}
}

func (n *simNode) apply(from copies.Sender, p crawl.Partition, epoch crawl.Epoch, ms []simMutation) (any, bool) {
	if n.machine == nil {
		return nil, false
	}
	applied := false
	err := n.gate.Pass(from.ID, from.Boot, func() error {
		if err := n.gate.InTenure(from.ID, epoch); err != nil {
			return err
		}
		d := &n.disk[p]
		if !d.copy || d.epoch != epoch {
			return nil
		}
		for _, m := range ms {
			switch {
			case m.seq <= len(d.content):
				if d.content[m.seq-1] != m.id {
					n.w.fail("%s has %d as mutation %d of partition %d, %s sends %d", n.id, d.content[m.seq-1], m.seq, p, from.ID, m.id)
				}
			case m.seq == len(d.content)+1:
				d.content = append(slices.Clip(d.content), m.id)
				d.follow()
			default:
				return nil
			}
		}
		applied = true
		return nil
	})
	return applied, err == nil
}

// drop tells a node that its copy may go; the order may come late.
func (n *simNode) drop(a machine.DropCopy) {
	to, from := n.w.node(a.Node), copies.Sender{ID: n.id, Boot: n.boot}
	n.w.call(n, to, func() (any, bool) {
		if to.machine == nil {
			return nil, false
		}
		_ = to.gate.Pass(from.ID, from.Boot, func() error {
			d := &to.disk[a.P]
			if d.copy && d.epoch <= a.Epoch && to.marks.MayDrop(a.P, from, a.Attempt) {
				*d = d.fresh()
			}
			return nil
		})
		return nil, true
	}, func(any, bool) {})
}

func (n *simNode) sweep(a machine.Sweep) {
	for _, id := range slices.Sorted(maps.Keys(a.Parts)) {
		owner := n.w.node(id)
		var parts []machine.UselessPart
		seen := map[crawl.Partition]copies.Mark{}
		for _, p := range a.Parts[id] {
			if d := &n.disk[p]; d.copy {
				parts = append(parts, machine.UselessPart{P: p, Epoch: d.epoch})
				seen[p], _ = n.marks.Of(p)
			}
		}
		n.w.call(n, owner, func() (any, bool) {
			if owner.machine == nil {
				return nil, false
			}
			reply := make(chan []crawl.Partition, 1)
			owner.step(machine.UselessAsked{From: n.id, View: a.View, Parts: parts, Reply: reply})
			return <-reply, true
		}, func(reply any, ok bool) {
			if !ok {
				return
			}
			for _, p := range reply.([]crawl.Partition) {
				i := slices.IndexFunc(parts, func(x machine.UselessPart) bool { return x.P == p })
				d := &n.disk[p]
				if last, _ := n.marks.Of(p); d.copy && d.epoch == parts[i].Epoch && last == seen[p] {
					*d = d.fresh()
				}
			}
		})
	}
}

// spread records what is pending with the members of the view.
func (n *simNode) spread() {
	if n.view == 0 {
		return
	}
	v := n.w.views[n.view-1]
	for _, p := range slices.Sorted(maps.Keys(n.records)) {
		s := n.records[p]
		counts := n.counts[p]
		delete(n.records, p)
		delete(n.counts, p)
		if s.Newer(n.disk[p].set) {
			n.disk[p].set = s
		}
		stored, answered := 1, 0
		if n.disk[p].set.Newer(s) {
			stored = 0
		}
		said := false
		judge := func() {
			switch {
			case said:
			case 2*stored > len(v.boots):
				said = true
				if n.machine.Standing(p).Held() && s.Newer(n.w.truth[p]) {
					n.w.truth[p] = s
				}
				if !counts {
					n.later(machine.Recorded{P: p, Epoch: s.Epoch, Version: s.Version, View: v.n})
				}
			}
			if answered < len(v.boots)-1 || stored == len(v.boots) {
				return
			}
			switch {
			case said || counts:
				if _, ok := n.records[p]; !ok && n.live[p] == s.Epoch {
					n.records[p], n.counts[p] = s, true
				}
			default:
				if other, ok := n.records[p]; (!ok || s.Newer(other)) && n.live[p] == s.Epoch {
					n.records[p] = s
					delete(n.counts, p)
				}
			}
		}
		boot := n.boot
		for _, id := range slices.Sorted(maps.Keys(v.boots)) {
			if id == n.id {
				continue
			}
			to := n.w.node(id)
			n.w.call(n, to, func() (any, bool) { return to.putSet(copies.Sender{ID: n.id, Boot: boot}, p, s, v.n) }, func(reply any, ok bool) {
				answered++
				if ok && reply.(bool) {
					stored++
				}
				judge()
			})
		}
		judge()
	}
}

func (n *simNode) putSet(from copies.Sender, p crawl.Partition, s Set, view crawl.Epoch) (any, bool) {
	if n.machine == nil {
		return nil, false
	}
	stored := false
	_ = n.gate.Pass(from.ID, from.Boot, func() error {
		if view < n.gate.view {
			return nil
		}
		if s.Newer(n.disk[p].set) {
			n.disk[p].set = s
		}
		stored = !n.disk[p].set.Newer(s)
		if d := &n.disk[p]; stored && d.series != nil {
			d.keep(d.series.InSync(s))
		}
		return nil
	})
	return stored, true
}

func (n *simNode) token(a machine.PassToken) {
	to, seq := n.w.node(a.To), crawl.Seq(len(n.disk[a.P].content))
	n.w.call(n, to, func() (any, bool) {
		if to.machine == nil {
			return nil, false
		}
		reply := make(chan machine.Reply, 1)
		to.step(machine.TokenArrived{P: a.P, View: a.View, Epoch: a.Epoch, Seq: seq, Set: a.Set, Reply: reply})
		return <-reply, true
	}, func(reply any, ok bool) {
		e := machine.Event(machine.Broken{P: a.P, Attempt: a.Attempt})
		if ok {
			switch r := reply.(machine.Reply); {
			case r.Kind == machine.ReplyTook:
				e = machine.Took{P: a.P, Attempt: a.Attempt}
			case r.Kind == machine.ReplyRefused && r.View > a.View:
				e = machine.RefusedNewer{P: a.P, Attempt: a.Attempt, View: r.View}
			default:
				e = machine.Broken{P: a.P, Attempt: a.Attempt, Later: r.Kind != machine.ReplyNoCopy, NoCopy: r.Kind == machine.ReplyNoCopy}
			}
		}
		n.later(e)
	})
}

func (n *simNode) ask(a machine.Ask) {
	left := len(a.Members)
	for _, id := range a.Members {
		to := n.w.node(id)
		n.w.call(n, to, func() (any, bool) {
			if to.machine == nil {
				return nil, false
			}
			reply := make(chan machine.Told, 1)
			to.step(machine.Asked{View: a.View, Parts: a.Parts, Reply: reply})
			told := <-reply
			return told, told.Answers != nil
		}, func(reply any, ok bool) {
			if ok {
				n.later(machine.Answered{Attempt: a.Attempt, From: id, Answers: reply.(machine.Told).Answers, Past: reply.(machine.Told).Past})
			}
			if left--; left == 0 {
				n.later(machine.AskOver{Attempt: a.Attempt, Now: n.w.now})
			}
		})
	}
}

// links shows the links of a partition as the simulation sees them.
func (n *simNode) links(p int) string {
	s := ""
	for _, id := range slices.Sorted(maps.Keys(n.flows)) {
		if f := n.flows[id][crawl.Partition(p)]; f != nil {
			s += fmt.Sprintf("%s (%d live %v over %v follows %v flying %v %d) ", id, f.a.Attempt, f.live, f.over, f.follows, f.flying, len(f.pending))
		}
	}
	return s
}
