// Package heartbeat exchanges the state of the members every second: who they are, which partitions
// they hold, and the readings of their clocks. On the wire the call is named Renew.
//
//	heartbeat.go  Heartbeat: calls every other member, and answers
//	vitals.go     the figures of a block that change while a node does nothing. Pure
//	table.go      Table: the last report of each other node, and who holds which partition
//	clocks.go     ClockWatch: compares clocks between two heartbeats
//
// # What a heartbeat carries
//
//   - the block: the status of the sender (crawl.NodeBlock), and the partitions that it holds. The
//     figures that change every second are apart; the rest, JSON and some 3 KB, goes only to the
//     members that do not have it, as the number in their last answer tells
//   - a request for the lease; the answer grants it or not (package membership decides)
//   - the stamp of the sender's crawl document and scope entries; when stamps differ, package
//     spread exchanges them
//   - the sender's demand for revisits, while known pages are revisited (package recrawl)
//   - a reading of the sender's clock, from which the receiver learns that its own machine stood
//     still
//
// After a change of the held partitions one is sent at once (Soon), so links follow a moved
// partition without delay.
//
// # Goroutines and queues
//
// Heartbeat.Run and ClockWatch.Run are one goroutine each, and one more for each call under way, at
// most one for each member and kind: a member that does not answer delays no other. A call that
// cannot be made is skipped; the next one follows a second later. A mutex guards the Table; the
// routes in it are read without a lock.
package heartbeat
