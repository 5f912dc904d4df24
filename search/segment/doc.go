// Package segment stores documents and their words in files that are written once and never
// changed.
//
//	Builder.Add … Builder.Write ─► file ◄─ Open ─► Segment ─► Postings, Card, Stored
//	                                  Merge of several segments ─► one
//
// # The file
//
// A header of 8 bytes ("crawlse" and the format, 2), the sections, and a footer: for each section
// its offset, length and CRC-32C, the number of documents, and again the header. Numbers are little
// endian; uvarint is that of encoding/binary.
//
//	stored    blocks, each one zstd frame with a checksum: records of uvarint length and bytes
//	blocks    for each block: first document (4 bytes), offset (8)
//	urls      the URLs, one after another
//	cards     for each document 64 bytes: what a query needs of it (Card)
//	keys      the documents (4 bytes each) in the order of their keys
//	postings  for each term, in the order of terms, the forms of its words (see forms.go) and its
//	          documents (see postings.go)
//	terms     a table of terms: number of documents, length of postings
//	words     a table of words as they are written: number of documents
//
// Positions say where each word stands, in which form, stop words included: so phrases are found
// without reading the text. Format 1, which is read but no longer written, has neither forms nor
// the stop words of texts (Exact).
//
// A table (table.go) is sorted, in blocks of 32 entries; each entry leaves out the prefix that it
// shares with the one before.
//
// A segment is a mapped file: what is read often stays in the page cache, and the heap holds next
// to nothing. Open verifies every checksum, so damage is noticed before a query is answered; the
// documents that are still whole can be read with Salvage.
//
// # Bounds
//
// A Builder holds one batch in memory, about ten times the size of its text. Merge holds the tables
// of the result, about 16 bytes a term, and 4 bytes a document. The package starts no goroutine.
// Documents are identified by keys; callers know what a stored record means.
package segment
