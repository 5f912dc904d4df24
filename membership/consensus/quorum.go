package consensus

import (
	"slices"

	"crawlnode/crawl"
)

// electorate says which members decide the successor of a view.
type electorate struct {
	view *View
	// forgotten ids count neither as voters nor as members.
	forgotten []crawl.NodeID
	// dead reports whether the listed boot of a member is proved dead. Proofs are this
	// node's own and final.
	dead func(Member) bool
	// gone is nil unless the quorum is off; then it reports whether a member
	// is silent or proved dead.
	gone func(Member) bool
}

// decides reports whether the voters, each with the boot that voted, decide.
// This is the one place that counts votes, in both phases:
//
//   - more than half of the members, by id: what a node accepted before a
//     restart still counts;
//   - or exactly half, none of them restarted since its boot in the view, when
//     the boot of every other member is proved dead. Two opposite halves cannot
//     both do that: the half that has the proof runs after the other one ended, and
//     the proposer votes itself.
//
// With the quorum off, any voters decide once all others are gone.
func (e electorate) decides(voters map[crawl.NodeID]crawl.Boot) bool {
	members, votes := 0, 0
	tie, alone := true, true // whether all members fulfil the two other conditions
	for _, m := range e.view.Members {
		if slices.Contains(e.forgotten, m.ID) {
			continue
		}
		members++
		boot, voted := voters[m.ID]
		if voted {
			votes++
			tie = tie && boot == m.Boot
			continue
		}
		tie = tie && e.dead(m)
		alone = alone && e.gone != nil && e.gone(m)
	}
	switch {
	case 2*votes > members:
		return true
	case e.gone != nil:
		return votes > 0 && alone
	}
	return votes > 0 && 2*votes == members && tie
}
