// Package index is the full-text index of one node: it indexes documents and answers queries.
//
//	Document ── Apply ──► batch ──► segment ─┐          Statistics ─┐
//	            Remove, RemovePartition      ├─ Index ◄─ Ask        ├─ Search (a coordinator)
//	Documents ◄── one partition, to copy ────┘          Show       ─┘
//
// # Documents
//
// A document is identified by its URL. Of two documents of one URL the newer one stays (FetchedAt,
// then Revision; of equal ones the one that was applied last), in whatever order they are applied,
// so that a repeated Apply changes nothing. Each belongs to a partition, which is copied, and
// removed, as a whole.
//
// # Queries
//
// A query takes three steps, each of which can be sent to many nodes: Statistics (how many
// documents, how many with each word, which words begin like this one or are spelt nearly like it),
// Ask (the best documents, by scores that depend only on the document and the sum of the
// statistics) and Show (titles and snippets of the results that are shown). Search does all three
// and merges the answers; a Source is one Index, or all nodes. So the order of the results does not
// depend on the node that is asked. No query text is an error: Search answers every query.
//
// The types of queries and answers are plain values, which encoding/json carries without loss.
package index
