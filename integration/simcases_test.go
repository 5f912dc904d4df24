package integration

import (
	"math/rand/v2"
	"time"

	"crawlnode/integration/simnet"
)

// simCases are schedules that are drawn by hand: what the release before them failed
// in, step by step, with what must be true when. Seeds meet the same by chance.
var simCases = []struct {
	name string
	draw func() schedule
	why  string // it cannot pass yet; "": it does
}{
	{"address-taken", addressTaken, ""},
	{"address-kept", addressKept, ""},
	{"disk-elsewhere", diskElsewhere, ""},
	{"disk-frozen-elsewhere", diskFrozenElsewhere, ""},
	{"clock-ahead", clockAhead, ""},
	{"two-one-stopped", func() schedule { return twoNodes(stopNode) }, ""},
	{"two-one-without-power", func() schedule { return twoNodes(powerNode) }, ""},
	{"name-moves", nameMoves, ""},
	{"late-name", nameIsLate, ""},
	{"replica-stalls", replicaStalls, ""},
	{"machine-paused", machinePaused, ""},
	{"archive-full", func() schedule { return archiveFills(quotaArchive) }, ""},
	{"archive-full-and-seen", func() schedule { return archiveFills(fullArchive) }, ""},
	{"shared-addresses", sharedAddresses, ""},
	{"weights-and-zones", weightsAndZones, ""},
}

// weightsAndZones: nodes of different weights in two zones and outside of any change both, one
// while another one is away, and then nodes are lost at the worst moments: with copies in other
// zones, the node that takes over is often one without a copy.
func weightsAndZones() schedule {
	p := drawn(5)
	p.placed = true
	p.seedsAt(3, 6, "n2")
	p.at(6, fault{kind: placeNode, nodes: []string{"n1", "n2"}, flags: 8, to: []string{"b"}})
	p.at(7, fault{kind: killNode, nodes: []string{"n4"}, lasts: secs(6)})
	p.at(7.5, fault{kind: placeNode, nodes: []string{"n3", "n1"}, flags: 1, to: []string{"a"}})
	p.at(8, fault{kind: placeNode, nodes: []string{"n5", "n1"}, flags: 3, to: []string{""}})
	p.seedsAt(9, 6, "n3")
	p.at(15, fault{kind: expectThat, promise: allCopies, nodes: []string{"n2"}, lasts: secs(15)})
	p.at(31, fault{kind: strikeNode, nodes: []string{"n1", "n2", "n3", "n5"}, lasts: secs(1, 2, 3, 4),
		strike: &strike{harm: loseNode, on: acknowledged, count: 1, patience: 3 * time.Second, at: "n2"}})
	p.at(36, fault{kind: expectThat, promise: allCopies, nodes: []string{"n2"}, lasts: secs(20)})
	p.seedsAt(57, 4, "n5")
	p.at(58, fault{kind: placeNode, nodes: []string{"n2", "n5"}, flags: 1, to: []string{"c"}})
	p.at(58.2, fault{kind: loseNode, nodes: []string{"n4"}, lasts: secs(1)})
	p.at(60, fault{kind: expectThat, promise: allCopies, nodes: []string{"n3"}, lasts: secs(20)})
	return p.sorted()
}

// drawn begins a schedule by hand.
func drawn(nodes int) *planner {
	p := &planner{Rand: rand.New(rand.NewPCG(caseSeed, 2))}
	p.first = nodes
	p.sound = simnet.Link{
		Delay:  5 * time.Millisecond,
		Jitter: 20 * time.Millisecond,
		Drop:   0.005,
		Dup:    0.01,
	}
	p.pace = 5 * time.Millisecond
	for p.next < p.first {
		p.enter()
	}
	return p
}

func secs(list ...float64) []time.Duration {
	var d []time.Duration
	for _, s := range list {
		d = append(d, time.Duration(s*float64(time.Second)))
	}
	return d
}

// at adds a fault at a second.
func (p *planner) at(second float64, f fault) {
	f.at = time.Duration(second * float64(time.Second))
	p.faults = append(p.faults, f)
}

// seedsAt gives some spare seeds, one after the other.
func (p *planner) seedsAt(second float64, n int, name string) {
	for i := range n {
		p.at(second+float64(i)/10, fault{kind: giveSeed, nodes: []string{name}})
	}
}

// addressTaken: three are killed; the third comes back at the place of the first,
// whose name still leads there, and the first at a new one. Then the second is lost.
func addressTaken() schedule {
	p := drawn(3)
	p.named, p.listed, p.ttl = true, true, 3*time.Second
	p.seedsAt(3, 4, "n2")
	p.at(8, fault{
		kind:  moveNode,
		nodes: []string{"n3", "n2", "n1"},
		to:    []string{"n1", "n2", ""},
		lasts: secs(1, 2, 3),
	})
	p.at(15, fault{kind: expectThat, promise: allCopies, nodes: []string{"n3"}, lasts: secs(15)})
	p.seedsAt(31, 2, "n3")
	p.at(32, fault{kind: strikeNode, nodes: []string{"n2", "n1", "n3"}, lasts: secs(1, 2, 3),
		strike: &strike{
			harm:     loseNode,
			on:       acknowledged,
			count:    1,
			patience: 3 * time.Second,
			at:       "n1",
			killed:   2,
		}})
	return p.sorted()
}

// addressKept: the first of them stays away for 40 s, and all the time its name leads to
// the third, which must not be taken for it.
func addressKept() schedule {
	p := drawn(3)
	p.named, p.listed, p.ttl = true, true, 3*time.Second
	p.at(8, fault{
		kind:  moveNode,
		nodes: []string{"n3", "n2", "n1"},
		to:    []string{"n1", "n2", ""},
		lasts: secs(1, 2, 40),
	})
	p.seedsAt(12, 5, "n2")
	p.at(10, fault{kind: expectThat, promise: allServed, nodes: []string{"n2"}, lasts: secs(30)})
	p.at(30, fault{kind: expectThat, promise: allCopies, nodes: []string{"n3"}, lasts: secs(15)})
	// 15 s after the name is right
	p.at(48.1, fault{kind: expectThat, promise: allCopies, nodes: []string{"n1"}, lasts: secs(18)})
	p.at(67, fault{kind: strikeNode, nodes: []string{"n2", "n1", "n3"}, lasts: secs(1, 2, 3),
		strike: &strike{
			harm:     loseNode,
			on:       acknowledged,
			count:    1,
			patience: 3 * time.Second,
			at:       "n1",
			killed:   2,
		}})
	return p.sorted()
}

// diskElsewhere: the disk of n3 is full when n1 fails for a minute; n3 is asked to leave, and its
// time runs out.
func diskElsewhere() schedule { return otherDisk(3, fullDisk) }

// diskFrozenElsewhere is the same with a frozen disk, which stores no view: of five,
// three are left to decide one.
func diskFrozenElsewhere() schedule { return otherDisk(5, frozenDisk) }

func otherDisk(nodes int, kind faultKind) schedule {
	p := drawn(nodes)
	// links to what n3 holds lead nowhere for a while: n2 has a share of its own
	p.seedsAt(3.5, 24, "n2")
	p.at(6, fault{kind: kind, nodes: []string{"n3"}, lasts: secs(99)})
	p.at(7, fault{kind: killNode, nodes: []string{"n1"}, lasts: secs(90)})
	if kind == fullDisk {
		p.at(7.1, fault{kind: expectThat, promise: allServed, nodes: []string{"n2"}, lasts: secs(20)})
	} else { // by then nobody takes n3 for one that serves; 20 s after the kill
		p.at(20, fault{kind: expectThat, promise: restServed, nodes: []string{"n2"}, lasts: secs(7.1)})
	}
	// unless the rest of the web is behind n3
	p.at(7.2,
		fault{kind: expectThat, promise: morePages, nodes: []string{"n2"}, lasts: secs(30), flags: 6})
	if kind == fullDisk { // a frozen one holds up the goroutines of a bubble, which cannot exit
		p.at(30, fault{kind: leaveNode, nodes: []string{"n3"}})
		p.at(30.1, fault{
			kind:    expectThat,
			promise: hasEnded,
			nodes:   []string{"n3"},
			lasts:   []time.Duration{simDrain + 2*time.Second},
		})
	}
	return p.sorted()
}

// clockAhead: n2 is two hours ahead, hands over and leaves.
func clockAhead() schedule {
	p := drawn(3)
	p.at(fromTheStart.Seconds(),
		fault{kind: skewClock, nodes: []string{"n2"}, step: 2 * time.Hour, rate: 1})
	p.at(15, fault{kind: leaveNode, nodes: []string{"n2"}})
	p.at(25, fault{kind: otherRun, nodes: []string{"n3"}, lasts: secs(1)})
	return p.sorted()
}

// twoNodes: one of two is silent while seeds lead to other hosts. The other one continues with its
// share.
func twoNodes(kind faultKind) schedule {
	p := drawn(2)
	p.few = true
	p.seedsAt(2.5, 24, "n1") // about half of their hosts are n1's own
	p.at(5, fault{kind: kind, nodes: []string{"n2"}, lasts: secs(60)})
	p.at(6,
		fault{kind: expectThat, promise: morePages, nodes: []string{"n1"}, lasts: secs(40), flags: 12})
	return p.sorted()
}

// nameMoves: a node comes back with its name and its data at another address.
func nameMoves() schedule {
	p := drawn(3)
	p.named, p.ttl = true, 3*time.Second
	// gossip still knows it as alive
	p.at(5, fault{kind: moveNode, nodes: []string{"n2"}, to: []string{""}, lasts: secs(1)})
	p.at(6.1, fault{kind: expectThat, promise: isMember, nodes: []string{"n2"}, lasts: secs(20)})
	return p.sorted()
}

// nameIsLate: the first of the list is the node's own name, which resolves 2.5 s
// after its start.
func nameIsLate() schedule {
	p := drawn(3)
	p.listed = true
	p.at(fromTheStart.Seconds(), fault{kind: lateName, nodes: []string{"n1"}, lasts: secs(2.5)})
	p.at(fromTheStart.Seconds(),
		fault{kind: wrongJoin, nodes: []string{"n3"}, wrong: wrongAddresses[0]})
	return p.sorted()
}

// replicaStalls: a replica does not run for 3, 10 and 60 s.
func replicaStalls() schedule {
	p := drawn(3)
	for second, lasts := range map[float64]float64{3: 3, 10: 10, 30: 60} {
		p.at(second, fault{kind: stallLinks, nodes: []string{"n2", "n1", "n3"}, lasts: secs(lasts)})
	}
	p.at(91, fault{kind: expectThat, promise: allCopies, nodes: []string{"n1"}, lasts: secs(40)})
	return p.sorted()
}

// machinePaused: both clocks of n2 stand still for 25 s, those of n3 for 12 s. That they have
// asked for nothing too early proves little, since the view that dropped them comes soon: they
// must have seen it by their clocks.
func machinePaused() schedule {
	p := drawn(3)
	for second, f := range map[float64]fault{
		8:  {nodes: []string{"n2"}, lasts: secs(25)},
		45: {nodes: []string{"n3"}, lasts: secs(12)},
	} {
		f.kind = pauseMachine
		p.at(second, f)
		p.at(second+f.lasts[0].Seconds()+0.01,
			fault{kind: expectThat, promise: hasStood, nodes: f.nodes, lasts: secs(1)})
	}
	return p.sorted()
}

// sharedAddresses: all hosts are at four addresses, which four nodes space together while one is
// killed, one stands still, one leaves, one joins and one has a fast clock.
func sharedAddresses() schedule {
	p := drawn(4)
	p.spaced = 300 * time.Millisecond
	p.at(fromTheStart.Seconds(), fault{kind: skewClock, nodes: []string{"n3"}, rate: 1.02})
	p.seedsAt(3, 12, "n2")
	p.at(8, fault{kind: stopNode, nodes: []string{"n4"}, lasts: secs(3)})
	p.at(16, fault{kind: killNode, nodes: []string{"n1"}, lasts: secs(15)})
	p.at(40, fault{kind: stopNode, nodes: []string{"n2"}, lasts: secs(20)})
	p.at(75, fault{kind: joinNode, nodes: []string{p.enter()}})
	p.at(95, fault{kind: leaveNode, nodes: []string{"n3"}})
	return p.sorted()
}
