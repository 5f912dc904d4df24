package transfer

import (
	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/handoff"
)

// Figures are handoff's figures in the words of the status.
type Figures struct {
	Held      int // those that shall leave included
	Leaving   int // held or released, and another node's by the table
	Awaited   int // this node's by the table, not held here: on their way, or to be promoted
	Offline   int // likewise, but no node that answers may make them good
	Replicas  int // copies that this node keeps for others
	Lost      int
	UnderRepl int // held, with fewer copies than the factor and the members allow
	Single    crawl.SingleCopy
	Copied    int64 // snapshots sent since this process began
	CaughtUp  int64 // replicas that went on from the tail instead
	Stuck     []handoff.Stuck
}

// FiguresOf reads handoff's status, and counts the copies on disk.
func FiguresOf(moves *handoff.Driver, front *frontier.Frontier) Figures {
	s := moves.Status()
	f := Figures{Leaving: s.Outstanding - s.Promoting, Awaited: s.Promoting - s.Offline, Offline: s.Offline,
		Held: s.Held, Lost: s.Lost, UnderRepl: s.UnderReplicated, Stuck: s.Stuck,
		Single: crawl.SingleCopy{Partitions: s.SingleCopy, Seconds: s.SingleFor.Seconds()}, Copied: moves.Copied(), CaughtUp: moves.CaughtUp()}
	front.Walk(func(m *frontier.Meta) bool {
		if m.State == frontier.Copy {
			f.Replicas++
		}
		return true
	})
	return f
}
