// Package endpoint sends results of the crawl to other systems as they arise: to Kafka, to NATS
// JetStream, or into a file.
//
// An Event is a line of the list of pages (package output/lists) with the page's host as its key.
// A Sink sends events in order, and Send returns when the receiver has stored them durably. After
// an error, or when the context ends, any of them may have arrived, and the caller sends all of
// them again. So delivery is at least once, and the events of a host arrive in order.
//
//	file:PATH                      appends a line for each event, and syncs the file
//	kafka://HOST:PORT[,...]/TOPIC  a record for each event, with the host as key, so that all
//	                               events of a host are in one Kafka partition
//	nats://HOST:PORT/SUBJECT       a JetStream message for each event; a stream must have the
//	                               subject. The id of the message is a hash of the event, so that
//	                               the stream drops repeats within its window
//
// A sink holds no more than the events of one Send. Close frees its connections. One goroutine uses
// a Sink.
package endpoint
