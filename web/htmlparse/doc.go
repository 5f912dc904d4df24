// Package htmlparse extracts what a crawler needs from a page, in one pass over its tokens: links,
// title, description, language, canonical address, robots directives, and the text for the
// fingerprint.
//
// [Parse] never fails: whatever bytes a server sends, it returns the readable part. It builds no
// tree, so there is no nesting depth to overflow. The tokens are slices of the page, found in time
// linear in its length, and may have any size. The memory of a page besides its own bytes is
// bounded by [MaxLinks], [MaxUnusable], [MaxLinkBytes], [MaxText] and [MaxAnchorBytes], plus, for a
// page that is not in UTF-8, its decoded copy. What exceeds a limit is counted or marked
// ([Document.LinksDropped], [Document.TextTruncated], [Document.AnchorsTruncated]), never lost
// silently.
//
// The scanner is this package's own (decision 0102 says why) and is fuzzed
// against the tokenizer of golang.org/x/net/html, which also has the table of
// character references and of encodings that is used here. It differs from that
// tokenizer on purpose: a script with a comment in it ends where the HTML
// Standard says; in XHTML, and within svg and math, a self-closing element
// has no content; no tag is refused for its size.
//
// Links are what a browser without JavaScript would find: nothing in comments, scripts, style
// sheets, text fields, templates or the fallback text of frames that a browser shows. Links in
// noscript and noframes count, except for a base or a refresh there, which redirect browsers
// without JavaScript. Form targets and addresses in social-media metadata are not links, and
// neither is a tag that the end of the page cuts off.
//
// In XML, elements of HTML, SVG and MathML are recognised by their namespace, whatever
// their prefix is; IsPage says whether a document has any element of HTML.
//
// Encodings are those of the Encoding Standard, detected as browsers do. So neither
// UTF-7 nor UTF-32 is read, and without a declaration valid UTF-8 is read as UTF-8
// and everything else as windows-1252.
//
// This package does not decide whether a link is followed: Parse reports directives
// ([Document.NoFollow], [Link.NoFollow]) and obeys none.
package htmlparse
