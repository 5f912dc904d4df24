// Package prober looks for proof that a boot of another member is dead. A proof holds for
// one boot, for ever, and each node accepts only what it observed itself:
//
//	process   the member ran on this machine, and its process is gone (/proc).
//	          The system signals the end of a process (pidfd_open). Where it cannot,
//	          or the process is still there after the signal, /proc is read every 200 ms
//	refusal   an authenticated connection to exactly that boot was ended by the
//	          other side, and two connections to the same address are then refused
//
// A time-out or an unreachable network is never proof. A third kind of proof, a
// higher boot of the same id that is heard, is found by package consensus.
//
// Run is the one goroutine that owns the searches. Watch sets the members to look at,
// StreamEnded reports connections that have ended; both only store it for Run. At most one
// series of connection attempts to each member is under way, and one goroutine waits for the end of
// each watched process. Run waits for what it started.
//
//	queue    filled by     emptied by          bound                when full
//	Proofs   Run, dials    membership's loop   unbuffered           they wait
//	ended    StreamEnded   Run                 consensus.MaxHeard   the report is dropped
//
// It decides nothing: package consensus decides what follows from a proof.
package prober
