// Package heldcalls is a gRPC client for tests that behaves like a careless or hostile stranger: it
// opens calls, and sends endless messages, as fast as the server's flow-control windows allow. No
// gRPC library offers that, so it speaks HTTP/2 itself.
//
// A [Client] has one connection and one goroutine, from [Open] to [Client.Close]. It queues
// nothing: it sends when the server has opened a window. Of a response it reads only the end of the
// call.
package heldcalls
