// Package door bounds what strangers can cost at a node's open ports.
//
// A Listener keeps the connections that it accepts in two groups. A connection is a
// stranger's until somebody calls its Trust: the server that has seen a valid key, a
// valid call or a request that it answers. Only so many strangers may be there at
// once. When one more comes, the oldest one of the address with the most strangers is
// closed. So a flood of connections pushes out its own, a node that opens one and says
// at once who it is gets through, and nothing waits for a time-out.
//
//	queue       filled by   emptied by             bound              when full
//	strangers   Accept      Trust, Close           Limits.Strangers   the oldest of the busiest source is closed
//	trusted     Trust       Close                  Limits.Trusted     the connection stays a stranger's
//	log-ins     Failures.Note  time, at its next use  maxSources        the sources beyond share one account
//
// A Log writes at most one line a second, and says with the next how many it left out:
// who can make a node refuse something can make it do so a million times.
package door
