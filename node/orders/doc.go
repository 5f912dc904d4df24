// Package orders carries operators' orders about nodes: drain one, stop one, stop all, and place
// one.
//
//	order    a node's partitions        when it is refused
//	drain    move to other members      no other active member could take them over
//	stop     as drain, if possible      never: without an heir the data stays in place
//	all      stay where they are        never
//	place    move by the new table      never: the node changes its weight, its zone, or both
//
// # All nodes
//
// When all nodes stop no partition moves: each stays on the disks that have it, and the crawl
// resumes at a later start of the nodes. The asked node is the coordinator of two steps:
//
//	visits  every member hands out no more visits, waits for the open ones, and answers
//	end     every member ends, the coordinator last
//
// So no member sees another one gone and takes over the partitions that it leaves on its disk. A
// member that has taken the first step ends by itself when the second does not follow within
// endAnyway, so a coordinator that fails in between does not leave a cluster that neither crawls
// nor ends. Members that do not answer are reported by name, and continue.
//
// The package starts no goroutine of its own but those of package fanout, which it waits for.
package orders
