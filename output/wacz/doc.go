// Package wacz writes and reads WACZ files (Web Archive Collection Zipped, 1.1.1): WARC files,
// their index, a list of pages and a description with the digest of each part, in one ZIP file that
// viewers read from the web in pieces.
//
// Parts are written one after the other, as a stream, so only the description is kept in memory.
// WARC files and the index are stored without further compression, so that a reader can fetch
// single records; the rest is deflated. The index is written in blocks of BlockLines lines, each a
// gzip member, with a second index of the blocks.
//
// Extract unpacks a WACZ file, also of other programs: the WARC files go to a folder, where they
// are read like any others. The input may be hostile: parts whose names lead out of the folder are
// refused, and the unpacked size is limited by the size of the file.
//
// The package reads no WARC file: its caller gives the bytes of the files, the lines of the index,
// sorted, and the pages.
package wacz
