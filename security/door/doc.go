// Package door limits the resources that strangers can use at a node's open ports: connections, log
// lines and failed log-ins.
//
// A Listener divides the connections that it accepts into two groups. A connection is a
// stranger's until the server calls its Trust, after a valid key, a valid call or a
// request that it answers. The number of strangers is bounded. When one more connects,
// the oldest connection of the address with the most strangers is closed. So a flood of
// connections displaces only its own, a node that connects and authenticates at once is
// served, and no time-out is needed.
//
//	queue      filled by      emptied by         bound             when full
//	strangers  Accept         Trust, Close       Limits.Strangers  the oldest connection of the
//	                                                               busiest source is closed
//	trusted    Trust          Close              Limits.Trusted    it remains a stranger's
//	log-ins    Failures.Note  time, at next use  maxSources        further sources share a count
//
// A Log writes at most one line a second, with the number of lines dropped since the
// previous one: a stranger can provoke a million refusals.
package door
