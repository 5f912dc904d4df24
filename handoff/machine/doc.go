// Package machine decides for every partition of one node whether this node holds it: when
// it is passed on, taken over, or given up, and which replicas count. It is pure:
// Step takes an event and returns actions in the order in which they must be
// carried out. It reads no clock, does no I/O and starts nothing; time comes with
// the events. Package handoff drives it.
//
// Events and actions carry reply channels for the driver. The machine only hands
// them on.
//
// # States of a partition on one node
//
//	Absent     this node has no authority; a copy of it may be on its disk
//	Holding    this node has the authority: it stores and fetches
//	Freezing   Holding, but no new visits; the running ones are ending
//	Released   let go, durably, to one node in one view; the token is on its way
//
// # Legal moves
//
// legalMoves in states.go holds them, and become is the only function that
// assigns a state.
//
//	from       event                              to         actions
//	Holding    owner is X, X is in sync           Freezing   Freeze
//	Freezing   frozen, and X has everything       Freezing   StoreReleased
//	Freezing   release stored, in the same turn   Released   PassToken
//	Freezing   broken, or a view changes          Holding    AbortMove, Resume
//	Released   took                               Absent     StoreCopy
//	Released   refused: the receiver is at n'>n   Holding    StoreHolder (which resumes)
//	Released   the receiver has no such copy      Released   OpenLink again, then PassToken
//	Released   asked, and the receiver is gone    Absent     StoreCopy (sealed), answer "not I"
//	Released   a copy of a later epoch arrives    Absent     -
//	Absent     token, my view, mine, same copy    Holding    Promote, answer "took"
//	Absent     all members said "not I", I own    Holding    Promote, or RequestCopy first
//	any held   a view without me, or I am newer   Absent     Yield
//
// # When a Retry changes something
//
// A Retry is a function of what the machine knows, and of the time for a sweep alone. So when one has changed and ordered
// nothing, the next one does not either, until another event comes. What one can change:
//
//	what is there                                  what a Retry does
//	a node rests after a failure                   counts its rest down
//	held, links or sets not as they should be      tend: opens and closes links, proposes a set
//	Released, no token under way                   PassToken
//	Holding for another owner that is in sync      Freeze, when a place is free
//	Absent and owned by this node                  Ask, once the pause after the last round is over
//	a round of questions was the last one          sets the count of rounds to 0
//	its time has come                              Sweep
//
// Waits reports whether any but the last of these may be so. It errs on the side of waiting: while a move or a question
// runs it is true, although the event that ends it comes on its own, and it is true after each event that is no Retry.
//
// # Files
//
//	states.go    the states and the legal moves
//	machine.go   views, moves between living nodes, yielding
//	links.go     replicas in the making, and the in-sync set
//	promote.go   questions to all members, tokens, promotion
//	history.go   whether the members can know the newest in-sync set
//	sweep.go     copies that no set counts
//	standing.go  what other packages may read
//	events.go, actions.go
//
// # What it does not do
//
// It decides no view and grants no lease. It stores nothing: it relies on the
// driver that what an action orders to be stored is on the disk before the next
// event of that partition.
package machine
