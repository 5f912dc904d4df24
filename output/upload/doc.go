// Package upload copies the finished files of a node to an object store, and reads files back that
// are no longer on the disk.
//
//	uploads.go  the loop: finds finished files, sends one at a time, waits after failures, deletes
//	failures.go the files that the store refuses, for the health of the node
//	archive.go  reads archive files from the disk, or else from the store
//
// Package output/upload/s3 decides what is sent and deleted, and verifies copies. The list of files
// that were sent is uploads.jsonl in the data directory.
//
// # Bounds
//
// One goroutine (Run), one file at a time. The files on the disk are the queue. They count against
// the watermark of free space, so a store that is unreachable for long pauses the crawl as a full
// disk does. Nothing else waits for the store.
package upload
