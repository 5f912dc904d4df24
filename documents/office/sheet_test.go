package office

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func xlsx(t testing.TB, sheet string, more ...file) []byte {
	t.Helper()
	files := append(ooxml("spreadsheetml.sheet", "xl/workbook.xml"),
		file{"xl/_rels/workbook.xml.rels", relsOpen + rel("r1", "worksheet", "worksheets/sheet1.xml") +
			rel("r2", "worksheet", "worksheets/sheet2.xml") + rel("r3", "styles", "styles.xml") +
			rel("r4", "sharedStrings", "sharedStrings.xml") + rel("r5", "chartsheet", "c.xml") + relsClose},
		file{"xl/worksheets/sheet1.xml",
			`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="` +
				relType[:len(relType)-1] + `">` + sheet + `</worksheet>`},
		file{"xl/worksheets/sheet2.xml",
			`<worksheet><sheetData><row><c t="str"><v>secret</v></c></row></sheetData></worksheet>`},
		file{"xl/sharedStrings.xml",
			`<sst><si><t>zero</t></si><si><r><t>o</t></r><r><rPr/><t>ne</t></r><rPh><t>reading</t></rPh></si></sst>`},
		file{"xl/styles.xml",
			`<styleSheet><numFmts><numFmt numFmtId="164" formatCode="&quot;day &quot;yyyy\-mm"/>
			<numFmt numFmtId="165" formatCode="[h]:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
			<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/></cellXfs></styleSheet>`})
	if len(more) == 0 || more[0].name != "xl/workbook.xml" {
		files = append(files, workbook(""))
	}
	return archive(t, append(files, more...)...)
}

func workbook(properties string) file {
	return file{"xl/workbook.xml",
		`<workbook xmlns:r="` + relType[:len(relType)-1] + `">` + properties + `<sheets>
		<sheet name="First &amp; only" sheetId="1" r:id="r1"/><sheet name="Hidden" sheetId="2" state="hidden" r:id="r2"/>
		<sheet name="Very" sheetId="3" state="veryHidden" r:id="r2"/><sheet name="Chart" sheetId="4" r:id="r5"/></sheets></workbook>`}
}

func TestSheet(t *testing.T) {
	t.Parallel()
	table := func(s string) string { return "<h2>First &amp; only</h2><table>" + s + "</table>" }
	testPages(t, Sheet, []pageCase{
		{"values", xlsx(t,
			`<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>9</v></c></row><row r="2"/>
			<row r="3"><c r="A3" t="inlineStr"><is><r><t>in</t></r><t>line</t></is></c><c r="B3" t="b"><v>1</v></c><c r="C3" t="e"><v>#N/A</v></c></row>
			<row r="4"><c r="A4"><f>1+2</f><v>3</v></c><c r="B4" t="str"><f>HYPERLINK("http://a.example/?x&amp;y",B1)</f><v>sum</v></c><c r="D4"><v>0.30000000000000004</v></c><c r="E4"><v>1e300</v></c></row></sheetData>`),
			table("<tr><td>zero</td><td>one</td></tr><tr><td>inline</td><td>TRUE</td><td>#N/A</td></tr>" +
				"<tr><td>3</td><td><a " +
				"href=\"http://a.example/?x&amp;y\">sum</a></td><td></td><td>0.3</td><td>1e300</td></tr>"), nil},
		{"dates", xlsx(t,
			`<sheetData><row><c s="1"><v>45418</v></c><c s="2"><v>45418.29730324074</v></c><c s="3"><v>45418</v></c>
			<c s="4"><v>1.5</v></c><c s="5"><v>0.75</v></c><c s="0"><v>45418</v></c><c s="99"><v>1</v></c><c s="1"><v>-1</v></c></row></sheetData>`),
			table(
				"<tr><td>2024-05-06</td><td>2024-05-06T07:08:07</td><td>2024-05-06</td><td>36:00:00</td><td>18:00:00</td><td>45418</td><td>1</td><td>-1</td></tr>"),
			nil},
		{"dates from 1904", xlsx(t, `<sheetData><row><c s="1"><v>43956</v></c></row></sheetData>`,
			workbook(`<workbookPr date1904="1"/>`)),
			table("<tr><td>2024-05-06</td></tr>"), nil},
		{"links", xlsx(t,
			`<sheetData><row><c r="A1" t="s"><v>0</v></c><c r="B1" t="str"><v>hyperlinks</v></c></row></sheetData><hyperlinks>
			<hyperlink ref="A1:A2" r:id="k1"/><hyperlink ref="B1" location="Sheet1!A1"/></hyperlinks>`,
			file{"xl/worksheets/_rels/sheet1.xml.rels",
				relsOpen + rel("k1", "hyperlink", "https://example.org/") + relsClose}),
			table(`<tr><td><a href="https://example.org/">zero</a></td><td>hyperlinks</td></tr>`), nil},
		{"no cells", xlsx(t, `<sheetData/>`), "<h2>First &amp; only</h2>", nil},
	})
}

func TestSerialTime(t *testing.T) {
	t.Parallel()
	d := &sheet{epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		value float64
		want  string
	}{
		// The days around the 29 February 1900 of ECMA-376 part 1, 18.17.4.1.
		{1, "1900-01-01"}, {59, "1900-02-28"}, {61, "1900-03-01"}, {2958465, "9999-12-31"}, {2958466, ""},
	} {
		if got := d.serialTime(c.value, showsDate); got != c.want {
			t.Errorf("%v is %q, want %q", c.value, got, c.want)
		}
	}
}

func TestFormatOf(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]cellFormat{
		"General": 0, "0.00": 0, "#,##0 \"days\"": 0, "[Red]0": 0, "[$-409]d-mmm-yy": showsDate,
		"yyyy/mm/dd hh:mm": showsDate | showsTime, "mm:ss": showsTime, "mmm": showsDate,
		"[hh]:mm:ss": showsElapsed,
		`0\d`:        0, "0_d": 0, "0;yyyy": 0, `"open`: 0, "[open": 0, "@": 0,
	} {
		if got := formatOf(code); got != want {
			t.Errorf("%q is %d, want %d", code, got, want)
		}
	}
}

func TestSeekLinks(t *testing.T) {
	t.Parallel()
	far := strings.Repeat("hyperlinks < ", 20_000)
	for _, c := range []struct{ text, want string }{
		{"<a/><hyperlinks><x/>", "><x/>"}, {"<x:hyperlinks a=''>", " a=''>"}, {"</hyperlinks>", ""},
		{"</x:hyperlinks>", ""}, {"hyperlinks", ""}, {far + "b<hyperlinks>c", ">c"}, {far, ""}, {"", ""},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.text),
			iotest.DataErrReader(strings.NewReader(c.text)),
			iotest.HalfReader(strings.NewReader(c.text))} {
			found, err := seekLinks(r)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if found != nil {
				b, err := io.ReadAll(found)
				if err != nil {
					t.Fatal(err)
				}
				got = string(b)
			}
			if got != c.want {
				t.Errorf("behind the tag in %.40q... is %.40q, want %q", c.text, got, c.want)
			}
		}
	}
}
