// Package contents knows which payloads and texts were fetched before, in the whole cluster.
//
// # Payloads
//
// The holder of a digest's partition keeps the first capture of each payload, in the partition
// itself (package frontier), so this knowledge is moved and copied with the partition. The
// first node that asks for an unknown payload gets a claim: it must store the payload. Nodes that
// ask meanwhile wait for it. So two pages with the same payload are stored once, even when they
// are fetched at the same moment. Only a capture that was written is announced, and a node without
// an answer stores its page whole. A lost answer or note costs one extra capture, and never loses
// one.
//
// # Texts
//
// Fingerprints of texts are kept in memory only. The holders of the partitions of their four
// blocks keep them: two nearly equal texts have at least one block in common, so at least one node
// sees both.
//
// # Files
//
//	index.go    Seen, the pipeline's question: which node is asked what
//	stored.go   Stored and Read, its questions about a URL that was fetched before
//	claims.go   this node's answers about payloads of its partitions
//	texts.go    the same for texts
//	batcher.go  questions and notes to other members, those of many pages in one call
//	serve.go    the answer to such a call of another member
//
// # Concurrency
//
// An Index may be used from any goroutine. Its mutex guards claims and fingerprints; no goroutine
// waits, calls or reads the disk while holding it. The batcher starts a goroutine for a member when
// it has something to send to it; the goroutine ends when nothing is left. Close waits for all of
// them. Question values are reused once their answer was taken, unless the page did not wait for
// it.
//
//	queue                   filled by    emptied by     bound                  when full
//	questions for a member  Seen         batcher        4,096, 500 in a call   stored whole
//	notes for a member      Completed    batcher        4,096, 500 in a call   may be stored twice
//	claims                  first asker  a note, 5 s    65,536                 may be stored twice
//	fingerprints            first page   age            Options.Memory         the oldest are dropped
//
// None of them is durable, and none needs to be.
package contents
