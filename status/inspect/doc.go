// Package inspect answers people's questions about single items, on any node: one URL, one host,
// the first hosts in an order, all partitions, the newest changes requested by operators, one
// record of an archive, the index of all archives; and it lists URLs. Sums over the whole crawl are
// package status's.
//
// The asked node applies the rules itself. Stored data is requested from the node that has it: the
// holder of the partition, or every member. Each question costs a few reads of the store and one
// call to each node involved. None scans a frontier (invariant I10), except lists of URLs, which do
// so in pages of bounded size and time (list.go).
//
//	inspector.go  what the package needs; a question to the holder, and its answer
//	url.go        one URL: record, robots.txt, scope
//	visits.go     the visits of a URL, and when the next one is planned
//	scope.go      what the scope rules say of a URL, also without a cluster
//	host.go       one host: politeness, queue
//	hosts.go      the first hosts of all that are in memory
//	list.go       pages of a list of URLs
//	ring.go       every partition: what the table says and what members have
//	remove.go     removes queued URLs from their queues; nothing else here changes anything
//	audit.go      the newest changes requested on the members
//	export.go     records and indexes of archives
//
// # Questions between nodes
//
// Questions and answers are JSON: fields are only ever added. A question is answered from the
// answering node's own store and memory only, so no question is passed on.
//
// # Goroutines
//
// The package starts none of its own: the caller waits. Questions to several members are sent at
// the same time and awaited. Every method may be called from any goroutine. A node reads two pages
// of lists at a time; other callers wait for their turn, and what they wait for is asked for again.
package inspect
