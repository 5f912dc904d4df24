package office

import "testing"

func pptx(t testing.TB, slide1 string, more ...file) []byte {
	t.Helper()
	open := `<p:sld xmlns:p="p" xmlns:a="a" xmlns:r="` + relType[:len(relType)-1] + `"`
	files := append(ooxml("presentationml.presentation", "ppt/presentation.xml"),
		file{"ppt/presentation.xml",
			`<p:presentation xmlns:p="p" xmlns:r="` + relType[:len(relType)-1] + `"><p:sldIdLst>
			<p:sldId id="256" r:id="r2"/><p:sldId id="257" r:id="r1"/><p:sldId id="258" r:id="r3"/></p:sldIdLst></p:presentation>`},
		file{"ppt/_rels/presentation.xml.rels", relsOpen + rel("r1", "slide", "slides/slide1.xml") +
			rel("r2", "slide", "slides/slide2.xml") + rel("r3", "slide", "slides/slide3.xml") + relsClose},
		file{"ppt/slides/slide1.xml",
			open + `><p:cSld><p:spTree>` + slide1 + `</p:spTree></p:cSld></p:sld>`},
		file{"ppt/slides/slide2.xml", open + `><p:cSld><p:spTree>` +
			shape(`<p:ph type="ctrTitle"/>`, par("", "Opening")+par("", "day")) +
			`</p:spTree></p:cSld></p:sld>`},
		file{"ppt/slides/slide3.xml", open + ` show="0"><p:cSld><p:spTree>` +
			shape("", par("", "hidden")) + `</p:spTree></p:cSld></p:sld>`})
	return archive(t, append(files, more...)...)
}

func par(properties, s string) string {
	return `<a:p>` + properties + `<a:r><a:t>` + s + `</a:t></a:r></a:p>`
}

func shape(placeholder, paragraphs string) string {
	return `<p:sp><p:nvSpPr><p:nvPr>` + placeholder +
		`</p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>` + paragraphs + `</p:txBody></p:sp>`
}

func TestSlides(t *testing.T) {
	t.Parallel()
	const first = "<h2>Opening<br>day</h2>"
	testPages(t, Slides, []pageCase{
		{"order", pptx(t, shape("", par("", "text"))+shape(`<p:ph type="sldNum"/>`, par("", "7"))+
			shape(`<p:ph type="title"/>`, par("", "Late title"))+
			`<p:grpSp>`+shape("", par("", "grouped"))+`</p:grpSp>`),
			first + "<h2>Late title</h2><p>text</p><p>grouped</p>", []string{"<title>Opening day</title>"}},
		{"bullets", pptx(t, shape(`<p:ph idx="1"/>`,
			par("", "a")+par(`<a:pPr lvl="1"/>`, "b")+par(`<a:pPr><a:buNone/></a:pPr>`, "c"))+
			shape("", par(`<a:pPr><a:buAutoNum type="arabicPeriod"/></a:pPr>`, "d"))),
			first + "<ul><li>a<ul><li>b</li></ul></li></ul><p>c</p><ol><li>d</li></ol>", nil},
		{"links, breaks and fields", pptx(t, shape("",
			`<a:p><a:r><a:rPr><a:hlinkClick r:id="k"/></a:rPr><a:t>link</a:t></a:r><a:br/><a:r><a:rPr><a:hlinkClick r:id="s"/></a:rPr><a:t>slide</a:t></a:r>
			<a:fld type="slidenum"><a:t>9</a:t></a:fld><a:fld type="other"><a:t>kept</a:t></a:fld></a:p>`),
			file{"ppt/slides/_rels/slide1.xml.rels", relsOpen +
				rel("k", "hyperlink", "https://example.org/") + rel("s", "slide", "slide2.xml") + relsClose}),
			first + `<p><a href="https://example.org/">link</a><br>slidekept</p>`, nil},
		{"tables and diagrams", pptx(t,
			`<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tblGrid/><a:tr><a:tc><a:txBody>`+
				par("", "1")+par("", "2")+
				`</a:txBody></a:tc><a:tc><a:txBody/></a:tc></a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame><p:graphicFrame><a:graphic><a:graphicData><x:relIds xmlns:x="x" r:dm="d" r:lo="l"/></a:graphicData></a:graphic></p:graphicFrame>`,
			file{"ppt/slides/_rels/slide1.xml.rels",
				relsOpen + rel("d", "diagramData", "../diagrams/data1.xml") + relsClose},
			file{"ppt/diagrams/data1.xml", `<x:dataModel xmlns:x="x" xmlns:a="a"><x:ptLst><x:pt><x:t>` +
				par("", "node") + `</x:t></x:pt></x:ptLst></x:dataModel>`}),
			first + "<table><tr><td>1<br>2</td><td></td></tr></table><p>node</p>", nil},
		{"notes", pptx(t, shape("", par("", "text")), file{"ppt/slides/_rels/slide1.xml.rels",
			relsOpen + rel("n", "notesSlide", "../notesSlides/n1.xml") + relsClose},
			file{"ppt/notesSlides/n1.xml", `<p:notes xmlns:p="p" xmlns:a="a"><p:cSld><p:spTree>` +
				shape(`<p:ph type="sldImg"/>`, par("", "no")) + shape(`<p:ph type="body"/>`, par("", "said")) +
				`</p:spTree></p:cSld></p:notes>`}),
			first + "<p>text</p><p>said</p>", nil},
	})
}
