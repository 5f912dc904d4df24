// Package texts stores the newest document of each page in the page's partition, for the search
// index (decision 0235). A document is bytes that only the index understands, the first of which is
// not 0; here it has a URL, a number in the order of changes, and a size. Beside it are the texts
// of links to the page (decision 0238).
//
//	note.go    Note: stores or deletes a page's document, in the write that completes the page
//	anchors.go NoteAnchor: the texts of links to a page
//	reader.go  Reader: the changes of a partition after a position
//
// The tables are moved and copied with their partition, like all its keys. A deleted document
// leaves an entry behind, so that a reader which continues from a position learns of the deletion.
// With --index off nothing is written.
//
// The package starts no goroutine and has no queue: the table is the queue of the index, and as
// durable as the pages.
package texts
