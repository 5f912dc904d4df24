// Package contents remembers where payloads were stored first.
//
// Each fetched payload is remembered by the partition of its digest, whichever host it
// came from. So any node can find out whether a payload is stored already, and this
// knowledge moves, survives and is copied with the partition.
//
// A partition remembers at most Options.ContentsPerPartition payloads. Digests are as
// good as random, so from then on each new one takes the place of the next in their
// order: what is forgotten is a payload that is stored once more if it comes again.
//
// It knows no URL's record and no queue: the writer of package commit is all that it needs.
package contents
