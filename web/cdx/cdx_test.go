package cdx_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"crawlnode/web/cdx"
)

// The digest of no bytes, as RFC 3174 and every archive have it.
const emptyDigest = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"

// The lines have the form of what the named programs write.
const (
	ours = `org,example)/a 20260102030405 {"url":"https://example.org/a","mime":"text/html",` +
		`"status":"200","digest":"sha1:` + emptyDigest +
		`","filename":"x.warc.gz","offset":"1","length":"2"}`
	commonCrawl = `org,example)/b 20240101000000 {"url": "https://example.org/b", "mime": "text/html", ` +
		`"mime-detected": "text/html", "status": "301", "digest": "` + emptyDigest +
		`", "length": "7", ` +
		`"offset": "9", "filename": "crawl-data/x.warc.gz", "languages": "eng"}`
	pywbRevisit = `org,example)/c 20200101000000 {"url": "https://example.org/c", ` +
		`"mime": "warc/revisit", "digest": "` + emptyDigest + `"}`
	numbers = `org,example)/d 2020 {"url":"https://example.org/d","status":404,"digest":null}`
	eleven  = `org,example)/e 20100203040506 http://example.org/e text/html 200 ` + emptyDigest +
		` - - 512 1024 y.arc.gz`
	seven  = `org,example)/f 20100203040507 http://example.org/f - - - 512`
	hashed = `org,example)/g 20200101000000 {"url":"https://example.org/#!/g","status":"200","digest":"md5:` +
		emptyDigest + `"}`
)

func TestReader(t *testing.T) {
	t.Parallel()
	text := strings.Join([]string{
		"!OpenWayback-CDXJ 1.0", "", ours, commonCrawl, "# comment", pywbRevisit + "\r", numbers, eleven,
		seven, hashed,
	}, "\n")
	want := []string{
		"3 https://example.org/a 2026-01-02T03:04:05Z text/html 200 true false",
		"4 https://example.org/b 2024-01-01T00:00:00Z text/html 301 true false",
		"6 https://example.org/c 2020-01-01T00:00:00Z warc/revisit 0 true true",
		"7 https://example.org/d - - 404 false false",
		"8 http://example.org/e 2010-02-03T04:05:06Z text/html 200 true false",
		"9 http://example.org/f 2010-02-03T04:05:07Z - 0 false false",
		"10 https://example.org/#!/g 2020-01-01T00:00:00Z - 200 false false",
	}
	half := len(text) / 2
	for name, in := range map[string]io.Reader{
		"plain": strings.NewReader(text), "ended": strings.NewReader(text + "\n"),
		"gzip":    bytes.NewReader(packed(t, text)),
		"members": bytes.NewReader(append(packed(t, text[:half]), packed(t, text[half:])...)),
	} {
		got, bad, err := readAll(in)
		if err != nil || len(bad) > 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %v, %v\n%s\nwant\n%s", name, bad, err, strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
}

// TestLegends: the first line names the fields and their separator.
func TestLegends(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" CDX N b a m s k r M S V g\n" +
			eleven: "2 http://example.org/e 2010-02-03T04:05:06Z text/html 200 true false",
		" CDX a b s\nhttp://example.org/ 20100101000000 404 more\n": "2 http://example.org/ " +
			"2010-01-01T00:00:00Z - 404 false false",
		"\tCDX\ta\tb\nhttp://example.org/ x\t20100101000000\n": "2 http://example.org/ x " +
			"2010-01-01T00:00:00Z - 0 false false",
		" CDX a b\n" + ours: "2 https://example.org/a 2026-01-02T03:04:05Z text/html 200 true false",
		"wCDX 20100101000000 http://example.org/ text/html 200 -\n": "1 http://example.org/ " +
			"2010-01-01T00:00:00Z text/html 200 false false",
	} {
		got, bad, err := readAll(strings.NewReader(text))
		if err != nil || len(bad) > 0 || len(got) != 1 || got[0] != want {
			t.Errorf("%q: %v, %v, %v; want %s", text, got, bad, err, want)
		}
	}
	for text, why := range map[string]string{
		" CDX N b m\n":    "names no field a",
		" CDX N a m\n":    "no field b",
		" CDX N b a mm\n": `"mm" in its first line`,
	} {
		if _, _, err := readAll(strings.NewReader(text)); err == nil ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %s", text, err, why)
		}
	}
}

// TestBadLines: the lines behind a bad one are read.
func TestBadLines(t *testing.T) {
	t.Parallel()
	for line, why := range map[string]string{
		"https://example.org/":                           "it has 1 of the 6 fields",
		"k 20200101000000 {":                             "its JSON: ",
		`k 20200101000000 {"status":"200"}`:              "it has no URL",
		`k 20200101000000 {"url":7}`:                     "its JSON: ",
		`k 20200101000000 {"url":"u","status":"ok"}`:     `"ok" is not a status`,
		`k 20200101000000 {"url":"u","status":{}}`:       "neither a string nor a number",
		`k 20200101000000 {"url":"u","status":-1}`:       `"-1" is not a status`,
		`k 2020-01-01 {"url":"u"}`:                       "is not a date of digits",
		`k 123456789012345678901 {"url":"u"}`:            "is not a date of digits",
		"k 20200101000000 - text/html 200 x":             "it has no URL",
		"k x http://example.org/ text/html 200 x":        "is not a date of digits",
		strings.Repeat("x", cdx.MaxLine+1):               "it is longer than 65536 bytes",
		strings.Repeat("x", 5*cdx.MaxLine+7) + " 2020 {": "it is longer than 65536 bytes",
		"\x00\xff\xfe":                                   "it has 1 of the 6 fields",
	} {
		got, bad, err := readAll(strings.NewReader(ours + "\n" + line + "\n" + eleven + "\n"))
		if err != nil || len(got) != 2 || len(bad) != 1 || !strings.HasPrefix(bad[0], "line 2: ") ||
			!strings.Contains(bad[0], why) {
			t.Errorf("%.60q: %d read, %v, %v; want %s", line, len(got), bad, err, why)
		}
	}
}

// TestCutGzip: what was cut off is an error, after what stands before it.
func TestCutGzip(t *testing.T) {
	t.Parallel()
	whole := packed(t, ours+"\n"+eleven+"\n")
	if _, _, err := readAll(bytes.NewReader(whole[:len(whole)-3])); err == nil ||
		!strings.Contains(err.Error(), "cut off or damaged") {
		t.Errorf("cut: %v", err)
	}
	if _, _, err := readAll(strings.NewReader("\x1f\x8bnone")); err == nil ||
		!strings.Contains(err.Error(), "damaged") {
		t.Errorf("no gzip: %v", err)
	}
	for n := 2; n < 20; n++ { // within its header, and behind it
		if _, _, err := readAll(bytes.NewReader(whole[:n])); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%d bytes of it: %v", n, err)
		}
	}
	broken := errors.New("broken disk")
	if _, _, err := readAll(io.MultiReader(strings.NewReader(ours), failing{broken})); !errors.Is(err,
		broken) {
		t.Errorf("an error of reading: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzReader(f *testing.F) {
	for _, line := range []string{ours, commonCrawl, pywbRevisit, numbers, eleven,
		" CDX a b\n" + eleven, "\x1f\x8b"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := cdx.NewReader(bytes.NewReader(text))
		if err != nil {
			return
		}
		for last := int64(0); ; {
			record, err := r.Next()
			if bad := (*cdx.LineError)(nil); errors.As(err, &bad) {
				if bad.Line <= last || bad.Line != r.Line() {
					t.Fatalf("line %d after %d, reader at %d", bad.Line, last, r.Line())
				}
				last = bad.Line
				continue
			}
			if err != nil {
				return
			}
			if record.URL == "" || record.Date == "" || record.Status < 0 || r.Line() <= last {
				t.Fatalf("%+v in line %d after %d", record, r.Line(), last)
			}
			if sum, ok := record.SHA1(); ok &&
				!strings.HasSuffix(strings.ToUpper(record.Digest), base32.StdEncoding.EncodeToString(sum[:])) {
				t.Fatalf("%q is read as %x", record.Digest, sum)
			}
			last = r.Line()
		}
	})
}

func BenchmarkReader(b *testing.B) {
	line := []byte(commonCrawl + "\n")
	text := bytes.Repeat(line, 1000)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for i := 0; i < b.N; {
		r, err := cdx.NewReader(bytes.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		for ; i < b.N; i++ {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}

// readAll reads an index: a text for each record, and for each bad line.
func readAll(in io.Reader) (got, bad []string, err error) {
	r, err := cdx.NewReader(in)
	if err != nil {
		return nil, nil, err
	}
	for {
		record, err := r.Next()
		if wrong := (*cdx.LineError)(nil); errors.As(err, &wrong) {
			bad = append(bad, wrong.Error())
			continue
		}
		if err == io.EOF {
			return got, bad, nil
		}
		if err != nil {
			return got, bad, err
		}
		date, mime := "-", "-"
		if at, ok := record.At(); ok {
			date = at.Format(time.RFC3339)
		}
		if record.MIME != "" {
			mime = record.MIME
		}
		_, known := record.SHA1()
		got = append(got, fmt.Sprintf("%d %s %s %s %d %t %t",
			r.Line(), record.URL, date, mime, record.Status, known, record.IsRevisit()))
	}
}

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
