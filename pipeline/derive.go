package pipeline

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/metadata"
	"crawlnode/web/urlnorm"
)

// Deriver writes what is derived from pages during the crawl: lists of pages and links, texts, and
// the log of skipped URLs. Its methods are called by many workers at once.
type Deriver interface {
	// Anchors reports whether it needs the texts of links.
	Anchors() bool
	// Simhashes reports whether it needs the fingerprints of texts.
	Simhashes() bool
	// Metadata reports whether it needs what pages say of themselves.
	Metadata() bool
	// Page takes an answer after it was archived and before it is done. c is the exchange on the
	// wire, o what is known of it, depth its distance from a seed. doc is nil when the answer was
	// not a page that is parsed. said is what a page says of itself, nil when it says nothing, or
	// Metadata is false. Page keeps none of them and may block. An error is a storage error: it
	// ends the pipeline.
	Page(ctx context.Context, c *crawl.Capture, o *crawl.Outcome, depth int, doc *htmlparse.Document,
		said *metadata.Record) error
	// Sampled reports whether the log shows u if it is skipped. It must be cheap.
	Sampled(u urlnorm.URL) bool
	// Skipped takes skipped URLs that are sampled. It may block and fail as Page does.
	Skipped(ctx context.Context, skips []crawl.Skip) error
}

// derive hands a parsed answer to the Deriver, if there is one.
func (w *worker) derive(
	ctx context.Context,
	v *crawl.Visit,
	c *crawl.Capture,
	o *crawl.Outcome,
	doc *htmlparse.Document,
	said *metadata.Record,
) error {
	d := w.p.o.Deriver
	if d == nil {
		return nil
	}
	if err := d.Page(ctx, c, o, v.Item.Depth, doc, said); err != nil {
		return err
	}
	if len(w.skipped) == 0 {
		return nil
	}
	err := d.Skipped(ctx, w.skipped)
	// do not keep the memory of one large page in every worker
	if clear(w.skipped); cap(w.skipped) > 4096 {
		w.skipped = nil
	}
	return err
}

// metadata reads what a page says of itself, if somebody needs it. page is the answer, or what was
// made of it. A panic costs that page its metadata.
func (w *worker) metadata(v *crawl.Visit, page *fetcher.Response) (said *metadata.Record) {
	if w.p.o.Deriver == nil || !w.p.o.Deriver.Metadata() {
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			w.p.o.Log.Error("the metadata of a page could not be read", "url", v.Item.URL.String(), "cause",
				fmt.Sprint(cause))
			said = nil
		}
	}()
	o := metadata.Options{HeaderLanguage: page.Header.Get("Content-Language")}
	m := metadata.Read(page.Body, page.ContentType, v.Item.URL, o)
	if m.Empty() {
		return nil
	}
	return &m
}

// refuse ends a visit that robots.txt forbids, and logs it as skipped.
func (w *worker) refuse(
	ctx context.Context,
	v crawl.Visit,
	r crawl.Response,
	o crawl.Outcome,
) error {
	w.p.o.Source.Release(v, r)
	if d := w.p.o.Deriver; d != nil && o.Kind == crawl.Refused && d.Sampled(v.Item.URL) {
		skips := []crawl.Skip{{URL: v.Item.URL, Reason: o.Skip, Via: v.Item.Via, At: o.FetchedAt}}
		if err := d.Skipped(ctx, skips); err != nil {
			return w.broken(ctx, v, fmt.Errorf("log %s as skipped: %w", v.Item.URL, err), &o)
		}
	}
	return w.completeVisit(ctx, v, o)
}

// skip counts a URL of the page that is not taken, and keeps it for the log.
func (f *linkCollector) skip(u urlnorm.URL, via crawl.Via, reason crawl.SkipReason) {
	f.o.Skipped[reason]++
	if f.deriver != nil && f.deriver.Sampled(u) {
		f.skipped = append(f.skipped,
			crawl.Skip{URL: u, Source: f.v.Item.URL, Reason: reason, Via: via, At: time.Now()})
	}
}

// options says what is read of pages beyond what the crawl itself needs.
func (f *linkCollector) options() htmlparse.Options {
	return htmlparse.Options{
		Agent:  f.rules.Settings.Agent(),
		Now:    f.o.FetchedAt,
		Memory: f.memory,
		Anchors: f.rules.Focus != nil || f.rules.Settings.Index ||
			f.deriver != nil && f.deriver.Anchors(),
	}
}
