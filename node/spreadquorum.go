package node

import (
	"crawlnode/crawl"
	"crawlnode/membership"
)

// This file decides how many members must have told or been told what the cluster
// judges by. Both numbers together make sure that a node that fetches knows each entry that
// was acknowledged: more than half have it, and the node has heard at least half of those
// that may have it, or is one of them itself.

// toldEnough judges a round of telling: of members, this node among them, missing do not have
// what is wanted, and answering of those still answer. enough: it is safe where it is;
// done: nobody is worth waiting for any more.
func toldEnough(members, missing, answering int) (enough, done bool) {
	enough = 2*missing < members
	return enough, missing == 0 || enough && answering == 0
}

// heardEnough reports whether at least half have told of the members that may know
// more than this node: of those that were there before it when it is fresh, without a
// document of its own, else of all.
func heardEnough(v *membership.View, id crawl.NodeID, fresh bool, heard func(crawl.NodeID) bool) bool {
	self, _ := v.Member(id)
	have, count := 0, 0
	for _, m := range v.Members {
		if m.ID == id || fresh && m.Since >= self.Since {
			continue
		}
		count++
		if heard(m.ID) {
			have++
		}
	}
	// A founder has nobody to hear from, however soon the others have joined it.
	founder := self.Since == 1 && count == 0
	return 2*have >= count && (have > 0 || founder || len(v.Members) == 1)
}

// inEachMajority reports whether of so many other members one at least is in each majority of
// members that this node is not in.
func inEachMajority(others, members int) bool { return 2*others >= members-2 }
