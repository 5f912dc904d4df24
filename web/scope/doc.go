// Package scope decides which URLs belong to a crawl, and reports the rule that
// decided.
//
// A scope has two parts. The [Rules] are the crawl's settings, compiled
// and immutable: the mode, include and exclude patterns, the depth limit. The
// [Seeds] are the reference points of the modes: scope entries, one line of text
// each, for the seeds that people gave and for the targets of their redirects.
// [Rules.EntryOf] makes an entry. The cluster keeps the entries and sends them
// to every member. [Rules.Decide] checks a URL against both. The entries
// are kept in an [Index], a set of keys, so that millions of them need not be in
// memory. Entries are only ever added: an admitted URL stays admitted, and a
// refused one may be admitted by a later entry.
//
// A URL is admitted when all of these hold, checked in this order:
//
//	its page, folder, host or domain (by the mode) is that of an entry
//	no exclude pattern matches
//	an include pattern matches, if there are any and the URL was found by a link
//	its depth is within the limit
//	no segment occurs four times or more in its path (a trap)
//
// Patterns and depth limit may be others for some sites (Options.Site).
//
// A sub-resource of a page, such as an image, is admitted with the page ([Rules.DecideAsset]): only
// exclude patterns and traps refuse it.
//
// A URL that merely looks like a trap is admitted and marked as suspicious; the caller gives it the
// lowest priority and counts it against its host's budget. Length, port and scheme are checked by
// package urlnorm, robots.txt by package robots.
//
// Patterns are matched against canonical URLs:
//
//	glob:PATTERN     the default. '*' stands for any bytes, also '/'; every other
//	                 byte, also '?', for itself. It must match the whole URL, with or
//	                 without its scheme, or, if it begins with '/', path and query
//	regex:PATTERN    RE2 syntax; it may match anywhere in the URL
//	host:NAME        a host; "host:*.NAME" all hosts below it
//	prefix:START     the beginning of a URL, with or without its scheme, or, if
//	                 it begins with '/', of path and query
//
// A host or prefix that no URL can match, such as "prefix:http:", is an error.
//
// The package has no state and does no I/O. An Index has its own state and lock.
package scope
