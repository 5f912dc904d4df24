// Package door bounds what strangers can cost at a node's open ports.
//
// A Listener keeps the connections that it accepts in two groups. A connection is a
// stranger's until the server calls its Trust, after a valid key, a valid call or a
// request that it answers. The number of strangers is bounded. When one more connects,
// the oldest connection of the address with the most strangers is closed. So a flood of
// connections displaces its own, a node that connects and authenticates at once is
// served, and no time-out is needed.
//
//	queue       filled by   emptied by             bound              when full
//	strangers   Accept      Trust, Close           Limits.Strangers   the oldest of the busiest source is closed
//	trusted     Trust       Close                  Limits.Trusted     the connection remains a stranger's
//	log-ins     Failures.Note  time, at its next use  maxSources        the sources beyond share one account
//
// A Log writes at most one line a second, with the number of lines left out since the
// one before: a stranger can provoke a million refusals.
package door
