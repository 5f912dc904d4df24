// Package texts keeps in each partition the newest document of each of its pages, for the index (decision 0235). A
// document is bytes that only the index understands, the first of which is not 0; here it has a URL, a place in the order of
// changes, and a size. Beside it are the texts of links to the page (decision 0238).
//
//	note.go    Note: in the write that completes a page, its document is stored, or taken out
//	anchors.go NoteAnchor: the texts of links to a page (decision 0238)
//	reader.go  Reader: the changes of a partition, from a position on
//
// The tables move, are copied and are promoted with their partition, as all its keys. A document that was taken out
// leaves an entry behind, so that whoever reads on from a position learns of it. With --index off nothing is written.
//
// The package starts no goroutine and has no queue: the table is the queue of the index, as durable as the pages.
package texts
