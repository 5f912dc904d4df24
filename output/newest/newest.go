package newest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"crawlnode/documents"
	"crawlnode/output/archive"
)

// maxLine bounds a line of an index.
const maxLine = 64 << 10

// Each calls fn with the entry of each URL that counts, in the order of the index. An error of fn
// ends the walk and is returned as it is.
func Each(index io.Reader, fn func(e *archive.Entry) error) error {
	var group []archive.Entry  // of one key, one of each URL
	places := map[string]int{} // in group, by URL: session ids give many URLs one key
	var key []byte
	flush := func() error {
		for i := range group {
			if err := fn(&group[i]); err != nil {
				return err
			}
		}
		group = group[:0]
		clear(places)
		return nil
	}
	in := bufio.NewReaderSize(index, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return flush()
		}
		if err != nil {
			return fmt.Errorf("index line %.200q...: %w", line, err)
		}
		e, err := archive.ParseEntry(line)
		if err != nil {
			return err
		}
		if k, _, _ := bytes.Cut(line, []byte(" ")); !bytes.Equal(k, key) {
			if err := flush(); err != nil {
				return err
			}
			key = append(key[:0], k...)
		}
		i, known := places[e.URL]
		switch {
		case !known:
			places[e.URL] = len(group)
			group = append(group, e)
		case passing(group[i].Status) == passing(e.Status), passing(group[i].Status):
			group[i] = e // lines of a key come by time
		case e.Status == http.StatusNotModified && e.Preferences != "":
			group[i].Preferences = e.Preferences // what the owner said last of the same page
		}
	}
}

// passing reports whether an answer says nothing of the page: it is asked for less, it failed, or
// nothing has changed.
func passing(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusNotModified || status >= 500 ||
		status < 200
}

// IsPage reports whether an entry may be an HTML page that was delivered. Revisits do not say what
// they are, neither does a media type that is missing or none, and XML may have elements of XHTML:
// the page is looked at then.
func IsPage(e *archive.Entry) bool {
	return e.Status >= 200 && e.Status < 300 &&
		(e.Revisit || IsHTML(e.MIME) || isXML(e.MIME) || !isType(e.MIME))
}

// MayHaveText reports whether an entry may be a page or a document that was delivered: whether the
// crawl has read it, its record tells.
func MayHaveText(e *archive.Entry) bool {
	if IsPage(e) {
		return true
	}
	kind, _, _ := strings.Cut(strings.ToLower(e.MIME), ";")
	return e.Status >= 200 && e.Status < 300 && (kind == documents.PlainText || documents.MayBe(kind))
}

// isType reports whether a media type is one that says something.
func isType(mime string) bool {
	kind, sub, ok := strings.Cut(mime, "/")
	switch {
	case !ok, kind == "", sub == "", strings.ContainsAny(mime, " ,;*\""), mime == "unknown/unknown",
		mime == "application/unknown":
		return false
	}
	return true
}

// isXML reports whether a media type is of XML (MIME Sniffing, section 4.6).
func isXML(mime string) bool {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	return mime == "text/xml" || mime == "application/xml" || strings.HasSuffix(mime, "+xml")
}

// IsHTML reports whether a media type is that of a page.
func IsHTML(mime string) bool {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	return mime == "text/html" || mime == "application/xhtml+xml"
}
