// Package s3 copies finished files to an object store and decides which local ones may be
// deleted.
//
//	target.go   parses s3://bucket/prefix?options and --keep-local
//	plan.go     pure: what is sent next, what may be deleted
//	journal.go  what was sent and verified, a line for each file, synced
//	sums.go     digests of a file, by parts
//	s3.go       the S3 client: uploads in parts, resumes and verifies them, reads objects back
//
// # Guarantees
//
// A file is in the journal only after the store has it whole: the size of the object is equal, and
// so is its entity tag, which is computed from the MD5 of each part. Where the tag has another
// meaning (encryption with keys of the store, a store of another kind), the object is read back and
// compared. Only a file in the journal may be deleted. A kill between any two steps repeats at most
// the check of an object, or one part.
//
// Keys are unique: PREFIX/CLUSTER/NODE/FOLDER/FILE, with the random ids of the cluster and of the
// node, and a file name that has the time and a serial number. An upload never replaces an object
// with other content, except its own unfinished one.
//
// Put sends two parts of a large file at a time, and waits for both. Memory: 32 KiB for each part
// in flight, 3 MiB while an object is compared; parts are read from the file twice.
package s3
