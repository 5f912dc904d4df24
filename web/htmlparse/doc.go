// Package htmlparse takes from a page what a crawler wants to know of it, in
// one pass over its tokens: links, title, description, language, canonical
// address, robots directives, and the text for the fingerprint.
//
// [Parse] never fails: whatever bytes a server sends, it returns what could be
// read. It builds no tree, so there is no nesting depth to overflow. The tokens
// are slices of the page, found in time linear in its length however they are
// put together; no token is too large. What a page takes beside its own bytes is
// bounded by [MaxLinks], [MaxUnusable], [MaxLinkBytes], [MaxText] and
// [MaxAnchorBytes], plus, for a page that is not in UTF-8, its decoded copy. What a
// limit leaves out is counted or marked ([Document.LinksDropped],
// [Document.TextTruncated], [Document.AnchorsTruncated]), never lost silently.
//
// The scanner is this package's own (decision 0102 says why) and is fuzzed
// against the tokenizer of golang.org/x/net/html, which also has the table of
// character references and of encodings that is used here. It differs from that
// tokenizer on purpose in this: a script with a comment in it ends where the HTML
// Standard says; in XHTML, and within svg and math, an element that closes
// itself has no content; no tag is refused for its size.
//
// Links are what a browser without JavaScript would find: nothing in comments,
// scripts, style sheets, text fields, templates or fallback text of frames that a
// browser shows; but what stands in noscript and noframes counts, except for a base or
// a refresh there, which are there to send away those without JavaScript.
// Form targets and addresses in social-media metadata are no links.
// A tag that the page's end cuts off is none.
//
// Encodings are those of the Encoding Standard, found as browsers do; so neither
// UTF-7 nor UTF-32 is read, and without a declaration what is valid UTF-8 is UTF-8
// and all else windows-1252.
//
// Whether a link is followed is not decided here: Parse reports directives
// ([Document.NoFollow], [Link.NoFollow]) and obeys none.
package htmlparse
