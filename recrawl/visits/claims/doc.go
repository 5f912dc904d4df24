// Package claims estimates how reliable a site's claims of changes are.
//
// It is for revisits (package recrawl). Sites claim changes: a sitemap's lastmod that moved, an
// entry in a feed, a Last-Modified header. Some tell the truth, some set every date to today, some
// list nothing. Each visit of a page checks one claim, or the absence of one, against what was
// found; Record counts that per site and kind of claim. Nothing is believed in advance.
//
// The worth of a claim is a likelihood ratio: how much more often the site claims a change where
// there is one. A site whose claims come with and without changes has a ratio of 1, so its
// claims bring no visit forward, and a site that begins to lie loses its weight within some twenty
// visits, because old checks are forgotten. The result is a probability that the page has
// changed; policy.Effective makes a time of it.
//
// Everything is a pure function of its arguments.
package claims
