// Package tika reads files by a server of Apache Tika, as one page of HTML: for the types that no
// reader of this program knows.
//
// A file is sent once, by PUT to /tika. What comes back is as untrusted as the file: it is walked
// token by token, and only headings, paragraphs, lists, tables, links, text and the properties that
// package page knows are written again, by package page. Scripts, styles, pictures, forms, event
// handlers and everything unknown are left out.
//
//	Read ─► away? ─► slot (Options.Concurrent) ─► PUT /tika ─► walk ─► page (HTML, UTF-8)
//
// Bounded are the files at once (others wait until their context ends), the bytes of an answer and
// of the page, and by the context the time. No redirect is followed, and no proxy of the
// environment is used: the server is the one that the operator has named. A server that cannot be
// reached, or that breaks off, is left alone for 30 seconds: files that come meanwhile fail at
// once with ErrAway, and nothing is tried again by itself.
//
// The server is not started, watched or configured from here.
package tika
