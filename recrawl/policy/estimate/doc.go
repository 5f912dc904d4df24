// Package estimate estimates how often a page changes, from the results of its visits.
//
// It is for revisits (package recrawl): a page's next visit depends on its rate of change, which
// cannot be observed. A visit shows only whether the page changed since the previous visit, at
// varying intervals; when a server dates its changes truthfully, also when the last one was.
//
//	Observation  the result of one visit
//	Stats        the results of all visits of a page: four numbers, 8 bytes when packed
//	Gamma        a distribution of rates: the prior and the posterior
//	Pool         the rates of many pages, as sums: the prior of a site's next page
//
// # The estimator
//
// Changes are taken for a Poisson process. Cho and Garcia-Molina, "Estimating frequency of change"
// (ACM TOIT 2003), give the bias-reduced estimator for equal intervals and the likelihood equation
// for unequal ones. Stats.Posterior solves that equation with the terms of a gamma prior, and its
// uncertainty. So the estimate for a page with two visits is close to its site's, and for a page
// with fifty visits it rests on these. See the functions for the equations.
//
// # Approximations
//
// Changes found after different intervals are summed up at the geometric mean of the intervals; the
// error is small because a page's intervals become alike. Old visits lose weight (Memory), because
// rates change. The posterior is replaced by the gamma distribution with the same mean and mean
// logarithm.
//
// # Guarantees
//
// Everything is a pure function of its arguments. Whatever these are, also intervals of zero, of
// centuries and below zero, results are finite and positive. More changes never lower the
// estimate, and more quiet never raises it.
package estimate
