package integration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	crawlnode "crawlnode/node"
	table "crawlnode/ring"
)

// This file holds what the simulation needs of the product beyond a node's
// everyday methods.

// simReplication is the number of copies of each partition. With one, machines
// are not lost, and without --sync they do not lose power.
const simReplication = 2

// simHooks gives a node what stands for its machine in a bubble.
// Nobody can look at another's processes: a death is proved by a reset and two
// refused dials, or not at all.
func simHooks(o *crawlnode.Options) { o.Network.Clock = bubbleClock{} }

// bubbleClock is the bubble's clock as a machine's.
type bubbleClock struct{}

func (bubbleClock) BootTime() time.Duration {
	return time.Since(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC))
}

func (bubbleClock) Wall() time.Time { return time.Now() }

// mayFetcher tells whether a node has the right to fetch from a partition now: it
// holds it, no fence is up, and its lease is valid.
type mayFetcher interface {
	MayFetch(p crawl.Partition) bool
}

// forgetter takes the operator's oath that a node will not come back.
type forgetter interface {
	ForgetMember(ctx context.Context, id crawl.NodeID) error
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

// watchRights asks every process that lives.
func (s *simulation) watchRights() {
	for _, p := range s.rights.partitions {
		with := ""
		for _, name := range s.names {
			m := s.members[name]
			asked, ok := any(m.life.Node).(mayFetcher)
			if !ok || !m.runs() || !asked.MayFetch(p) {
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

// forget swears that the machines that are no more will not come back, as an
// operator does: at one node after the other, until one takes the oath. A machine
// that none of them ever knew needs none.
func (s *simulation) forget() {
	for _, name := range s.those(func(m *simMember) bool { return m.lost }) {
		s.until(2*time.Minute, func() string {
			refusal, strangers := "", 0
			for _, asked := range s.up() {
				f, ok := any(s.members[asked].life.Node).(forgetter)
				if !ok {
					return ""
				}
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				err := f.ForgetMember(ctx, crawl.NodeID(s.members[name].life.Info().ID))
				cancel()
				s.note("forget %s at %s: %v", name, asked, err)
				if err == nil {
					return ""
				}
				if errors.Is(err, membership.ErrUnknown) || errors.Is(err, crawl.ErrUnknownNode) {
					strangers++
				}
				refusal = fmt.Sprintf("%s is not forgotten: %v", name, err)
			}
			if strangers == len(s.up()) {
				return ""
			}
			return refusal
		})
	}
}
