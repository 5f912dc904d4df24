// Package endpoint gives results of the crawl to other systems as they come: to Kafka, to NATS JetStream, or into a file.
//
// An Event is a line of the list of pages (package output/lists) with the page's host as its key. A Sink takes
// events in order, and Send returns when the other side has them for good; after an error, or when its
// context ends, any of them may have arrived, and the caller sends all of them again. So each event arrives at
// least once, and the events of a host in their order.
//
//	file:PATH                      appends a line for each event, and syncs the file
//	kafka://HOST:PORT[,...]/TOPIC   a record for each event, its key the host: one partition has a host's events
//	nats://HOST:PORT/SUBJECT       a JetStream message for each event; a stream must take the subject. The id of the
//	                               message is a hash of the event, so that the stream drops repeats in its window
//
// A sink holds no more than the events of one Send. Close frees its connections. One goroutine uses a Sink.
package endpoint
