package transfer

import (
	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/handoff"
)

// Figures are handoff's figures, in the terms of the status.
type Figures struct {
	View      crawl.Epoch // in which they are so; 0: no view has been installed
	Held      int         // including those that are to leave
	Leaving   int         // held or released, and owned by another node by the table
	Awaited   int         // owned by this node by the table, not held here: moving, or to be promoted
	Offline   int         // likewise, but without a usable copy on a node that answers
	Replicas  int         // copies that this node keeps for others
	Lost      int
	UnderRepl int // held, with fewer copies than the factor and the number of members allow
	Single    crawl.SingleCopy
	Copied    int64 // snapshots sent since this process began
	CaughtUp  int64 // replicas that caught up from the tail instead
	Stuck     []handoff.Stuck
}

// FiguresOf reads handoff's status, and counts the copies on disk.
func FiguresOf(moves *handoff.Driver, front *frontier.Frontier) Figures {
	s := moves.Status()
	return Figures{View: s.View, Leaving: s.Outstanding - s.Promoting,
		Awaited: s.Promoting - s.Offline, Offline: s.Offline, Replicas: front.Copies(),
		Held: s.Held, Lost: s.Lost, UnderRepl: s.UnderReplicated, Stuck: s.Stuck,
		Single: crawl.SingleCopy{Partitions: s.SingleCopy, Seconds: s.SingleFor.Seconds()},
		Copied: moves.Copied(), CaughtUp: moves.CaughtUp()}
}
