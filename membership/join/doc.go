// Package join tries the addresses at which other nodes may be found, again and
// again, and reports what answers there.
//
// Gossip alone never heals: after a split of some seconds both sides forget each other for
// good. So every known address that gossip does not show is tried again for ever. The
// addresses of --join are examined more closely: before there is a cluster, Joiner finds
// out at which of them this node itself answers, since the node at the first address
// founds the cluster; and Listing says which of them are unusable, and why.
//
//	Plan      the addresses to try; Follow replaces it
//	Round     the result of trying each address once: a Place for each
//	Listing   what is known of one address of --join; Trouble is the message for people
//
// Run is the one goroutine; it starts at most 16 more for one round and waits for them.
//
//	queue    filled by   emptied by           bound        when full
//	Rounds   Run         membership's loop    unbuffered   Run waits
//	replan   Follow      Run                  one signal   the signal is set already
//
// It decides nothing: package membership decides which node founds a cluster, and what operators
// are told.
package join
