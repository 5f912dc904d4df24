// Package shares divides a bounded resource between claimants, so that no claimant with bad
// hosts can use it up.
//
// A claimant is a registered domain (Domain, by the public suffix list) or a block of
// addresses (Block, /24 and /48): it is hard to own many of either. Each has one window
// for all resources: the fraction of a resource that it may hold while others want
// some.
//
//	initially       1/8
//	Good outcome    + 1/64, up to the whole
//	Slow outcome    the part above 1/8 shrinks by an eighth
//	Bad outcome     it shrinks by an eighth, down to 1/128
//	time            from below it returns to 1/8 within ten minutes, whatever the outcomes
//
// So a domain that answers gets all it can use after a few dozen answers, and one that
// mostly fails is admitted more and more slowly. The window determines the Class: Good has
// answered well, New has not yet, Poor mostly fails.
//
// Book.Admits says whether a claimant may take one more of a resource:
//
//	no other domain is awake      always: no reserve is kept
//	it holds its window           no; one that is Poor has at least its part of what is left
//	                              for the Poor, up to a quarter of the resource
//	it is not Good, and all that are not hold all but a reserve     no
//	it is Poor, and the Poor hold all but a larger reserve          no
//	its block holds its window    no, unless the domain itself is Good
//
// The reserve is half of the resource for the Good, three quarters for the Good and
// the New, but no more than they have hosts awake: a host uses one at a time. A host is
// awake if it could use a resource now or soon, as the owner says with Wake and Sleep.
//
// A Bad that was noted early, and turned out better in the end, is undone by Excuse. Book.Failing
// lists domains of whose recent tries more than half were Bad.
//
// A Book is pure: no clock, no goroutine; its owner locks it. Claimants that hold nothing
// are remembered in the order of their last use, up to a bound.
package shares
