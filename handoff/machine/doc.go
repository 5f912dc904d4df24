// Package machine decides for every partition of one node whether this node holds it: when
// it is passed on, taken over, or given up, and which replicas count. It is pure:
// Step takes an event and returns actions, in the order in which they must be
// performed. It reads no clock, does no I/O and starts no goroutine; time comes with
// the events. Package handoff drives it.
//
// Events and actions carry reply channels for the driver, which the machine only passes through.
//
// # States of a partition on one node
//
//	Absent     this node has no authority; a copy of it may be on its disk
//	Holding    this node has the authority: it stores and fetches
//	Freezing   Holding, but no new visits begin, and the running ones are awaited
//	Released   given, durably, to one node in one view; the token is on its way
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
// A Retry depends only on the machine's state, except that a sweep depends on the time. So when a
// Retry has changed nothing and returned no action, the next one does not either, until another
// event comes. What a Retry can do:
//
//	state                                          what a Retry does
//	a node is backed off after a failure           counts its backoff down
//	held; links or sets not as they should be      tend: opens and closes links, proposes a set
//	Released, no token under way                   PassToken
//	Holding, and another owner is in sync          Freeze, if fewer moves than allowed run
//	Absent and owned by this node                  Ask, once the pause after the last round ends
//	a round of questions was the last one          sets the count of rounds to 0
//	a sweep is due                                 Sweep
//
// Waits reports whether one of these, other than the last, may apply. It may return true
// needlessly: while a move or a question runs, although the event that ends it comes by itself, and
// after every event that is not a Retry.
//
// # Files
//
//	states.go    the states and the legal moves
//	machine.go   views, moves between living nodes, yielding
//	links.go     links to replicas, and the in-sync set
//	promote.go   questions to all members, tokens, promotion
//	history.go   whether the members can know the newest in-sync set
//	sweep.go     copies that no set counts
//	standing.go  snapshots of the state, for other packages
//	events.go, actions.go
//
// # What it does not do
//
// It decides no view and grants no lease. It stores nothing: it relies on the
// driver to store what an action asks for before the next event of that partition.
package machine
