// Package givenup tells which URLs a crawl has given up: how many for which reason, of which hosts,
// and which hosts of seeds have got nothing at all; and which links lead nowhere. It reads the data
// directory of a node that has ended.
package givenup
