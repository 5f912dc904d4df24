// Package spread replicates the crawl document and the scope entries to all members, and makes
// the changes of the document that operators request.
//
// The document is small, and its newest version wins everywhere (package crawldoc). Scope entries
// are a set that only grows, a log for each node that added some (package settings/scopeset).
//
// # The exchange
//
//	change here ── Wake ──┐
//	renewal shows another stamp ── Compare ──┴─► Run: one call at a time to each member
//	    the request: this node's document, if newer, and the entries that the member lacks
//	    the answer: what the member has; when asked (Fetch), the entries that this node lacks
//
// A call carries at most 256 KiB of entries. Calls to one member are repeated until both have the
// same, or one fails; then that member is not called for 250 ms. A silent member delays only
// itself.
//
//	options.go   what the package needs of others
//	spreader.go  Spreader: which member is due, and the exchange with it
//	wire.go      the answer to another member's call, and how entries travel
//	wait.go      waits for a majority, for every member, or for entries that this node lacks
//	quorum.go    how many members are enough: pure
//	change.go    settings, orders, revocations: changes of the document
//	found.go     the founder's document becomes the cluster's
//
// # Guarantees
//
// An entry of a seed is acknowledged when more than half of the members store it. A node fetches
// nothing before it has asked, in its own boot, at least half of the other members for everything
// that they have (CatchUp). Together this means: a node that fetches has every acknowledged entry.
//
// Later a node may lack an entry only while a member shows another stamp, or while it hears from
// too few members. Complete is false then, and no link is refused for lack of an entry. No caller
// waits for a silent member: such a member catches up before it gets a lease again.
//
// A seed, and the target of its redirect, open their own scope. The node that stores or fetches
// such a URL adds its entry, so the entry is as durable as the URL and needs no majority (Add).
//
// # Goroutines and queues
//
// Run is one goroutine, and one more for each call that is under way, at most one a member; it
// waits for them. Everything else runs in its caller. There is one queue: the entries for each
// member wait in the logs on disk until the member's answer shows that it has them.
package spread
