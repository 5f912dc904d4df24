// Package office reads office files: OOXML (docx, xlsx, pptx), ODF (odt, ods, odp), with their
// templates and macro variants, EPUB 2 and 3, and RTF. Each file becomes one page of HTML
// (documents/page) with title, text in reading order, headings, lists, tables, links, language and
// properties.
//
//	bytes ─► KindOf ─► Read ─┬─ container: entries of the zip, unpacked within a budget ─► xml
//	                         │     word, sheet, slides, odf, epub ─┐
//	                         └─ rtf ───────────────────────────────┴─► flow ─► page.Writer
//
// Read streams: no part of a file is held unpacked. What has to wait, such as footnotes, is kept as
// tokens, within a bound of its own.
//
// # What is left out
//
// Hidden text, hidden sheets and slides, tracked deletions, comments, headers and footers of pages,
// scripts, styles and macros, and everything that is embedded: pictures, charts, other files.
//
// # Bounds
//
// A file is hostile input. Limits bounds the page, the bytes unpacked and their ratio to the file,
// entries of the zip, cells, and memory for shared strings; constants bound the nesting, the length
// of an XML token, and what is kept for later. XML entities are never expanded but the predefined
// ones and those of HTML. Names of zip entries are looked up and nothing else, so they cannot reach
// a file system. The context is checked with each block that is unpacked.
//
// A file that breaks a bound, is damaged or encrypted gives the page of what could be read before,
// and an error of one of three classes: ErrLimit, ErrDamaged, ErrEncrypted. A zip without its
// directory, as one that was cut in transfer, is read from its local headers.
//
// # Times
//
// Times become RFC 3339. ODF and RTF have local times without a zone: they are given as UTC. Dates
// of W3CDTF without a time, such as "2014-05", stay as they are.
//
// The package does no I/O, reads no clock and keeps no state between calls.
package office
