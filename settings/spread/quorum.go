package spread

import (
	"crawlnode/crawl"
	"crawlnode/membership"
)

// This file decides how many members must store an entry, and how many a node must ask.
// Both numbers together make sure that a node that fetches has each entry that
// was acknowledged: more than half have it, and the node has asked at least half of those
// that may have it, or is one of them itself.

// storedEnough judges how far an entry has come: of members, this node among them, missing do
// not have it, and answering of those still answer. enough: it may be acknowledged;
// done: there is no member left to wait for.
func storedEnough(members, missing, answering int) (enough, done bool) {
	enough = 2*missing < members
	return enough, missing == 0 || enough && answering == 0
}

// fetchedEnough reports whether a node has fetched all from at least half of the members that may
// know more: of those that joined before it when it is fresh, without a document of its
// own, else of all others. When those before it have all left the view, one that has
// returned since may be the only one that knows: a fresh node then asks every other member.
func fetchedEnough(
	v *membership.View,
	id crawl.NodeID,
	fresh bool,
	fetched func(crawl.NodeID) bool,
) bool {
	self, _ := v.Member(id)
	before, have, all := 0, 0, true
	for _, m := range v.Members {
		if m.ID == id {
			continue
		}
		got := fetched(m.ID)
		all = all && got
		if fresh && m.Since >= self.Since {
			continue
		}
		before++
		if got {
			have++
		}
	}
	switch {
	case len(v.Members) == 1:
		return true
	case before > 0:
		return have > 0 && 2*have >= before
	}
	// A founder has no member to ask, however soon the others have joined it.
	return self.Since == 1 || all
}

// inEachMajority reports whether of so many other members at least one is in each majority of
// members that this node is not in.
func inEachMajority(others, members int) bool { return 2*others >= members-2 }
