package markdown

import (
	"bytes"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// render writes the elements for which the converter's own way does not do. Its links and images
// change the queries of addresses. It is one function, since the converter sorts its functions anew
// for each node.
func render(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	switch n.DataAtom {
	case atom.A:
		return renderLink(ctx, w, n)
	case atom.Img:
		return renderImage(w, n)
	case atom.Blockquote:
		return renderQuotation(ctx, w, n)
	case atom.Br:
		return renderBreak(w, n)
	}
	return converter.RenderTryNext
}

// attr is the value of an attribute of a node of the tree.
func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// renderLink writes a link. Spaces at the ends of its text go outside.
func renderLink(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	var buf bytes.Buffer
	// The converter's text handler escapes brackets where it finds this value.
	ctx.RenderChildNodes(ctx.WithValue("is_inside_link", true), &buf, n)
	text := bytes.TrimSpace(bytes.ReplaceAll(buf.Bytes(), []byte("\n"), []byte(" ")))
	if len(text) == 0 {
		return converter.RenderSuccess
	}
	if buf.Bytes()[0] == ' ' {
		w.WriteByte(' ')
	}
	w.WriteByte('[')
	w.Write(text)
	w.WriteString("](" + destination(attr(n, "href")) + ")")
	if buf.Bytes()[buf.Len()-1] == ' ' {
		w.WriteByte(' ')
	}
	return converter.RenderSuccess
}

// renderQuotation writes a quotation. The converter's own one leaves the lines of code in it
// outside, which are joined by a sign of its own until the end.
func renderQuotation(
	ctx converter.Context, w converter.Writer, n *html.Node,
) converter.RenderStatus {
	var buf bytes.Buffer
	ctx.RenderChildNodes(ctx, &buf, n)
	text := bytes.TrimSpace(buf.Bytes())
	if len(text) == 0 {
		return converter.RenderSuccess
	}
	text = bytes.ReplaceAll(ctx.UnEscapeContent(text), marker.BytesMarkerCodeBlockNewline,
		[]byte(string(marker.MarkerCodeBlockNewline)+"> "))
	w.WriteString("\n\n")
	blank := false
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if empty := len(bytes.TrimSpace(line)) == 0; !empty || !blank {
			w.WriteString("> ")
			w.Write(line)
			w.WriteByte('\n')
			blank = empty
		}
	}
	w.WriteByte('\n')
	return converter.RenderSuccess
}

// renderBreak writes a line break in a cell, where the converter makes <br /> of a newline.
func renderBreak(w converter.Writer, n *html.Node) converter.RenderStatus {
	if n.Parent.DataAtom != atom.Td && n.Parent.DataAtom != atom.Th {
		return converter.RenderTryNext
	}
	w.WriteByte('\n')
	return converter.RenderSuccess
}

// renderImage writes an image.
func renderImage(w converter.Writer, n *html.Node) converter.RenderStatus {
	alt := alternative.Replace(attr(n, "alt"))
	w.WriteString("![" + alt + "](" + destination(attr(n, "src")) + ")")
	return converter.RenderSuccess
}

// alternative escapes the text in place of an image.
var alternative = strings.NewReplacer(
	`\`, `\\`, `[`, `\[`, `]`, `\]`, "`", "\\`", `*`, `\*`, `_`, `\_`,
	`<`, `&lt;`, `>`, `&gt;`, `|`, `\|`)

// destination writes an address where Markdown wants one. A canonical address has no spaces and no
// pointed brackets.
func destination(address string) string {
	address = inDestination.Replace(address)
	if strings.Contains(address, ";") { // else there is no entity in it
		address = strings.ReplaceAll(address, "&", "&amp;")
	}
	if strings.ContainsAny(address, "()") {
		return "<" + address + ">"
	}
	return address
}

// inDestination escapes what an address may have and Markdown or a table reads otherwise.
var inDestination = strings.NewReplacer(
	`\`, "%5C", "|", "%7C", "<", "%3C", ">", "%3E", " ", "%20", "`", "%60",
)
