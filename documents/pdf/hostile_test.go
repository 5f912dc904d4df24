package pdf

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
)

// endless returns a file that keeps PDFium busy for longer than any test: forms that show the next
// one 64 times each, 12 deep.
func endless() *file {
	f := text("Before")
	f.page(12, "", "q /X0 Do Q")
	f.objects[12] = strings.Replace(f.objects[12], "/Resources <<",
		"/Resources << /XObject << /X0 20 0 R >>", 1)
	f.objects[2] = "<< /Type /Pages /Kids [10 0 R 12 0 R] /Count 2 >>"
	for i := range 12 {
		next, content := "<< /Font << /F1 3 0 R >> >>", show("x")
		if i < 11 {
			next = fmt.Sprintf("<< /XObject << /X %d 0 R >> >>", 21+i)
			content = strings.Repeat("/X Do ", 64)
		}
		f.objects[20+i] = stream("/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources "+
			""+next,
			content)
	}
	return f
}

// with returns a file of one page, Good, whose objects are replaced or added.
func with(objects map[int]string) []byte {
	f := text("Good")
	for n, o := range objects {
		f.objects[n] = o
	}
	return f.bytes()
}

// annotated returns a file of one page, Good, with something more in the page's dictionary.
func annotated(more string, objects map[int]string) []byte {
	f := text("Good")
	f.objects[10] = strings.Replace(f.objects[10], "/Contents", more+" /Contents", 1)
	for n, o := range objects {
		f.objects[n] = o
	}
	return f.bytes()
}

// bomb is n MiB of one byte, in few.
func bomb(n int, b byte) string { return flateTimes("", bytes.Repeat([]byte{b}, 1<<20), n) }

// hostile are files that hurt a reader that trusts them.
func hostile() map[string][]byte {
	good := text("Good", "Better").bytes()
	deep := func(open, shut string, n int) string {
		return strings.Repeat(open, n) + strings.Repeat(shut, n)
	}
	files := map[string][]byte{
		"the catalog is itself":      with(map[int]string{1: "1 0 R"}),
		"two objects are each other": with(map[int]string{1: "4 0 R", 4: "1 0 R"}),
		"the page tree is a circle": with(map[int]string{2: "<< /Type /Pages /Kids [2 0 R] " +
			"/Count 1 >>"}),
		"the page tree is two circles": with(map[int]string{
			2: "<< /Type /Pages /Kids [4 0 R 4 0 R] /Count 9 >>",
			4: "<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 2 0 R] /Count 9 >>"}),
		"a billion pages": with(map[int]string{2: "<< /Type /Pages /Kids [10 0 R] " +
			"/Count 1000000000 >>"}),
		"less than no pages": with(map[int]string{2: "<< /Type /Pages /Kids [10 0 R] " +
			"/Count -5 >>"}),
		"the page a million times": with(map[int]string{2: "<< /Type /Pages /Count 1000000 " +
			"/Kids [" + strings.Repeat("10 0 R ", 1e6) + "] >>"}),
		"a page that is its own parent": with(map[int]string{10: "<< /Type /Page /Parent 10 0 R " +
			"/Contents 11 0 R >>"}),
		"arrays 100,000 deep": with(map[int]string{2: "<< /Kids " + deep("[", "]",
			1e5) + " >>"}),
		"dictionaries 100,000 deep": with(map[int]string{4: deep("<</A ", ">>", 1e5),
			1: "<< /Pages 2 0 R /X 4 0 R >>"}),
		"content 100,000 deep": with(map[int]string{11: stream("", deep("[", "]",
			1e5)+deep("<</A ", ">>", 1e5)+" TJ")}),
		"states 1,000,000 deep": with(map[int]string{11: stream("",
			strings.Repeat("q ", 1e6)+show("Good"))}),
		"text objects 1,000,000 deep": with(map[int]string{11: stream("",
			strings.Repeat("BT ", 1e6)+show("Good"))}),
		"marks 1,000,000 deep": with(map[int]string{11: stream("",
			strings.Repeat("/A BMC ", 1e6)+show("Good"))}),
		"a gigabyte of zeros": with(map[int]string{11: bomb(1<<10, 0)}),
		"200 MiB of spaces":   with(map[int]string{11: bomb(200, ' ')}),
		"40 MiB of digits":    with(map[int]string{11: bomb(40, '7')}),
		"a string of 100 MiB": with(map[int]string{11: flateTimes("",
			[]byte("BT /F1 12 Tf ("+strings.Repeat("a", 1<<20)), 100)}),
		"a million lines of text": with(map[int]string{11: flate("",
			[]byte("BT /F1 1 Tf 1 TL "+strings.Repeat("(a)' ", 1e6)+"ET"))}),
		"a filter 1,000 times": with(map[int]string{11: stream("/Filter "+
			"["+strings.Repeat("/FlateDecode ", 1000)+"]", "x")}),
		"unknown filters": with(map[int]string{11: stream("/Filter [/Nobodys "+
			"/ASCIIHexDecode /JBIG2Decode /JPXDecode]", "00>")}),
		"a stream of -1 bytes": with(map[int]string{11: "<< /Length -1 >>\nstream\nBT " +
			"ET\nendstream"}),
		"a stream of 2^63 bytes": with(map[int]string{11: "<< /Length " +
			"9223372036854775807 >>\nstream\nBT ET\nendstream"}),
		"a stream as long as itself": with(map[int]string{11: "<< /Length 11 0 R " +
			">>\nstream\nBT ET\nendstream"}),
		"a form that shows itself": annotated("", map[int]string{
			10: "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << /XObject << /X " +
				"20 0 R >> >> /Contents 11 0 R >>",
			11: stream("", "/X Do"),
			20: stream("/Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 20 0 R >> "+
				">>", "/X Do /X Do")}),
		"forms without end": endless().bytes(),
		"a pattern that paints itself": with(map[int]string{
			10: "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << /Pattern << /P " +
				"20 0 R >> >> /Contents 11 0 R >>",
			11: stream("", "/Pattern cs /P scn 0 0 9 9 re f"),
			20: stream("/PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1] /XStep 0 "+
				"/YStep 0 /Resources << /Pattern << /P 20 0 R >> >>",
				"/Pattern cs /P scn 0 0 9 9 re f")}),
		"a font of type 3 that shows itself": with(map[int]string{
			3: "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1 1] /FontMatrix [1 0 0 1 0 0] " +
				"/CharProcs << /a 20 0 R >> /Encoding << /Differences [97 /a] >> /FirstChar 97 " +
				"/LastChar 97 /Widths [1] /Resources << /Font << /F1 3 0 R >> >> >>",
			11: stream("", "BT /F1 1 Tf (aaaa) Tj ET"),
			20: stream("", "BT /F1 1 Tf (aaaa) Tj ET")}),
		"a map of characters that uses itself": with(map[int]string{
			3: "<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /ToUnicode " +
				"20 0 R /DescendantFonts [3 0 R] >>",
			20: stream("/UseCMap 20 0 R", "1 begincodespacerange <0000> <FFFF> "+
				"endcodespacerange 1 beginbfrange <0000> <FFFF> <0000> endbfrange")}),
		"a page of 10^30 points": annotated("/MediaBox [-1e30 -1e30 1e30 1e30] /UserUnit "+
			"1e30", nil),
		"a page of no points": annotated("/MediaBox [0 0 0 0] /CropBox [9 9 1 1] "+
			"/Rotate 45", nil),
		"actions of JavaScript": annotated("/AA << /O << /S /JavaScript /JS "+
			"(while\\(1\\);) >> >>", map[int]string{1: "<< /Type /Catalog /Pages 2 0 R " +
			"/OpenAction << /S /JavaScript /JS (while\\(1\\);) >> /Names << /JavaScript << " +
			"/Names [(a) << /S /JavaScript /JS (for\\(;;\\);) >>] >> >> >>"}),
		"an action that follows itself": annotated("/Annots [20 0 R]",
			map[int]string{20: "<< /Subtype /Link /Rect [0 0 9 9] /A 21 0 R >>",
				21: "<< /S /URI /URI 21 0 R /Next 21 0 R >>"}),
		"the outline is a circle": with(map[int]string{
			1:  "<< /Type /Catalog /Pages 2 0 R /Outlines 20 0 R >>",
			20: "<< /First 21 0 R /Last 21 0 R >>",
			21: "<< /Title (Good) /Parent 20 0 R /First 21 0 R /Next 21 0 R /Dest [10 0 R /Fit] " +
				">>"}),
		"names that lead in a circle": with(map[int]string{
			1:  "<< /Type /Catalog /Pages 2 0 R /Outlines 20 0 R /Names << /Dests 22 0 R >> >>",
			20: "<< /First 21 0 R /Last 21 0 R >>",
			21: "<< /Title (Good) /Parent 20 0 R /Dest (x) >>",
			22: "<< /Kids [22 0 R 22 0 R] /Limits [(a) (z)] >>"}),
		"100,000 links": annotated("/Annots ["+strings.Repeat(uri("https://example.org/",
			70, 715, 100, 735)+" ", 1e5)+"]", nil),
		"an address of 1 MB": annotated("/Annots "+
			"["+uri("https://example.org/"+strings.Repeat("a", 1e6), 70, 715, 100, 735)+"]", nil),
		"a title of 10 MB": func() []byte {
			f := text("Good")
			f.objects[20] = "<< /Title (" + strings.Repeat("a", 10e6) + ") >>"
			f.trailer = "/Info 20 0 R"
			return f.bytes()
		}(),
		"an infinite number": with(map[int]string{11: stream("", "BT /F1 "+strings.Repeat("9",
			400)+" Tf 1e999 -1e999 Td (Good) Tj ET")}),
		"objects in a stream of themselves": with(map[int]string{
			1: "<< /Type /Catalog /Pages 2 0 R /X 21 0 R >>",
			20: flate("/Type /ObjStm /N 1000000000 /First 2147483647 /Extends 20 0 R",
				[]byte("20 0 21 5 << >>"))}),
		"a table that is its own predecessor": bytes.Replace(good, []byte("/Root"),
			[]byte("/Prev 20 /Root"), 1),
		"a table of 10^9 objects": bytes.Replace(good, []byte("xref\n0 "),
			[]byte("xref\n0 99999999"), 1),
		"no table": good[:bytes.LastIndex(good, []byte("xref\n0"))],
		"the table is elsewhere": bytes.Replace(good, []byte("startxref\n"),
			[]byte("startxref\n9"), 1),
		"headers only": bytes.Repeat([]byte("%PDF-1.7\n"), 1e5),
		"objects without ends": append([]byte("%PDF-1.7\n"),
			bytes.Repeat([]byte("1 0 obj<</A "), 1e5)...),
		"a linearized lie": append([]byte("%PDF-1.7\n1 0 obj\n<< /Linearized "+
			"1 /L 99999999999 /H [1 1] /O 1 /E 1 /N 99999999 /T 1 >>\nendobj\n"), good...),
	}
	return files
}

// TestHostile: a hostile file costs its own bounds, in time and memory, and the engine reads the
// next one.
func TestHostile(t *testing.T) {
	t.Parallel()
	const (
		memory  = 96 << 20
		seconds = 2
	)
	e := New(Options{CacheDir: cacheDir, Memory: memory})
	defer e.Close()
	if err := shared.Start(t.Context()); err != nil { // fills the cache
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	good := text("Good").bytes()
	for name, body := range hostile() {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
		html, truncated, err := e.Read(ctx, body, Limits{HTML: 1 << 20})
		cancel()
		took := time.Since(began)
		size := int64(e.lastMemory())
		t.Logf("%-38s %8d bytes: %6d ms, %3d MiB, %7d of HTML, truncated %-5v %v",
			name, len(body), took.Milliseconds(), size>>20, len(html), truncated, err)
		if size > memory {
			t.Errorf("%s: %d bytes of memory", name, size)
		}
		if len(html) > 1<<20+16<<10 {
			t.Errorf("%s: %d bytes of HTML", name, len(html))
		}
		// The interrupt comes at once; on a loaded machine it takes its time.
		if took > 30*seconds*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		if err != nil && html != nil && !truncated && !strings.Contains(err.Error(), "no text") {
			t.Errorf("%s: not marked, %v", name, err)
		}
		if got := inBody(read(t, e, good, Limits{})); got != "<p>Good</p>\n" {
			t.Fatalf("after %s: %q", name, got)
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("heap after all: %d MiB", m.HeapAlloc>>20)
}

// TestTruncatedFiles: a file that is cut anywhere is read as far as it can be repaired, or is
// said to be damaged.
func TestTruncatedFiles(t *testing.T) {
	t.Parallel()
	whole := text("Good", "Better").bytes()
	readable := 0
	for n := 0; n < len(whole); n += 37 {
		html, _, err := shared.Read(t.Context(), whole[:n], Limits{})
		if err == nil && strings.Contains(string(html), "Good") {
			readable++
		} else if err == nil {
			t.Errorf("cut at %d of %d: read as\n%s", n, len(whole), html)
		}
	}
	if readable == 0 {
		t.Error("no cut file is repaired")
	}
}

// TestMutations reads a file with random mistakes: the engine lives.
func TestMutations(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 0)) // FuzzRead has others
	whole := text("Good", "Better").bytes()
	for range 60 {
		body := bytes.Clone(whole)
		for range 1 + r.IntN(20) {
			switch i := r.IntN(len(body)); r.IntN(3) {
			case 0:
				body[i] = byte(r.Uint32())
			case 1:
				body = append(body[:i], body[min(i+r.IntN(20), len(body)):]...)
			case 2:
				body = append(body, body[i:min(i+r.IntN(100), len(body))]...)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		html, truncated, err := shared.Read(ctx, body, Limits{})
		if ctx.Err() != nil {
			t.Errorf("it takes a minute: %v\n%q", err, body)
		}
		cancel()
		if err != nil && html != nil && !truncated && !strings.Contains(err.Error(), "no text") {
			t.Errorf("not marked: %v", err)
		}
	}
	if got := inBody(read(t, shared, whole, Limits{})); got != "<p>Good</p>\n<p>Better</p>\n" {
		t.Errorf("%q", got)
	}
}

// FuzzRead: whatever the file is, the page is within its limit and the engine reads the next one.
func FuzzRead(f *testing.F) {
	f.Add(text("Good", "Better").bytes())
	f.Add(locked("").bytes())
	f.Add([]byte("%PDF-1.7"))
	good := text("Good").bytes()
	if err := shared.Start(f.Context()); err != nil { // takes longer than one input may
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		html, truncated, err := shared.Read(ctx, body, Limits{HTML: 1000})
		if n := len(inBody(string(html))); n > 1000 {
			t.Errorf("%d bytes", n)
		}
		if err != nil && html != nil && !truncated && !strings.Contains(err.Error(), "no text") {
			t.Errorf("not marked: %v", err)
		}
		if got := inBody(read(t, shared, good, Limits{})); got != "<p>Good</p>\n" {
			t.Errorf("after it: %q", got)
		}
	})
}
