// Package robots reads robots.txt files and answers what they allow (RFC 9309,
// the Robots Exclusion Protocol).
//
// [Parse] reads a file once for one product token and keeps only what concerns
// it: the rules of all groups that name the token, merged, or else those of all
// groups for "*". [Rules.Allowed] then looks for the longest pattern that
// matches; of an Allow and a Disallow of the same length the Allow wins. The
// cost of an answer is linear in the size of the rules and of the URL, whatever
// wildcards a file has.
//
// Files and paths are compared with their percent escapes in one form, as section
// 2.2.2 of the RFC says. Google's parser keeps escapes as they are written, and so
// differs in two of the 145 cases of its own suite (ID_Encoding: "%62%61%7A" is not
// "baz" there, and an unescaped path differs from an escaped one). All others hold.
//
// Lines are split by the Go port of Google's parser, with its tolerance for
// usual typing errors; grouping, matching and Crawl-delay are ours.
//
// The package knows nothing of HTTP. The caller decides what an answer other than
// 200 means (section 2.3.1), how long a file is valid, and to which origin it
// belongs. Rules are immutable and may be used by any number of
// goroutines.
package robots
