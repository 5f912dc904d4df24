// Package givenup reports which URLs a crawl has given up, by reason and by host, which hosts of
// seeds have no page at all, and which links are broken. It reads the data directory of a node that
// has ended.
package givenup
