package integration

import (
	"archive/zip"
	"bytes"
	"fmt"
	"html"
	"math/rand/v2"
	"strings"
	"testing"
)

// This file writes small documents of the kinds that are read, each from its format's standard.

// prose is some sentences of words that are drawn by a seed, so that no two texts are near each
// other, with a given word in the middle.
func prose(seed uint64, word string) string {
	r := rand.New(rand.NewPCG(seed, 41))
	var words []string
	for range 60 {
		var b strings.Builder
		for range 2 + r.IntN(3) {
			b.WriteByte("bdfgklmnprtv"[r.IntN(12)])
			b.WriteByte("aeiou"[r.IntN(5)])
		}
		words = append(words, b.String())
	}
	words[30] = word
	return strings.Join(words, " ")
}

// pdfFile is a PDF file of one page (ISO 32000-1, 7.5) with a text, document information, and
// links on the page, if any.
func pdfFile(title, author, created, text string, links ...string) []byte {
	var content strings.Builder
	content.WriteString("BT /F1 11 Tf 13 TL 50 750 Td\n")
	words := strings.Fields(text)
	for len(words) > 0 {
		n := min(10, len(words))
		fmt.Fprintf(&content, "(%s) '\n", strings.Join(words[:n], " ")) // letters only
		words = words[n:]
	}
	content.WriteString("ET\n")
	var annotations strings.Builder
	for i, link := range links {
		fmt.Fprintf(&annotations, "<< /Type /Annot /Subtype /Link /Rect [50 %d 200 %d] /A "+
			"<< /S /URI /URI (%s) >> >> ", 100+20*i, 110+20*i, link)
	}
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Annots [" +
			annotations.String() + "] /Resources << /Font << /F1 3 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", content.Len(), content.String()),
		fmt.Sprintf("<< /Title (%s) /Author (%s) /CreationDate (%s) >>", title, author, created),
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n")
	var table strings.Builder
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	fmt.Fprintf(&b, "xref\n0 %[1]d\n0000000000 65535 f \n%[2]strailer\n<< /Size %[1]d /Root 1 0 R "+
		"/Info 6 0 R >>\nstartxref\n%[3]d\n%%%%EOF\n", len(objects)+1, table.String(), b.Len())
	return b.Bytes()
}

// zipFile is a zip archive of parts: name, content, name, content. The first is stored as it is,
// where ODF and EPUB want their media type.
func zipFile(t *testing.T, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		method := zip.Deflate
		if parts[i] == "mimetype" {
			method = zip.Store
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: parts[i], Method: method})
		if err == nil {
			_, err = w.Write([]byte(parts[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// docxFile is a text document of ECMA-376.
func docxFile(t *testing.T, text string) []byte {
	const base = "http://schemas.openxmlformats.org/"
	return zipFile(t,
		"[Content_Types].xml", `<Types xmlns="`+base+`package/2006/content-types"><Override `+
			`PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-`+
			`officedocument.wordprocessingml.document.main+xml"/></Types>`,
		"_rels/.rels", `<Relationships xmlns="`+base+`package/2006/relationships"><Relationship `+
			`Id="r1" Type="`+base+`officeDocument/2006/relationships/officeDocument" `+
			`Target="word/document.xml"/></Relationships>`,
		"word/document.xml", `<w:document xmlns:w="`+base+`wordprocessingml/2006/main"><w:body>`+
			`<w:p><w:r><w:t>`+html.EscapeString(text)+`</w:t></w:r></w:p></w:body></w:document>`)
}

// odtFile is a text document of OASIS OpenDocument 1.2.
func odtFile(t *testing.T, text string) []byte {
	const base = "urn:oasis:names:tc:opendocument:xmlns:"
	return zipFile(t,
		"mimetype", "application/vnd.oasis.opendocument.text",
		"META-INF/manifest.xml", `<manifest:manifest xmlns:manifest="`+base+`manifest:1.0" `+
			`manifest:version="1.2"><manifest:file-entry manifest:full-path="/" manifest:media-type=`+
			`"application/vnd.oasis.opendocument.text"/></manifest:manifest>`,
		"content.xml", `<office:document-content xmlns:office="`+base+`office:1.0" xmlns:text="`+
			base+`text:1.0"><office:body><office:text><text:p>`+html.EscapeString(text)+
			`</text:p></office:text></office:body></office:document-content>`)
}

// epubFile is a book of one chapter, of EPUB 3.
func epubFile(t *testing.T, text string) []byte {
	return zipFile(t,
		"mimetype", "application/epub+zip",
		"META-INF/container.xml", `<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:`+
			`xmlns:container"><rootfiles><rootfile full-path="book.opf" media-type=`+
			`"application/oebps-package+xml"/></rootfiles></container>`,
		"book.opf", `<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata `+
			`xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Book</dc:title></metadata>`+
			`<manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>`+
			`<spine><itemref idref="a"/></spine></package>`,
		"a.xhtml", `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>a</title></head><body><p>`+
			html.EscapeString(text)+`</p></body></html>`)
}

// rtfFile is a text of RTF 1.9; letters only.
func rtfFile(text string) []byte {
	return []byte(`{\rtf1\ansi\deff0{\fonttbl{\f0 Times;}}\pard ` + text + `\par}`)
}
