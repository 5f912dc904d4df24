// Package mime finds the media type of an answer as browsers do.
//
// The header's values are read by "extract a MIME type" of the Fetch standard, and each by "parse a
// MIME type" of the MIME Sniffing standard. When no value is valid, the type is sniffed from the
// payload by section 7 of that standard. Everything that asks for the type of an answer, of the
// network or of an archive, asks here, so that all parts take a page for the same thing.
//
// The life of a question: the values are joined, split at the commas outside of quotes, and each is
// parsed; the last valid one counts. There are no queues, and nothing is kept.
//
// What it does not do: it believes each valid header. A text/plain that is a picture stays
// text/plain, and the other corrections of section 7 (feeds, images) are not made.
package mime
