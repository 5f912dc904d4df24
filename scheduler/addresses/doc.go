// Package addresses decides which node of a cluster may make requests to one address now.
//
// Thousands of host names may be one machine. The hosts are spread over the nodes by their
// names, so each address whose requests are spaced (--ip-delay) has a keeper: the node that
// holds the partition of the address's hash. The keeper gives the address to one node at a
// time, for a bounded time: its turn. Within the turn that node spaces its requests as it
// would alone. So requests are spaced by whoever sees the end of each of them, and between two
// nodes by the keeper.
//
// [Table] is pure: it reads no clock, starts no goroutine and does no I/O. The node's clock is
// an argument of each call. It is the clock that counts through sleep, and no call's may be
// before that of the call before. Messages are taken out with TakeFor and come in by Receive.
// They may be lost, delayed, repeated, and overtake each other.
//
// # Why no two turns overlap
//
//   - A turn lasts Validity, by the asker's clock, from the sending of the ask that was
//     granted. The keeper counts it from the receipt of that ask, by its own clock, with a
//     twentieth and Slack more. The ask was sent before it was received, so the asker stops first.
//     No clock is shared.
//   - Only who holds the address's partition, with its lease, grants (Config.May): the same
//     right as for a request to a host of that partition, but for what only says that this node does not
//     crawl now, such as a low disk.
//   - A new keeper knows nothing of the turns of the one before. It grants nothing for as long
//     as the longest of them may last (its fence).
//   - The right is checked when each request is written (MayWrite): a process that stood still
//     finds that its turn is over.
//   - A turn that is given back is over before the message is made. Grants of asks before it
//     are ignored from then on: stamps of asks and returns only grow.
//
// During a fence the node whose turn it is may go on: a keeper tells each asker the number
// of its tenure, and an ask with that number says "my turn lasts now, and I had this number before I
// asked". Turns of the keeper before exclude each other, and it gives no more of them, so there is
// one such node at most.
//
// # Gaps
//
// Who gives its turn back says how long no request may start (Rest), counted
// by the keeper from the receipt, and by the next node from the receipt of its grant. Each
// delay of a message makes the gap longer. A turn that was not given back counts as used until
// its end.
//
// # Turns of equal nodes
//
// While nobody else asks, a turn is extended without end: one message for half of Validity, and only
// while the address is in use. When another node asks, the keeper calls: the node gives the turn back when it
// has had it for Length, has nothing more to ask the address, or has handed out no visit for Unused. Then it asks
// again when it has a fetcher for the address (the next call of Turn). A node that does not crawl asks for nothing. Asks are granted in the
// order in which they came, so nodes with work alternate, and a node without work costs nothing. A gap
// longer than the way of two messages hides the change.
//
// # Bounds
//
// An entry of an asker lasts while its address is wanted, and as long as an old grant could
// be valid. An entry of a keeper lasts as long as its turn and the gap after it. A keeper with
// MaxKept addresses answers asks for others not at all, and a queue of messages to one node
// that is full loses the next ones: both cost time, not spacing.
package addresses
