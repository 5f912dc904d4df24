// Package heldcalls is a gRPC client for tests that does what a careless or hostile stranger does:
// it opens calls, and sends messages that never end, as fast as the server's windows allow. No
// library for gRPC offers that, so it speaks HTTP/2 itself.
//
// A [Client] has one connection and one goroutine, from [Open] to [Client.Close]. It queues nothing:
// it sends again when the server has opened a window. It reads no answer but the end of a call.
package heldcalls
