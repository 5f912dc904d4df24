// Package orders carries operators' orders that end nodes: drain one, stop one, stop all.
//
//	order    a node's partitions        when it is refused
//	drain    move to other members      no other active member could take them over
//	stop     as drain, if possible      never: without an heir the data stays in place
//	all      stay where they are        never
//
// # All nodes
//
// When all nodes stop nobody takes over, so nothing is handed on: each partition stays on the disks
// that have it, and a later start of the nodes goes on with it. The asked node is the coordinator:
//
//	visits  every member hands out no more visits, waits for the open ones, and answers
//	end     every member ends, the coordinator last
//
// So no member sees another one gone and takes over what the other is about to leave on its disk.
// A member that was told the first ends by itself when the second does not come within endAnyway,
// so a coordinator that fails in between leaves no cluster that neither crawls nor ends. Members
// that do not answer are named, and go on.
//
// The package starts no goroutine of its own but those of package fanout, which it waits for.
package orders
