// Package search keeps the search index of one node, and answers queries over the indexes of all
// nodes (decision 0235).
//
//	page fetched ── Maker: its text ── one write: done, with its document ── replicas
//	                                                   │ on the holder, and on each replica
//	                        Indexer: changes behind the cursor ── the node's index (search/index)
//	query ── Searcher ── one node for each partition: its index ── ranks, snippets
//
//	options.go   what the package needs of others
//	maker.go     Maker: the document of a page, for the pipeline
//	packed.go    a document as it is stored
//	indexer.go   Indexer: its loop, and when the index is open
//	round.go     what one round brings into the index
//	cursors.go   how far each partition was read, on disk
//	serve.go     queries of other nodes
//	searcher.go  Searcher: a query of a person
//	gather.go    which node answers for which partition; which partitions were covered
//	patience.go  how long a query waits for a node while others have answered (decision 0237)
//	figures.go   figures of the index, for the status
//
// # Consistency
//
// The documents are part of their partitions (frontier/texts): a page's document is stored in the
// write that makes the page done, and a copy of a partition has the same documents as the holder's.
// The index is built from them, and can be rebuilt at any time. A cursor says which copy of a
// partition was read, and up to which change. It is written after the index, so after a kill the
// same changes are read once more, which has no effect: the index keeps one document for each URL.
// Another copy of a partition has another generation; its old documents are then removed, and the
// copy is read from the start. After a change of the scope rules every partition is read again, and
// pages that they exclude are removed.
//
// The importance of a page is read when it is indexed; a partition that has grown fourfold is read
// again to update it (decision 0238).
//
// A replica indexes its copies as the holder does. So a partition that is promoted is in the index
// already.
//
// # Goroutines and queues
//
// Indexer.Run is one goroutine. The table of documents is its queue: bounded by the disk, as
// durable as the pages. A round reads roundDocuments documents or roundBytes of text. The crawl
// never waits for it. A query calls each node from a goroutine of its own and waits for all. At
// most atOnce queries are asked, and servedAtOnce calls answered, at the same time; others wait up
// to turnWait.
//
// With --index off the loop looks at the setting once a second and does nothing else.
package search
