package handoff

import (
	"crawlnode/crawl"
	"crawlnode/ring"
)

// Event is something that happened; Step takes one.
type Event interface{ event() }

// Loaded tells what the disk says of a partition at start.
type Loaded struct {
	P        crawl.Partition
	State    State // Holding or Released
	MaxEpoch crawl.Epoch
	To       crawl.NodeID // Released: to whom
	View     crawl.Epoch  // Released: in which view
}

// ViewInstalled tells that a newer view is durable here. Table is nil when no
// member is active.
type ViewInstalled struct {
	View  crawl.Epoch
	Table *ring.Table
}

// Retry is the driver's timer: moves that broke or had no place are tried.
type Retry struct{}

// Copied tells that the receiver has the snapshot and nearly all of the tail.
type Copied struct {
	P       crawl.Partition
	Attempt uint64
}

// Frozen tells that no visit of the partition runs and nothing can change it.
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

// Broken tells that an outgoing attempt ended without a final answer.
type Broken struct {
	P       crawl.Partition
	Attempt uint64
	// Later: the receiver answered, and has no place for it now.
	Later bool
}

// Offered tells that a holder offers a partition.
type Offered struct {
	P        crawl.Partition
	View     crawl.Epoch
	Released bool
	Reply    chan<- Answer // capacity 1
}

// TokenArrived tells that a sender has let go and the copy here is complete.
type TokenArrived struct {
	P       crawl.Partition
	Attempt uint64
	Reply   chan<- Answer // capacity 1
}

// ImportDone tells that CommitImport is on disk.
type ImportDone struct {
	P       crawl.Partition
	Attempt uint64
	Epoch   crawl.Epoch
	Reply   chan<- Answer
}

// ImportBroken tells that an incoming stream ended before its token.
type ImportBroken struct {
	P       crawl.Partition
	Attempt uint64
}

func (Loaded) event()        {}
func (ViewInstalled) event() {}
func (Retry) event()         {}
func (Copied) event()        {}
func (Frozen) event()        {}
func (ReleaseStored) event() {}
func (Took) event()          {}
func (RefusedNewer) event()  {}
func (Broken) event()        {}
func (Offered) event()       {}
func (TokenArrived) event()  {}
func (ImportDone) event()    {}
func (ImportBroken) event()  {}

// Action is something that must be done; the Driver does it.
type Action interface{ action() }

// StartCopy makes To a replica, by snapshot and tail. With Released the
// partition is frozen and let go already.
type StartCopy struct {
	P        crawl.Partition
	To       crawl.NodeID
	View     crawl.Epoch
	Attempt  uint64
	Released bool
}

// AbortCopy ends an outgoing attempt.
type AbortCopy struct {
	P       crawl.Partition
	Attempt uint64
}

// Freeze stops the visits of a partition and then every change of it.
type Freeze struct {
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

// PassToken sends the rest of the tail and the token.
type PassToken struct {
	P       crawl.Partition
	Attempt uint64
}

// StoreHolder takes a release back, on the receiver's word, and resumes.
type StoreHolder struct{ P crawl.Partition }

// Delete removes a partition that its new holder has.
type Delete struct{ P crawl.Partition }

// Answer goes to whoever waits for the machine's word on an offer or a token.
type Answer struct {
	To      chan<- Answer
	Reply   Reply
	Attempt uint64 // with ReplyGoOn: names the import
}

// BeginImport makes room for an arriving copy.
type BeginImport struct {
	P       crawl.Partition
	Attempt uint64
}

// CommitImport makes the copy the partition, held in Epoch, durably.
type CommitImport struct {
	P       crawl.Partition
	Attempt uint64
	Epoch   crawl.Epoch
	Reply   chan<- Answer
}

// AbortImport throws an arriving copy away.
type AbortImport struct {
	P       crawl.Partition
	Attempt uint64
}

// Acquired tells the node that it holds a partition from now on.
type Acquired struct {
	P     crawl.Partition
	Epoch crawl.Epoch
}

func (StartCopy) action()     {}
func (AbortCopy) action()     {}
func (Freeze) action()        {}
func (Resume) action()        {}
func (StoreReleased) action() {}
func (PassToken) action()     {}
func (StoreHolder) action()   {}
func (Delete) action()        {}
func (Answer) action()        {}
func (BeginImport) action()   {}
func (CommitImport) action()  {}
func (AbortImport) action()   {}
func (Acquired) action()      {}
