package machine

import (
	"fmt"
	"slices"
)

// State is what a partition is on this node; the package comment has a table of
// what leads from one to the next.
type State uint8

const (
	// Absent: this node has no authority; a copy of the partition may be on its disk.
	Absent State = iota
	// Holding: this node has the authority: it stores and fetches.
	Holding
	// Freezing is Holding without new visits: when the running ones have ended, the
	// partition is released.
	Freezing
	// Released: let go, durably, to one node in one view; the token is on its way.
	Released
)

var stateNames = [...]string{"absent", "holding", "freezing", "released"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// legalMoves are the states that may follow each state. A partition becomes
// Freezing before it is Released; the disk alone, at a start, makes an Absent one
// Released.
var legalMoves = [...][]State{
	Absent:   {Holding, Released},
	Holding:  {Freezing, Absent},
	Freezing: {Released, Holding, Absent},
	Released: {Holding, Absent},
}

// become is the only place where a partition's state is assigned; TestOnlyBecomeSetsTheState
// in the root reads the package for others. A tenure's other fields are
// reset as a whole (*p = part{...}), which leaves the partition Absent: endTenure has become so
// before, onPromoted was so.
func (p *part) become(next State) {
	if !slices.Contains(legalMoves[p.state], next) {
		panic(fmt.Sprintf("BUG: a partition that is %s was to become %s", p.state, next))
	}
	p.state = next
}
