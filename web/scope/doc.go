// Package scope decides which URLs belong to a crawl, and says which rule
// decided.
//
// Two things make up a scope. The [Rules] are the crawl's settings, compiled
// and immutable: the mode, include and exclude patterns, the depth limit. The
// [Seeds] are what the modes are relative to: scope entries, one line of text
// each, that stand for the seeds people gave and for where these redirected to.
// [Rules.EntryOf] makes an entry; the cluster keeps the entries and tells them
// to every member; [Rules.Judge] holds a URL against both. Where the entries
// are kept is an [Index]: a set of keys, so that millions of them need not be in
// memory. Entries are only ever added: a URL that is admitted stays so, one that
// is refused may be admitted by an entry that comes later.
//
// A URL is admitted when all of these hold, asked in this order:
//
//	its page, folder, host or domain (by the mode) is that of an entry
//	no exclude pattern matches
//	an include pattern matches, if there are any and it was found by a link
//	it is not deeper than the limit
//	no segment stands four times or more in its path (a trap)
//
// A URL that only looks like a trap is admitted and marked as suspicious; the
// caller gives it the lowest priority and counts it against its host's budget.
// Length, port and scheme are the business of package urlnorm, robots.txt that
// of package robots.
//
// Patterns are matched against canonical URLs:
//
//	glob:PATTERN     the default. '*' stands for any bytes, '/' too; all else,
//	                 '?' too, for itself. It has to match the whole URL, with or
//	                 without its scheme, or, if it begins with '/', path and query
//	regex:PATTERN    RE2 syntax; it may match anywhere in the URL
//	host:NAME        a host; "host:*.NAME" all hosts below it
//	prefix:START     the beginning of a URL, with or without its scheme, or, if
//	                 it begins with '/', of path and query
//
// There is no state and no I/O; an Index has its own, and guards it.
package scope
