package maintext

// Page is what was found.
type Page struct {
	Title       string
	Description string
	Headings    []string
	Text        string // paragraphs by newline
	Language    string // ISO 639-1, declared or detected; "" when neither
	// Detected: the language was read from the text, because none that is known was declared.
	Detected  bool
	Truncated bool // a limit has cut something
}

// The limits for one page.
const (
	MaxText     = 256 << 10
	MaxHeadings = 256
	MaxBlocks   = 20_000
)

// Extract reads a page: its body as it was served (HTML, XHTML or plain text), decoded from its
// Content-Encoding, and its Content-Type header ("" when there was none). language is what the server
// declared (Content-Language), "" for nothing.
func Extract(body []byte, contentType, language string) Page { return Page{} }

// URLWords are the words of a URL's path and query, separated by spaces: what the index knows of an
// address.
func URLWords(url string) string { return "" }
