// Package places reads and writes the places that URLs have in the queues of their hosts, within a group of the writer.
//
// A place is a host, a band and a number. Its entry stands
//
//	in the host's entry          its only URL, never tried (layout/inline.go)
//	under a key of its own       most others
//	in a block                   URLs that were found together (layout/block.go)
//
// and who asks for a place need not know where. A new URL of a host of which more follow is put into a block, which is
// written when the list of links is through (Flush), or before the first of its places is looked at. A URL that leaves a
// block costs no key: the host's entry says which are left. One whose entry changes leaves it too, and gets a key of its own.
// A block goes when nobody is left. A host remembers layout.MaxOpenBlocks blocks of which some are gone; of one more, the oldest is
// written anew, with those that have left it and still wait.
//
// So of the keys of a queue this holds: the numbers of a block are in no other block; those of its URLs that have keys of
// their own are not among the left of an open block; and a block that is not open has no URL with a key of its own.
// Package reader relies on it.
//
// It keeps no state but blocks that are not written yet. It belongs to the writer's goroutine.
package places
