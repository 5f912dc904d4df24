// Package sitemap reads the lists of pages that sites publish for crawlers:
// XML sitemaps and indexes of them (https://www.sitemaps.org/protocol.html),
// plain text lists, RSS 0.9 to 2.0 and Atom feeds, each also gzipped.
//
// [Parse] goes by what a file is, not by its name or its Content-Type, and is
// lenient throughout, because the files are often made by hand or cut off: it
// returns all that could be read, together with an error that says what is
// wrong. A file is read as a stream; its limits are [MaxBytes] after decoding,
// [MaxEntries] and [MaxEntryBytes].
//
// The package judges nothing: entries of other hosts are returned as well, and
// how deep indexes may nest is up to the caller. External entities, XInclude
// and style sheets are never followed.
package sitemap
