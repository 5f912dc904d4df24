// Package markdown writes the main content of a page as Markdown: CommonMark with the tables and
// the strikethrough of GitHub.
//
//	page ─► maintext.Walk (what is kept) ─► tree (few elements, well-formed) ─► Markdown
//
// What is kept is decided by web/maintext, for search and for this package alike; only a list or a
// table of which something is kept is kept whole. The tree is made anew of the elements that
// Markdown has, so whatever the page is, it is not deep, has no scripts, and every block stands
// where blocks may stand. github.com/JohannesKaufmann/html-to-markdown writes it.
//
//   - Headings, paragraphs, lists, quotations, code with its language, emphasis, line breaks.
//   - A table whose cells are lines of text is a table. One that places parts of the page side by
//     side becomes these parts, one below the other.
//   - A term of a definition list is a paragraph in bold, its definition follows.
//   - Links and images have absolute http or https addresses, with the fragment of a link. Other
//     addresses are left out, and the text of their links is kept.
//   - Footnotes stay what they are in pages: links to places of the page.
//
// Text that would be markup is escaped. The only HTML in the output is <br /> in cells of tables.
//
// # Bounds
//
// Text and addresses have at most [MaxBytes], beside the signs of Markdown; lists and quotations
// are followed for 16 levels. [Of] says with [ErrTruncated] that something was cut. Time is linear
// in the page's length. The package is pure.
package markdown
