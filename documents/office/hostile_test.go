package office

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// allocated is the number of bytes that fn allocates, freed ones included: a bound of it bounds the
// memory and, as every byte must be written, the work.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostile has files that are made to cost much. It does not run beside other tests, because it
// measures what is allocated.
func TestHostile(t *testing.T) {
	const mib = 1 << 20
	limits := Limits{HTML: mib, Unpacked: 8 * mib, Strings: mib, Cells: 10_000, Entries: 500}
	nested := func(open, end string, n int) string {
		return strings.Repeat(open, n) + strings.Repeat(end, n)
	}
	ods := func(body string) []byte { return opendocument(t, "spreadsheet-template", "", body) }
	var many []file
	for i := range 501 {
		many = append(many, file{fmt.Sprint(i), ""})
	}
	cases := []struct {
		name  string
		kind  Kind
		body  []byte
		class error // nil: the page is cut, or whole
		whole bool
		mib   uint64 // that may be allocated
	}{
		{"bomb of spaces", Word, docx(t, p("a")+strings.Repeat(" ", 6*mib)), ErrLimit, false, 32},
		{"bomb of paragraphs", Word, docx(t, strings.Repeat(p("aaaaaaaa"), 80_000)), nil, false, 120},
		{"bomb of styles", Word, docx(t, p("a"), file{"word/styles.xml",
			"<s>" + strings.Repeat(`<style styleId="a"/>`, 150_000)}), ErrLimit, false, 200},
		{"a text without end", Word, docx(t, p("a")+p(strings.Repeat("a", 6*mib))), ErrLimit, false, 32},
		{"a tag of attributes", Word, docx(t, p("a")+"<x "+strings.Repeat(`a="" `, mib)+"/>"), ErrLimit,
			false, 150},
		{"nesting", Word, docx(t, p("a")+nested("<w:p>", "</w:p>", 100_000)), ErrLimit, false, 8},
		{"nested tables", Word,
			docx(t, p("a")+nested("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", 150)), nil, true, 8},
		{"nested text boxes", Word,
			docx(t, p("a")+nested("<w:p><w:r><w:txbxContent>", "</w:txbxContent></w:r></w:p>", 160)), nil,
			true, 32},
		{"fields", Word,
			docx(t, strings.Repeat(`<w:p><w:fldChar w:fldCharType="begin"/><w:instrText>HYPERLINK `+
				strings.Repeat(`""`, 4000)+
				`</w:instrText><w:fldChar w:fldCharType="separate"/></w:p>`, 100)+p("a")), nil, true, 32},
		{"billion laughs", Word, docx(t, p("a"), file{"word/numbering.xml", `<!DOCTYPE l [<!ENTITY a "` +
			strings.Repeat("a", 1000) + `"><!ENTITY b "&a;&a;&a;">]><l>&b;</l>`}), nil, true, 8},
		{"ratio", Word, docx(t, p("a"), file{"word/styles.xml", strings.Repeat(" ", 5*mib)}), ErrLimit,
			false, 32},
		{"empty strings", Sheet, xlsx(t,
			`<sheetData><row><c t="inlineStr"><is><t>a</t></is></c></row></sheetData>`,
			file{"xl/sharedStrings.xml", ""}, file{"xl/s.xml", ""}), nil, true, 8},
		{"many strings", Sheet, replaced(t,
			xlsx(t, `<sheetData><row><c t="s"><v>5</v></c></row></sheetData>`), "xl/sharedStrings.xml",
			"<sst>"+strings.Repeat("<si/>", mib)), ErrLimit, false, 200},
		{"long strings", Sheet, replaced(t,
			xlsx(t, `<sheetData><row><c t="s"><v>0</v></c></row></sheetData>`), "xl/sharedStrings.xml",
			"<sst>"+strings.Repeat("<si><t>"+strings.Repeat("x", 1000)+"</t></si>", 1500)+
				"</sst>"), nil, false, 32},
		{"far cells", Sheet, xlsx(t, `<sheetData>`+
			strings.Repeat(`<row><c r="XFD1"><v>1</v></c></row>`, 10_000)+`</sheetData>`), nil, false, 80},
		{"a format without end", Sheet, replaced(t,
			xlsx(t, `<sheetData><row><c><v>1</v></c></row></sheetData>`), "xl/styles.xml",
			`<s><numFmts><numFmt numFmtId="1" formatCode="`+strings.Repeat("[", mib)+
				`"/></numFmts></s>`), nil, true, 32},
		{"repeated cells", ODFSheet, ods(`<table:table>` +
			strings.Repeat(
				`<table:table-row table:number-rows-repeated="1000"><table:table-cell table:number-columns-repeated="1000"><text:p>a</text:p></table:table-cell></table:table-row>`,
				100) +
			`</table:table>`), nil, false, 64},
		{"repeated tables", ODFSheet, ods(nested(
			`<table:table><table:table-row table:number-rows-repeated="1000"><table:table-cell table:number-columns-repeated="1000"><text:p>a</text:p>`,
			`</table:table-cell></table:table-row></table:table>`, 100)), nil, false, 64},
		{"many notes", ODFText, opendocument(t, "text", "", `<text:p>a</text:p><text:p>`+
			strings.Repeat(`<note><note-body><p>b</p></note-body></note>`, 60_000)+
			`</text:p>`), nil, false, 200},
		{"nested frames", ODFText, opendocument(t, "text", "", `<text:p>a</text:p>`+
			nested(`<text:p><draw:frame><draw:text-box>`, `</draw:text-box></draw:frame></text:p>`,
				160)), nil, true, 32},
		{"a chapter of tags", EPUB, epub(t, "", "a"+strings.Repeat("<div>", 200_000)), nil, true, 64},
		{"a chapter without end", EPUB, epub(t, "", "a<"+strings.Repeat("a", 6*mib)), ErrLimit, false,
			64},
		{"many entries", EPUB, archive(t, many...), ErrLimit, false, 1},
		{"RTF: nesting", RTF, []byte(`{\rtf1 a` + nested("{", "}", 100_000)), ErrLimit, false, 1},
		{"RTF: fonts", RTF, []byte(`{\rtf1 {\fonttbl` + fonts(200_000) + "}a}"), nil, false, 64},
		{"RTF: notes in notes", RTF, []byte(`{\rtf1 a` + nested(`{\footnote b`, "}", 400) + "}"), nil,
			true, 4},
		{"RTF: notes", RTF, []byte(`{\rtf1 a` + strings.Repeat(`{\footnote b}`, 100_000) + "}"), nil,
			true, 64},
		{"RTF: bin", RTF, []byte(`{\rtf1 a\bin2147483647 x}`), ErrDamaged, false, 1},
		{"RTF: a field", RTF,
			[]byte(`{\rtf1 a{\field{\*\fldinst HYPERLINK ` + strings.Repeat(`""`, mib) + `}}}`), nil, true,
			32},
		{"RTF: bytes", RTF, append(append([]byte(`{\rtf1 a`), bytes.Repeat([]byte{0x93}, 4*mib)...), '}'),
			nil, false, 64},
	}
	for _, c := range cases {
		var page []byte
		var truncated bool
		var err error
		bytes := allocated(
			func() { page, truncated, err = Read(context.Background(), c.body, c.kind, limits) })
		t.Logf("%-24s %8d bytes, %3d MiB allocated: %v", c.name, len(c.body), bytes/mib, err)
		if c.class != nil && !errors.Is(err, c.class) || c.class == nil && err != nil {
			t.Errorf("%s: error %v, want one of class %v", c.name, err, c.class)
		}
		if truncated == c.whole {
			t.Errorf("%s: truncated %t", c.name, truncated)
		}
		if bytes > c.mib*mib {
			t.Errorf("%s: %d MiB were allocated", c.name, bytes/mib)
		}
		if c.name != "many entries" && !strings.Contains(content(page), "a") && c.kind != Sheet &&
			c.kind != ODFSheet {
			t.Errorf("%s: what could be read is not in the page", c.name)
		}
		if len(page) > limits.HTML+4096 {
			t.Errorf("%s: the page has %d bytes", c.name, len(page))
		}
	}
}

func fonts(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{\f%d\fcharset204 x;}`, i)
	}
	return b.String()
}

// replaced is the zip with another text for one entry.
func replaced(t testing.TB, body []byte, name, text string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	var files []file
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == name {
			b = []byte(text)
		}
		files = append(files, file{f.Name, string(b)})
	}
	return archive(t, files...)
}

// TestDamaged: what can be read of a damaged file is in the page, and the error says what is wrong.
func TestDamaged(t *testing.T) {
	t.Parallel()
	whole := docx(t, p("first")+p("second"), file{"word/later.xml", strings.Repeat("x", 100)})
	directory := bytes.Index(whole, directoryHeader)
	lying := bytes.Clone(whole)
	for i := directory; ; { // each entry claims to unpack to 5 bytes
		copy(lying[i+24:], []byte{5, 0, 0, 0})
		j := bytes.Index(lying[i+4:], directoryHeader)
		if j < 0 {
			break
		}
		i += j + 4
	}
	flipped := bytes.Clone(whole)
	at := bytes.Index(flipped, []byte("word/document.xml")) + len("word/document.xml")
	for i := range 8 {
		flipped[at+300+i] ^= 0x55
	}
	overlapping := bytes.Clone(whole)
	for i, n := directory, 0; n < 3; n++ { // all entries begin where the third does
		copy(overlapping[i+42:], whole[third(whole, directory)+42:][:4])
		i += 4 + bytes.Index(overlapping[i+4:], directoryHeader)
	}
	parts := append(ooxml("wordprocessingml.document", "word/document.xml"),
		file{"word/document.xml", wordOpen + p("first") + wordClose})
	stored := raw(t, 0, parts...)
	for _, c := range []struct {
		name  string
		body  []byte
		want  string
		class error
	}{
		{"without its directory", whole[:directory], "<p>first</p><p>second</p>", ErrDamaged},
		{"cut in its last entry", whole[:directory-50], "<p>first</p><p>second</p>", ErrDamaged},
		{"without its end", whole[:len(whole)-10], "<p>first</p><p>second</p>", ErrDamaged},
		{"sizes that lie", lying, "", ErrDamaged},
		{"entries that overlap", overlapping, "<p>first</p><p>second</p>", ErrDamaged},
		{"sizes before the data", stored[:bytes.Index(stored, directoryHeader)], "<p>first</p>",
			ErrDamaged},
		{"zip64 with sizes that lie", raw(t, 1<<40, parts...), "<p>first</p>", ErrDamaged},
		{"cut XML", docx(t, p("first")+`<w:tbl><w:tr><w:tc>`+p("second")+`</w:tr></x></y>`),
			"<p>first</p><table><tr><td>second</td></tr></table>", ErrDamaged},
		{"no main part", archive(t, ooxml("wordprocessingml.document", "word/document.xml")...), "",
			ErrDamaged},
		{"a missing part after the first",
			archive(t, append(ooxml("wordprocessingml.document", "../../word/document.xml"),
				file{"word/document.xml", wordOpen + p("first") + wordClose})...), "<p>first</p>", nil},
		{
			"names twice",
			docx(t, p("first"), file{"word/document.xml", wordOpen + p("second") + wordClose}),
			"<p>first</p>",
			nil,
		},
		{"not a zip", []byte("PK\x03\x04 nothing"), "", ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			page, truncated, err := Read(context.Background(), c.body, Word, Limits{})
			if c.class != nil && !errors.Is(err, c.class) || c.class == nil && err != nil ||
				truncated != (err != nil) {
				t.Errorf("truncated %t, error %v", truncated, err)
			}
			if got := content(page); got != c.want || c.want == "" && page != nil {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// raw makes a zip of files that are not compressed, with their sizes in the local headers. They
// claim to have so many bytes more.
func raw(t testing.TB, more uint64, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		size := uint64(len(f.text))
		w, err := z.CreateRaw(&zip.FileHeader{Name: f.name, CRC32: crc32.ChecksumIEEE([]byte(f.text)),
			CompressedSize64: size, UncompressedSize64: size + more})
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

// third is the place of the third header of a zip's directory.
func third(body []byte, directory int) int {
	i := directory
	for range 2 {
		i += 4 + bytes.Index(body[i+4:], directoryHeader)
	}
	return i
}

// TestDeadline: a context that is done ends the reading of every kind at once.
func TestDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, body := range seeds(t) {
		page, truncated, err := Read(ctx, body, KindOf(body, ""), Limits{})
		if page != nil || !truncated || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: page %q, truncated %t, error %v", KindOf(body, ""), page, truncated, err)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	const odt = "application/vnd.oasis.opendocument.text"
	types := func(s string) file {
		return file{"[Content_Types].xml", `<Types><Override ContentType="` + s + `"/></Types>`}
	}
	rels := file{"_rels/.rels", "<x/>"}
	for _, c := range []struct {
		name, hint string
		body       []byte
		want       Kind
	}{
		{"empty", odt, nil, None},
		{"HTML", odt, []byte("<html>"), None},
		{"plain zip", odt, archive(t, file{"a.txt", "a"}), None},
		{"jar", odt, archive(t, file{"META-INF/MANIFEST.MF", ""}, file{"META-INF/container.xml", ""}),
			None},
		{"apk", "", archive(t, file{"AndroidManifest.xml", ""}), None},
		{"xlsb", "", archive(t, types("application/vnd.ms-excel.sheet.binary.macroEnabled.main"), rels),
			None},
		{"vsdx", "", archive(t, types("application/vnd.ms-visio.drawing.main+xml"), rels), None},
		{"slideshow", "", archive(t,
			types("application/vnd.openxmlformats-officedocument.presentationml.slideshow.main+xml"),
			rels), Slides},
		{"xlsm", "", archive(t, types("application/vnd.ms-excel.sheet.macroEnabled.main+xml"), rels),
			Sheet},
		{"drawing of ODF", odt,
			archive(t, file{"mimetype", "application/vnd.oasis.opendocument.graphics"}), None},
		{"web template", "", archive(t, file{"mimetype", odt + "-web\n"}), ODFText},
		{"EPUB without its type", "", archive(t, file{"META-INF/container.xml", ""}), EPUB},
		{"ODF without its type", "", archive(t, file{"META-INF/manifest.xml",
			`<m><file-entry full-path="/" media-type="` + odt + `"/></m>`}), ODFText},
		{"a part and a hint",
			"application/vnd.openxmlformats-officedocument.wordprocessingml.document; x=y",
			archive(t, file{"word/document.xml", ""}), Word},
		{"a part and another hint", "text/html", archive(t, file{"word/document.xml", ""}), None},
		{"old Word", "application/msword", append(bytes.Clone(compoundMagic), 1, 2, 3), None},
		{"RTF", "application/msword", []byte(" {\\rtf1 x}"), RTF},
	} {
		if got := KindOf(c.body, c.hint); got != c.want {
			t.Errorf("%s is %s, want %s", c.name, got, c.want)
		}
	}
}

// seeds are a file of each kind.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	return [][]byte{
		docx(t, p("one")+`<w:tbl><w:tr><w:tc>`+p("two")+`</w:tc></w:tr></w:tbl>`),
		xlsx(t,
			`<sheetData><row><c r="A1" t="s"><v>0</v></c><c r="D1" s="1"><v>45418</v></c></row></sheetData>`),
		pptx(t, shape(`<p:ph type="title"/>`, par("", "t"))),
		opendocument(t, "text", "",
			`<text:h>a</text:h><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list>`),
		opendocument(t, "spreadsheet-template", "",
			`<table:table><table:table-row table:number-rows-repeated="9"><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row></table:table>`),
		opendocument(t, "presentation", "",
			`<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>a</text:p></draw:text-box></draw:frame></draw:page>`),
		epub(t, "<dc:title>t</dc:title>", "<p>a<table><tr><td>b</p>"),
		[]byte(
			`{\rtf1\ansi{\fonttbl{\f0\fcharset128 x;}}{\info{\title t}}\trowd\intbl a\cell\row\pard\f0 \'93\'fa\u-10179?\u-8704?{\field{\*\fldinst HYPERLINK "http://a/"}{\fldrslt c}}{\footnote b}\par}`),
	}
}

// FuzzRead: whatever the bytes, there is no panic, the page is UTF-8 and within its limit, and an
// error has a class. XML is fuzzed as the main part of each kind, because hardly any change of a
// zip keeps it whole.
func FuzzRead(f *testing.F) {
	for i, body := range seeds(f) {
		f.Add(body, uint8(i+1), false)
	}
	f.Add([]byte(wordOpen+p("a")+wordClose), uint8(Word), true)
	f.Add([]byte(`<worksheet><sheetData><row><c r="ZZ1" t="n" s="2"><v>1e9</v></c></row></sheetData>`),
		uint8(Sheet), true)
	f.Add([]byte(shape("", par(`<a:pPr lvl="3"/>`, "b"))), uint8(Slides), true)
	f.Add([]byte(`<text:list><text:list-item><text:p>a<text:note><text:note-body><text:p>n`),
		uint8(ODFText), true)
	f.Add(
		[]byte(`<table:table><table:table-row><table:table-cell table:number-columns-repeated="9"/>`),
		uint8(ODFSheet), true)
	f.Add([]byte(`<draw:page><draw:frame/><presentation:notes/></draw:page>`), uint8(ODFSlides), true)
	f.Add([]byte(`<p>a<pre><ul><a href="http://x/"><svg></p>`), uint8(EPUB), true)
	f.Fuzz(func(t *testing.T, body []byte, k uint8, inside bool) {
		kind := Kind(k%8) + 1
		if inside {
			switch s := string(body); kind {
			case Word:
				body = docx(t, s)
			case Sheet:
				body = xlsx(t, s)
			case Slides:
				body = pptx(t, s)
			case ODFText:
				body = opendocument(t, "text", "", s)
			case ODFSheet:
				body = opendocument(t, "spreadsheet-template", "", s)
			case ODFSlides:
				body = opendocument(t, "presentation", "", s)
			case EPUB:
				body = epub(t, "", s)
			}
		}
		KindOf(body, "application/vnd.oasis.opendocument.text")
		l := Limits{HTML: 1 << 14, Unpacked: 1 << 20, Cells: 1000, Strings: 1 << 12}
		page, truncated, err := Read(context.Background(), body, kind, l)
		if err != nil && (!truncated ||
			!errors.Is(err, ErrDamaged) && !errors.Is(err, ErrLimit) && !errors.Is(err, ErrEncrypted)) {
			t.Errorf("truncated %t, error %v", truncated, err)
		}
		if err == nil && page == nil || !utf8.Valid(page) {
			t.Errorf("page %q", page)
		}
		if _, text, _ := strings.Cut(string(page), "<body>\n"); len(text) >
			l.HTML+len("</body>\n</html>\n") {
			t.Errorf("%d bytes of %d", len(text), l.HTML)
		}
	})
}

// TestBudget: an entry that just fits is whole; one byte less cuts it, and the entries after it.
func TestBudget(t *testing.T) {
	t.Parallel()
	body := archive(t, file{"a", strings.Repeat("x", 1000)}, file{"b", "y"})
	for _, c := range []struct {
		budget int64
		a, b   int
	}{{1001, 1000, 1}, {1000, 1000, 0}, {999, 999, 0}, {0, 0, 0}} {
		z, err := openContainer(context.Background(), body, Limits{Unpacked: c.budget, Entries: 10})
		if err != nil {
			t.Fatal(err)
		}
		a, errA := z.read("a", 1<<20)
		b, errB := z.read("b", 1<<20)
		if len(a) != c.a || errors.Is(errA, ErrLimit) != (c.a < 1000) || len(b) != c.b ||
			errors.Is(errB, ErrLimit) != (c.b < 1) {
			t.Errorf("of a budget of %d: %d bytes, %v, and %d bytes, %v", c.budget, len(a), errA, len(b),
				errB)
		}
	}
	for size, want := range map[int]int64{0: 4 << 20, 1 << 20: 200 << 20, 1 << 10: 4 << 20} {
		if got := (Limits{Unpacked: 1 << 30}).withDefaults(size).Unpacked; got != want {
			t.Errorf("of a file of %d bytes, %d may be unpacked, want %d", size, got, want)
		}
	}
}

// TestCut: a file that ends anywhere before its end gives an error of a class, and what is in the
// page is a beginning of what the whole file says: a table or a list may end early, but nothing is
// added.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, body := range seeds(t) {
		kind := KindOf(body, "")
		page, _, err := Read(context.Background(), body, kind, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.Join(words(page), " ")
		for n := 0; n < len(body); n += 3 {
			page, truncated, err := Read(context.Background(), body[:n], kind, Limits{})
			if !truncated || !errors.Is(err, ErrDamaged) {
				t.Fatalf("%s, %d of %d bytes: truncated %t, error %v", kind, n, len(body), truncated, err)
			}
			// Parts of these two are not in the zip in the order in which they are read.
			unordered := kind == Sheet || kind == Slides
			if got := strings.Join(words(page), " "); !unordered && !strings.HasPrefix(whole, got) {
				t.Fatalf("%s, %d of %d bytes: %q is no beginning of %q", kind, n, len(body), got, whole)
			}
		}
	}
}

// TestBrokenXML: XML that breaks off in the main part of each kind leaves what was before.
func TestBrokenXML(t *testing.T) {
	t.Parallel()
	const cut = `<x a="`
	for _, c := range []struct {
		kind Kind
		body []byte
		want string
	}{
		{Word, docx(t, p("a")+`<w:tbl><w:tr><w:tc>`+p("b")+cut),
			"<p>a</p><table><tr><td>b</td></tr></table>"},
		{Sheet, xlsx(t, `<sheetData><row><c><v>1</v></c>`+cut),
			"<h2>First &amp; only</h2><table><tr><td>1</td></tr></table>"},
		{Slides, pptx(t, shape("", par("", "a"))+cut), "<h2>Opening<br>day</h2>"},
		{ODFText, opendocument(t, "text", "",
			`<text:p>a<text:note><text:note-body><text:p>n</text:p></text:note-body></text:note></text:p><text:list><text:list-item><text:p>b`+
				cut),
			"<p>a</p><ul><li>b</li></ul><p>n</p>"},
		{
			ODFSheet,
			opendocument(t, "spreadsheet-template", "",
				`<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>`+cut),
			"<table><tr><td>a</td></tr></table>",
		},
		{ODFSlides, opendocument(t, "presentation", "",
			`<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>a</text:p></draw:text-box></draw:frame>`+
				cut), "<h2>a</h2>"},
	} {
		page, truncated, err := Read(context.Background(), c.body, c.kind, Limits{})
		if !truncated || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), ".xml") {
			t.Errorf("%s: truncated %t, error %v", c.kind, truncated, err)
		}
		if got := content(page); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.kind, got, c.want)
		}
	}
}
