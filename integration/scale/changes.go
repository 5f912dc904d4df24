package main

import (
	"fmt"
	"io"
)

// printMoves says what a change of members moves.
func printMoves(out io.Writer, cases []*oneCase) {
	fmt.Fprintln(out, "\nWhat a node's coming or going moves, in per cent of the partitions, "+
		"mean over the trials. Ideal is one node's share. Sideways")
	fmt.Fprintln(out, "is what moves between two who stay. Copies are made on nodes that had none, "+
		"when a node dies and each partition has two.")
	fmt.Fprintln(out, "\n| nodes | partitions | join: ideal | moved | sideways | leave or death: "+
		"ideal | moved | sideways | copies made |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|")
	for _, c := range cases {
		join, leave := c.mean(true), c.mean(false)
		fmt.Fprintf(out, "| %d | %d | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", c.nodes,
			c.partitions,
			100/float64(c.nodes+1), join.moved, join.sideways, 100/float64(c.nodes), leave.moved,
			leave.sideways, leave.copies)
	}
}

// shares are parts of the partitions, in per cent.
type shares struct{ moved, sideways, copies float64 }

// mean is over the changes of one kind.
func (c *oneCase) mean(join bool) (s shares) {
	n := 0.0
	for _, ch := range c.changes {
		if ch.join == join {
			n++
			s.moved += float64(ch.moved)
			s.sideways += float64(ch.sideways)
			s.copies += float64(ch.copies)
		}
	}
	to := 100 / (n * float64(c.partitions))
	return shares{s.moved * to, s.sideways * to, s.copies * to}
}

// printHeirs prints how many nodes have the replicas of one node's partitions and take over when it
// fails.
func printHeirs(out io.Writer, cases []*oneCase) {
	fmt.Fprintln(out, "\nWho takes over when a node dies: the first replicas of each node's "+
		"partitions. Greatest is the part of a node's partitions that one")
	fmt.Fprintln(out, "other takes, mean over the nodes, and of the worst. "+
		"Load is what the most loaded of all owns, over the mean, before and after the")
	fmt.Fprintln(out, "deaths that were tried.")
	fmt.Fprintln(out,
		"\n| nodes | partitions | heirs: fewest | mean | greatest, % | worst, % | load before | after |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|")
	for _, c := range cases {
		h := c.heirs()
		before, after := c.loads()
		fmt.Fprintf(out, "| %d | %d | %d | %.1f | %.1f | %.1f | %.2f | %.2f |\n", c.nodes, c.partitions,
			h.fewest, h.mean, h.greatest, h.worst, before, after)
	}
}

// inheritance is the distribution of one node's partitions over the nodes that would take them,
// over all nodes.
type inheritance struct {
	fewest          int
	mean            float64
	greatest, worst float64 // per cent
}

func (c *oneCase) heirs() inheritance {
	h, nodes := inheritance{fewest: c.nodes}, 0.0
	for _, id := range c.table.Members() {
		own := c.table.OwnedBy(id)
		if len(own) == 0 {
			continue // a node without partitions leaves nothing
		}
		takes, most := map[string]int{}, 0
		for _, p := range own {
			heir := string(c.table.Replicas(p)[0])
			takes[heir]++
			most = max(most, takes[heir])
		}
		share := 100 * float64(most) / float64(len(own))
		nodes++
		h.fewest = min(h.fewest, len(takes))
		h.mean += float64(len(takes))
		h.greatest += share
		h.worst = max(h.worst, share)
	}
	h.mean /= nodes
	h.greatest /= nodes
	return h
}

// loads are the most partitions of a node over the mean, before and after the
// worst of the deaths.
func (c *oneCase) loads() (before, after float64) {
	most := 0
	for _, id := range c.table.Members() {
		most = max(most, len(c.table.OwnedBy(id)))
	}
	before = float64(most) * float64(c.nodes) / float64(c.partitions)
	for _, ch := range c.changes {
		if ch.join {
			continue
		}
		for id, n := range ch.heirs {
			after = max(after, float64(len(c.table.OwnedBy(id))+n)*float64(c.nodes-1)/float64(c.partitions))
		}
	}
	return before, max(after, before*float64(c.nodes-1)/float64(c.nodes))
}
