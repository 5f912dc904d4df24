// Package index is the index of one node for full text: documents go in, questions are answered.
//
//	Document ── Apply ──► batch ──► segment ─┐          Statistics ─┐
//	            Remove, RemovePartition      ├─ Index ◄─ Ask        ├─ Search (a coordinator)
//	Documents ◄── one partition, to copy ────┘          Show       ─┘
//
// # Documents
//
// A document is known by its URL. Of two documents of one URL the newer one stays (FetchedAt, then
// Revision; of equal ones the one that came last), whichever came first, so that a repeated Apply
// changes nothing. Each belongs to a partition, which is copied, and removed, as a whole.
//
// # Questions
//
// An answer takes three steps, each of which can be asked of many nodes: Statistics (how many
// documents, how many with each word, what words begin like this one or are spelt nearly like it),
// Ask (the best documents, by scores that depend on nothing but a document and the sum of the
// statistics) and Show (titles and passages of those that are shown). Search does the three and
// puts the answers together; a Source is one Index, or all nodes. So an order does not depend on
// the node that is asked. No text is an error: Search answers every question.
//
// The types of questions and answers are plain values, which encoding/json carries without loss.
package index
