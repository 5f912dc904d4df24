package integration

import "time"

// fromTheStart is the time of what is so before the first node is started.
const fromTheStart = -time.Second

// start draws what is so from the start: names, lists, clocks that are wrong by
// hours or drift, a name that resolves late, an address in a list that is wrong.
func (p *planner) start() {
	p.named, p.listed = p.IntN(2) == 0, p.IntN(2) == 0
	p.ttl = p.between(0, 5)
	if p.listed && p.IntN(3) == 0 {
		name := p.present[0]
		if p.IntN(2) == 0 {
			name = p.pick(1)[0]
		}
		p.add(fault{
			at:    fromTheStart,
			kind:  lateName,
			nodes: []string{name},
			lasts: []time.Duration{p.between(0.5, 12)},
		})
	}
	if name := p.pick(1)[0]; p.IntN(5) == 0 && (name != "n1" || p.listed) {
		p.add(fault{
			at:    fromTheStart,
			kind:  wrongJoin,
			nodes: []string{name},
			wrong: wrongAddresses[p.IntN(len(wrongAddresses))],
		})
	}
	if p.IntN(2) == 0 {
		return
	}
	for _, name := range p.present {
		p.add(p.skew(fromTheStart, name))
	}
}

// skew draws a wrong clock: hours or seconds ahead or behind, both clocks up to
// 2.5 % too fast or too slow, so that two machines are 5 % apart at most.
func (p *planner) skew(at time.Duration, name string) fault {
	f := fault{at: at, kind: skewClock, nodes: []string{name}, rate: 1}
	switch p.IntN(6) {
	case 0:
		f.step = p.between(-10, 10)
	case 1, 2:
		f.step = p.between(-2*3600, 2*3600)
	case 3, 4:
		f.step = p.between(-12*3600, 12*3600)
	}
	if p.IntN(2) == 0 {
		f.rate += (p.Float64() - 0.5) * 0.0499
	}
	return f
}

// otherFlags draws a set of flags that differ from the cluster's.
func (p *planner) otherFlags() int { return 1 + p.IntN(len(otherFlags)-1) }

// edge draws what happens at the edges.
func (p *planner) edge() {
	name := p.pick(1)[0]
	switch draw := p.IntN(20); {
	case draw < 4:
		p.add(p.move())
	case draw < 6:
		p.add(p.skew(p.now, name))
	case draw < 7: // who has been wrong for hours leaves
		p.add(fault{
			at:    p.now,
			kind:  skewClock,
			nodes: []string{name},
			step:  p.between(-12*3600, 12*3600),
			rate:  1,
		})
		if p.now += p.between(2, 8); len(p.present) > p.least() {
			p.remove(name)
			p.add(fault{at: p.now, kind: leaveNode, nodes: []string{name}})
		}
	case draw < 9:
		p.add(p.ill(fullDisk, name, 3, 25))
		p.beside()
	case draw < 11:
		p.add(p.ill(frozenDisk, name, 0.5, 25))
		p.beside()
	case draw < 12:
		p.add(p.ill(slowDisk, name, 5, 20))
	case draw < 14:
		p.add(p.ill(badDisk, name, 1, 30))
	case draw < 16:
		p.add(fault{
			at:    p.now,
			kind:  pauseMachine,
			nodes: []string{name},
			lasts: []time.Duration{p.between(2, 40)},
		})
	case draw < 18 && len(p.present) > 1:
		f := fault{
			at:    p.now,
			kind:  stallLinks,
			nodes: p.pick(len(p.present)),
			lasts: []time.Duration{p.between(3, 12)},
		}
		if p.IntN(3) == 0 {
			f.lasts[0] = p.between(12, 60)
		}
		if p.IntN(2) == 0 {
			f.nodes = f.nodes[:2]
		}
		p.add(f)
	default:
		p.add(fault{
			at:    p.now,
			kind:  otherRun,
			nodes: []string{name},
			lasts: []time.Duration{p.between(0.3, 12)},
			flags: p.otherFlags(),
		})
	}
}

// ill draws a disk that something is wrong with for a time.
func (p *planner) ill(kind faultKind, name string, least, most float64) fault {
	return fault{
		at:    p.now,
		kind:  kind,
		nodes: []string{name},
		lasts: []time.Duration{p.between(least, most)},
	}
}

// beside often takes another node away while one is in trouble.
func (p *planner) beside() {
	at := p.now + p.between(1, 5)
	switch p.IntN(4) {
	case 0:
		p.add(p.down(at, killNode, 1))
	case 1:
		if name := p.pick(1)[0]; len(p.present) > p.least() {
			p.remove(name)
			p.add(fault{at: at, kind: leaveNode, nodes: []string{name}})
		}
	}
}

// move draws nodes that come back somewhere else: often at each other's old places.
func (p *planner) move() fault {
	f := fault{
		at:     p.now,
		kind:   moveNode,
		nodes:  p.pick(1 + p.IntN(len(p.present))),
		silent: p.IntN(3) == 0,
	}
	for i := range f.nodes {
		to := ""
		if p.IntN(3) > 0 {
			to = f.nodes[(i+1)%len(f.nodes)] // of one alone: its own
		}
		f.to = append(f.to, to)
		least, most := 0.3, 15.0
		if i > 0 && p.IntN(2) == 0 { // its name leads to who took its place, for long
			least, most = 15, 45
		}
		f.lasts = append(f.lasts, p.between(least, most))
	}
	return f
}
