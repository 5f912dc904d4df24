package pdf

import (
	"bytes"
	"strings"
)

// header begins a PDF file. PDF readers look for it in the first headerWithin bytes.
var header = []byte("%PDF-")

const headerWithin = 1024

// The media types that are used for PDF, and those that say nothing of the content.
var (
	ownTypes = []string{
		"application/pdf", "application/x-pdf", "application/acrobat", "application/vnd.pdf",
		"text/pdf", "text/x-pdf",
	}
	vagueTypes = []string{
		"", "unknown/unknown", "application/unknown", "*/*", // the MIME Sniffing standard's
		"application/octet-stream", "application/x-octet-stream", "binary/octet-stream",
		"application/download", "application/x-download", "application/force-download",
		"application/x-force-download",
	}
)

// IsPDF reports whether a body of a media type, with parameters or without, is to be read as a PDF
// file. With a type that is used for PDF the header may stand anywhere in the first 1024 bytes, as
// PDF readers accept it. With a type that says nothing it has to be at the very beginning, as in
// the MIME Sniffing standard: further in, it is that of a file in an archive, or is talked about.
// Other types are what they say: the standard makes no PDF of text/plain or an image either.
func IsPDF(body []byte, mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	for _, t := range ownTypes {
		if t == mediaType {
			return bytes.Contains(body[:min(len(body), headerWithin)], header)
		}
	}
	for _, t := range vagueTypes {
		if t == mediaType {
			return bytes.HasPrefix(body, header)
		}
	}
	return false
}
