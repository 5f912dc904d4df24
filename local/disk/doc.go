// Package disk watches the disks of a node: whether they have room, and whether they answer.
//
//	space.go  Space: free bytes of each volume that the node writes to, and inodes
//	room.go   whether a new node has room to begin; waiting for room
//	stall.go  Stalls: the longest wait for the disk, and what it means for the lease
//
// # Room
//
// Fetching pauses when less than LowBytes are free on any volume, or LowFiles on that of the data directory, and goes on with
// twice as much.
// A store on a full disk kills the process, because its files are mapped, so the pause comes long
// before. What was fetched already waits for room (Wait, Retry) and is not lost.
//
// # Answers
//
// A member whose disk does not answer is of no use to the others and does not notice by itself:
// its memory answers as before. So it watches what waits for the disk. After stallAfter without an
// answer it asks for no lease, falls silent and says why (ownership rule 15); the others exclude it
// if they are enough. It recovers by itself when the disk answers.
//
// # Goroutines
//
// Stalls.Run is one goroutine, and one more for each try of the disk, of which one at most is under
// way. Everything else may be called from any goroutine; mutexes are held for moments, never over a
// call of the system. The only queue is a signal of capacity 1 that space ran low (Fell).
package disk
