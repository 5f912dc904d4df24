package office

import "testing"

func TestRTF(t *testing.T) {
	t.Parallel()
	r := func(s string) []byte { return []byte(`{\rtf1\ansi\ansicpg1252\deff0 ` + s + "}") }
	const fonts = `{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fcharset204{\*\falt x} Cyr;}{\f2\fcharset128 Gothic;}{\f3\fcharset1 D;}}`
	testPages(t, RTF, []pageCase{
		{
			"paragraphs",
			r("one\\par\r\ntwo \\b three\\b0\\par\\par a\\tab b\\line c\\emdash d\\~e\\_f\\{\\}\\\\\\\r\n" +
				"last"),
			"<p>one</p><p>two three</p><p>a\tb<br>c\u2014d\u00a0e\u2011f{}\\</p><p>last</p>", nil,
		},
		{
			"code pages",
			r(fonts + `\f0 gr\'fcn \f1 \'c4\'e0 \f2 \'93\'fa\'83A \f3 \'e9 {\f1 \'e4}\'e9\plain \'e9`),
			"<p>grün Да 日ア é дéé</p>", nil,
		},
		{"another code page", []byte(`{\rtf1\ansi\ansicpg1250 \'9a\'e8}`), "<p>šč</p>", nil},
		{"Unicode", r(`\u8364?\uc2\u1076\'aa\'bb\uc0\u-10179\u-8704 x{\uc1\u97 \'62}c\u228{d}\u55357 !`),
			"<p>€д\U0001F600xacäd\uFFFD!</p>", nil},
		{
			"properties",
			r(
				`\deflang1031{\info{\title {\upr{no}{\*\ud T\u252?tel}}}{\author Ada;Grace}{\keywords k}{\doccomm c}{\*\company no}{\version2}{\creatim\yr2024\mo5\dy6\hr7\min8}{\revtim\yr0}{\nofpages3}}{\*\generator Gen 1;}x`),
			"<p>x</p>", []string{`lang="de"`, "<title>Tütel</title>", `"author" content="Ada"`,
				`"author" content="Grace"`, `"keywords" content="k"`,
				`"description" content="c"`, `"dcterms.created" content="2024-05-06T07:08:00Z"`,
				`"generator" content="Gen 1"`},
		},
		{
			"headings",
			r(
				`{\stylesheet{Normal;}{\s1\b heading 1;}{\s2\outlinelevel2 Mine;}{\s3 Title;}{\*\cs4 heading 3;}}{\pard\s3 A {\i title}\par}\pard\s1 one\par\pard\s2 three\par\pard\outlinelevel1 two\par\pard plain\par`),
			"<h1>A title</h1><h1>one</h1><h3>three</h3><h2>two</h2><p>plain</p>",
			[]string{"<title>A title</title>"},
		},
		{
			"lists",
			r(
				`{\*\listtable{\list{\listname x;}}}\pard\ls1{\listtext\'b7\tab}a\par{\listtext\'b7\tab}\ilvl1 b\par\pard\ls2{\pntext 1.\tab}c\par\pard d\par`),
			"<ul><li>a<ul><li>b</li></ul></li></ul><ol><li>c</li></ol><p>d</p>", nil,
		},
		{
			"tables",
			r(
				`before\par\trowd\cellx1\cellx2\pard\intbl a\par b\cell\cell\row\trowd\cellx1\pard\intbl c\cell\row\pard after`),
			"<p>before</p><table><tr><td>a<br>b</td><td></td></tr><tr><td>c</td></tr></table><p>after</p>",
			nil,
		},
		{"nested tables",
			r(
				`\trowd\pard\intbl\itap2 a\nestcell b\nestcell{\*\nesttableprops\trowd\nestrow}{\nonesttables\par}\pard\intbl c\cell\row`),
			"<table><tr><td>a\tb\t<br>c</td></tr></table>", nil},
		{
			"links",
			r(
				`x {\field{\*\fldinst {HYPERLINK "https://example.org/"}{\*\datafield 00d0}}{\fldrslt {\ul there}}} y {\field{\*\fldinst HYPERLINK \\l "m"}{\fldrslt mark}}{\field{\*\fldinst PAGE}{\fldrslt 3}}`),
			`<p>x <a href="https://example.org/">there</a> y mark3</p>`, nil,
		},
		{
			"left out",
			r(
				`a{\pict\wmetafile8 0123abcd}{\v hidden}{\deleted gone}{\*\unknown b{c}}{\header h}{\*\xmlnstbl }{\colortbl;\red0;}{\xe index}{\bin4 }{{}}\v0 b\bin3 \x{c`),
			"<p>abc</p>", nil,
		},
		{
			"notes",
			r(
				`text{\super\chftn}{\footnote\pard foot {\b note}{\footnote deep}\par}{\footnote\ftnalt end} more\par`),
			"<p>text more</p><p>foot note</p><p>end</p>", nil,
		},
		{
			"shapes",
			r(
				`be{\shp{\*\shpinst\shpleft0{\sp{\sn name}{\sv 5}}{\shptxt\pard box\par}}{\shprslt{\*\do old}}}fore`),
			"<p>bebox</p><p>fore</p>", nil,
		},
		{"what surrounds it", []byte("\xef\xbb\xbf\r\n{\\rtf1 a}\x00{b}"), "<p>a</p>", nil},
	})
}
