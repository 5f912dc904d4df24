// Package upload keeps an object store up to date with the finished files of a node, and reads back from there what is no
// longer on the disk.
//
//	uploads.go  the loop: looks for finished files, sends one at a time, waits after failures, removes what may go
//	failures.go the files that the store refuses, for the health of the node
//	archive.go  the archive as others see it: on the disk, else in the store
//
// What is sent and removed, and how a copy is verified, is output/upload/s3's. The list of what was sent is uploads.jsonl in the data
// directory.
//
// # Bounds
//
// One goroutine (Run), one file at a time. There is no queue: the files on the disk are the queue, and the watermark of free space
// counts them, so a store that stays away for long pauses the crawl as a full disk does. Nothing else waits for the store.
package upload
