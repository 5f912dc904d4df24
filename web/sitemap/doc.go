// Package sitemap reads the lists of pages that sites publish for crawlers:
// XML sitemaps and indexes of them (https://www.sitemaps.org/protocol.html),
// plain text lists, RSS 0.9 to 2.0 and Atom feeds, each also gzipped.
//
// [Parse] goes by what a file is, not by its name or its Content-Type, and is
// lenient throughout, because the files are often made by hand or cut off: it
// returns all that could be read, together with an error that says what is
// wrong. A file is read as a stream, unpacking included; its limits are
// [MaxBytes] after decoding, [MaxEntries], [MaxEntryBytes], and a number of addresses
// and times that could not be read, which cost more than good ones.
//
// Of XML only tags, text and CDATA sections reach the parser, each within a
// bound. Comments, processing instructions and document types are stepped over:
// no entity is ever declared, so none can grow or be fetched, and nothing that
// a file names (external types and entities, XInclude, style sheets) is followed.
//
// The package judges nothing: entries of other hosts are returned as well, and
// how deep indexes may nest, or that they name themselves, is up to the caller.
package sitemap
