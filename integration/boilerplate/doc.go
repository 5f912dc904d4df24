// Package main measures which part of a page the project takes for its main text, beside two
// libraries: go-trafilatura and go-readability. It is a module of its own, so that the project does
// not depend on those.
//
//	make boilerplate
//
// The pages are those of documentation that Debian has installed. What is wanted of a page is the
// text of its main element, found by a rule written by hand for its site (sites.go). Each reader
// gets the same bytes. Words are runs of letters and digits; each counts as often as it occurs:
//
//	precision  share of a reader's words that are wanted
//	recall     share of the wanted words that a reader has
//	F1         their harmonic mean
//
// All three are means over the pages of a site. A reader that refuses a page has no words of it.
// What a library gives apart from its text, such as a title, does not count as text.
//
// The program measures no other kind of page: shops, news and forums have other surroundings.
package main
