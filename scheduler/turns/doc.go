// Package turns spaces the requests to one address over all nodes of the cluster. Which node's
// turn it is decides package turns; this package gives it the clock and carries its messages.
//
//	dispatch ─ Turn, Begin, MayWrite, End, Idle ─► Turns ─ Came ─► dispatch
//	handoff  ─ Hold, Drop ─────────────────────►    │ ▲
//	                                              Call Receive ─ other members
//
// One mutex guards the table; it is held for moments, never over a call. The goroutine of Run sends:
// one call at a time to each member, with all that has gathered since the last one and for Gather.
// What a call that fails carried is lost; askers ask again.
//
//	queue              filled by     emptied by      bound             when full
//	messages a member  the table     calls of 4,096  65,536            the next are lost
//	came               the table     each method     wanted addresses  cannot be
//
// Nothing is durable: a node that starts again waits until the turns that its former process may have
// given are over.
package turns
