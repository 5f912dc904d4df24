// Package s3 copies finished files to an object store and says which local ones may go.
//
//	target.go   s3://bucket/prefix?options and --keep-local: text becomes values
//	plan.go     pure: what is sent next, what may be removed
//	journal.go  what was sent and verified, a line for each file, synced
//	sums.go     digests of a file, by parts
//	s3.go       the edge: an object in parts, resumed, verified; and its bytes again
//
// # Guarantees
//
// A file is in the journal only after the store has it whole: its size is equal, and so is its entity tag, which is made of the
// MD5 of each part; where the tag says something else (encryption with keys of the store, a store of another kind), the object is
// read back and compared. Only a file in the journal may be removed. A kill between any two steps repeats at most the look at an
// object, or a part.
//
// Keys are unique: PREFIX/CLUSTER/NODE/FOLDER/FILE, with the ids of the cluster and of the node, which are random, and a file
// name that has the time and a serial number. An upload never replaces an object of other content but its own half-done one.
//
// Put sends two parts of a large file at once, and waits for both. Memory: 32 KiB for each part on its way, 3 MiB while an object is
// compared; parts are read from the file twice.
package s3
