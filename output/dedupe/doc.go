// Package dedupe knows payloads that other archives have, from their indexes (--dedupe-against): a
// page with such a payload becomes a revisit that refers to the other archive, and is not stored
// again.
//
// The life of an Index: Open reads the CDXJ or CDX files once and writes what it needs of them,
// sorted, to a file of its own. The next start opens that file, unless one of the indexes has
// another size or time: then it is made anew. Find looks a digest up. Nothing changes an open
// Index, so what happens to the indexes later does not matter until the next start.
//
//	payloads-<hash>.index       complete; the hash is of the paths, sizes and times of the indexes
//	payloads-<hash>.index.tmp   being made; removed by the next Open
//
// A file has three parts. Numbers are big-endian.
//
//	lines   digest SP date SP url LF     one for each digest, in the order of their bytes: the
//	                                     digest in 32 digits of base32hex, the date in 14
//	table   2^15 + 1 numbers, 64 bits    where the digests that begin with these 15 bits begin; the
//	                                     last number is the end of the lines
//	footer  64 bits, 32 bits, 8 bytes    how many lines; CRC-32C of table and lines' count; magic
//
// A capture counts that has the payload itself: no revisit, no 304, and with an SHA-1 and a date to
// the second. Of several with one payload the earliest is kept. A URL beyond 4 KiB or with control
// characters is passed over. A line that cannot be read is an error, as is a file that changes
// while it is read.
//
// Bounds: a line takes 48 bytes and its URL on the disk, and twice that while the file is made.
// Making it takes some 130 MiB of memory, whatever the size of the indexes; an open Index takes 256
// KiB. Find reads once from the disk while the indexes have less than some four million payloads,
// and then once more for each doubling.
//
// The package does not read other archives: whether they still have what their indexes say is not
// known here.
package dedupe
