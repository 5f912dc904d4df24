package integration

import (
	"slices"
	"time"
)

// This file holds the scenes that take more than one fault, or wait for a moment.

// turns kills one node, and when it comes back with old state, those that continued without it.
func (p *planner) turns() {
	names := p.pick(len(p.present))
	away := p.between(5, 15)
	p.add(fault{at: p.now, kind: killNode, nodes: names[:1], lasts: []time.Duration{away}})
	p.now += away + p.between(-0.3, 2)
	f := fault{at: p.now, kind: killNode, nodes: names[1 : 2+p.IntN(len(names)-1)]}
	for range f.nodes {
		f.lasts = append(f.lasts, p.between(8, 30))
	}
	p.add(f)
}

// tears breaks, or not, the streams between a node that joins or leaves and the others again and
// again: messages that ended a move may be lost.
func (p *planner) tears(at time.Duration, name string) {
	if p.IntN(3) == 0 {
		return
	}
	for range 6 + p.IntN(10) {
		at += p.between(0.05, 0.8)
		for _, other := range p.pick(2) {
			if other != name {
				p.add(fault{at: at, kind: tearLinks, nodes: []string{name, other}})
			}
		}
	}
}

// compound draws faults that each may be harmless alone.
func (p *planner) compound() {
	switch draw := p.IntN(3); {
	case draw == 0 || len(p.present) < 2:
		p.wrongTimes()
	case draw == 1 && len(p.present) > 2:
		p.takenPlace()
	default:
		p.missedThenLost()
	}
}

// wrongTimes steps a clock by hours; the nodes that take over from its node, and restarted nodes,
// read what that node stored meanwhile. In half of the cases the clock is corrected later.
func (p *planner) wrongTimes() {
	name := p.pick(1)[0]
	wrong := fault{
		at:    p.now,
		kind:  skewClock,
		nodes: []string{name},
		step:  p.between(-12*3600, 12*3600),
		rate:  1,
	}
	p.add(wrong)
	p.now += p.between(3, 10)
	if len(p.present) > p.least() && p.IntN(2) == 0 {
		p.remove(name)
		p.add(fault{at: p.now, kind: leaveNode, nodes: []string{name}})
		p.now += p.between(1, 8)
	} else if p.IntN(2) == 0 {
		wrong.at, wrong.step = p.now+p.between(0, 6), -wrong.step
		p.add(wrong)
	}
	p.add(p.down(p.now, killNode, 1+p.IntN(len(p.present))))
}

// takenPlace: of three killed nodes, the third comes back first, at the address of the first, whose
// name still leads there while it is away. Then the second is lost, and the data that it sent to
// the node that it took for the first is needed.
func (p *planner) takenPlace() {
	names := p.pick(3)
	p.named, p.ttl = true, max(p.ttl, 2*time.Second)
	p.add(fault{
		at:    p.now,
		kind:  moveNode,
		nodes: []string{names[2], names[1], names[0]},
		to:    []string{names[0], names[1], ""},
		lasts: []time.Duration{p.between(0.3, 2), p.between(0.3, 4), p.between(4, 40)},
	})
	for range 3 {
		p.seed(p.now+p.between(4, 15), names[1])
	}
	p.now += p.between(10, 20)
	p.lossOf(acknowledged, names[1])
}

// missedThenLost: a replica takes nothing for a while, in half of the cases the one that has to
// send it that is killed meanwhile, and is lost when all say that nothing is missing.
func (p *planner) missedThenLost() {
	names := p.pick(len(p.present))
	f := fault{at: p.now, kind: stallLinks, nodes: names, lasts: []time.Duration{p.between(3, 25)}}
	p.add(f)
	for range 3 {
		p.seed(p.now+p.between(0, f.lasts[0].Seconds()), names[1])
	}
	if p.IntN(2) == 0 {
		p.add(fault{
			at:    p.now + p.between(1, 4),
			kind:  killNode,
			nodes: names[1:2],
			lasts: []time.Duration{p.between(0.3, 4)},
		})
	}
	p.now += f.lasts[0] + p.between(-2, 4)
	p.lossOf([]moment{acknowledged, sends}[p.IntN(2)], names[1])
}

// loss loses some machine at the worst moment.
func (p *planner) loss(on moment) { p.lossOf(on, p.pick(1)[0]) }

// lossOf loses a machine at the worst moment, and leaves the time for the rest
// before it.
func (p *planner) lossOf(on moment, victim string) {
	k := &strike{harm: loseNode, on: on, count: 1, patience: p.between(2, 6)}
	f := fault{at: p.now, kind: strikeNode, nodes: p.pick(len(p.present)), strike: k}
	own := slices.Index(f.nodes, victim)
	f.nodes[0], f.nodes[own] = f.nodes[own], f.nodes[0]
	p.remove(victim)
	if p.IntN(5) == 0 {
		k.harm, k.lasts = powerNode, p.between(1, 20)
		p.present = append(p.present, f.nodes[0])
	}
	if k.harm == loseNode {
		p.lost = append(p.lost, f.nodes[0])
	}
	switch {
	case on == acknowledged && p.spare < treeSpares:
		p.spare++
		k.at = f.nodes[p.IntN(2)]
	case on == stores:
		k.count = 1 + p.IntN(20)
	default:
		k.on, k.count = sends, 1+p.IntN(80)
	}
	switch draw := p.IntN(8); {
	case draw < 1 && on != stores: // of the one that stores
	case draw < 2:
		k.killed = 1
	default:
		k.killed = len(f.nodes) - 1
	}
	if p.IntN(6) > 0 {
		k.slow = p.between(0.1, 0.4)
	}
	if draw := p.IntN(4); draw == 0 && len(p.present) < p.most() {
		k.beside, k.who = joinNode, p.enter()
	} else if draw == 1 && len(p.present) > p.least() && len(f.nodes) > 1 {
		k.beside, k.who = leaveNode, f.nodes[len(f.nodes)-1]
		p.remove(k.who)
	}
	for range f.nodes {
		f.lasts = append(f.lasts, p.between(0.3, 8))
	}
	p.add(f)
	p.now += p.between(12, 22)
	if len(p.present) < min(3, p.first) {
		p.join()
	}
}

// late hits the holder of one of the last pages.
func (p *planner) late() {
	harms := []faultKind{killNode, killNode, stopNode, cutLinks}
	f := fault{
		at:    p.now,
		kind:  strikeNode,
		nodes: p.pick(len(p.present)),
		strike: &strike{harm: harms[p.IntN(len(harms))],
			lasts: p.between(3, 40), on: fewLeft, count: 1 + p.IntN(12), patience: 60 * time.Second},
	}
	f.lasts = []time.Duration{f.strike.lasts}
	if p.IntN(3) == 0 && len(f.nodes) > 1 {
		f.killed = 1 + p.IntN(len(f.nodes)-1)
	}
	p.add(f)
}
