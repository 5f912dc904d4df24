package machine

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// Event is something that happened; Step takes one.
type Event interface{ event() }

// Set is an in-sync set: the nodes whose copies have everything that was
// acknowledged. Sets of a partition are ordered by epoch, then version, whose
// upper half is the view that it was proposed in.
type Set struct {
	Epoch   crawl.Epoch
	Version uint64
	Members []crawl.NodeID // sorted
}

// Newer reports whether s came after o.
func (s Set) Newer(o Set) bool {
	return s.Epoch > o.Epoch || s.Epoch == o.Epoch && s.Version > o.Version
}

// Loaded tells what is on the disk of a partition at start.
type Loaded struct {
	P        crawl.Partition
	State    State       // Absent, Holding or Released
	Epoch    crawl.Epoch // of the tenure
	MaxEpoch crawl.Epoch
	To       crawl.NodeID // Released: the receiver
	View     crawl.Epoch  // Released: in which view
	Set      Set          // the newest record known here
}

// ViewInstalled tells that a newer view is durable here.
type ViewInstalled struct {
	View    crawl.Epoch
	Table   *ring.Table                  // nil when no member is active
	Members []crawl.NodeID               // all, draining ones too
	Listed  bool                         // this boot is one of them
	Since   crawl.Epoch                  // when this node's id last joined
	Sinces  map[crawl.NodeID]crawl.Epoch // when each member last joined; nil: unknown
	Barred  []crawl.NodeID               // forgotten for ever
	// Fence is how long promotions wait from now on: until the lease of a node that was
	// removed has run out. Zero when every removed node is proved dead.
	Fence time.Duration
	Now   time.Duration
}

// Retry is the driver's timer: what broke or had no place is tried again.
type Retry struct{ Now time.Duration }

// LinkCopying tells that a replica needs a snapshot.
type LinkCopying struct {
	P       crawl.Partition
	Node    crawl.NodeID
	Attempt uint64
}

// LinkFollows tells that a replica has the copy and takes what is changed.
type LinkFollows struct {
	P       crawl.Partition
	Node    crawl.NodeID
	Attempt uint64
}

// LinkUp tells that a replica that must acknowledge already has everything that was
// acknowledged before.
type LinkUp struct {
	P       crawl.Partition
	Node    crawl.NodeID
	Attempt uint64
}

// LinkDown tells that a link was given up.
type LinkDown struct {
	P       crawl.Partition
	Node    crawl.NodeID
	Attempt uint64
}

// LinkAhead tells that a replica has more of this very tenure than this node:
// part of this node's store is lost.
type LinkAhead struct {
	P       crawl.Partition
	Node    crawl.NodeID
	Attempt uint64
}

// Recorded tells that more than half of a view have stored a set.
type Recorded struct {
	P       crawl.Partition
	Epoch   crawl.Epoch
	Version uint64
	View    crawl.Epoch
}

// Frozen tells that no visit of the partition runs, nothing can change it, and
// the whole in-sync set has all of it.
type Frozen struct {
	P       crawl.Partition
	Attempt uint64
}

// ReleaseStored tells that the release is on disk.
type ReleaseStored struct {
	P       crawl.Partition
	Attempt uint64
}

// Took tells that the receiver is the holder, durably.
type Took struct {
	P       crawl.Partition
	Attempt uint64
}

// RefusedNewer tells that the receiver has installed a newer view.
type RefusedNewer struct {
	P       crawl.Partition
	Attempt uint64
	View    crawl.Epoch
}

// Broken tells that a freeze or a token ended without a final answer.
type Broken struct {
	P       crawl.Partition
	Attempt uint64
	Later   bool // the receiver answered: not now; or it was not asked
	NoCopy  bool // the receiver answered: it does not have that copy
}

// TokenArrived tells that a holder has let go for this node.
type TokenArrived struct {
	P     crawl.Partition
	View  crawl.Epoch
	Epoch crawl.Epoch // of the sender's tenure
	Seq   crawl.Seq   // of the last mutation
	Set   Set
	Reply chan<- Reply // capacity 1
}

// Promoted tells what became of Promote.
type Promoted struct {
	Promote
	OK bool // false: the copy here is another one
}

// Asked tells that the owner of partitions asks whether this node holds them.
type Asked struct {
	View  crawl.Epoch
	Parts []crawl.Partition
	Reply chan<- Told // capacity 1
}

// Told is one member's answer; without Answers it is at another view.
type Told struct {
	Answers []Answer
	Past    []PastView // the views that it remembers
}

// Answer is one member's answer about one partition.
type Answer struct {
	P     crawl.Partition `json:"p"`
	Holds bool            `json:"h,omitempty"` // it holds it, or is passing it on
	// What is on its disk.
	Copy     bool        `json:"c,omitempty"`
	Suspect  bool        `json:"s,omitempty"` // part of it may be lost
	Unsure   bool        `json:"u,omitempty"` // its machine lost power: the end of it may be lost
	Epoch    crawl.Epoch `json:"e,omitempty"`
	Seq      crawl.Seq   `json:"q,omitempty"`
	MaxEpoch crawl.Epoch `json:"m,omitempty"`
	Set      Set         `json:"i"`
}

// Answered brings a member's answers to an Ask.
type Answered struct {
	Attempt uint64
	From    crawl.NodeID
	Answers []Answer
	Past    []PastView
}

// AskOver tells that all members were asked, whether they answered or not.
type AskOver struct {
	Attempt uint64
	Now     time.Duration
}

// CopyArrived tells that a copy of a later tenure has replaced what was here.
type CopyArrived struct {
	P     crawl.Partition
	Epoch crawl.Epoch
}

// UselessAsked tells that another node asks which of its copies may be deleted.
type UselessAsked struct {
	From  crawl.NodeID
	View  crawl.Epoch
	Parts []UselessPart
	Reply chan<- []crawl.Partition // capacity 1
}

// ListAsked asks what this node has of all partitions.
type ListAsked struct {
	Reply chan<- []PartStatus // capacity 1
}

func (ListAsked) event()     {}
func (UselessAsked) event()  {}
func (Loaded) event()        {}
func (ViewInstalled) event() {}
func (Retry) event()         {}
func (LinkCopying) event()   {}
func (LinkFollows) event()   {}
func (LinkUp) event()        {}
func (LinkDown) event()      {}
func (LinkAhead) event()     {}
func (Recorded) event()      {}
func (Frozen) event()        {}
func (ReleaseStored) event() {}
func (Took) event()          {}
func (RefusedNewer) event()  {}
func (Broken) event()        {}
func (TokenArrived) event()  {}
func (Promoted) event()      {}
func (Asked) event()         {}
func (Answered) event()      {}
func (AskOver) event()       {}
func (CopyArrived) event()   {}

// EventPart is the partition that an event is about; NoPartition when it may be
// about several.
func EventPart(e Event) crawl.Partition {
	switch e := e.(type) {
	case LinkCopying:
		return e.P
	case LinkFollows:
		return e.P
	case LinkUp:
		return e.P
	case LinkDown:
		return e.P
	case LinkAhead:
		return e.P
	case Recorded:
		return e.P
	case Frozen:
		return e.P
	case Took:
		return e.P
	case RefusedNewer:
		return e.P
	case Broken:
		return e.P
	case TokenArrived:
		return e.P
	}
	return NoPartition
}

// UselessPart is a copy that the table does not give to the node that asks.
type UselessPart struct {
	P     crawl.Partition `json:"p"`
	Epoch crawl.Epoch     `json:"epoch"`
}

// Kept is what the store has of a partition.
type Kept struct {
	State    State // Absent, Holding or Released
	Copy     bool  // Absent: a copy is here
	Suspect  bool  // part of it may be lost
	Unsure   bool  // its machine lost power: the end of it may be lost
	Epoch    crawl.Epoch
	MaxEpoch crawl.Epoch
	Seq      crawl.Seq
}
