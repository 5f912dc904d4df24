// Package heartbeat is what the members tell each other every second: who they are, what they
// hold, and what they read on their clocks. On the wire the call is named Renew.
//
//	heartbeat.go  Heartbeat: calls every other member, and answers
//	table.go      Table: the last report of each other node, and who holds which partition
//	clocks.go     ClockWatch: compares clocks between two heartbeats
//
// # What a heartbeat carries
//
//   - the block: the status of the sender (crawl.NodeBlock), and the partitions that it holds
//   - a request for the lease; the answer grants it or not (package membership decides)
//   - the stamp of the sender's crawl document and scope entries; who finds a difference exchanges
//     them (package spread's job)
//   - what the sender's known pages want of visits, while they are visited again (package revisits)
//   - a reading of the sender's clock, by which the other finds out that its machine stood still
//
// A change of the holdings sends one at once (Soon), so links follow a moved partition without delay.
//
// # Goroutines and queues
//
// Heartbeat.Run and ClockWatch.Run are one goroutine each, and one more for each call under way, one
// at most for each member and kind: a member that does not answer delays no other. A call that
// cannot be made is skipped; the next one comes in a second. The Table is guarded by a mutex that is
// held for moments; the routes in it are read without a lock.
package heartbeat
