package markdown

import (
	"errors"
	"fmt"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"

	"crawlnode/web/htmlparse"
	"crawlnode/web/maintext"
	"crawlnode/web/urlnorm"
)

// MaxBytes bounds the text and the addresses of a page.
const MaxBytes = 1 << 20

// ErrTruncated says that a page was longer than a limit. The text that comes with it is a
// beginning.
var ErrTruncated = errors.New("the page is longer than is kept as Markdown")

// Of is the main content of a page as Markdown, with a newline at its end; "" when there is none.
// body is the page as it was served (HTML, XHTML or plain text), decoded from its Content-Encoding,
// contentType its header, and u its address. Plain text stays as it is, but for control characters.
func Of(body []byte, contentType string, u urlnorm.URL) (string, error) {
	return of(body, contentType, u, maintext.Walk)
}

// Whole is Of for a page that has no menus and banners, such as one that was made of a document:
// all of it that can be seen is kept.
func Whole(body []byte, contentType string, u urlnorm.URL) (string, error) {
	return of(body, contentType, u, maintext.WalkWhole)
}

func of(body []byte, contentType string, u urlnorm.URL,
	walk func([]byte, string, maintext.Visitor) (truncated bool),
) (string, error) {
	if isPlain(contentType) {
		return plain(htmlparse.UTF8(body, contentType))
	}
	b := newBuilder(baseOf(body, contentType, u))
	truncated := walk(body, contentType, b)
	b.finish()
	out, err := newConverter().ConvertNode(b.root)
	if err != nil {
		return "", fmt.Errorf("markdown of %s: %w", u, err)
	}
	text := string(out)
	if text != "" {
		text += "\n"
	}
	if truncated || b.truncated {
		return text, ErrTruncated
	}
	return text, nil
}

func isPlain(contentType string) bool {
	essence, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(essence), "text/plain")
}

// plain is text without markup.
func plain(text []byte) (string, error) {
	var err error
	if len(text) > MaxBytes {
		text, err = text[:MaxBytes], ErrTruncated
	}
	s := strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\r\n", "\n")
	return strings.Map(printable, s), err
}

// printable drops control characters but the end of a line and the tabulator.
func printable(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == '\r':
		return '\n'
	case r < ' ' || r >= 0x7F && r < 0xA0 || r == codeNewline || r == 0xFFFE || r == 0xFFFF:
		return -1
	}
	return r
}

// codeNewline stands for a newline within the converter: in a page it would become one.
const codeNewline = marker.MarkerCodeBlockNewline

// newConverter is a converter for the elements of a builder's tree.
func newConverter() *converter.Converter {
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
			// Padding to the longest cell would make a table as large as its rows times that.
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
		),
	))
	c.Register.Renderer(render, converter.PriorityEarly)
	// The converter's own rule looks for the end of the brackets, from each of them anew.
	c.Register.UnEscaper(func(text []byte, at int) int {
		if text[at] == '[' {
			return 1
		}
		return -1
	}, converter.PriorityEarly)
	return c
}

// baseOf is the address that the references of a page are resolved against: that of its first base
// element, else its own.
func baseOf(body []byte, contentType string, u urlnorm.URL) urlnorm.URL {
	const head = 64 << 10 // where a base element may stand
	text := htmlparse.UTF8(body[:min(len(body), head)], contentType)
	tokens := htmlparse.NewTokens(text, contentType)
	for {
		switch tokens.Next() {
		case htmlparse.EndOfPage:
			return u
		case htmlparse.StartTag:
			name := string(tokens.Name())
			if name == "body" {
				return u
			}
			if name != "base" {
				continue
			}
			for key, val, ok := tokens.Attribute(); ok; key, val, ok = tokens.Attribute() {
				if !strings.EqualFold(string(key), "href") {
					continue
				}
				if b, err := u.Resolve(string(htmlparse.AppendText(nil, val, true))); err == nil {
					return b
				}
				return u
			}
		}
	}
}
