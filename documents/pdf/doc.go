// Package pdf reads PDF files: text in reading order, links, headings that the outline names, and
// properties, as one page of HTML. The files are read by PDFium, compiled to WebAssembly, which
// wazero translates to machine code: no C is linked, and a hostile file is in a sandbox.
//
// An Engine starts at its first use: the translation takes seconds of processor time and some
// 300 MiB, which are given back. With a cache on disk only the first start of a machine pays for
// it. Each file gets an instance of its own, which is thrown away after it: that costs
// milliseconds, and nothing of one file can reach the next.
//
//	Read ─► slot (Workers) ─► instance ─► pages: lines ─► paragraphs, headings, links ─► HTML
//	              │              ├── memory: Options.Memory, and as much on Go's side at most
//	              │              └── time: the context's end interrupts PDFium in any loop
//	              └── waits when all are taken, until its context ends
//
// The sandbox has no files, no network and no output. PDFium is built without JavaScript and XFA,
// and no action of a file is run. Bounded are also: the bytes of a file, pages, characters of a
// page, links and entries of the outline. What a file with a broken bound had until then is given
// back beside the error.
//
// The package draws no pictures, reads no text in pictures (ErrNoText says that there is no
// other), no attachments and no values of forms that are not drawn on a page.
package pdf
