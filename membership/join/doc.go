// Package join tries the addresses under which other nodes may be found, again and
// again, and says what is there.
//
// Gossip alone never heals: after a cut of some seconds both sides forget each other for
// good. So every known address that is not in sight is joined again for ever. The
// addresses of --join are looked at more closely: before there is a cluster, Joiner finds
// out at which of them this node itself answers, since the node at the first address
// founds the cluster; and Listing says which of them are of no use, and why.
//
//	Plan      the addresses to try; Follow replaces it
//	Round     what one trial of each found: a Place for each address
//	Listing   what is known of one address of --join; Trouble is what people are told
//
// Run is the one goroutine; it starts at most 16 more for one round and waits for them.
//
//	queue    filled by   emptied by           bound        when full
//	Rounds   Run         membership's loop    unbuffered   Run waits
//	replan   Follow      Run                  one signal   the signal is set already
//
// It decides nothing: who founds a cluster, and what an operator is told, is up to
// package membership.
package join
