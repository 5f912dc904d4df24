// Package sites reads the rules for sites and finds those that apply to a URL: for some hosts,
// domains or URLs another delay, header, login, proxy, depth than for the rest of the crawl.
//
// # The file
//
// A file of rules is a YAML list. Each rule names URLs and gives them values:
//
//   - match: domain:example.org
//     delay: 5s
//     headers: {Accept-Language: de}
//
// The forms of match, one or a list of them:
//
//	host:NAME      the URLs of a host; host:*.NAME those of all hosts below it
//	domain:NAME    the URLs of a host and of all hosts below it
//	prefix:URL     URLs that begin so, with or without a scheme; it names a host
//	glob:PATTERN   as in package web/scope
//	regex:PATTERN  as there
//
// Every rule that matches applies, in the order of the file: a later one overrides an earlier one
// field by field, headers header by header. What no rule gives is the crawl's. There are two kinds
// of fields (Fields). Most are settings of the crawl; this package keeps their texts, and package
// config reads them as it reads the flags. The others exist for sites only: headers, auth,
// cookies-file, source-address, priority, insecure.
//
// The file is strict: an unknown field, a value of another kind, a field given twice are errors
// with their lines, and Parse reports the first fifty of them. What a file may cost is bounded: its
// bytes, its patterns without a host, and the instructions of its regular expressions.
//
// # Secrets
//
// A rule never has a password in it: it names a secret, as secret:NAME, whose value stands in a
// file on each node (package security/secrets). What is sent because of a secret is bound to the
// hosts that the rule names, so such a rule has matches of the forms host: and domain: only, and no
// name below which hosts have different owners.
//
// # Finding them
//
// A Table finds the rules of a URL by its host first: rules of a host and of each domain above it
// by maps, then those patterns that can match on this host, then the patterns without a host, one
// after another. The result for a host without patterns is kept, and the last ones for URLs of
// others. Each combination of rules is resolved once, to a Site. A Table belongs to one version of
// the crawl's settings, is immutable for its callers, and may be used by any goroutine. Its memory
// is bounded: it forgets what it kept of hosts at 32,768 of them.
//
// The package does no I/O and reads no clock.
package sites
