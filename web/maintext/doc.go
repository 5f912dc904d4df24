// Package maintext finds in a page what a reader came for: its main text without menus, banners and
// footers, its headings, title, description and language.
//
// [Extract] never fails: whatever bytes a server sends, it returns the readable part, in time linear
// in the page, with memory bounded by [MaxText], [MaxHeadings] and [MaxBlocks].
package maintext
