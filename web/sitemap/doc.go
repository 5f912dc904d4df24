// Package sitemap reads the lists of pages that sites publish for crawlers:
// XML sitemaps and indexes of them (https://www.sitemaps.org/protocol.html),
// plain text lists, RSS 0.9 to 2.0 and Atom feeds, each also gzipped.
//
// [Parse] goes by the content of a file, not by its name or its Content-Type. It is lenient,
// because the files are often made by hand or cut off: it returns all that could be read, together
// with an error that says what is wrong. A file is read as a stream, unpacking included; its limits
// are [MaxBytes] after decoding, [MaxEntries], [MaxEntryBytes], and a number of addresses and times
// that could not be read, which cost more than good ones. The parser gets only tags, text and CDATA
// sections of XML, each within a bound. Comments, processing instructions and document types are
// stepped over: no external types and entities, XInclude or style sheets are followed.
// [ParsePart] reads what is there of a file that was cut off on its way.
//
// The package judges nothing. Entries of other hosts are returned as well, and
// the caller bounds how deep indexes nest, or name themselves.
package sitemap
