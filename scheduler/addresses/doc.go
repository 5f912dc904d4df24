// Package addresses decides which node of a cluster may make requests to one address now.
//
// Thousands of host names may share one machine. Hosts are distributed over the nodes by
// name, so each address whose requests are spaced (--ip-delay) has a keeper: the node that
// holds the partition of the address's hash. The keeper gives the address to one node at a
// time, for a bounded time: its turn. Within the turn that node spaces its requests as it
// would alone. So requests are spaced by whoever sees the end of each of them, and between two
// nodes by the keeper.
//
// [Table] is pure: it reads no clock, starts no goroutine and does no I/O. The node's clock is
// an argument of each call: the clock that also runs during sleep, which never goes back.
// TakeFor takes the messages to send, Receive passes in those of other nodes.
// They may be lost, delayed, repeated and reordered.
//
// # Why no two turns overlap
//
//   - A turn lasts Validity, by the asker's clock, from the sending of the ask that was
//     granted. The keeper counts it from the receipt of that ask, by its own clock, with a
//     twentieth and Slack more. The ask was sent before it was received, so the asker stops first.
//     No clock is shared.
//   - Only the holder of the address's partition, with a valid lease, grants turns (Node.May).
//     That is the right to request a host of that partition, except that a node which only does not
//     crawl at the moment, for instance because its disk is full, keeps it.
//   - A new keeper knows nothing of the turns that the previous keeper gave. It grants nothing for
//     as long as the longest of them may last (its fence).
//   - The right is checked when each request is written (MayWrite): a process that stood still
//     finds that its turn is over.
//   - A turn that is given back is over before the message is made. Grants of asks before it
//     are ignored from then on: stamps of asks and returns only grow.
//
// During a fence the node whose turn it is may continue: a keeper tells each asker the number of
// its tenure, and an ask with that number says "my turn lasts now, and I had this number before I
// asked". Turns of the previous keeper exclude each other, and it gives no more of them, so there
// is at most one such node.
//
// # Gaps
//
// A node that gives its turn back says how long no request may start (Rest). The keeper counts
// this from the receipt of the message, the next node from the receipt of its grant. So each
// delay of a message lengthens the gap. A turn that was not given back counts as used until
// its end.
//
// # Fairness
//
// While no other node asks, a turn is extended without limit: one message for each half of
// Validity, and only while the address is in use. When another node asks, the keeper recalls the
// turn: the node gives it back when it has had it for Length, has no more requests for the address,
// or has handed out no visit for Unused. It asks again when it has a fetcher for the address (the
// next call of Turn). A node that does not crawl asks for no turns. Asks are granted in the order
// of their arrival, so nodes with work alternate, and a node without work costs nothing. If the gap
// is longer than two messages take, the change of nodes costs no time.
//
// # Bounds
//
// An asker keeps an entry while it wants the address, and as long as an old grant could
// be valid. A keeper keeps an entry for the turn and the gap after it. A keeper with
// MaxKept addresses does not answer asks for others, and a full queue of messages to a node
// drops further ones: both cost time, but never shorten a gap.
package addresses
