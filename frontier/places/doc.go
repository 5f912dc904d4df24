// Package places reads and writes the queue entries of URLs, within a group of the writer.
//
// A queue entry is named by a host, a band and a number (layout.QueueSlot). It is stored
//
//	in the host's entry      the host's only URL, never tried (layout/inline.go)
//	under a key of its own   most others
//	in a block               URLs that were added together (layout/block.go)
//
// and callers need not know where. A new URL is put into a block when more URLs of its host follow.
// The block is written at the end of the list of links (Flush), or before one of its entries is
// looked up. Removing a URL from a block writes no key: the host's entry lists the URLs that are
// left in it (layout.OpenBlock). A URL whose entry changes leaves its block as well, and gets a key
// of its own. A block is deleted with its last URL. A host has at most layout.MaxOpenBlocks open
// blocks, that is blocks that some URLs have left. When there is one more, the oldest is rewritten,
// together with the URLs that have left it and are still queued.
//
// Invariants of the keys of a queue, on which package reader relies:
//
//   - a number belongs to at most one block;
//   - the list of an open block has no URL that has a key of its own;
//   - no URL of a block that is not open has a key of its own.
//
// The only state is the blocks that are not written yet. A Queue belongs to the writer's goroutine.
package places
