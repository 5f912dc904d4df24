// Package stdio carries the messages of the Model Context Protocol over two streams, one JSON-RPC
// message a line. It is a transport of the official SDK (github.com/modelcontextprotocol/go-sdk),
// in place of its own, which ends the session at the first line that is no message.
//
// Here every line is answered, and the next one is read:
//
//	line                                          answer
//	no JSON, no UTF-8, longer than MaxLine        -32700, id null
//	JSON, but no request                          -32600, with its id as far as it has one
//	a request without what it needs               -32602
//	a request whose id is still in use            -32600, id null: the id is the first one's
//	an array of messages                          an array of answers, when all are there
//	blank, a notification, an answer              none
//	a call that was cancelled                     none
//
// Ids are strings and numbers of any form; they come back as they were written. Everything else is
// passed to the SDK, which knows the methods.
//
// # Life of a line
//
// A goroutine reads lines into a channel without room; Read takes one, answers what is wrong with
// it, and passes on the rest. Write answers. At the end of the input, or when Stop is closed, Read
// waits until all calls are answered, and then reports io.EOF: the SDK drops what is open then.
//
// # Bounds
//
//	what               filled by      emptied by    bound                        when full
//	bytes of a line    the reader     its newline   MaxLine                      skipped, -32700
//	open calls         Read           Write         MaxOpen calls, or MaxLine    Read waits
//	                                                bytes of them; one more line
//	                                                is taken when they are few
//	answers of a       Write          Write         MaxBatch messages a batch    -32600
//	batch
//
// While Read waits a cancellation waits too. Every call must end by itself, so the caller gives
// calls a time limit.
//
// The reader ends when the input does. A read of standard input cannot be broken off, so after Stop
// it may be left in one: the process must end then.
package stdio
