// Package turns spaces the requests to one IP address over all nodes of the cluster. Package
// addresses decides which node's turn it is; this package provides the clock and carries its
// messages.
//
//	scheduler ─ Turn, Begin, MayWrite, End, Idle ─► Turns ─ Came ─► scheduler
//	handoff   ─ Hold, Drop ─────────────────────►    │ ▲
//	                                               Call Receive ─ other members
//
// One mutex guards the table; it is never held during a call. The goroutine of Run sends the
// messages: one call at a time to each member, with all messages of the last Gather or of the time
// since the previous call. The messages of a failed call are lost; nodes that want a turn ask
// again.
//
//	queue              filled by     emptied by      bound             when full
//	messages a member  the table     calls of 4,096  65,536            the next are lost
//	came               the table     each method     wanted addresses  cannot be
//
// Nothing is durable: after a restart a node waits until the turns that its former process may have
// given have ended.
package turns
