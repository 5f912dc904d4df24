// Package estimate says how often a page changes, from what its visits saw.
//
// It is for revisits (package recrawl): a page's next visit depends on its rate of change, which
// is never seen itself. A visit sees only whether the page changed since the visit before, at
// intervals that differ; when a server dates its changes truthfully, also when the last one was.
//
//	Observation  what one visit saw
//	Stats        what all visits of a page say: four numbers, 8 bytes when packed
//	Gamma        a distribution of rates: what is believed before and after
//	Pool         the rates of many pages, as sums: the prior of a site's next page
//
// # The estimator
//
// Changes are taken for a Poisson process. Cho and Garcia-Molina, "Estimating frequency of
// change" (ACM TOIT 2003), give the bias-reduced estimator for equal intervals and the likelihood
// equation for unequal ones. Stats.Posterior solves that equation with the terms of a gamma
// prior, and says how sure the solution is. So a page with two visits is believed to be like its
// site, and a page with fifty like itself. See the functions for the equations.
//
// # What is not exact
//
// Changes found after different intervals are summed up at the geometric mean of those; the error
// is small because a page's intervals become alike. Old visits lose weight (Memory), because
// rates change. The posterior is replaced by the gamma distribution with the same mean and mean
// logarithm.
//
// # What it promises
//
// Everything is a pure function of its arguments. Whatever these are, also intervals of zero, of
// centuries and below zero, results are finite and positive. More changes never lower the
// estimate, and more quiet never raises it.
package estimate
