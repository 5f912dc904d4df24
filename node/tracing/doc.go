// Package tracing makes one OpenTelemetry trace of a URL's trip: found on a page, sent to the node that holds
// its host, admitted, fetched, archived, stored; on whichever nodes that happens.
//
// # One trace without a message
//
// No identifier travels with a link and none is stored. The trace's id is a hash of the cluster's name and of
// the URL, and whether a URL is traced is decided by the same hash (ids.go). So every node, also one that takes
// a partition over, says the same of a URL, and queues, protocol and disk format know nothing of traces. The
// sample must be the same on all nodes for whole traces.
//
// # The tree
//
//	crawl                       the root; its id is a hash of the trace's id; sent when the first visit has ended
//	├─ found                    a page with a link to the URL was completed (page.url)
//	├─ forward                  a batch with the link was sent to another node, and answered (verdict)
//	├─ admit                    the holder has stored the link (admission)
//	└─ visit                    one visit, from the scheduler's hand-out to its end (kind, status)
//	   ├─ fetch                 the request
//	   ├─ archive               the record is written
//	   └─ store                 the outcome is durable with its links
//
// A later visit of the URL adds a visit to the same trace. If a node is killed after its visit is durable and
// before its spans are sent, the root is missing, and what was sent hangs from an unknown span.
//
// # Cost and limits
//
// The package decorates interfaces that others declare: pipeline.Source, Archive and Sink, links.Store and
// Peers. Without --otlp-endpoint nothing is decorated, so traces cost nothing. With it each link is hashed once
// or twice. Spans wait in a queue of 8,192; when the collector is slow or away the next are lost, and nothing
// waits for it. Spans of visits that are under way: one a fetcher.
//
// Sources: OpenTelemetry specification 1.x, "Trace API" and "OTLP"; W3C Trace Context, section 3.2.2 (ids).
package tracing
