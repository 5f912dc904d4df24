// Package tracing makes one OpenTelemetry trace for each sampled URL: found on a page, sent to the
// node that holds its host, admitted, fetched, archived, stored; on whichever nodes that happens.
//
// # Trace ids without propagation
//
// No identifier is sent with a link and none is stored. The trace id is a hash of the cluster's
// name and of the URL, and the same hash decides whether a URL is traced (ids.go). So all nodes,
// also one that takes a partition over, use the same id for a URL, and queues, protocol and disk
// format know nothing of traces. Traces are complete only if all nodes have the same sample rate.
//
// # The tree
//
//	crawl                       the root; its id is a hash of the trace id
//	├─ found                    a page with a link to the URL was completed (page.url)
//	├─ forward                  a batch with the link was sent to another node (verdict)
//	├─ admit                    the holder has stored the link (admission)
//	└─ visit                    one visit, from the scheduler's hand-out to its end (kind, status)
//	   ├─ fetch                 the request
//	   ├─ archive               the record is written
//	   └─ store                 the outcome is durable with its links
//
// A later visit of the URL adds a visit to the same trace. If a node is killed after its visit is
// durable and before its spans are sent, the root is missing, and the other spans have an unknown
// parent.
//
// # Cost and limits
//
// The package decorates interfaces that others declare: pipeline.Source, Archive and Sink,
// links.Store and Peers. Without --otlp-endpoint nothing is decorated, so tracing costs nothing.
// With it each link is hashed once or twice. Spans wait in a queue of 8,192; when the collector is
// slow or unreachable further spans are dropped, and nothing waits for it. Each fetcher has at most
// one open visit span.
//
// Sources: OpenTelemetry specification 1.x, "Trace API" and "OTLP"; W3C Trace Context, section
// 3.2.2 (ids).
package tracing
