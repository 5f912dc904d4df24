// Package traps detects crawler traps, that is endless series of pages, while a site is crawled:
// calendars, session ids, ever deeper relative links, permutations of filters, lists that continue
// after their last entry, counters in paths.
//
// It judges the content of pages, not the form of their URLs: an archive of 5,000 numbered articles
// and a calendar have the same kind of URLs. A page is barren when it has hardly anything that
// the site has not shown before: no new words, few new sequences of three words, no new picture.
// Numbers do not count as words, so the months of a calendar are alike. Any other page is
// novel. See novelty.go.
//
// Examining every page of 20 KB cost 0.26 ms a page in a profile of `crawlnode bench`, more than a
// quarter of the crawl. So the first 48 pages of a site are only counted, and after 64 novel pages
// of one shape in a row, only one in eight of that shape is examined.
//
// Pages are counted by the shape of their URL, which is the URL with placeholders for its numbers
// and for its random tokens (shape.go). A family is a set of shapes that one exclude pattern can
// name: a shape, a parameter of a path, what is below a folder, a session parameter anywhere. A
// family is a trap when at least MinBarren of its pages are barren, when they are more than twice
// those that are novel, and when it contains nothing that is not part of the trap (family.go).
//
// Each trap has the exclude pattern of package scope that matches it. The pattern matches all pages
// of the trap, and none of the novel pages that were seen elsewhere on the site.
//
// A Detector has no state on disk, and its memory is bounded: beyond the limit it forgets the sites
// with the fewest barren pages first. Forgetting delays the detection of a trap; it never makes a
// trap of a site that has none.
package traps
