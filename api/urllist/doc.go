// Package urllist walks a whole list of stored URLs, page by page, and writes it as JSON lines or
// CSV. The API uses it for its streams, the command line for the lists of a node or of a data
// directory.
//
// Walk keeps one page in memory, whatever the length of the list. A partition that could not be
// read is asked for again at the end; what is still missing then is named in an Incomplete.
//
// # CSV
//
// RFC 4180, with a header. A field that a spreadsheet would take for a formula, because it begins
// with = + - @ or a control character, gets an apostrophe in front, and control characters become
// spaces: strangers choose the text of reasons and hosts. A canonical URL begins with http and
// has no control characters, so it is written unchanged.
package urllist
