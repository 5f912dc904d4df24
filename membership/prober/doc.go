// Package prober looks for proof that a boot of another member is dead. Proof is
// of one boot, for ever, and only each node's own observation:
//
//	process   the member ran on this machine, and its process is gone (/proc,
//	          looked at each 200 ms)
//	refusal   an authenticated connection to exactly that boot was ended by the
//	          other side, and two connects to where it led are then refused
//
// A time-out or an unreachable network is never proof. A third kind of proof, a
// higher boot of the same id that speaks, is found by package consensus.
//
// Run is the one goroutine that owns the searches. Watch tells it whom to look at,
// StreamEnded which connections have ended; both only leave a note. At most one
// series of connects to each member is under way. Run waits for what it started.
//
//	queue    filled by     emptied by          bound                when full
//	Proofs   Run, dials    membership's loop   unbuffered           they wait
//	ended    StreamEnded   Run                 consensus.MaxHeard   the note is dropped
//
// It decides nothing: what a proof leads to is up to the views.
package prober
