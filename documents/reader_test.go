package documents

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"crawlnode/documents/tika"
	"crawlnode/pipeline"
)

// odt is a small text document.
func odt(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, part := range []struct{ name, content string }{
		{"mimetype", "application/vnd.oasis.opendocument.text"},
		{"content.xml",
			`<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"` +
				` xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text>` +
				`<text:p>` + text + `</text:p></office:text></office:body></office:document-content>`},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: part.name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, part.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestReader: which reader reads what, with a Tika server and without.
func TestReader(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html><body><p>Tika read %s</p></body></html>", r.Header.Get("Content-Type"))
	}))
	defer server.Close()
	client, err := tika.New(server.URL, tika.Options{})
	if err != nil {
		t.Fatal(err)
	}
	alone, with := NewReader(Options{}), NewReader(Options{Tika: client})
	defer alone.Close()
	defer with.Close()
	text := odt(t, "An odt")
	for _, c := range []struct {
		media         string
		body          []byte
		quick, stored bool
		alone, with   string // what the page has; "-": it is not read; "!": an error that has the rest
	}{
		{"text/plain", []byte("A text"), true, false, "A text", "A text"},
		{"text/plain", []byte("PK\x03\x04"), true, false, "-", "-"},
		{"application/vnd.oasis.opendocument.text", text, false, true, "An odt", "An odt"},
		{"application/octet-stream", text, false, true, "An odt", "An odt"},
		{"", text, false, true, "An odt", "An odt"},
		{"application/zip", text, false, true, "An odt", "An odt"},
		{"application/x-unknown", []byte("x"), false, true, "-", "Tika read application/x-unknown"},
		{"application/msword", []byte("x"), false, true, "!--extract-with", "Tika read application/msword"},
		{"application/pdf", []byte("<p>no PDF"), false, true, "!it is called application/pdf", "Tika read application/pdf"},
		{"image/png", []byte("png"), false, true, "-", "-"},
		{"application/json", []byte("{}"), false, true, "-", "-"},
		{"text/css", []byte("a{}"), false, true, "-", "-"},
		{"application/atom+xml", []byte("<a/>"), false, true, "-", "-"},
	} {
		for r, want := range map[*Reader]string{alone: c.alone, with: c.with} {
			reads, quick := r.Reads(c.body, c.media)
			if reads != (want != "-") || reads && quick != c.quick {
				t.Errorf("%s: reads %v, quick %v, want %q", c.media, reads, quick, want)
			}
			if !reads {
				continue
			}
			page, err := r.Read(t.Context(), &pipeline.DocumentFile{URL: "http://a.test/x",
				MediaType: c.media, ContentType: c.media, Body: c.body})
			if part, fails := strings.CutPrefix(want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %v, want %q", c.media, err, part)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", c.media, err)
				continue
			}
			if !strings.Contains(string(page.HTML), want) || page.Stored != c.stored || page.Truncated {
				t.Errorf("%s: %+v, want %q", c.media, page, want)
			}
		}
	}
}

// TestBrokenDocument: what was read of a document that is damaged comes with what is wrong.
func TestBrokenDocument(t *testing.T) {
	t.Parallel()
	r := NewReader(Options{})
	defer r.Close()
	body := odt(t, "An odt that ends here</text:p><text:p") // a tag that is none
	page, err := r.Read(t.Context(), &pipeline.DocumentFile{MediaType: "application/zip", Body: body})
	if err != nil || !strings.Contains(string(page.HTML), "ends here") || page.Problem == nil {
		t.Errorf("%+v, %v", page, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx, &pipeline.DocumentFile{
		MediaType: "application/zip",
		Body:      body,
	}); err == nil {
		t.Error("it is read after its context has ended")
	}
}

func TestPageOfText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, contentType, want string }{
		{"one\r\ntwo\r\n\r\n \r\nthree", "text/plain", "<p>one<br>two</p>\n<p>three</p>\n"},
		{"a <b> & c", "text/plain", "<p>a &lt;b&gt; &amp; c</p>\n"},
		{"caf\xe9", "text/plain; charset=iso-8859-1", "<p>café</p>\n"},
		{"\xef\xbb\xbfcafé", "text/plain", "<p>café</p>\n"},
		{"a\x00\x1b[31mb", "text/plain; charset=utf-8", "<p>a[31mb</p>\n"},
		{"", "text/plain", ""},
		{"see http://a.test/x, (HTTPS://b.test/y_(z)) and <http://c.test/>", "text/plain",
			`<p>see <a href="http://a.test/x">http://a.test/x</a>, (<a href="HTTPS://b.test/y_(z))">` +
				`HTTPS://b.test/y_(z))</a> and &lt;<a href="http://c.test/">http://c.test/</a>&gt;</p>` + "\n"},
		{"ftp://a.test/ :// http:// http://. end", "text/plain", "<p>ftp://a.test/ :// http:// http://. end</p>\n"},
	} {
		html, cut := PageOfText([]byte(c.text), c.contentType)
		_, body, _ := strings.Cut(string(html), "<body>\n")
		body, _, _ = strings.Cut(body, "</body>")
		if body != c.want || cut {
			t.Errorf("%q: %q, cut %v, want %q", c.text, body, cut, c.want)
		}
	}
	html, cut := PageOfText(bytes.Repeat([]byte("<&>\n"), 4<<20), "text/plain")
	if !cut || len(html) > MaxHTML+1<<10 {
		t.Errorf("%d bytes, cut %v", len(html), cut)
	}
}

func TestMayBe(t *testing.T) {
	t.Parallel()
	for media, want := range map[string]bool{
		"application/pdf": true, "": true, "application/octet-stream": true, "application/zip": true,
		"application/x-unknown": true, "text/rtf": true, "message/rfc822": true,
		"application/epub+zip": true,
		"text/plain":           false, "text/html": false, "image/svg+xml": false, "video/mp4": false,
		"application/ld+json": false, "text/css": false,
	} {
		if MayBe(media) != want {
			t.Errorf("%q: %v", media, !want)
		}
	}
}
