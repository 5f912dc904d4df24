package transfer

import (
	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/handoff"
	"crawlnode/peer"
)

// ReportsOf describes the partitions that a node holds, has released, or should hold by its table,
// from handoff's list of them. Holder is set if it holds them.
func ReportsOf(
	self crawl.NodeID,
	list []handoff.PartStatus,
	front *frontier.Frontier,
) []crawl.PartitionReport {
	out := make([]crawl.PartitionReport, 0, len(list))
	for i := range list {
		x := &list[i]
		r := crawl.PartitionReport{Partition: x.P, Epoch: x.Epoch, State: stateOf(x), InSync: x.InSync}
		if x.State == handoff.Holding || x.State == handoff.Freezing {
			r.Holder = &self
			if m, ok := front.Meta(x.P); ok {
				r.URLs = &m.Counters.Seen
			}
		}
		if x.Reason != "" {
			r.Reason = &x.Reason
		}
		out = append(out, r)
	}
	return out
}

// ToReply encodes a node's reports for another member. view was installed before the reports were
// made: a newer list may only be sent under an older view.
func ToReply(view crawl.Epoch, own []crawl.PartitionReport) *peer.PartitionsReply {
	reply := &peer.PartitionsReply{View: uint64(view)}
	for i := range own {
		reply.Partitions = append(reply.Partitions, toInfo(&own[i]))
	}
	return reply
}

// FromReply decodes the reports of the node from, and a view that it had installed before.
func FromReply(
	from crawl.NodeID,
	reply *peer.PartitionsReply,
) (view crawl.Epoch, parts []crawl.PartitionReport) {
	for _, info := range reply.Partitions {
		parts = append(parts, fromInfo(from, info))
	}
	return crawl.Epoch(reply.View), parts
}

func toInfo(r *crawl.PartitionReport) *peer.PartitionInfo {
	info := &peer.PartitionInfo{Partition: uint32(r.Partition), Epoch: uint64(r.Epoch),
		State: r.State, Holds: r.Holder != nil}
	if r.URLs != nil {
		info.Urls = *r.URLs
	}
	if r.Reason != nil {
		info.Reason = *r.Reason
	}
	for _, id := range r.InSync {
		info.InSync = append(info.InSync, string(id))
	}
	return info
}

// fromInfo decodes one report of the node from.
func fromInfo(from crawl.NodeID, info *peer.PartitionInfo) crawl.PartitionReport {
	r := crawl.PartitionReport{Partition: crawl.Partition(info.Partition),
		Epoch: crawl.Epoch(info.Epoch), State: info.State}
	if info.Holds {
		r.Holder, r.URLs = &from, &info.Urls
	}
	if info.Reason != "" {
		r.Reason = &info.Reason
	}
	for _, id := range info.InSync {
		r.InSync = append(r.InSync, crawl.NodeID(id))
	}
	return r
}

// stateOf is the state, in the ring report, of a partition that is here or should be.
func stateOf(x *handoff.PartStatus) string {
	switch {
	case x.State == handoff.Holding:
		return crawl.PartitionHeld
	case x.State == handoff.Freezing, x.State == handoff.Released:
		return crawl.PartitionFrozen
	case x.Away:
		return crawl.PartitionOffline
	}
	return crawl.PartitionPromoting
}
