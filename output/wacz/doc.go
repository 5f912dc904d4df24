// Package wacz writes and reads WACZ files (Web Archive Collection Zipped, 1.1.1): WARC files,
// their index, a list of pages and a description with the digest of each part, in one ZIP file that
// viewers read from the web in pieces.
//
// Parts are written one after the other, as they come, so nothing is kept in memory but the description. WARC files and the
// index are stored as they are, so that a reader can fetch single records; the rest is deflated. The index is written in blocks
// of BlockLines lines, each a gzip member, with a second index of the blocks.
//
// Extract reads one, also those of other programs: the WARC files go to a folder, where they are
// read as any others. What a stranger has made is bounded: parts with names that lead elsewhere are
// refused, and what is unpacked is limited by the size of the file.
//
// The package reads no WARC file: its caller gives the bytes of the files, the lines of the index,
// sorted, and the pages.
package wacz
