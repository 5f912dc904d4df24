package office

import "testing"

// epub is a book with one chapter.
func epub(t testing.TB, metadata, chapter string, more ...file) []byte {
	t.Helper()
	files := []file{
		{"mimetype", "application/epub+zip"},
		{"META-INF/container.xml",
			`<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
			<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`},
		{
			"OPS/book.opf",
			`<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf">
			<metadata>` + metadata + `</metadata><manifest>
			<item id="two" href="sub/two%20b.xhtml" media-type="application/xhtml+xml"/>
			<item id="one" href="one.xhtml" media-type="application/xhtml+xml"/>
			<item id="css" href="style.css" media-type="text/css"/>
			<item id="img" href="a.svg" media-type="image/svg+xml"/></manifest>
			<spine><itemref idref="img"/><itemref idref="one"/><itemref idref="two"/><itemref idref="gone"/><itemref idref="one"/></spine></package>`,
		},
		{"OPS/sub/two b.xhtml", ""},
		{"OPS/one.xhtml",
			`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js"/><style>p{}</style></head><body>` +
				chapter + `</body></html>`},
	}
	for i := range files {
		for j, m := range more {
			if m.name == files[i].name {
				files[i].text, more[j].name = m.text, ""
			}
		}
	}
	for _, m := range more {
		if m.name != "" {
			files = append(files, m)
		}
	}
	return archive(t, files...)
}

func TestEPUB(t *testing.T) {
	t.Parallel()
	one := func(s string) string { return "<section>" + s + "</section><section></section>" }
	testPages(t, EPUB, []pageCase{
		{"spine and properties", epub(t,
			`<dc:title>Moby</dc:title><dc:creator opf:role="aut">H. M.</dc:creator><dc:creator>Second</dc:creator>
			<dc:creator opf:role="ill">Painter</dc:creator><dc:language>en-US</dc:language><dc:date>1851-10</dc:date><dc:date opf:event="modification">2014</dc:date>
			<dc:publisher>Harper</dc:publisher><dc:rights>Public domain</dc:rights><dc:description>&lt;p&gt;A &lt;b&gt;whale&lt;/b&gt; &amp;amp; a man&lt;/p&gt;</dc:description>
			<dc:subject>Sea</dc:subject><dc:subject>Whales</dc:subject><dc:identifier>urn:isbn:1</dc:identifier><meta name="generator" content="calibre"/>
			<meta property="dcterms:modified">2015-01-02T03:04:05Z</meta>`, `<h1>One</h1>`,
			file{"OPS/sub/two b.xhtml", "\xef\xbb\xbf<html>\n<body>two</body></html>"}),
			"<section><h1>One</h1></section><section>two</section>",
			[]string{`lang="en-US"`, "<title>Moby</title>",
				`<meta name="author" content="H. M.">` + "\n" + `<meta name="author" content="Second">`,
				`"dcterms.created" content="1851-10"`, `"dcterms.modified" content="2014"`,
				`"dcterms.modified" content="2015-01-02T03:04:05Z"`, `"dcterms.publisher" content="Harper"`,
				`"dcterms.rights" content="Public domain"`, `"description" content="A whale &amp; a man"`,
				`"keywords" content="Sea, Whales"`, `"dcterms.identifier" content="urn:isbn:1"`,
				`"generator" content="calibre"`}},
		{"structure", epub(t, "", `<div class="x"><p>a <b>b</b>
			<i>c</i></p><ul><li>d<ol><li>e</li></ol></li></ul><table><tr><th>f</th><td>g</td></tr></table>
			<pre> x
  y</pre><blockquote><p>q<br/>r</p></blockquote></div>`),
			one(
				"<div><p>a b " +
					"c</p><ul><li>d<ol><li>e</li></ol></li></ul><table><tr><th>f</th><td>g</td></tr></table>" +
					"<pre> x  y</pre><blockquote><p>q<br>r</p></blockquote></div>"), nil},
		{"links", epub(t, "",
			`<p><a id="x"/><a href="two.xhtml#y">near</a> <a href="https://example.org/?a&amp;b">far</a> `+
				`<a href="javascript:x()">bad</a> <a href="//host/">no</a></p>`),
			one(`<p>near <a href="https://example.org/?a&amp;b">far</a> bad no</p>`), nil},
		{"left out", epub(t, "",
			`<p onclick="x()">a<script>b&lt;</script><style>c</style><svg><title>d</title><text>e</text></svg>`+
				`<ruby>f<rt>g</rt></ruby><img src="x" alt="h"/><span hidden="">i<span>j</span></span>k<!-- l --><![CDATA[<m>]]></p>`),
			one("<p>afk&lt;m&gt;</p>"), nil},
		{"not well-formed", epub(t, "", `</div><p>a<p>b<h2>c</p>d</h2></section><li>e`),
			one("<p>a</p><p>b</p><h2>cd</h2><li>e</li>"), nil},
		{"other encodings", epub(t, "", "", file{"OPS/one.xhtml", "<?xml version='1.0' encoding='windows-1251'?><p>\xc4\xe0</p>"},
			file{"OPS/sub/two b.xhtml", utf16LE(`<?xml version="1.0" encoding="utf-16"?><p>grün</p>`)}),
			"<section><p>Да</p></section><section><p>grün</p></section>", nil},
		{"fonts that are obscured", epub(t, "", "<p>x</p>", file{"META-INF/encryption.xml",
			`<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/><CipherData><CipherReference URI="OPS/one.xhtml"/></CipherData></EncryptedData></encryption>`}),
			one("<p>x</p>"), nil},
	})
}
