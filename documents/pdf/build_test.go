package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// file is a PDF file that a test writes, object by object (ISO 32000-1, 7.5).
type file struct {
	objects map[int]string
	trailer string // beside /Size and /Root
}

// newFile returns a file of one catalog, object 1, a page tree, 2, and a font, 3.
func newFile() *file {
	return &file{objects: map[int]string{
		1: "<< /Type /Catalog /Pages 2 0 R >>",
		2: "<< /Type /Pages /Kids [] /Count 0 >>",
		3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}}
}

// text returns a file with a page for each text; its lines are 14 points apart.
func text(pages ...string) *file {
	f := newFile()
	var kids strings.Builder
	for i, p := range pages {
		f.page(10+2*i, "", show(p))
		fmt.Fprintf(&kids, "%d 0 R ", 10+2*i)
	}
	f.objects[2] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(pages))
	return f
}

// show is the content of a page with text. A line begins at x 72; the first is at y 720.
func show(s string) string {
	var b strings.Builder
	b.WriteString("BT /F1 12 Tf 14 TL 72 734 Td\n")
	for l := range strings.Lines(s) {
		l = strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(strings.TrimSuffix(l,
			"\n"))
		fmt.Fprintf(&b, "(%s) '\n", l)
	}
	b.WriteString("ET\n")
	return b.String()
}

// page adds a page as object n, and its content as n+1.
func (f *file) page(n int, more, content string) {
	f.objects[n] = fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "+
		"/Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R %s >>", n+1, more)
	f.objects[n+1] = stream("", content)
}

// stream is a stream with a dictionary.
func stream(dict, content string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(content), dict, content)
}

// flate is a compressed stream.
func flate(dict string, content []byte) string { return flateTimes(dict, content, 1) }

// flateTimes is a compressed stream with content n times.
func flateTimes(dict string, content []byte, n int) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	for range n {
		_, _ = z.Write(content) // a Buffer takes all
	}
	_ = z.Close()
	return stream("/Filter /FlateDecode "+dict, b.String())
}

// bytes writes the file with a table of objects that is right.
func (f *file) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n")
	numbers := slices.Sorted(maps.Keys(f.objects))
	last := numbers[len(numbers)-1]
	at := make([]int, last+1)
	for _, n := range numbers {
		at[n] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, f.objects[n])
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", last+1)
	for _, offset := range at[1:] {
		if offset == 0 {
			b.WriteString("0000000000 65535 f \n")
		} else {
			fmt.Fprintf(&b, "%010d 00000 n \n", offset)
		}
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n",
		last+1, f.trailer, table)
	return b.Bytes()
}

// uri is an annotation that is a link to an address on a rectangle.
func uri(address string, left, bottom, right, top int) string {
	return fmt.Sprintf("<< /Type /Annot /Subtype /Link /Rect [%d %d %d %d] /Border [0 0 0] "+
		"/A << /S /URI /URI (%s) >> >>", left, bottom, right, top, address)
}
