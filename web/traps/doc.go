// Package traps notices, while a site is crawled, that its pages do not end: calendars, session
// ids, ever deeper relative links, permutations of filters, lists that go on behind their last
// entry, counters in paths.
//
// It judges by what pages bring, not by how their URLs look: an archive of 5,000 numbered articles
// and a calendar have the same kind of URLs. A page is barren when it brings hardly anything that
// the site has not shown before: no new words, few new sequences of three words, no new picture.
// Numbers do not count as words, so the months of a calendar are alike. A page that brings more is
// novel. See novelty.go.
//
// Looking at every page of 20 KB cost 0.26 ms a page in a profile of `crawlnode bench`, more than a
// quarter of the crawl. So the first 48 pages of a site are only counted, and where 64 pages of a
// shape in a row were novel, one in eight is looked at.
//
// Pages are counted by the shape of their URL, which is the URL with placeholders for its numbers
// and for its random tokens (shape.go). A family is a set of shapes that one exclude pattern can
// name: a shape, a parameter of a path, what is below a folder, a session parameter anywhere. A
// family is a trap when at least MinBarren of its pages are barren, when they are more than twice
// those that are novel, and when it contains nothing that is not part of the trap (family.go).
//
// Each trap has the pattern of package scope that leaves it out. The pattern matches all pages of
// the trap, and none of the novel pages that were seen elsewhere on the site.
//
// A Watch knows only what it was told since it was made, and keeps at most its limit of memory:
// then it forgets the sites with the fewest barren pages first. Forgetting makes it notice later;
// it never makes a trap of a site that is none.
package traps
