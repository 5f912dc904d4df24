package replay

import (
	"mime"
	"net/http"
	"strings"

	"golang.org/x/net/html/charset"

	"crawlnode/output/readback"
	"crawlnode/web/htmlparse"
	"crawlnode/web/rewrite"
	"crawlnode/web/urlnorm"
)

// sealed makes of the content of a capture, with its Content-Type, what is sent, and its type.
// Nothing that a browser reads as a document is sent as it was stored, and the type is one that all
// browsers read alike: an archived page must not have them connect to anybody but this server, and
// no policy stops what hints to connect ask for.
func sealed(
	r *http.Request,
	page *readback.Page,
	content []byte,
	header string,
	u urlnorm.URL,
	target rewrite.Target,
) (sent []byte, kind string) {
	media, label := mediaOf(header, page.MediaType())
	switch {
	case page.IsHTML() || page.Shown != nil || media == "text/html" ||
		media == "application/xhtml+xml":
		if media != "application/xhtml+xml" && !strings.HasPrefix(strings.ToLower(header), "text/html") {
			header = page.MediaType()
		}
		return rewrite.Seal(content, header, u, target), "text/html; charset=utf-8"
	case media == "image/svg+xml" && !isDocument(r):
		return content, media // as a picture it loads nothing
	case media == "image/svg+xml":
		return rewrite.Seal(content, media, u, target), "text/html; charset=utf-8"
	case isXML(media):
		return htmlparse.UTF8(content, header), "text/plain; charset=utf-8"
	case media == "text/css" || page.Kind() == readback.Sheet:
		content, media = rewrite.CSS(content, u, target), "text/css"
	case strings.HasPrefix(media, "multipart/"), strings.HasPrefix(media, "message/"):
		return content, "application/octet-stream" // they have documents inside
	}
	if label != "" && strings.HasPrefix(media, "text/") {
		media += "; charset=" + label
	}
	return content, media
}

// mediaOf is the media type of a Content-Type header, in lower case and without parameters, and the
// name of its encoding, if browsers know it. Where the header is not well formed, the type is the
// one that the crawl found.
func mediaOf(header, found string) (media, label string) {
	media, params, err := mime.ParseMediaType(header)
	if err != nil || !strings.Contains(media, "/") || strings.ContainsAny(media, ", ") {
		media, params, err = mime.ParseMediaType(found)
	}
	if err != nil || !strings.Contains(media, "/") {
		return "application/octet-stream", ""
	}
	_, label = charset.Lookup(params["charset"])
	return media, label
}

// isXML reports whether browsers show a type as XML.
func isXML(media string) bool {
	return strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "/xml") ||
		strings.HasSuffix(media, "xsl")
}

// isDocument reports whether a browser asks for a document, in a window or a frame, or does not say
// what it asks for.
func isDocument(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "image", "font", "style", "audio", "video", "track":
		return false
	}
	return true
}
