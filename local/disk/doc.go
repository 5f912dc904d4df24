// Package disk watches the disks of a node: whether they have free space, and whether they respond.
//
//	space.go  Space: free bytes of each volume that the node writes to, and inodes
//	room.go   whether a new node has room to begin; waiting for room
//	stall.go  Stalls: the longest wait for the disk, and what it means for the lease
//
// # Room
//
// Fetching pauses when fewer than LowBytes are free on any volume, or LowFiles inodes on the volume
// of the data directory, and resumes with twice as much. A store on a full disk kills the process,
// because its files are mapped, so fetching pauses long before that. Pages that were fetched
// already wait for space (Wait, Retry) and are not lost.
//
// # Answers
//
// A member whose disk does not respond is useless to the others, but answers as before from memory.
// So it watches the operations that wait for the disk. After stallAfter without a response it asks
// for no lease, becomes silent and reports why (ownership rule 15); the others exclude it if there
// are enough of them. It recovers by itself when the disk responds.
//
// # Goroutines
//
// Stalls.Run is one goroutine, and one more for each probe of the disk, at most one at a time.
// Everything else may be called from any goroutine; mutexes are never held during a system call.
// The only queue is a signal of capacity 1 that space ran low (Fell).
package disk
