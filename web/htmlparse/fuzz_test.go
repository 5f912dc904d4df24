package htmlparse

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

func FuzzParse(f *testing.F) {
	for _, page := range []string{
		"", "<", "<a", "<a href=x>y</a>", "<base href=//b/><a href=c>", "<a href=x><base href=/y>",
		"<meta http-equiv=refresh content='1;url=\"x'>", "<meta charset=utf-16le>",
		"<meta charset=gbk>\xa8D<a href='?\xa8D'>",
		"<img srcset=',,a (,) 1x,b'>", "<title>\xff</title>", "<script>", "<!--", "<noscript><a href=x>",
		"\xff\xfea\x00", "<plaintext><a>",
		"<link rel=canonical href=x>", "<html lang=\xff>", "<?xml encoding=", "<?xml encoding='x'?>",
	} {
		f.Add([]byte(page), "text/html")
		f.Add([]byte(page), "text/html; charset=shift_jis")
	}
	base := mustURL(f, home)
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		before := bytes.Clone(body)
		d := Parse(body, contentType, base)
		if !bytes.Equal(before, body) {
			t.Fatal("the body was changed")
		}
		if d.LinksFound != len(d.Links)+d.LinksDropped+d.Invalid+d.TooLong+d.OtherScheme {
			t.Fatalf("counts do not add up: %+v", d)
		}
		if d.Charset == "" || len(d.Text) > MaxText || len(d.Title) > maxTitle ||
			len(d.Description) > maxDescription || len(d.Lang) > maxLang {
			t.Fatalf("limits: %+v", d)
		}
		for _, s := range []string{d.Title, d.Description, d.Lang, d.Canonical} {
			if !utf8.ValidString(s) {
				t.Fatalf("not UTF-8: %q", s)
			}
		}
		for _, l := range d.Links {
			if l.URL.IsZero() || l.Tag == "" || !utf8.ValidString(l.Rel) {
				t.Fatalf("link %+v", l)
			}
		}
	})
}
