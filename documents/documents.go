package documents

import (
	"bytes"
	"strings"

	"crawlnode/documents/page"
	"crawlnode/web/htmlparse"
)

// PageType is the Content-Type of the pages that are made.
const PageType = "text/html; charset=utf-8"

// PlainText is the media type of texts that are read as pages.
const PlainText = "text/plain"

// MaxHTML bounds the page that is made of a document, in bytes of its body.
const MaxHTML = 4 << 20

// MayBe reports whether an answer of a media type may be a document whose page was stored. An
// unknown type ("", application/octet-stream) may be one. Pictures, sound, video, fonts and the
// formats that pages are made of are none.
func MayBe(mediaType string) bool {
	kind, _, _ := strings.Cut(mediaType, "/")
	switch kind {
	case "image", "audio", "video", "font":
		return false
	}
	switch mediaType {
	case PlainText, "text/html", "application/xhtml+xml", "text/css", "text/javascript",
		"application/javascript", "application/json", "text/xml", "application/xml",
		"application/wasm", "application/rss+xml", "application/atom+xml":
		return false
	}
	return !strings.HasSuffix(mediaType, "+json") && !strings.HasSuffix(mediaType, "+xml")
}

// IsText reports whether what is called plain text is one: its beginning has no byte that no text
// has (MIME Sniffing, section 7.2). Servers call many a file so that they do not know.
func IsText(body []byte) bool {
	for _, mark := range [...]string{"\xFE\xFF", "\xFF\xFE", "\xEF\xBB\xBF"} {
		if bytes.HasPrefix(body, []byte(mark)) {
			return true
		}
	}
	for _, b := range body[:min(len(body), 1445)] {
		if b <= 0x08 || b == 0x0B || 0x0E <= b && b <= 0x1A || 0x1C <= b && b <= 0x1F {
			return false
		}
	}
	return true
}

// PageOfText makes the page of a plain text: its paragraphs are those that empty lines part.
// contentType names its charset. cut says that it is longer than MaxHTML.
func PageOfText(body []byte, contentType string) (html []byte, cut bool) {
	w := page.New(MaxHTML)
	text := htmlparse.UTF8(body, contentType)
	open := false
	for len(text) > 0 && !w.Full() {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		switch blank := len(bytes.TrimSpace(line)) == 0; {
		case blank && open:
			w.Close()
			open = false
			continue
		case blank:
			continue
		case !open:
			w.Open("p")
			open = true
		default:
			w.Break()
		}
		addLine(w, string(bytes.TrimRight(line, "\r")))
	}
	return w.HTML(), w.Truncated() || len(text) > 0
}

// addLine adds a line of text. The addresses in it are links: they end at a blank or a quotation
// mark, and the punctuation behind them is none of theirs.
func addLine(w *page.Writer, line string) {
	for line != "" {
		begin, end := addressIn(line)
		if begin < 0 {
			w.Text(line)
			return
		}
		w.Text(line[:begin])
		w.Link(line[begin:end])
		w.Text(line[begin:end])
		w.Close()
		line = line[end:]
	}
}

// addressIn is where the first address in a line stands; begin is -1 when there is none.
func addressIn(line string) (begin, end int) {
	for at := 0; ; {
		i := strings.Index(line[at:], "://")
		if i < 0 {
			return -1, 0
		}
		i += at
		at = i + len("://")
		switch head := strings.ToLower(line[max(0, i-len("https")):i]); {
		case strings.HasSuffix(head, "https"):
			begin = i - len("https")
		case strings.HasSuffix(head, "http"):
			begin = i - len("http")
		default:
			continue
		}
		end = len(line)
		if n := strings.IndexAny(line[at:], " \t<>\"'`\u00a0\u201c\u201d\u2018\u2019"); n >= 0 {
			end = at + n
		}
		for end > at && strings.ContainsRune(".,;:!?)]}*_|", rune(line[end-1])) {
			if line[end-1] == ')' && strings.Contains(line[at:end], "(") {
				break // a page of an encyclopedia
			}
			end--
		}
		if end > at {
			return begin, end
		}
	}
}
