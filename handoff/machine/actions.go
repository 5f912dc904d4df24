package machine

import "crawlnode/crawl"

// Action is something that must be done; the Driver does it.
type Action interface{ action() }

// OpenLink begins to make Node a replica. With Based the replica is expected to
// have exactly what this node had when it acquired the partition, (BaseEpoch,
// BaseSeq), and nothing has changed here since.
type OpenLink struct {
	P         crawl.Partition
	Node      crawl.NodeID
	Epoch     crawl.Epoch
	Attempt   uint64
	Based     bool
	BaseEpoch crawl.Epoch
	BaseSeq   crawl.Seq
}

// CloseLink ends a link. No event of it comes any more.
type CloseLink struct {
	P       crawl.Partition
	Node    crawl.NodeID
	Attempt uint64
	Leaves  bool // the node is draining: what it misses from here on is kept, it may be back
}

// ConfirmLink asks for LinkUp once the replica has everything that was stored
// here before this action, and so all that was acknowledged without it.
type ConfirmLink struct {
	P       crawl.Partition
	Node    crawl.NodeID
	Attempt uint64
}

// DropCopy tells a node that its copy is not needed any more. Attempt is above
// those of all links to it so far.
type DropCopy struct {
	P       crawl.Partition
	Node    crawl.NodeID
	Epoch   crawl.Epoch
	Attempt uint64
}

// SetAcks names the nodes that must acknowledge from now on, beside this one.
// Full: the recorded set has as many members as factor and cluster allow. Unsure:
// nothing may be acknowledged yet, on however many disks it is, because no set of this
// tenure is known to be recorded.
type SetAcks struct {
	P      crawl.Partition
	Epoch  crawl.Epoch // of the tenure
	Nodes  []crawl.NodeID
	Full   bool
	Unsure bool
}

// EndAcks says that this node can acknowledge nothing of the partition any more.
type EndAcks struct{ P crawl.Partition }

// Record stores a set with more than half of the view. It is tried until it
// succeeds or a newer one takes its place.
type Record struct {
	P   crawl.Partition
	Set Set
}

// Freeze stops the visits of a partition, then every change of it, and waits
// until the in-sync set has everything.
type Freeze struct {
	P       crawl.Partition
	Attempt uint64
}

// AbortMove ends a freeze or a token that is under way.
type AbortMove struct {
	P       crawl.Partition
	Attempt uint64
}

// Resume undoes Freeze.
type Resume struct{ P crawl.Partition }

// StoreReleased writes the release to disk.
type StoreReleased struct {
	P       crawl.Partition
	To      crawl.NodeID
	View    crawl.Epoch
	Attempt uint64
}

// PassToken offers the authority to the receiver.
type PassToken struct {
	P       crawl.Partition
	To      crawl.NodeID
	View    crawl.Epoch
	Epoch   crawl.Epoch
	Set     Set
	Attempt uint64
}

// StoreHolder takes a release back, because the receiver has refused it, and resumes.
type StoreHolder struct{ P crawl.Partition }

// StoreCopy makes a released partition a mere copy: this node will never hold
// it again on its own.
type StoreCopy struct{ P crawl.Partition }

// Yield ends at once what was held: the partition is a mere copy from now on.
// With Suspect the copy is known to have lost something.
type Yield struct {
	P       crawl.Partition
	Suspect bool
}

// Promote makes the copy (FromEpoch, Seq) on this node's disk the partition,
// held in Epoch, durably. Reply, when not nil, is for the sender of the token.
type Promote struct {
	P         crawl.Partition
	FromEpoch crawl.Epoch
	Seq       crawl.Seq
	Epoch     crawl.Epoch
	Set       Set            // the recorded one
	Same      []crawl.NodeID // others that have exactly this copy
	Empty     bool           // nothing is left anywhere: it begins anew
	Lost      bool           // a person has forgotten the last copies of what was acknowledged
	Reply     chan<- Reply
}

// Acquired tells the node that it holds a partition from now on.
type Acquired struct {
	P     crawl.Partition
	Epoch crawl.Epoch
}

// Ask asks every member whether it holds the partitions.
type Ask struct {
	Attempt uint64
	View    crawl.Epoch
	Members []crawl.NodeID
	Parts   []crawl.Partition
}

// Tell answers an Asked, from what is on the disk; Holds names those of Parts
// that this node has the authority over. Without Parts the answer is that this
// node is at another view.
type Tell struct {
	Parts []crawl.Partition
	Holds []bool
	Past  []PastView
	Reply chan<- Told
}

// Sweep asks the owners whether copies that are here are needed. Parts are grouped by
// owner.
type Sweep struct {
	View  crawl.Epoch
	Parts map[crawl.NodeID][]crawl.Partition
}

// TellUseless answers a UselessAsked: these may go.
type TellUseless struct {
	Parts []crawl.Partition
	Reply chan<- []crawl.Partition
}

// TellList answers a ListAsked.
type TellList struct {
	Parts []PartStatus
	Reply chan<- []PartStatus
}

// RequestCopy asks another node to send its copy of Epoch here. It may take the
// place of Here, what this node had when the copies were compared, and of nothing
// else.
type RequestCopy struct {
	P     crawl.Partition
	From  crawl.NodeID
	Epoch crawl.Epoch
	Here  Kept
}

// Respond answers a token.
type Respond struct {
	To    chan<- Reply
	Reply Reply
}

func (OpenLink) action()      {}
func (CloseLink) action()     {}
func (ConfirmLink) action()   {}
func (DropCopy) action()      {}
func (SetAcks) action()       {}
func (EndAcks) action()       {}
func (Record) action()        {}
func (Freeze) action()        {}
func (AbortMove) action()     {}
func (Resume) action()        {}
func (StoreReleased) action() {}
func (PassToken) action()     {}
func (StoreHolder) action()   {}
func (StoreCopy) action()     {}
func (Yield) action()         {}
func (Promote) action()       {}
func (Acquired) action()      {}
func (Ask) action()           {}
func (Tell) action()          {}
func (RequestCopy) action()   {}
func (Sweep) action()         {}
func (TellUseless) action()   {}
func (TellList) action()      {}
func (Respond) action()       {}

// ReplyKind is a receiver's answer to a token.
type ReplyKind uint8

// The answers.
const (
	ReplyTook    ReplyKind = iota + 1 // it is the holder now, durably
	ReplyRefused                      // it has installed a newer view
	ReplyLater                        // not now; ask again
	ReplyNoCopy                       // it does not have that copy; send it, then ask again
)

// Reply is the receiver's answer with its installed view.
type Reply struct {
	Kind   ReplyKind   `json:"kind"`
	View   crawl.Epoch `json:"view"`
	Reason string      `json:"reason,omitempty"`
}

// NoPartition stands for actions that are about none.
const NoPartition crawl.Partition = 1<<16 - 1

// ActionPart is the partition that an action is about.
func ActionPart(a Action) crawl.Partition {
	switch a := a.(type) {
	case StoreReleased:
		return a.P
	case StoreHolder:
		return a.P
	case StoreCopy:
		return a.P
	case Yield:
		return a.P
	case Promote:
		return a.P
	case OpenLink:
		return a.P
	case CloseLink:
		return a.P
	case ConfirmLink:
		return a.P
	case DropCopy:
		return a.P
	case SetAcks:
		return a.P
	case EndAcks:
		return a.P
	case Record:
		return a.P
	case Freeze:
		return a.P
	case AbortMove:
		return a.P
	case Resume:
		return a.P
	case PassToken:
		return a.P
	case Acquired:
		return a.P
	case RequestCopy:
		return a.P
	}
	return NoPartition
}
