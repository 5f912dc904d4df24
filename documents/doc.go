// Package documents reads files that are no web pages (PDF, office files, books, plain text) and
// makes pages of them: small HTML with the text in reading order, headings, lists, tables, links,
// language and properties. Everything that reads pages reads these: links, search, near-duplicates,
// focus, exports, metadata, Markdown.
//
//	Reads: bytes, media type ─► is it a document?
//	Read ─► turn ─► reader ─► page (HTML, UTF-8)
//	                  ├── PageOfText        plain text; its addresses are links
//	                  ├── documents/pdf     PDFium in a sandbox of WebAssembly
//	                  ├── documents/office  OOXML, ODF, EPUB, RTF: pure
//	                  └── documents/tika    all other types, with --extract-with
//
// A Reader is the pipeline's DocumentReader, one for a node. It starts nothing before the first PDF
// comes. It reads as many documents at a time as there are processors but one, and at least one;
// MaxAsked more may be at the Tika server. Others wait for their turn, until their context ends;
// the pipeline bounds how many.
//
// Files are hostile. MaxHTML, MaxTime, MaxMemory and MaxUnpacked bound what one may cost. A file
// that breaks a bound costs that file only, and the error says which. What was read until then
// comes with the error. A panic of a reader is such an error, too.
//
// Readers of archives use MayBe and PageOfText: the page of a plain text is stored nowhere, and
// made again.
package documents
