package inspect

import (
	"context"
	"slices"

	"crawlnode/crawl"
	"crawlnode/peer/fanout"
	"crawlnode/ring"
)

// Ring asks every member for its partitions and adds the table, so that any node gives the same
// answer while nothing moves. It costs O(partitions) and one call to each member. It is called
// after the first view.
func (i *Inspector) Ring(ctx context.Context) (*crawl.RingReport, error) {
	view, table := i.o.Cluster.Table()
	r := emptyRing(view, table, i.o.Cluster.Partitions())
	own, err := i.o.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	answers := []ringAnswer{{from: i.o.Self, view: r.View, parts: own}}
	for _, a := range fanout.Ask(i.o.Cluster.Others(), func(m crawl.NodeRef) (ringAnswer, error) {
		view, parts, err := i.o.Peers.Partitions(ctx, m.ID)
		return ringAnswer{from: m.ID, view: view, parts: parts}, err
	}) {
		if a.Err != nil {
			a.Value = ringAnswer{from: a.Node.ID, silent: true}
		}
		answers = append(answers, a.Value)
	}
	mergeRing(r, answers)
	return r, nil
}

// emptyRing is the table without the members' reports.
func emptyRing(view crawl.Epoch, t *ring.Table, partitions int) *crawl.RingReport {
	r := &crawl.RingReport{View: view, Digest: t.Digest(), Partitions: make([]crawl.PartitionReport, partitions)}
	for i := range r.Partitions {
		p := crawl.Partition(i)
		replicas := t.Replicas(p)
		if replicas == nil {
			replicas = []crawl.NodeID{}
		}
		r.Partitions[p] = crawl.PartitionReport{Partition: p, Owner: t.Owner(p), Replicas: replicas, State: crawl.PartitionUnknown}
	}
	return r
}

// ringAnswer is the answer of one member.
type ringAnswer struct {
	from   crawl.NodeID
	silent bool        // no answer; the rest is empty
	view   crawl.Epoch // that it has installed, or an earlier one
	parts  []crawl.PartitionReport
}

// mergeRing adds the members' reports to the table. The holder of a partition has precedence; then
// the node that has released it; then its owner, which has asked every member. But an owner cannot
// tell a partition that is moving to it from one without a holder: that report only counts when no
// member is silent.
func mergeRing(r *crawl.RingReport, answers []ringAnswer) {
	silent := slices.ContainsFunc(answers, func(a ringAnswer) bool { return a.silent })
	for _, a := range answers {
		for i := range a.parts {
			said := &a.parts[i]
			if int(said.Partition) >= len(r.Partitions) {
				continue
			}
			p := &r.Partitions[said.Partition]
			if said.State == crawl.PartitionPromoting && silent || !mayKnow(p, &a, said, r.View) || !saysMore(p, said) {
				continue
			}
			p.Holder, p.Epoch, p.State, p.URLs, p.InSync, p.Reason = said.Holder, said.Epoch, said.State, said.URLs, said.InSync, said.Reason
			if p.State == crawl.PartitionHeld && p.Owner != a.from {
				p.State = crawl.PartitionMoving
			}
		}
	}
}

// mayKnow reports whether a member can know what it reports. It knows its own partitions. Only the
// owner, in the same view, knows that a partition has no holder.
func mayKnow(p *crawl.PartitionReport, a *ringAnswer, said *crawl.PartitionReport, view crawl.Epoch) bool {
	return said.Epoch > 0 || a.from == p.Owner && a.view == view
}

// saysMore reports whether a report replaces the earlier one. During a move both ends may claim a
// partition for a moment: the later tenure counts.
func saysMore(there, said *crawl.PartitionReport) bool {
	switch {
	case there.State == crawl.PartitionUnknown:
		return true
	case (there.Holder == nil) != (said.Holder == nil):
		return said.Holder != nil
	}
	return said.Epoch > there.Epoch
}
