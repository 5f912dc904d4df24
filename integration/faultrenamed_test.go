package integration

import (
	"fmt"
	"slices"
	"time"

	"crawlnode/simweb"
)

// renamed are faults of addresses and names, between nodes that know each other by
// names.
var renamed = []scenario{
	{
		name:       "address-taken-over",
		instead:    []string{"case address-taken", "case address-kept"},
		lab:        true,
		named:      true,
		nodes:      3,
		duplicates: 0.02,
		shape:      long,
		act:        addressTakenOver,
	},
	{name: "moved-with-its-name", quick: true, lab: true, named: true, nodes: 3, duplicates: 0.02, shape: short, act: movedWithItsName},
}

// staleFor is how long a name leads to an old address after its node has moved.
const staleFor = 3 * time.Second

// wholeWithin is how long after the names are right every partition has its copies.
const wholeWithin = 15 * time.Second

// addressTakenOver kills all three nodes. One comes back at the former address of
// another, to which the name of that one still leads. Once the names are right all
// copies are there soon, and one more machine may be lost.
func addressTakenOver(f *trial) {
	f.crawlTo(0.1, 0.3)
	order := f.random.Perm(len(f.c.nodes))
	a, b, c := f.c.nodes[order[0]], f.c.nodes[order[1]], f.c.nodes[order[2]]
	f.kill(a, b, c)
	f.names.lead(f.nameOf(c), f.lab.addr(order[0]))
	f.moveTo(c, order[0])
	b.start()
	c.start()
	f.Logf("%s: %s is at the former address of %s", time.Now().Format("15:04:05.000"), c.name, a.name)
	b.ready()
	time.Sleep(staleFor)
	f.names.lead(f.nameOf(a), f.lab.addr(order[2]))
	f.moveTo(a, order[2])
	a.start()
	right := time.Now()
	f.excuses = append(f.excuses, at("the way back", right))
	f.whole(wholeWithin)
	f.Logf("all copies are there %v after the names were right",
		time.Since(right).Round(100*time.Millisecond))
	f.lost = nil // all are back
	f.destroy(b)
}

// short makes a web that takes some 20 s.
func short(c *simweb.Config) {
	c.Delay = 300 * time.Millisecond
	c.Hosts = min(c.Hosts, 60)
	c.PagesPerHost = 40
}

// memberAgainWithin is how long a node that has moved takes to be a member again.
const memberAgainWithin = 20 * time.Second

// movedWithItsName kills a node, which comes back with its data and its name at another address and
// is a member there. A copy of its data that is started under the same name while it runs must end,
// and no other node may be affected.
func movedWithItsName(f *trial) {
	f.crawlTo(0.05, 0.15)
	n := f.pick()
	before := f.members(n)
	f.kill(n)
	f.wait(0, 2*time.Second)
	// in this order: the copy is node 4, so its door is the fourth
	at, elsewhere := f.lab.add(), f.lab.add()
	f.names.serve(f.T, at)
	f.names.serve(f.T, elsewhere)
	f.names.lead(f.nameOf(n), f.lab.addr(elsewhere))
	f.moveTo(n, elsewhere)
	n.start()
	began := time.Now()
	f.c.converged(memberAgainWithin)
	f.Logf("%s is a member at its new address after %v", n.name,
		time.Since(began).Round(100*time.Millisecond))
	if after := f.members(n); !slices.Equal(before, after) {
		f.Errorf("after the move the members are %v, they were %v", after, before)
	}
	f.lost = nil // it came back

	double := f.c.place(n.flags...)
	f.copyData(n, double)
	f.moveTo(double, at)
	double.flags = append(double.flags, "--name", n.name)
	double.start()
	f.refused(double, 4, "its data directory was copied")
	if after := f.members(n); !slices.Equal(before, after) {
		f.Errorf("after the copy the members are %v, they were %v", after, before)
	}
}

// nameOf is the name by which a node of a lab with names is known.
func (f *trial) nameOf(n *node) string { return f.names.name(slices.Index(f.c.nodes, n)) }

// moveTo lets a node start in another namespace from now on.
func (f *trial) moveTo(n *node, space int) {
	host := f.lab.addr(space)
	n.http, n.gossip, n.rpc = host+":27295", host+":27296", host+":27297"
	n.wrap = []string{"ip", "netns", "exec", f.lab.space(space)}
	if f.names != nil {
		// The system's resolver would do as well; this one is known to ask each time.
		n.wrap = append(n.wrap, "env", "GODEBUG=netdns=go")
	}
}

// call gives a node a name, and the names of the others to join.
func (f *trial) call(n *node) {
	n.flags = append(n.flags, "--advertise", f.nameOf(n))
	for i := range f.c.nodes[:max(len(f.c.nodes)-1, 0)] {
		n.flags = append(n.flags, "--join", fmt.Sprint(f.names.name(i), ":27296"))
	}
}
