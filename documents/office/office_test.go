package office

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// file is an entry of a zip.
type file struct{ name, text string }

// archive makes a zip of the files, in their order.
func archive(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		method := zip.Deflate
		if f.name == "mimetype" {
			method = zip.Store
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: method})
		if err == nil {
			_, err = w.Write([]byte(f.text))
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

const (
	typesOf = `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Override PartName="/main.xml" ContentType="application/vnd.openxmlformats-officedocument.`
	relsOpen  = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	relType   = `http://schemas.openxmlformats.org/officeDocument/2006/relationships/`
	relsClose = `</Relationships>`
)

func rel(id, kind, target string) string {
	mode := ""
	if strings.Contains(target, ":") {
		mode = ` TargetMode="External"`
	}
	return `<Relationship Id="` + id + `" Type="` + relType + kind + `" Target="` + target + `"` +
		mode + `/>`
}

// ooxml are the parts that each package has.
func ooxml(kind, main string) []file {
	return []file{
		{"[Content_Types].xml", typesOf + kind + `.main+xml"/></Types>`},
		{"_rels/.rels", relsOpen + rel("1", "officeDocument", main) + relsClose},
	}
}

const wordOpen = `<?xml version="1.0" encoding="UTF-8"?>
<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"
 xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"
 xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:body>`
const wordClose = `<w:sectPr/></w:body></w:document>`

func docx(t testing.TB, body string, more ...file) []byte {
	t.Helper()
	files := append(ooxml("wordprocessingml.document", "word/document.xml"),
		file{"word/document.xml", wordOpen + body + wordClose})
	return archive(t, append(files, more...)...)
}

// content is the body of a page, for comparison.
func content(page []byte) string {
	_, s, _ := strings.Cut(string(page), "<body>\n")
	s, _, _ = strings.Cut(s, "</body>")
	return strings.ReplaceAll(s, "\n", "")
}

// pageCase is a file and what its page must be.
type pageCase struct {
	name string
	body []byte
	want string // the body, without line ends
	head []string
}

func testPages(t *testing.T, kind Kind, cases []pageCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := KindOf(c.body, ""); got != kind {
				t.Errorf("it is %s, want %s", got, kind)
			}
			page, truncated, err := Read(context.Background(), c.body, kind, Limits{})
			if err != nil || truncated {
				t.Errorf("truncated %t, error %v", truncated, err)
			}
			if got := content(page); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			head, _, _ := strings.Cut(string(page), "<body>")
			for _, h := range c.head {
				if !strings.Contains(head, h) {
					t.Errorf("the head lacks %s:\n%s", h, head)
				}
			}
		})
	}
}

func p(s string) string { return `<w:p><w:r><w:t>` + s + `</w:t></w:r></w:p>` }

func TestWord(t *testing.T) {
	t.Parallel()
	styles := file{"word/styles.xml", `<w:styles xmlns:w="w"><w:docDefaults><w:rPrDefault><w:rPr>
		<w:lang w:val="de-CH"/></w:rPr></w:rPrDefault></w:docDefaults>
		<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>
		<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="berschrift2"/></w:style>
		<w:style w:type="paragraph" w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>
		<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>
		<w:style w:type="paragraph" w:styleId="Out"><w:pPr><w:outlineLvl w:val="3"/></w:pPr></w:style>
		<w:style w:type="character" w:styleId="Ghost"><w:rPr><w:vanish/></w:rPr></w:style></w:styles>`}
	styled := func(style, s string) string {
		return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr><w:r><w:t>` + s +
			`</w:t></w:r></w:p>`
	}
	item := func(number, level, s string) string {
		return `<w:p><w:pPr><w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="` + number +
			`"/></w:numPr></w:pPr><w:r><w:t>` + s + `</w:t></w:r></w:p>`
	}
	links := file{"word/_rels/document.xml.rels", relsOpen +
		rel("rId1", "hyperlink", "https://example.org/?a=1&amp;b=2") +
		rel("rId2", "hyperlink", "javascript:alert(1)") +
		rel("rId3", "footnotes", "footnotes.xml") + rel("rId4", "endnotes",
		"/word/endnotes.xml") + relsClose}
	core := file{"docProps/core.xml",
		`<cp:coreProperties xmlns:cp="cp" xmlns:dc="dc" xmlns:dcterms="dt">
		<dc:title>The  title</dc:title><dc:creator>Ada;  Grace </dc:creator><cp:keywords>a, b</cp:keywords>
		<dc:description>About</dc:description><dcterms:created>2024-05-06T07:08:09Z</dcterms:created>
		<dcterms:modified>2024-05-07</dcterms:modified><dc:language>fr</dc:language></cp:coreProperties>`}
	app := file{"docProps/app.xml", `<Properties><Application>Writer 7</Application></Properties>`}
	testPages(t, Word, []pageCase{
		{
			"paragraphs",
			docx(t, p("one")+`<w:p/>`+p(" ")+`<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/>`+
				`<w:t xml:space="preserve"> &lt;c&gt; &amp;</w:t><w:noBreakHyphen/></w:r></w:p>`),
			"<p>one</p><p>a\tb<br> &lt;c&gt; &amp;\u2011</p>", nil,
		},
		{"properties", docx(t, styled("T", "Shown")+p("x"), styles, core, app),
			"<h1>Shown</h1><p>x</p>", []string{`<html lang="fr">`, "<title>The title</title>",
				`<meta name="author" content="Ada">`, `<meta name="author" content="Grace">`,
				`<meta name="keywords" content="a, b">`, `<meta name="description" content="About">`,
				`<meta name="dcterms.created" content="2024-05-06T07:08:09Z">`,
				`<meta name="dcterms.modified" content="2024-05-07">`,
				`<meta name="generator" content="Writer 7">`}},
		{"headings", docx(t, styled("T", "A title")+styled("berschrift2", "two")+styled("Mine", "based")+
			styled("Loop", "plain")+styled("Out", "four")+styled("nil", "none")+
			styled("Heading3", "built in")+
			`<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>one</w:t></w:r></w:p>`, styles),
			"<h1>A title</h1><h2>two</h2><h2>based</h2><p>plain</p><h4>four</h4>" +
				"<p>none</p><h3>built in</h3><h1>one</h1>",
			[]string{`<html lang="de-CH">`, "<title>A title</title>"}},
		{"headings without styles",
			docx(t, styled("Title", "A title")+styled("Heading1", "one")+styled("Heading10", "none")+
				styled("Heading0", "nor this")),
			"<h1>A title</h1><h1>one</h1><p>none</p><p>nor this</p>", []string{"<title>A title</title>"}},
		{
			"links",
			docx(t, `<w:p><w:hyperlink r:id="rId1" w:id="rId2"><w:r><w:t>one</w:t></w:r></w:hyperlink>`+
				`<w:hyperlink r:id="rId2"><w:r><w:t> bad</w:t></w:r></w:hyperlink>`+
				`<w:hyperlink w:anchor="x"><w:r><w:t> here</w:t></w:r></w:hyperlink>`+
				`<w:fldSimple w:instr=" HYPERLINK &quot;http://a.example/&quot; \l &quot;s&quot; "><w:r><w:t>two</w:t></w:r></w:fldSimple>`+
				`<w:r><w:fldChar w:fldCharType="begin"/><w:instrText>HYPER</w:instrText><w:instrText>LINK mailto:a@b.example \t "_top"</w:instrText>`+
				`<w:t>no</w:t><w:fldChar w:fldCharType="separate"/><w:t>three</w:t><w:fldChar w:fldCharType="end"/><w:t> end</w:t></w:r></w:p>`+
				`<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText>PAGE</w:instrText></w:r></w:p>`+
				p("shown"), links),
			`<p><a href="https://example.org/?a=1&amp;b=2">one</a> bad here<a href="http://a.example/#s">two</a>` +
				`<a href="mailto:a@b.example">three</a> end</p><p>shown</p>`, nil,
		},
		{"lists", docx(t, item("1", "0", "a")+item("1", "1", "b")+item("1", "1", "c")+item("1", "0", "d")+
			item("2", "0", "e")+p("x")+item("1", "8", "f")+item("0", "0", "g"),
			file{"word/numbering.xml", `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="5">
				<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl>
				</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num></w:numbering>`}),
			"<ol><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ol><ul><li>e</li></ul><p>x</p>" +
				"<ul><li>f</li></ul><p>g</p>", nil},
		{"tables", docx(t, `<w:tbl><w:tblPr/><w:tr><w:tc><w:tcPr/>`+p("a")+p("b")+
			`</w:tc><w:tc><w:p/></w:tc></w:tr>`+
			`<w:tr><w:trPr><w:del w:id="1"/></w:trPr><w:tc>`+p("gone")+`</w:tc></w:tr><w:sdt><w:sdtContent>`+
			`<w:tr><w:tc><w:tbl><w:tr><w:tc>`+p("in")+`</w:tc></w:tr></w:tbl>`+p("out")+
			`</w:tc></w:tr></w:sdtContent></w:sdt></w:tbl>`+p("z")),
			"<table><tr><td>a<br>b</td><td></td></tr><tr></tr><tr><td><table><tr><td>in</td></tr></table>out</td></tr></table><p>z</p>",
			nil},
		{"changes and hidden text", docx(t,
			`<w:p><w:ins w:id="1"><w:r><w:t>new</w:t></w:r></w:ins><w:del w:id="2"><w:r><w:delText>old</w:delText></w:r></w:del>`+
				`<w:moveFrom><w:r><w:t>from</w:t></w:r></w:moveFrom><w:moveTo><w:r><w:t> to</w:t></w:r></w:moveTo>`+
				`<w:r><w:rPr><w:vanish/></w:rPr><w:t>hid</w:t></w:r><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> seen</w:t></w:r>`+
				`<w:r><w:rPr><w:rStyle w:val="Ghost"/></w:rPr><w:t>ghost</w:t></w:r></w:p><w:del>`+p("gone")+
				`</w:del>`, styles),
			"<p>new to seen</p>", nil},
		{
			"text boxes",
			docx(t, `<w:p><w:r><w:t>be</w:t><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>`+
				`<wp:posOffset xmlns:wp="x">123</wp:posOffset><w:txbxContent>`+p("box")+p("two")+
				`</w:txbxContent></w:drawing></mc:Choice>`+
				`<mc:Fallback><w:pict><w:txbxContent>`+p("box")+
				`</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent>`+
				`<w:t>fore</w:t></w:r></w:p>`), "<p>before</p><p>box</p><p>two</p>", nil,
		},
		{
			"drop caps",
			docx(t, `<w:p><w:pPr><w:framePr w:dropCap="drop"/></w:pPr><w:r><w:t>D</w:t></w:r></w:p>`+
				p("rop")+
				`<w:p><w:pPr><w:framePr w:dropCap="none"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p>`+
				`<w:p><w:pPr><w:framePr w:dropCap="margin"/></w:pPr><w:r><w:t>E</w:t></w:r></w:p>`), "<p>Drop</p><p>x</p><p>E</p>",
			nil,
		},
		{"notes", docx(t, `<w:p><w:r><w:t>text</w:t><w:footnoteReference w:id="2"/></w:r></w:p>`, links,
			file{"word/footnotes.xml",
				`<w:footnotes xmlns:w="w"><w:footnote w:type="separator" w:id="0">` + p("---") +
					`</w:footnote><w:footnote w:id="2">` + p("foot") + `</w:footnote></w:footnotes>`},
			file{"word/endnotes.xml",
				`<w:endnotes xmlns:w="w"><w:endnote w:id="2">` + p("end") + `</w:endnote></w:endnotes>`}),
			"<p>text</p><p>foot</p><p>end</p>", nil},
		{"other names and namespaces", archive(t, file{"[content_types].xml",
			`<Types><Default Extension="xml" ContentType="application/vnd.ms-word.template.macroEnabledTemplate.main+xml"/></Types>`},
			file{`_rels\.rels`, relsOpen +
				`<Relationship Id="x" Type="http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument" Target="Doc%20A.XML"/>` +
				relsClose},
			file{
				"doc a.xml",
				`<document xmlns="http://purl.oclc.org/ooxml/wordprocessingml/main"><body><p><r><t>strict</t></r></p></body></document>`,
			}),
			"<p>strict</p>", nil},
		{"UTF-16", archive(t, append(ooxml("wordprocessingml.document", "word/document.xml"),
			file{"word/document.xml",
				utf16LE(`<?xml version="1.0" encoding="UTF-16"?><w:document xmlns:w="w"><w:body>` +
					p("grün") + `</w:body></w:document>`)})...),
			"<p>grün</p>", nil},
		{"another encoding", archive(t, append(ooxml("wordprocessingml.document", "word/document.xml"),
			file{"word/document.xml",
				"<?xml version='1.0' encoding='windows-1251'?><w:document xmlns:w='w'><w:body>" +
					p("\xc4\xe0") + "</w:body></w:document>"})...),
			"<p>Да</p>", nil},
		{"entities", docx(t, p("a&nbsp;b &unknown; c"), file{"word/styles.xml",
			`<!DOCTYPE x [<!ENTITY a "bbbb">]><w:styles xmlns:w="w">&a;</w:styles>`}),
			"<p>a\u00a0b &amp;unknown; c</p>", nil},
	})
}

// utf16LE is a text of the basic plane in UTF-16 with a byte order mark.
func utf16LE(s string) string {
	b := []byte{0xFF, 0xFE}
	for _, r := range s {
		b = append(b, byte(r), byte(r>>8))
	}
	return string(b)
}

func TestEncrypted(t *testing.T) {
	t.Parallel()
	locked := docx(t, p("x"))
	for i := 0; ; { // the flag of each entry, in its local header and in the directory
		j := bytes.Index(locked[i:], []byte("PK\x01\x02"))
		if j < 0 {
			break
		}
		i += j + 4
		locked[i+4] |= flagEncrypted
	}
	compound := append(append(bytes.Clone(compoundMagic), make([]byte, 512)...), encryptedPackage...)
	const odfType = "application/vnd.oasis.opendocument.text"
	cases := []struct {
		name string
		kind Kind
		body []byte
	}{
		{"zip", Word, locked},
		{"OOXML with a password", Word, compound},
		{"ODF", ODFText, archive(t, file{"mimetype", odfType}, file{"content.xml", "\x00\x01"},
			file{"META-INF/manifest.xml",
				`<manifest:manifest xmlns:manifest="m"><manifest:file-entry manifest:full-path="content.xml">
			<manifest:encryption-data/></manifest:file-entry></manifest:manifest>`})},
		{"EPUB", EPUB, epub(t, "", `<p>x</p>`,
			file{"META-INF/encryption.xml", `<encryption xmlns="c"><EncryptedData>
			<EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/><CipherData><CipherReference URI="OPS/one.xhtml"/></CipherData>
			</EncryptedData></encryption>`})},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hint := "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
			if got := KindOf(c.body, hint); got != c.kind {
				// The entry that says the kind is encrypted itself: the hint must do.
				t.Errorf("it is %s, want %s", got, c.kind)
			}
			page, truncated, err := Read(context.Background(), c.body, c.kind, Limits{})
			if page != nil || !truncated || !errors.Is(err, ErrEncrypted) {
				t.Errorf("page %q, truncated %t, error %v", page, truncated, err)
			}
		})
	}
}
