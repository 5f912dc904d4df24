package rotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"crawlnode/crawl"
	"crawlnode/security/clusterkey"
)

// Phase is how far a rotation of the cluster's key has come. A node enters the next
// one when all members have confirmed the one before, so two nodes are at most one apart.
type Phase int

// The phases, in their order.
const (
	None  Phase = 0 // no State
	Known Phase = 1 // both keys are accepted, the old one is used
	Used  Phase = 2 // both keys are accepted, the new one is used
	Alone Phase = 3 // the old key is refused
)

func (p Phase) String() string {
	return [...]string{None: "none", Known: "known", Used: "used", Alone: "alone"}[p]
}

// State is one rotation of the cluster's key, as a node keeps it on disk and sends it to
// the others. All decisions about it are made by pure functions of this file; Rotator
// carries them out. The zero value is none.
type State struct {
	Number uint64 `json:"number"` // of the time it began, in ms; a later rotation has a higher one
	Phase  Phase  `json:"phase"`
	New    string `json:"new"`           // the key's text
	Old    string `json:"old,omitempty"` // until it is dropped
	OldPin string `json:"old_fingerprint"`
	// Awaited are the members when it began, by name. One that is no member any more, because it
	// was killed or cut off, may have the old key only: the new one is not used before it
	// has come back, or was forgotten.
	Awaited map[crawl.NodeID]string `json:"awaited,omitempty"`
}

// is reports whether two are the same step of the same rotation.
func (r State) is(o State) bool {
	return r.Number == o.Number && r.New == o.New && r.Phase == o.Phase
}

// newerThan orders rotations the same way on every node. Of two that began
// at the same moment one wins before any node has both confirmed.
func (r State) newerThan(o State) bool {
	switch {
	case r.Number != o.Number:
		return r.Number > o.Number
	case r.New != o.New:
		return strings.Compare(r.New, o.New) > 0
	}
	return r.Phase > o.Phase
}

// pending reports whether a member may still have the old key only.
func (r State) pending() bool { return r.Phase == Known || r.Phase == Used }

// Begin is a rotation from one key to another, among these members.
func Begin(
	last State,
	old, next clusterkey.Key,
	members map[crawl.NodeID]string,
	millis uint64,
) State {
	return State{
		Number:  max(last.Number+1, millis),
		Phase:   Known,
		Old:     old.Text(),
		New:     next.Text(),
		OldPin:  old.Fingerprint(),
		Awaited: members,
	}
}

// merged is the step that a node enters when it receives a newer one. It never takes the last step
// because another node has: a member that only this node knows may still have the
// old key. It uses the new key, and goes on when all have confirmed that.
func (r State) merged(told State) State {
	if told.Phase == Alone && told.Number == r.Number && told.New == r.New {
		r.Phase = Used
		return r
	}
	return told
}

// Confirmation is a member's answer about a rotation: what it keeps on disk, and whether
// it has carried that out whole.
type Confirmation struct {
	Rotation State `json:"rotation"`
	Done     bool  `json:"done"`
}

// confirms reports whether the member is as far as r.
func (c Confirmation) confirms(r State) bool {
	if c.Rotation.Number != r.Number || c.Rotation.New != r.New {
		return false
	}
	return c.Rotation.Phase > r.Phase || c.Rotation.Phase == r.Phase && c.Done
}

// advance returns the next step, once this node (own) and all members have confirmed
// step r; before the new key is used all awaited nodes must have confirmed as well. Else it
// returns r, and the nodes that it waits for. A forgotten node need not confirm.
func (r State) advance(
	own bool,
	members []crawl.NodeID,
	forgotten func(crawl.NodeID) bool,
	told map[crawl.NodeID]Confirmation,
) (next State, waiting []crawl.NodeID) {
	if !r.pending() {
		return r, nil
	}
	if r.Phase == Known {
		members = slices.AppendSeq(slices.Clone(members), maps.Keys(r.Awaited))
		slices.Sort(members)
		members = slices.Compact(members)
	}
	for _, m := range members {
		if !told[m].confirms(r) && !forgotten(m) {
			waiting = append(waiting, m)
		}
	}
	slices.Sort(waiting)
	if !own || len(waiting) > 0 {
		return r, waiting
	}
	if r.Phase++; r.Phase == Alone {
		r.Old = ""
	}
	return r, nil
}

// keys are those of a node in this step: the one that is used, and those that are accepted
// beside it. It fails for a state that no node has written.
func (r State) keys() (use clusterkey.Key, also []clusterkey.Key, err error) {
	if r.Phase < Known || r.Phase > Alone {
		return use, nil, fmt.Errorf("a rotation of the key has no step %d", r.Phase)
	}
	if use, err = clusterkey.Parse(r.New); err != nil || r.Phase == Alone {
		return use, nil, err
	}
	old, err := clusterkey.Parse(r.Old)
	if err != nil {
		return use, nil, err
	}
	if r.Phase == Known {
		return old, []clusterkey.Key{use}, nil
	}
	return use, []clusterkey.Key{old}, nil
}

// resumed is the step that a node begins with that has this rotation on disk, and that key in
// its file. A third key in the file ends the rotation. stale: the file
// still has the old key.
func (r State) resumed(file clusterkey.Key) (kept State, stale bool) {
	switch {
	case r.Phase == None:
		return State{}, false
	case file.Text() == r.New:
		return r, false
	case file.Fingerprint() == r.OldPin:
		return r, r.Phase == Alone
	}
	return State{}, false
}
