// Package fairshare shares a bounded resource out between those who want it, so that
// nobody's bad hosts keep it from the others.
//
// A claimant is what can be told apart and is hard to have many of: a registered
// domain (Domain, by the public suffix list) or a block of addresses (Block, /24 and
// /48). Each has a standing, one for all resources: its window, the part of a
// resource that it may hold while others are about.
//
//	begins at       1/8
//	Good outcome    + 1/64, up to the whole
//	Slow outcome    what is above 1/8 shrinks by an eighth
//	Bad outcome     shrinks by an eighth, down to 1/128
//	time            what is below 1/8 comes back to there in ten minutes, whatever is heard
//
// So a domain that answers has all it wants after a few dozen answers, and one that
// mostly fails is admitted more and more slowly. From its window follows its Class:
// Good has answered well, New has not yet, Poor fails.
//
// Book.Admits says whether a claimant may take one more of a resource:
//
//	no other domain is awake      always: no share is kept for nobody
//	it holds its window           no; one that is Poor has at least its part of what is left
//	                              for the Poor, up to a quarter of the resource
//	it is not Good, and those who are not hold all but a reserve    no
//	it is Poor, and the Poor hold all but a larger reserve          no
//	its block holds its window    no, unless the domain itself is Good
//
// The reserve is half of the resource for the Good, three quarters for the Good and
// the New, but no more than they have hosts awake: a host uses one at a time. Awake is
// who could use a resource now or soon, as the owner says with Wake and Sleep.
//
// A Bad outcome that is noted before the end may be undone (Excuse). Book.Failing names
// domains of whose recent tries more than half were Bad.
//
// A Book is pure: no clock, no goroutine; its owner guards it. What has nothing is
// remembered in the order of its last use, up to a bound.
package fairshare
