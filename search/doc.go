// Package search keeps the index of one node, and answers questions over the indexes of all (decision 0235).
//
//	page fetched ── Maker: its text ── one write: done, with its document ── replicas
//	                                                   │ on the holder, and on each replica
//	                        Indexer: changes behind the cursor ── the node's index (search/index)
//	question ── Searcher ── one node for each partition: its index ── ranks, snippets
//
//	options.go   what the package needs of others
//	maker.go     Maker: the document of a page, for the pipeline
//	packed.go    a document as it is stored
//	indexer.go   Indexer: its loop, and when the index is open
//	round.go     what one round brings into the index
//	cursors.go   how far each partition was read, on disk
//	serve.go     another node's questions
//	searcher.go  Searcher: a question of a person
//	gather.go    which node answers for which partition; what was covered
//	patience.go  how long a question waits for a node while others have answered (decision 0237)
//	figures.go   what the node says of its index
//
// # Exactly
//
// The documents are part of their partitions (frontier/texts): a page is done in the same write that stores its
// document, and a copy has what the holder has. The index is made of them, and a node can make it again at any time. A
// cursor says which copy of a partition was read, and how far. It is written after the index, so after a kill the same
// changes come once more, which changes nothing: of a URL the index keeps one document. Another copy of a partition has
// another generation; its documents are then taken out, and read from the start. Changed scope rules have every partition
// read again; what they exclude goes out.
//
// What a page is worth by its links is read when it is indexed; a partition that has grown fourfold is read again for it (decision 0238).
//
// A replica indexes its copies as the holder does. So a partition that is promoted is in the index already.
//
// # Goroutines and queues
//
// Indexer.Run is one goroutine. The table of documents is its queue: bounded by the disk, durable with the pages. A round
// holds roundDocuments documents or roundBytes of text. The crawl never waits for it. A question calls each node from a goroutine of
// its own and waits for all; atOnce questions are asked at the same time, and servedAtOnce calls answered, others wait
// for their turn, for turnWait at the most.
//
// With --index off the loop looks at the setting once a second and does nothing else.
package search
