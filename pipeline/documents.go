package pipeline

import (
	"context"
	"errors"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
)

// This file is the way of a document, such as a PDF, between its fetch and its links. A reader
// makes a page of it, and the page is read as any other. Reading may take seconds, so that the
// worker that has fetched the document goes on with other hosts.

// DocumentReader makes pages of files that are none. Its methods are called by many goroutines at
// once.
type DocumentReader interface {
	// Reads reports whether an answer may be a document. quick says that making the page costs no
	// more than parsing one. It is called for each answer that is no page.
	Reads(body []byte, mediaType string) (reads, quick bool)
	// Read makes the page of an answer that it reads. It takes some seconds at the most; ctx ends it
	// earlier. An error says why the file has no text for the crawl.
	Read(ctx context.Context, f *DocumentFile) (*DocumentPage, error)
}

// DocumentFile is a file that was fetched.
type DocumentFile struct {
	URL       string
	MediaType string // "" when unknown
	// ContentType is the header.
	ContentType string
	Body        []byte // decoded; not changed, and not kept
}

// DocumentPage is the page that a document became.
type DocumentPage struct {
	HTML      []byte // UTF-8
	Truncated bool   // a limit has cut it
	// Problem says why the page is not all that the file has; nil: it is.
	Problem error
	// Stored: it goes into the archive, since making it again takes time, or what only the crawl has.
	Stored bool
}

// ErrUnreadNow is in an error that is not the document's: it may be read at another visit.
var ErrUnreadNow = errors.New("this is not the fault of the document")

// unread is how the reason of an outcome begins whose document could not be read.
const unread = "its text could not be read"

// maxDocuments is how many documents are read or wait for it. Each holds its body. The worker that
// has fetched one more waits.
const maxDocuments = 8

// isDocument reports whether an answer is a document whose page is made.
func (w *worker) isDocument(v *crawl.Visit, resp *fetcher.Response, rules *Rules) (is, quick bool) {
	if resp.MediaType == "text/html" { // most answers
		return false, false
	}
	if w.p.o.DocumentReader == nil || !rules.Settings.ReadsDocuments() || len(resp.Body) == 0 ||
		resp.Status < 200 || resp.Status > 299 || v.Item.Via == crawl.ViaSitemapFile {
		return false, false
	}
	if kindOf(resp) != otherMedia || (&linkCollector{v: *v, rules: rules}).isForeign() {
		return false, false
	}
	return w.p.o.DocumentReader.Reads(resp.Body, resp.MediaType)
}

// document completes the visit of a document: at once, or on a goroutine of its own.
func (w *worker) document(keep context.Context, f *fetched, quick bool) error {
	basis, last := w.readBefore(&f.v, f.resp, f.rules, &f.o)
	if last != nil {
		defer f.leave()
		return w.closeVisit(keep, f.v, w.sentAgain(keep, f.v, f.resp, f.rules, &f.o, *last), &f.o)
	}
	if quick {
		defer f.leave()
		return w.readDocument(keep, f, basis)
	}
	select {
	case w.p.documents <- struct{}{}:
	case <-w.p.running.Done():
		defer f.leave()
		return w.leaveDocument(keep, f)
	}
	w.p.showing.Go(func() error {
		defer func() { <-w.p.documents }()
		defer f.leave()
		return (&worker{p: w.p}).readDocument(keep, f, basis)
	})
	return nil
}

// leaveDocument ends a visit whose document is not read, since the node stops: a document may take
// seconds, and others wait behind it. It stays queued.
func (w *worker) leaveDocument(keep context.Context, f *fetched) error {
	const why = "the node stopped before the document was read"
	return w.completeVisit(keep, f.v,
		crawl.Outcome{Kind: crawl.Aborted, Reason: why, FetchedAt: f.o.FetchedAt})
}

// readDocument makes the page of a document, keeps both and completes the visit. A document that
// cannot be read is kept without text and links, and the outcome says why.
func (w *worker) readDocument(keep context.Context, f *fetched, basis crawl.Basis) error {
	begun := time.Now()
	reading, cancel := context.WithCancel(keep)
	defer cancel()
	defer context.AfterFunc(w.p.running, cancel)()
	page, err := w.p.o.DocumentReader.Read(reading, &DocumentFile{
		URL: f.v.Item.URL.String(), MediaType: f.resp.MediaType, ContentType: f.resp.ContentType,
		Body: f.resp.Body})
	var made *madeOf
	switch {
	case w.p.running.Err() != nil && (err != nil || page.Problem != nil):
		return w.leaveDocument(keep, f)
	case err == nil:
		err = page.Problem
		made = madeOfDocument(f, page)
	}
	switch {
	case err != nil && page != nil:
		f.o.Reason = joined(f.o.Reason, unread+" whole: "+err.Error())
	case err != nil:
		f.o.Reason = joined(f.o.Reason, unread+": "+err.Error())
	case page.Truncated:
		f.o.Reason = joined(f.o.Reason, "the document has more text than is read of one")
	}
	if errors.Is(err, ErrUnreadNow) { // the next visit reads it, so it must not be answered by a 304
		basis, f.o.ETag, f.o.LastMod = 0, "", ""
	}
	err = w.keepRead(keep, f.v, f.resp, f.rules, &f.o, basis, made)
	// The parser has told how long the page took, and the Sink has not asked yet. A domain of slow
	// documents gets its fair share of the fetchers, and no more.
	now := time.Now()
	kept := w.p.backlog.document(f.v.Domain, now, now.Sub(begun))
	if f.v.Kept != nil && int64(kept) > f.v.Kept.Load() {
		f.v.Kept.Store(int64(kept))
	}
	return w.closeVisit(keep, f.v, err, &f.o)
}

// madeOfDocument is the page of a document, in the place of its answer.
func madeOfDocument(f *fetched, page *DocumentPage) *madeOf {
	as := *f.resp // with the header fields that speak of links and indexing
	as.Body, as.ContentType, as.MediaType = page.HTML, shownType, "text/html"
	made := &madeOf{page: &as, document: true}
	if page.Stored {
		made.resources = []crawl.Resource{
			{At: time.Now(), ContentType: shownType, Body: page.HTML, Conversion: true}}
	}
	return made
}

// whyUnread is the part of the reason of an earlier visit that says why a document has no text, or
// not all of it.
func whyUnread(reason string) string {
	for part := range strings.SplitSeq(reason, "; ") {
		if strings.HasPrefix(part, unread) {
			return part
		}
	}
	return ""
}
