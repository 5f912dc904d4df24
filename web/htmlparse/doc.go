// Package htmlparse takes from a page what a crawler wants to know of it, in
// one pass over its tokens: links, title, description, language, canonical
// address, robots directives, and the text for the fingerprint.
//
// [Parse] never fails: whatever bytes a server sends, it returns what could be
// read. It builds no tree, so there is no nesting depth to overflow. A page's
// memory is bounded by the limits in this package ([MaxLinks], [MaxLinkBytes],
// [MaxText] and a token of at most 1 MiB) plus, for a page that is not in
// UTF-8, its decoded copy; a larger token is stepped over and reading goes on
// behind it.
//
// Links are what a browser without JavaScript would find: nothing in comments,
// scripts, style sheets, text fields or fallback text of frames that a browser
// shows; but what stands in noscript and noframes counts, except for a base or
// a refresh there, which are there to send away those without JavaScript.
// Whether a link is followed is not decided here: Parse reports directives
// ([Document.NoFollow], [Link.NoFollow]) and obeys none.
package htmlparse
