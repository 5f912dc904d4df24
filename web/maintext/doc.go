// Package maintext finds in a page what a reader came for: its main text without menus, banners and
// footers, its headings, title, description and language.
//
//	tokens ─► blocks (text, share of links, where it stands) ─► those that are worth keeping
//
// [Extract] never fails: whatever bytes a server sends, it returns the readable part, in time linear
// in the page. It builds no tree. The tokens are those of web/htmlparse. Its memory is bounded by [MaxText], [MaxHeadings], [MaxBlocks] and the depth of elements that it
// follows, plus, for a page that is not in UTF-8, its decoded copy. Some of it is kept for the next page.
//
// A block is the text between two tags that begin a line. Whether it is kept depends on the
// elements that it stands in (nav, aside, footer, role, the words of class and id names) and on
// whether it is links and little more. An empty line stands where a block that a reader sees was
// left out. When a page marks its main part (main, article, role=main) and that part has
// a fair share of the text, only that counts. Rules that would leave hardly anything, as on a page
// that is a list of links, do not apply.
//
// The language is the declared one, unless the text is in a script that it is not written in. Without
// a declaration it is detected (whatlanggo), when the text is long enough to say.
package maintext
