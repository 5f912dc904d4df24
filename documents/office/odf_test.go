package office

import "testing"

const odfSpaces = ` xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="text" xmlns:table="table" xmlns:draw="draw"
	xmlns:style="style" xmlns:fo="fo" xmlns:xlink="xlink" xmlns:svg="svg-compatible" xmlns:presentation="presentation" xmlns:dc="dc" xmlns:meta="meta"`

// opendocument is an ODF file of a type such as text.
func opendocument(t testing.TB, kind, styles, body string, more ...file) []byte {
	t.Helper()
	element := map[string]string{
		"text":                 "text",
		"spreadsheet-template": "spreadsheet",
		"presentation":         "presentation",
	}[kind]
	return archive(t, append([]file{{"mimetype", "application/vnd.oasis.opendocument." + kind},
		{"content.xml", `<office:document-content` + odfSpaces + `><office:automatic-styles>` + styles +
			`</office:automatic-styles><office:body><office:` +
			element + `>` + body + `</office:` + element +
			`></office:body></office:document-content>`}}, more...)...)
}

func TestODFText(t *testing.T) {
	t.Parallel()
	odt := func(styles, body string, more ...file) []byte {
		return opendocument(t, "text", styles, body, more...)
	}
	testPages(t, ODFText, []pageCase{
		{"paragraphs", odt("", `<text:h text:outline-level="2">Head</text:h><text:p>a
			b<text:s text:c="3"/><text:span>c</text:span><text:tab/>d<text:line-break/>e <text:span> f</text:span></text:p><text:p/>`),
			"<h2>Head</h2><p>a b c\td<br>e f</p>", nil},
		{"properties", odt("", `<text:p>x</text:p>`, file{"meta.xml", `<office:document-meta` +
			odfSpaces + `><office:meta><dc:title>T</dc:title><meta:initial-creator>Ada</meta:initial-creator>
			<dc:creator>Last</dc:creator><meta:keyword>k</meta:keyword><dc:description>D</dc:description><dc:language>it</dc:language><meta:generator>LO</meta:generator>
			<meta:creation-date>2024-05-06T07:08:09.123456789</meta:creation-date><dc:date>2024-05-07T01:02:03+02:00</dc:date></office:meta></office:document-meta>`}),
			"<p>x</p>", []string{`lang="it"`, "<title>T</title>", `"author" content="Ada"`,
				`"keywords" content="k"`, `"description" content="D"`,
				`"generator" content="LO"`, `"dcterms.created" content="2024-05-06T07:08:09Z"`,
				`"dcterms.modified" content="2024-05-07T01:02:03+02:00"`}},
		{"styles", odt(
			`<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>
			<style:style style:name="T1" style:family="text"><style:text-properties text:display="none"/></style:style>`,
			`<text:p text:style-name="P1">The <text:span>title</text:span></text:p><text:p>a<text:span text:style-name="T1">hidden</text:span></text:p><text:p text:style-name="Ghost">gone</text:p>`,
			file{"styles.xml", `<office:document-styles` + odfSpaces +
				`><office:styles><style:default-style style:family="paragraph"><style:text-properties fo:language="pt" fo:country="BR"/></style:default-style>
				<style:style style:name="Ghost" style:family="paragraph"><style:text-properties text:display="none"/></style:style></office:styles></office:document-styles>`}),
			"<h1>The title</h1><p>a</p>", []string{`lang="pt-BR"`, "<title>The title</title>"}},
		{
			"lists",
			odt(
				`<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1"/><text:list-level-style-bullet text:level="2"/></text:list-style>`,
				`<text:list text:style-name="L1"><text:list-item><text:p>a</text:p><text:p>more</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item>
			<text:list-item><text:p>c</text:p></text:list-item></text:list><text:list><text:list-item><text:h text:outline-level="1">H</text:h></text:list-item></text:list>`),
			"<ol><li>a<br>more<ul><li>b</li></ul></li><li>c</li></ol><h1>H</h1>", nil,
		},
		{"links", odt("",
			`<text:p>x <text:a xlink:href="https://example.org/a?b=1&amp;c">there</text:a><text:a xlink:href="#here">here</text:a><text:a xlink:href="../x.html">near</text:a></text:p>`),
			`<p>x <a href="https://example.org/a?b=1&amp;c">there</a>here<a href="../x.html">near</a></p>`,
			nil},
		{"tables", odt("",
			`<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>a</text:p><text:p>b</text:p></table:table-cell><table:covered-table-cell/></table:table-row></table:table-header-rows>
			<table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="2"><text:p>c</text:p></table:table-cell></table:table-row></table:table>`),
			"<table><tr><td>a<br>b</td><td></td></tr><tr><td>c</td><td>c</td></tr><tr><td>c</td><td>c</td></tr></table>",
			nil},
		{"left out", odt("",
			`<office:forms>f</office:forms><text:tracked-changes><text:changed-region><text:deletion><text:p>deleted</text:p></text:deletion></text:changed-region></text:tracked-changes>
			<text:p>a<office:annotation><dc:creator>C</dc:creator><text:p>comment</text:p></office:annotation><text:ruby><text:ruby-base>b</text:ruby-base><text:ruby-text>r</text:ruby-text></text:ruby></text:p>
			<text:section text:display="none"><text:p>s</text:p></text:section><text:table-of-content><text:table-of-content-source><text:index-title-template>no</text:index-title-template></text:table-of-content-source>
			<text:index-body><text:p>entry</text:p></text:index-body></text:table-of-content>`), "<p>ab</p><p>entry</p>",
			nil},
		{"frames and notes", odt("",
			`<text:p>be<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box><draw:image><text:p/></draw:image><svg:title>t</svg:title><svg:desc>d</svg:desc></draw:frame>fore<text:note><text:note-citation>1</text:note-citation>
			<text:note-body><text:p>note<text:note><text:note-body><text:p>inner</text:p></text:note-body></text:note></text:p></text:note-body></text:note></text:p><text:p>next</text:p>`),
			"<p>before</p><p>box</p><p>next</p><p>note</p><p>inner</p>", nil},
	})
}

func TestODFSheet(t *testing.T) {
	t.Parallel()
	testPages(t, ODFSheet, []pageCase{
		{"cells", opendocument(t, "spreadsheet-template",
			`<style:style style:name="ta2" style:family="table"><style:table-properties table:display="false"/></style:style>`,
			`<table:table table:name="One"><table:table-column/><table:table-row><table:table-cell table:number-columns-repeated="2"/><table:table-cell office:value-type="string"><text:p>a</text:p></table:table-cell>
			<table:table-cell office:value-type="date" office:date-value="2024-05-06"><text:p>6. Mai</text:p></table:table-cell><table:table-cell office:value="4"/><table:table-cell table:number-columns-repeated="16380"/></table:table-row>
			<table:table-row table:number-rows-repeated="3"><table:table-cell><text:p>r</text:p></table:table-cell></table:table-row>
			<table:table-row table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>
			<table:table table:name="Hidden" table:style-name="ta2"><table:table-row><table:table-cell><text:p>no</text:p></table:table-cell></table:table-row></table:table>`),
			"<h2>One</h2><table><tr><td></td><td></td><td>a</td><td>2024-05-06</td><td>4</td></tr><tr><td>r</td></tr><tr><td>r</td></tr><tr><td>r</td></tr></table>",
			nil},
	})
}

func TestODFSlides(t *testing.T) {
	t.Parallel()
	frame := func(class, s string) string {
		return `<draw:frame presentation:class="` + class + `"><draw:text-box><text:p>` + s +
			`</text:p></draw:text-box></draw:frame>`
	}
	testPages(t, ODFSlides, []pageCase{
		{"pages", opendocument(t, "presentation",
			`<style:style style:name="dp2" style:family="drawing-page"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>`,
			`<draw:page><presentation:notes>`+frame("notes", "said")+`</presentation:notes>`+
				frame("outline", "body")+frame("title", "Head")+frame("footer", "no")+
				`<draw:custom-shape><text:p>shape</text:p></draw:custom-shape></draw:page><draw:page draw:style-name="dp2">`+
				frame("title", "hidden")+`</draw:page>
			<draw:page><draw:frame><table:table><table:table-row><table:table-cell><text:p>t</text:p></table:table-cell></table:table-row></table:table><draw:image/></draw:frame></draw:page>`),
			"<h2>Head</h2><p>body</p><p>shape</p><p>said</p><table><tr><td>t</td></tr></table>",
			[]string{"<title>Head</title>"}},
	})
}
