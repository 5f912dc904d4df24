package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	table "crawlnode/ring"
)

// This file holds what the simulation needs of the product beyond a node's
// everyday methods.

// simReplication is the number of copies of each partition. With one, machines
// are not lost, and without --sync they do not lose power.
const simReplication = 2

// mayFetcher reports whether a node has the right to fetch from a partition now: it holds the
// partition, no fence delays it, and its lease is valid.
type mayFetcher interface {
	MayFetch(p crawl.Partition) bool
}

// forgetter takes an operator's request to forget a node.
type forgetter interface {
	ForgetMember(ctx context.Context, id crawl.NodeID) error
}

// placer takes an operator's request to give a node another weight or zone.
type placer interface {
	PlaceMember(ctx context.Context, id crawl.NodeID, change crawl.PlaceChange) error
}

// simPlace is the weight and the zone of a node's flags, in a schedule that has them.
func simPlace(name string) (weight int, zone string) {
	places := []crawl.PlaceChange{{Weight: new(1), Zone: new("a")}, {Weight: new(4), Zone: new("b")},
		{Weight: new(2), Zone: new("a")}, {Weight: new(1), Zone: new("")}}
	n, _ := strconv.Atoi(strings.TrimLeft(name, "n"))
	at := places[n%len(places)]
	return *at.Weight, *at.Zone
}

// place gives a node another weight and zone, by an order at the second node.
func (s *simulation) place(f fault) bool {
	m, asked := s.running(f.nodes[0]), s.running(f.nodes[1])
	if m == nil || asked == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := any(asked.life.Node).(placer).PlaceMember(ctx, crawl.NodeID(m.life.Info().ID),
		crawl.PlaceChange{Weight: &f.flags, Zone: &f.to[0]})
	s.note("place %s at %s: %v", f.nodes[0], f.nodes[1], err)
	return err == nil
}

// rightsJudge checks that two nodes never have the right to fetch from the same
// partition.
type rightsJudge struct {
	partitions []crawl.Partition        // that have hosts
	blamed     map[crawl.Partition]bool // once is enough
}

func newRightsJudge(w *treeWeb) rightsJudge {
	r := rightsJudge{blamed: map[crawl.Partition]bool{}}
	for _, h := range w.hosts {
		r.partitions = append(r.partitions, table.PartitionOf(crawl.Host(h.name), simPartitions))
	}
	return r
}

// watchRights asks every running process, also one that is ending: the others consider it dead
// as soon as its RPC port is closed, so it must have given up its rights before that.
func (s *simulation) watchRights() {
	for _, p := range s.rights.partitions {
		with := ""
		for _, name := range s.names {
			m := s.members[name]
			asked, ok := any(m.life.Node).(mayFetcher)
			if !ok || !m.runs() || time.Now().Before(m.early) || !asked.MayFetch(p) {
				continue
			}
			if with != "" && !s.rights.blamed[p] {
				s.rights.blamed[p] = true
				s.t.Errorf("%v: %s and %s may both fetch from partition %d", s.clock(), with, name, p)
			}
			with = name
		}
	}
}

// forget has the lost machines forgotten, as an operator does: at one node after the
// other, until one accepts the request. A machine that none of them ever knew needs no
// request.
func (s *simulation) forget() {
	for _, name := range s.those(func(m *simMember) bool { return m.lost && !m.forgotten }) {
		s.until(2*time.Minute, func() string {
			if err := s.tryForget(name); err != nil {
				return fmt.Sprintf("%s is not forgotten: %v", name, err)
			}
			return ""
		})
	}
}

// tryForget tries once to have a lost machine forgotten.
func (s *simulation) tryForget(name string) error {
	m := s.members[name]
	var refusal error
	strangers := 0
	for _, asked := range s.up() {
		f, ok := any(s.members[asked].life.Node).(forgetter)
		if !ok || s.members[asked].stopped {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err := f.ForgetMember(ctx, crawl.NodeID(m.life.Info().ID))
		cancel()
		s.note("forget %s at %s: %v", name, asked, err)
		if err == nil {
			m.forgotten = true
			return nil
		}
		if errors.Is(err, membership.ErrUnknown) || errors.Is(err, crawl.ErrUnknownNode) {
			strangers++
		}
		refusal = err
	}
	m.forgotten = strangers > 0 && strangers == len(s.up()) // nobody to ask is no answer
	if m.forgotten {
		return nil
	}
	return cmp.Or(refusal, errors.New("no node can be asked"))
}

// loseSmall is for a cluster of two that has lost a machine and may wait for it: its
// operator soon has that machine forgotten.
func (s *simulation) loseSmall(name string, after func(time.Duration, func())) {
	if len(s.those(func(m *simMember) bool { return !m.lost && !m.gone })) > 1 {
		return
	}
	var try func()
	try = func() {
		if m := s.members[name]; len(s.up()) == 0 || !m.forgotten && s.tryForget(name) != nil {
			after(5*time.Second, try)
		}
		s.shaken = time.Now()
	}
	after(8*time.Second, try)
}
