package metadata

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"crawlnode/web/urlnorm"
)

// FuzzRead: whatever the bytes, fields are within their bounds and of their form, and the JSON
// fits.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		richHead,
		`<html lang=de><title>a &amp; b</title><meta name=DC.date content=2024-05-06><a rel=license href=/l>`,
		`<div itemscope itemtype="http://schema.org/Article"><p itemprop="headline name">a<b>c</b><p itemprop=author itemscope><span itemprop=name>Ada`,
		`<script type="application/ld+json">{"@graph":[{"@type":["Article"],"mainEntityOfPage":true,"author":["a",{"@list":["b"]}]}]}</script>`,
		`<base href="//x/"><svg><title>x</title></svg><meta property="og:image" content="a.jpg">`,
		"\xff\xfe<\x00t\x00>\x00",
	} {
		f.Add([]byte(s), "text/html", "en")
	}
	base, err := urlnorm.Parse("https://a.example/b")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType, header string) {
		r := Read(body, contentType, base, Options{HeaderLanguage: header})
		text := r.JSON()
		if len(text) > MaxBytes || !json.Valid(text) {
			t.Errorf("%d bytes of JSON: %.200s", len(text), text)
		}
		if r.Empty() != (string(text) == "{}") {
			t.Errorf("empty: %v, but %s", r.Empty(), text)
		}
		for _, s := range append([]string{
			r.Title, r.Type, r.Site, r.Image, r.Licence, r.Language, r.PublishedAt, r.ModifiedAt,
		}, r.Author...) {
			if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) ||
				s != strings.TrimSpace(s) {
				t.Errorf("a field is %q", s)
			}
			if len(s) > urlnorm.MaxLen {
				t.Errorf("a field of %d bytes", len(s))
			}
		}
		for _, s := range []string{r.PublishedAt, r.ModifiedAt} {
			if date(s) != s {
				t.Errorf("%q is no date", s)
			}
		}
		if r.Image != "" {
			if u, err := urlnorm.Parse(r.Image); err != nil || u.String() != r.Image {
				t.Errorf("image %q: %v", r.Image, err)
			}
		}
		if languageTag(r.Language) != r.Language {
			t.Errorf("language %q", r.Language)
		}
	})
}
