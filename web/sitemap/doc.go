// Package sitemap reads the lists of pages that sites publish for crawlers:
// XML sitemaps and indexes of them (https://www.sitemaps.org/protocol.html),
// plain text lists, RSS 0.9 to 2.0 and Atom feeds, each also gzipped.
//
// [Parse] goes by the content of a file, not by its name or its Content-Type. It is lenient,
// because the files are often made by hand or truncated: it returns all entries that can be read,
// together with an error that says what is wrong. A file is decompressed and read as a stream. Its
// limits are [MaxBytes] after decompression, [MaxEntries], [MaxEntryBytes], and a number of invalid
// URLs and times, which cost more than valid ones. Of XML only tags, text and CDATA sections reach
// the parser, each of bounded size. Comments, processing instructions and document types are
// skipped, so no external entity, XInclude or style sheet is ever loaded. [ParsePart] reads the
// beginning of a file whose transfer was cut off.
//
// The package applies no policy. Entries of other hosts are returned as well, and
// the caller bounds the nesting of indexes, which may also name themselves.
package sitemap
