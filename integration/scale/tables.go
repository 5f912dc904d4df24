package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// oneCase is a number of nodes and of partitions, with its tables.
type oneCase struct {
	nodes, partitions int
	table             *ring.Table // of the nodes, one replica each
	changes           []change
}

// change is what one node's coming or going does to the table.
type change struct {
	join bool // else it leaves or dies, which is the same to the table
	node crawl.NodeID
	// moved counts the partitions that change their owner; sideways counts those that move neither
	// to a new node nor from a leaving one.
	moved, sideways int
	// copies counts the partitions that a node gets that had no copy of them
	// before. Only known of those that go.
	copies int
	// heirs are the new owners of what the node that goes had.
	heirs map[crawl.NodeID]int
}

// trials is how many nodes come and how many go, one at a time, so that a case
// is more than one accident.
func trials(nodes int) int { return min(nodes, 20) }

// solve makes the tables of all cases, two cases at once, smallest first.
func (s *settings) solve(ctx context.Context) ([]*oneCase, error) {
	var cases []*oneCase
	for _, n := range s.nodes {
		for _, p := range s.partitions {
			cases = append(cases, &oneCase{nodes: n, partitions: p})
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for _, c := range cases {
		g.Go(func() error {
			if err := c.solve(ctx, s.seed); err != nil {
				return fmt.Errorf("%d nodes, %d partitions: %w", c.nodes, c.partitions, err)
			}
			return nil
		})
	}
	return cases, g.Wait()
}

func (c *oneCase) solve(ctx context.Context, seed uint64) (err error) {
	n := trials(c.nodes)
	ids := nodeIDs(seed, c.nodes+n)
	members, newcomers := ids[:c.nodes], ids[c.nodes:]
	if c.table, err = ring.Build(ring.Equals(members), c.partitions, 1); err != nil {
		return err
	}
	for i := range n {
		for _, ch := range []change{{join: true, node: newcomers[i]}, {node: members[i*c.nodes/n]}} {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := c.try(ch); err != nil {
				return err
			}
		}
	}
	return nil
}

// nodeIDs are random ids as nodes give themselves, 16 hex digits, by the seed.
func nodeIDs(seed uint64, n int) []crawl.NodeID {
	rnd := rand.New(rand.NewPCG(seed, 1))
	out := make([]crawl.NodeID, n)
	for i := range out {
		out[i] = crawl.NodeID(fmt.Sprintf("%016x", rnd.Uint64()))
	}
	return out
}

// try makes the table after a change and compares.
func (c *oneCase) try(ch change) error {
	members, replicas := slices.Clone(c.table.Members()), 1
	if ch.join {
		members, replicas = append(members, ch.node), 0
	} else {
		members = slices.DeleteFunc(members, func(id crawl.NodeID) bool { return id == ch.node })
	}
	after, err := ring.Build(ring.Equals(members), c.partitions, replicas)
	if err != nil {
		return err
	}
	ch.heirs = map[crawl.NodeID]int{}
	for i := range c.partitions {
		p := crawl.Partition(i)
		from, to := c.table.Owner(p), after.Owner(p)
		if from != to {
			ch.moved++
			switch {
			case from == ch.node:
				ch.heirs[to]++
			case to != ch.node:
				ch.sideways++
			}
		}
		for _, id := range slices.Concat(after.Replicas(p), []crawl.NodeID{to}) {
			if id != from && !slices.Contains(c.table.Replicas(p), id) {
				ch.copies++
			}
		}
	}
	c.changes = append(c.changes, ch)
	return nil
}
