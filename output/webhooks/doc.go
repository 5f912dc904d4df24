// Package webhooks sends the events of this node (package status/events) to the URLs of --webhook:
// each event by a POST of its own, in order, at least once.
//
//	set.go       Set: stores the events, and runs the receivers
//	receiver.go  receiver: sends what is stored to one URL, and tries again
//	post.go      one request: headers, signature, what counts as taken
//	spool        the messages on disk
//
// # The life of an event
//
// Set.Run asks the source for events and appends them to the spool in <data-dir>/webhooks, synced;
// only then the source shows them to anybody (Release). So an event that was seen in /api/v1/events
// survives a kill, and is sent by the next start. Each receiver sends the oldest event that it has
// not taken, waits for the answer, and moves its cursor. An answer of 2xx counts as taken; anything
// else, a redirect too, is tried again after a pause that grows from half a second to 30 s, with
// jitter, or after the Retry-After of the answer, an hour at most. No event is passed over, because
// the order is kept: one that a receiver refuses keeps the later ones.
//
// Repeats have the same uid, and come when a node ends between an answer and the cursor.
//
// # Bounds
//
//	queue                filled by   emptied by      bound                    when full
//	events to store      the node    Run             the log of events        oldest lost, counted
//	the spool            Run         the receivers   100,000 events, 64 MiB   oldest lost, counted
//
// A receiver has one request open, for 15 s at most, and reads 64 KiB of an answer. A receiver that
// hangs or is down delays neither the node nor the other receivers. While the disk takes nothing,
// events are shown unsaved, and appended when it does again.
//
// Run is the one goroutine that appends; each receiver is one more, which Run starts and waits for.
// When a node ends, Finish sends what is left for at most ten seconds.
package webhooks
