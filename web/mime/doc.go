// Package mime determines the media type of a response as browsers do.
//
// The values of the Content-Type header are read by "extract a MIME type" of the Fetch standard,
// and each by "parse a MIME type" of the MIME Sniffing standard. When no value is valid, the type
// is sniffed from the payload by section 7 of that standard. All parts of the program use this
// package, for responses from the network and from archives, so that they agree on the type of a
// page.
//
// The values are joined and split at the commas outside of quotes; the last one that can be parsed
// counts. There are no queues, and the package has no state.
//
// What it does not do: it does not correct a valid header. A picture that is sent as text/plain
// stays text/plain, and the other corrections of section 7 (feeds, images) are not made.
package mime
