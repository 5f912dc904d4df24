// Package maintext extracts the main content of a page: its text without menus, banners and
// footers, its headings, title, description and language.
//
//	tokens ─► blocks (text, share of links, enclosing elements) ─► main text
//
// [Extract] never fails: whatever bytes a server sends, it returns the readable part, in time
// linear in the page's length. It builds no tree. The tokens are those of web/htmlparse. Its memory
// is bounded by [MaxText], [MaxHeadings], [MaxBlocks] and the depth of elements that it follows,
// plus, for a page that is not in UTF-8, its decoded copy. Some buffers are kept for the next page.
//
// A block is the text between two tags that begin a line. Whether it is kept depends on the
// elements that enclose it (nav, aside, footer, role, the words of class and id names) and on
// whether it consists mostly of links. An empty line marks where a visible block was left out. When
// a page marks its main part (main, article, role=main) and that part has a fair share of the text,
// only that part is kept. A rule that would leave hardly anything, as on a page that is a list of
// links, is not applied.
//
// [Walk] gives the same part with its markup, for those who write it in another form.
//
// The language is the declared one, unless the text is in a script in which that language is not
// written. Without a declaration it is detected (whatlanggo), if the text is long enough.
package maintext
