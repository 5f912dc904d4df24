package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"crawlnode/clusterkey"
	"crawlnode/crawl"
)

// keyPhase is how far a rotation of the cluster's key has come. A node enters the next
// one when all members have confirmed the one before, so two nodes are at most one apart.
type keyPhase int

const (
	keyKnown   keyPhase = 1 // both keys are taken, the old one is shown and sent
	keyUsed    keyPhase = 2 // both keys are taken, the new one is shown and sent
	keyAlone   keyPhase = 3 // the old key is refused
	noRotation keyPhase = 0
)

func (p keyPhase) String() string {
	return [...]string{noRotation: "none", keyKnown: "known", keyUsed: "used", keyAlone: "alone"}[p]
}

// rotation is one change of the cluster's key, as a node keeps it on disk and tells it to
// the others. All decisions about it are made by pure functions of this file; rotator
// carries them out. The zero value is none.
type rotation struct {
	Number uint64   `json:"number"` // of the time it began, in ms; a later rotation has a higher one
	Phase  keyPhase `json:"phase"`
	New    string   `json:"new"`           // the key's text
	Old    string   `json:"old,omitempty"` // until it is dropped
	OldPin string   `json:"old_fingerprint"`
	// Awaited are the members when it began, by name. One that is none any more, because it
	// was killed or cut off, may have the old key only: the new one is not used before it
	// has come back, or was forgotten.
	Awaited map[crawl.NodeID]string `json:"awaited,omitempty"`
}

// is reports whether two are the same step of the same rotation.
func (r rotation) is(o rotation) bool {
	return r.Number == o.Number && r.New == o.New && r.Phase == o.Phase
}

// newerThan orders what is told of rotations the same way on every node. Of two that began
// at the same moment one wins before anybody has both confirmed.
func (r rotation) newerThan(o rotation) bool {
	switch {
	case r.Number != o.Number:
		return r.Number > o.Number
	case r.New != o.New:
		return strings.Compare(r.New, o.New) > 0
	}
	return r.Phase > o.Phase
}

// pending reports whether somebody may still have the old key only.
func (r rotation) pending() bool { return r.Phase == keyKnown || r.Phase == keyUsed }

// beginRotation is one from one key to another, among these members.
func beginRotation(last rotation, old, next clusterkey.Key, members map[crawl.NodeID]string, millis uint64) rotation {
	return rotation{Number: max(last.Number+1, millis), Phase: keyKnown, Old: old.Text(), New: next.Text(), OldPin: old.Fingerprint(), Awaited: members}
}

// heard is what a node enters that is told of a newer one. It never goes to the last step
// on another's word: there may be a member that only this node knows of, and that has the
// old key still. It uses the new one, and goes on when all have confirmed that.
func (r rotation) heard(told rotation) rotation {
	if told.Phase == keyAlone && told.Number == r.Number && told.New == r.New {
		r.Phase = keyUsed
		return r
	}
	return told
}

// confirmation is what a member has said of a rotation: what it keeps on disk, and whether
// it has carried that out whole.
type confirmation struct {
	Rotation rotation `json:"rotation"`
	Done     bool     `json:"done"`
}

// confirms reports whether the member is as far as r.
func (c confirmation) confirms(r rotation) bool {
	if c.Rotation.Number != r.Number || c.Rotation.New != r.New {
		return false
	}
	return c.Rotation.Phase > r.Phase || c.Rotation.Phase == r.Phase && c.Done
}

// advance returns the next step, once this node (own) and all members have confirmed the
// one that r is, and before the new key is used all that are awaited; else r, and whom it
// waits for. It asks nobody to confirm who is forgotten.
func (r rotation) advance(own bool, members []crawl.NodeID, forgotten func(crawl.NodeID) bool, told map[crawl.NodeID]confirmation) (next rotation, waiting []crawl.NodeID) {
	if !r.pending() {
		return r, nil
	}
	if r.Phase == keyKnown {
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
	if r.Phase++; r.Phase == keyAlone {
		r.Old = ""
	}
	return r, nil
}

// keys are those of a node in this step: the one that is used, and those that are taken
// beside it. It fails for what no node has written.
func (r rotation) keys() (use clusterkey.Key, also []clusterkey.Key, err error) {
	if r.Phase < keyKnown || r.Phase > keyAlone {
		return use, nil, fmt.Errorf("a rotation of the key has no step %d", r.Phase)
	}
	if use, err = clusterkey.Parse(r.New); err != nil || r.Phase == keyAlone {
		return use, nil, err
	}
	old, err := clusterkey.Parse(r.Old)
	if err != nil {
		return use, nil, err
	}
	if r.Phase == keyKnown {
		return old, []clusterkey.Key{use}, nil
	}
	return use, []clusterkey.Key{old}, nil
}

// standing is what a node with this rotation on disk, and that key in its file, begins
// with. Whoever puts a third key into the file has ended the rotation. stale: the file
// still has the old key.
func (r rotation) standing(file clusterkey.Key) (kept rotation, stale bool) {
	switch {
	case r.Phase == noRotation:
		return rotation{}, false
	case file.Text() == r.New:
		return r, false
	case file.Fingerprint() == r.OldPin:
		return r, r.Phase == keyAlone
	}
	return rotation{}, false
}
