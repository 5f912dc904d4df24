package pipeline

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
)

// Documents makes what the index needs of a page. It is called by many workers at once.
type Documents interface {
	// Document reads a page; body is decoded and is not kept. Nil: the page is not indexed.
	Document(p *Indexed) []byte
}

// Indexed is a page for the index.
type Indexed struct {
	Visit       *crawl.Visit
	Outcome     *crawl.Outcome // with its place in the archive
	Body        []byte         // without its content encoding
	ContentType string         // the header
	Language    string         // Content-Language, or ""
	Whole       bool           // it has no menus and banners: all of its text counts
	// Cut is set when the index gets only the beginning of the text.
	Cut bool
}

// index makes the document of a page that was delivered, unless the page asks to be left out. It
// comes after the archive, whose record it names. A panic costs the document of that page.
func (w *worker) index(
	v *crawl.Visit,
	resp *fetcher.Response,
	rules *Rules,
	o *crawl.Outcome,
	page, whole bool,
) {
	if !rules.Settings.Index || !page || o.NoIndex || o.SearchRefused() || w.p.o.Documents == nil {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			w.p.o.Log.Error("the text of a page could not be read; it is not indexed", "url",
				v.Item.URL.String(), "cause", fmt.Sprint(cause))
			o.Document = nil
		}
	}()
	p := &Indexed{Visit: v, Outcome: o, Body: resp.Body, ContentType: resp.ContentType,
		Language: resp.Header.Get("Content-Language"), Whole: whole}
	if o.Document = w.p.o.Documents.Document(p); p.Cut {
		o.Reason = joined(o.Reason, "search has only the beginning of its text")
	}
}
