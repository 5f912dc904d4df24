package readback

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"crawlnode/output/archive"
)

// hostile are ways of a page to run, load or go somewhere, each with some text that a reader is
// to see.
var hostile = []string{
	`<script>alert(1)</script>seen`,
	`<script/>alert(1)</script>seen`,
	`<SCRIPT SRC=http://evil.test/a.js></SCRIPT>seen`,
	`<p onclick=alert(1) OnMouseOver="alert(2)" style="color:red">seen`,
	`<img src=http://evil.test/p.png srcset="http://evil.test/q.png 2x" onerror=alert(1)>seen`,
	`<link rel=preconnect href=//evil.test><link rel="dns-prefetch" href="//evil.test">seen`,
	`<meta http-equiv=refresh content="0;url=http://evil.test/">seen`,
	`<base href=http://evil.test/ target=_top><a href=/x target=_top ping=http://evil.test/p>seen</a>`,
	`<iframe src=http://evil.test/></iframe><iframe srcdoc="<script>alert(1)</script>"></iframe>seen`,
	`<object data=http://evil.test/><embed src=http://evil.test/></object><embed src=//evil.test/>seen`,
	`<object><object></object><script>alert(1)</script></object>seen`,
	`<form action=http://evil.test/ target=_blank><button formaction=http://evil.test/>seen</button></form>`,
	`<svg><script>alert(1)</script><a xlink:href=http://evil.test/>x</a></svg><svg/>seen`,
	`<math><style><link rel=preconnect href=//evil.test></style></math>seen`,
	`<noscript><link rel=preconnect href=//evil.test><img src=http://evil.test/></noscript>seen`,
	`<video src=http://evil.test/ poster=http://evil.test/><source src=http://evil.test/></video>seen`,
	`<template><link rel=preconnect href=//evil.test></template>seen`,
	`<body background=http://evil.test/ onload=alert(1)>seen`,
	`<!--<link rel=preconnect href=//evil.test>-->seen`,
	`<input autofocus onfocus=alert(1)>seen<textarea><script>alert(1)</script></textarea>`,
}

// Nothing that is left of a hostile page loads, runs or leads anywhere, and its text is still
// there.
func TestPassive(t *testing.T) {
	t.Parallel()
	for _, page := range hostile {
		out := string(passive([]byte(page)))
		if !strings.Contains(out, "seen") {
			t.Errorf("%s\nbecame %s", page, out)
		}
		z := html.NewTokenizer(strings.NewReader(out))
		for z.Next() != html.ErrorToken {
			token := z.Token()
			if token.Type == html.TextToken || token.Type == html.CommentToken {
				continue
			}
			if active[token.Data] || strings.Contains(token.String(), "evil.test") ||
				strings.Contains(token.String(), "alert") {
				t.Errorf("%s\nbecame %s", page, out)
			}
		}
	}
	const plainPage = `<!DOCTYPE html><html lang=de><title>A &amp; B</title><style>p>a{color:red}</style><p class="x">seen &lt;b&gt; <img src="data:image/png;base64,AA==" alt=a><br/>`
	const want = `<!doctype html><html lang="de"><title>A &amp; B</title><style>p>a{color:red}</style><p class="x">seen &lt;b&gt; <img src="data:image/png;base64,AA==" alt="a"><br/>`
	if got := string(passive([]byte(plainPage))); got != want {
		t.Errorf("a plain page became\n%s", got)
	}
}

func FuzzPassive(f *testing.F) {
	for _, page := range hostile {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		out := passive([]byte(page))
		z := html.NewTokenizer(strings.NewReader(string(out)))
		for z.Next() != html.ErrorToken {
			token := z.Token()
			if token.Data == "noscript" {
				z.NextIsNotRawText()
			}
			if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
				continue
			}
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "href" {
					t.Fatalf("%q became %q", page, out)
				}
			}
			if active[token.Data] {
				t.Fatalf("%q became %q", page, out)
			}
		}
	})
}

// A page is shown in UTF-8 whatever it was stored in, and no further than the limit.
func TestPassiveOfRecord(t *testing.T) {
	t.Parallel()
	record := func(kind, body string) *Page {
		return New(&archive.Record{
			TargetURI:   "http://a.test/",
			ContentType: "text/html",
			Head:        []byte("HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\n\r\n"),
			Payload:     []byte(body),
		}, nil, nil, MaxContent)
	}
	page, cut, err := record("text/html; charset=iso-8859-1", "<p>Caf\xe9</p>").Passive(100)
	if string(page) != "<p>Café</p>" || cut || err != nil {
		t.Errorf("%q, %v, %v", page, cut, err)
	}
	if page, cut, err = record("text/html", "<p>0123456789").Passive(8); string(page) != "<p>01234" ||
		!cut || err != nil {
		t.Errorf("%q, %v, %v", page, cut, err)
	}
	picture := record("image/png", "x")
	if _, _, err = picture.Passive(8); err == nil || !strings.Contains(err.Error(), "image/png") {
		t.Errorf("a picture: %v", err)
	}
}
