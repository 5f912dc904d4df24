package rotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/security/clusterkey"
	"crawlnode/security/clusterkey/clusterkeytest"
)

// paper is a cluster of rotations without nodes: who says what to whom is the script's.
type paper struct {
	t     *testing.T
	keys  map[string]clusterkey.Key // by letter: o is the old one
	nodes map[crawl.NodeID]*paperNode
}

type paperNode struct {
	now  State
	rest bool // it has not carried the step out whole yet
	told map[crawl.NodeID]Confirmation
	of   State // what told is about
	disk State
	out  bool // no view lists it
	gone bool // an operator has forgotten it
}

// show is a node's step, as none, known(n) or alone(n).
func (p *paper) show(n *paperNode) string {
	if n.now.Phase == None {
		return "none"
	}
	for letter, k := range p.keys {
		if k.Text() == n.now.New {
			return fmt.Sprintf("%v(%s)", n.now.Phase, letter)
		}
	}
	return "?"
}

// hear is what a node does with another's word, as Rotator.Receive does.
func (n *paperNode) hear(r State) Confirmation {
	if r.newerThan(n.now) {
		n.enter(n.now.merged(r))
	}
	return Confirmation{n.now, !n.rest}
}

func (n *paperNode) enter(r State) {
	if r.newerThan(n.now) {
		n.now, n.disk, n.told = r, r, nil
	}
}

// do carries out one line of a script:
//
//	a begins n [NUMBER]   a > b (a asks b)   a steps   a rests   a rested   a dies   a restarts FILE   a joins (in no view)
//	a is STEP   a goes (no view lists it)   a returns   a forgotten
func (p *paper) do(line string) {
	p.t.Helper()
	w := strings.Fields(line)
	id := crawl.NodeID(w[0])
	n := p.nodes[id]
	switch w[1] {
	case "begins":
		number := uint64(1)
		if len(w) > 3 {
			fmt.Sscan(w[3], &number)
		}
		awaited := map[crawl.NodeID]string{}
		for other := range p.nodes {
			awaited[other] = string(other)
		}
		old := p.keys["o"]
		if n.now.Phase == Alone {
			old, _, _ = n.now.keys()
		}
		n.enter(Begin(n.now, old, p.keys[w[2]], awaited, number))
	case ">":
		if n.told == nil || !n.of.is(n.now) {
			n.told, n.of = map[crawl.NodeID]Confirmation{}, n.now
		}
		asked := n.now
		c := p.nodes[crawl.NodeID(w[2])].hear(asked)
		n.told[crawl.NodeID(w[2])] = c
		n.hear(c.Rotation)
	case "steps":
		var others []crawl.NodeID
		for other, o := range p.nodes {
			if other != id && !o.out {
				others = append(others, other)
			}
		}
		told := map[crawl.NodeID]Confirmation{id: {n.now, !n.rest}}
		maps.Copy(told, n.told)
		next, _ := n.now.advance(!n.rest, others, func(id crawl.NodeID) bool { return p.nodes[id].gone },
			told)
		n.enter(next)
	case "goes":
		n.out = true
	case "returns":
		n.out = false
	case "forgotten":
		n.out, n.gone = true, true
	case "rests":
		n.rest = true
	case "rested":
		n.rest = false
	case "dies":
		n.told = nil
	case "restarts":
		kept, stale := n.disk.resumed(p.keys[w[2]])
		*n = paperNode{now: kept, disk: n.disk}
		if len(w) > 3 && w[3] == "stale" != stale {
			p.t.Errorf("%s: stale %v", line, stale)
		}
	case "joins":
		p.nodes[id] = &paperNode{out: true}
	case "is":
		if got := p.show(n); got != w[2] {
			p.t.Errorf("%s: %s is %s", line, id, got)
		}
	default:
		p.t.Fatalf("no line of a script: %q", line)
	}
	p.judge(line)
}

// judge is the law: any two nodes take each other's key, and a node that refuses the old key
// is alone with those that use the new one.
func (p *paper) judge(line string) {
	p.t.Helper()
	old := p.keys["o"]
	ring := func(n *paperNode) (string, []string) {
		if n.now.Phase == None {
			return old.Text(), []string{old.Text()}
		}
		use, also, err := n.now.keys()
		if err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		takes := []string{use.Text()}
		for _, k := range also {
			takes = append(takes, k.Text())
		}
		return use.Text(), takes
	}
	for a, na := range p.nodes {
		use, _ := ring(na)
		for b, nb := range p.nodes {
			if na.out || nb.out {
				continue
			}
			if _, takes := ring(nb); !slices.Contains(takes, use) {
				p.t.Errorf("%s: %s (%s) is locked out by %s (%s)", line, a, p.show(na), b, p.show(nb))
			}
		}
	}
}

// TestRotationScripts plays what members hear of each other in the orders that could lock
// one of them out.
func TestRotationScripts(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"all answer": `a begins n; a steps; a is known(n); a > b; a steps; a is known(n); a > c; a steps; a is used(n); b is known(n); a > b; a > c; a steps; a is alone(n);
			b is used(n); b > a; c > b; c is used(n); c > a; c steps; b > c; b steps; c is alone(n); b is alone(n)`,
		"one is away":    `a begins n; a > b; a steps; b > a; b steps; a is known(n); b is known(n); b > c; b steps; b is used(n); b > a; b steps; b is used(n); b > c; b steps; b is alone(n)`,
		"who began dies": `a begins n; a > b; a dies; b > c; b > a; b steps; b is used(n); b > c; c > b; c > a; c steps; c is alone(n)`,
		"one restarts with the " +
			"old file": `a begins n; a > b; a > c; b restarts o fresh; b is known(n); a steps; a > b; b restarts o fresh; b is used(n); a > c; a steps; a is alone(n);
			b > a; b is used(n); b > c; b > a; b steps; b is alone(n); b restarts o stale; b is alone(n)`,
		"one restarts with the " +
			"new file": `a begins n; a > b; a > c; a steps; a > b; a > c; a steps; b > a; b restarts n fresh; b is used(n); b > a; b > c; b steps; b is alone(n)`,
		"a step takes " +
			"its time": `a begins n; a > b; a > c; a steps; a is used(n); c rests; a > b; a > c; a steps; a is used(n); a rests; c rested; a > c; a steps; a is used(n); a rested; a steps; a is alone(n)`,
		"one joins between": `a begins n; a > b; a > c; d joins; d returns; a steps; a is known(n); a > d; a steps; a is used(n); a > b; a > c; a steps; a is used(n); a > d; a steps; a is alone(n)`,
		"two begin at once": `a begins n 5; b begins m 7; a > c; a > b; a is known(m); a > c; a > b; a steps; a is used(m)`,
		"two begin in " +
			"one moment": `a begins n 5; b begins m 5; a > c; c > b; b > a; a > b; a > c; b > c; c > a; c > b; c steps; b > a; b > c; b steps; a > b; a > c`,
		"an old word " +
			"comes late": `a begins n; a > b; a > c; a steps; c > b; c > a; c is used(n); b > c; b is used(n); a > b; a > c; a steps; a > b; b is used(n); a is alone(n); c > b; c > a; c steps; c is alone(n); b > c; b > a; b steps; b is alone(n)`,
		"a second rotation after " +
			"the first": `a begins n; a > b; a > c; a steps; a > b; a > c; a steps; a > b; a > c; c > a; c > b; c steps; c is alone(n); c restarts n fresh; c is alone(n); b > a; b > c; b steps; a begins m 9; a is known(m); a > b; b is known(m)`,
		"one is killed before it hears, " +
			"and comes back": `a begins n; a > b; c goes; a steps; b > a; b steps; a is known(n); b is known(n); c restarts o fresh; c is none; c returns; a > c; a > b; a steps; a is used(n)`,
		"one is killed before it hears, " +
			"and is forgotten": `a begins n; a > b; c goes; a steps; a is known(n); c forgotten; a steps; a is used(n); a > b; a steps; a is alone(n)`,
		"one is cut off and comes back " +
			"at the end": `a begins n; a > b; a > c; c goes; a steps; a > b; a steps; a is alone(n); b > a; b steps; b is alone(n); c is known(n); c > a; c is used(n); c returns; c > a; c > b; c steps; c is alone(n)`,
		"one that only another " +
			"knows of": `a begins n; a > b; a > c; a steps; a > b; a > c; a steps; a is alone(n); d joins; b > a; b is used(n); b > d; d is used(n); d returns; b steps; b is used(n); b > c; b steps; b is alone(n)`,
		"nobody steps on half of " +
			"the answers": `a begins n; a > b; a steps; a is known(n); b > a; b steps; b is known(n); c is none`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &paper{t: t, keys: map[string]clusterkey.Key{
				"o": clusterkeytest.New(t),
				"n": clusterkeytest.New(t),
				"m": clusterkeytest.New(t),
			}, nodes: map[crawl.NodeID]*paperNode{"a": {}, "b": {}, "c": {}}}
			for line := range strings.SplitSeq(script, ";") {
				p.do(strings.TrimSpace(line))
			}
		})
	}
}

// TestRotationStanding is what a node begins with.
func TestRotationStanding(t *testing.T) {
	t.Parallel()
	o, n, third := clusterkeytest.New(t), clusterkeytest.New(t), clusterkeytest.New(t)
	r := Begin(State{}, o, n, nil, 7)
	if kept, _ := r.resumed(third); kept.Phase != None {
		t.Error("a third key in the file does not end the rotation")
	}
	if kept, stale := (State{}).resumed(o); kept.Phase != None || stale {
		t.Error("no rotation is one")
	}
	if again := Begin(r, n, third, nil, 3); again.Number != 8 || !again.newerThan(r) {
		t.Errorf("a later rotation by a slow clock: %+v", again)
	}
	for _, phase := range []Phase{-1, 0, 4} {
		bad := r
		bad.Phase = phase
		if _, _, err := bad.keys(); err == nil {
			t.Errorf("step %d has keys", phase)
		}
	}
}
