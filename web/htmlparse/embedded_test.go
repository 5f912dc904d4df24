package htmlparse

import (
	"html"
	"strings"
	"testing"
)

// TestEmbedded has the places in which the HTML Standard, SVG 2 and CSS put addresses that are
// neither in href nor in src of an element of HTML, and some that look like such places.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	doc := func(page string) string {
		return `<iframe srcdoc="` + html.EscapeString(page) + `"></iframe>`
	}
	for page, want := range map[string]string{
		`<link rel=preload as=image imagesrcset="/1 1x, /2 2x" href=/3>`: "link:/1 link:/2 link:/3",
		`<link rel=preload as=image imagesrcset="/1 100w,/2 200w">`:      "link:/1 link:/2",
		`<link rel="PRELOAD" imagesrcset=" /a,b.png 1x ">`:               "link:/a,b.png",
		`<link rel=preload imagesrcset="">`:                              "",
		// it is only for preload
		`<link rel=icon imagesrcset="/1 1x" href=/3>`:                     "link:/3",
		`<link imagesrcset="/1 1x">`:                                      "",
		`<svg><script href=/s></script></svg>`:                            "script:/s",
		`<svg><script xlink:href=/s /></svg>`:                             "script:/s",
		`<svg><script href=/s xlink:href=/t></script></svg>`:              "script:/s",
		`<script href=/no></script>`:                                      "",
		`<script xlink:href=/no></script>`:                                "",
		doc(`<a href=/x>t</a>`):                                           "a:/x",
		doc(`<img src=i><link rel=stylesheet href=c>`):                    "img:/d/i link:/d/c",
		doc(`<base href=/b/><a href=x>`) + `<a href=y>`:                   "a:/b/x a:/d/y",
		`<base href=/b/>` + doc(`<a href=x>`):                             "a:/b/x",
		doc(`<a href=x>`) + `<base href=/b/>`:                             "a:/b/x",
		doc(`<meta http-equiv=refresh content="0;/x">`):                   "iframe:/x",
		doc(doc(`<a href="/x?a=1&amp;b=2">`)):                             "a:/x?a=1&b=2",
		doc(doc(doc(`<a href=/x>`))) + `<a href=/y>`:                      "a:/x a:/y",
		doc(doc(doc(doc(doc(doc(`<a href=/deep>`)))))) + `<a href=/y>`:    "a:/y",
		doc(`<svg><title>`) + `<a href=/y>`:                               "a:/y",
		doc(`<template>`) + `<a href=/y>`:                                 "a:/y",
		doc(`<script>`) + `<a href=/y>`:                                   "a:/y",
		doc(`<!--`) + `<a href=/y>`:                                       "a:/y",
		`<iframe src=/no srcdoc=""></iframe><a href=/y>`:                  "a:/y",
		`<iframe srcdoc='<a href=/x>'><a href=/no></iframe><a href=/y>`:   "a:/x a:/y",
		`<frame srcdoc='<a href=/no>'>`:                                   "",
		`<div srcdoc='<a href=/no>' data-href=/no data-url=/no>`:          "",
		`<div><template shadowrootmode=open><a href=/x></template></div>`: "a:/x",
		`<template><a href=/no></template>`:                               "",
		`<video poster=/p src=/v><track src=/t></video>`:                  "video:/v video:/p track:/t",
		`<input type=image src=/i><input src=/no>`:                        "input:/i",
		`<object data=/o></object><embed src=/e>`:                         "object:/o embed:/e",
		`<picture><source srcset="/1 1x, /2 2x"><img src=/i></picture>`:   "source:/1 source:/2 img:/i",
	} {
		d := Parse([]byte(page), "text/html", mustURL(t, "http://a.test/d/"))
		var got []string
		for _, l := range d.Links {
			got = append(got, l.Tag+":"+strings.TrimPrefix(l.URL.String(), "http://a.test"))
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s:\n got %s\nwant %s", page, g, want)
		}
	}
	page := `<title>outer</title><a href=/o>one ` +
		doc(
			`<html lang=de><title>inner</title><meta name=robots content=none><link rel=canonical href=/c>words <a href=/i>text</a>`) +
		`two</a>`
	d := ParseWith(Options{Anchors: true}, []byte(page), "text/html", mustURL(t, home))
	if d.Title != "outer" || d.NoIndex || d.NoFollow || d.Canonical != "" || d.Lang != "" ||
		string(d.Text) != "one two" || d.Anchor(0) != "one" {
		t.Errorf("a frame's document speaks for the page: %+v, text %q", d, d.Text)
	}
	if d = Parse([]byte(strings.Repeat("<title>x", 1)+
		doc(`<title>inner</title>`)), "text/html", mustURL(t, home)); d.Title == "inner" {
		t.Errorf("title %q", d.Title)
	}
}
