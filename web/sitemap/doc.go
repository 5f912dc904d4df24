// Package sitemap reads the lists of pages that sites publish for crawlers: XML sitemaps and
// indexes of them (https://www.sitemaps.org/protocol.html), plain text lists, RSS 0.9 to 2.0 and
// Atom feeds, each also gzipped.
//
// [Parse] goes by the content of a file, not by its name or its Content-Type. It is lenient,
// because the files are often made by hand or cut off: it returns all that could be read, together
// with an error that says what is wrong. [ParsePart] reads what is there of a file that was cut off
// on its way.
//
// A file is read as a stream, unpacking included. Its limits are [MaxBytes] after decoding,
// [MaxEntries], [MaxEntryBytes], the size of a tag or text, the depth and number of tags, and a
// number of addresses and times that could not be read, which cost more than good ones. XML is read
// as tags and text; document types, processing instructions and comments are passed over: no
// entities that a file declares, XInclude or style sheets are followed.
//
// The package judges nothing. Entries of other hosts are returned as well, and the caller bounds
// how deep indexes nest, or name themselves.
package sitemap
