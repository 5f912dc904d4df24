// Package contents remembers where payloads were stored first.
//
// The partition of a payload's digest remembers its first capture, whichever host it
// came from. So any node can find out whether a payload is stored already, and this
// knowledge is moved and copied with the partition.
//
// A partition remembers at most Options.ContentsPerPartition payloads. After that each new payload
// replaces the one with the next higher digest, which is as good as a random one. A forgotten
// payload is stored once more if it is fetched again.
//
// The package knows no record of a URL and no queue; it needs only the writer of package commit.
package contents
