package pipeline

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// Deriver writes what is derived of pages while they are crawled: lists of pages
// and links, texts, and the log of skipped URLs. Its methods are called by many
// workers at once.
type Deriver interface {
	// Anchors reports whether it wants the texts of links.
	Anchors() bool
	// Simhashes reports whether it wants the fingerprints of texts.
	Simhashes() bool
	// Page takes an answer, after it was archived and before it is done. c says what
	// was on the wire, o what is known of it, depth how far from a seed it is; doc
	// is nil when it was no page to be read. It keeps none of them, and may block.
	// An error is one of storage: it ends the pipeline.
	Page(ctx context.Context, c *crawl.Capture, o *crawl.Outcome, depth int, doc *htmlparse.Document) error
	// Sampled reports whether the log shows u if it is skipped. It must cost little.
	Sampled(u urlnorm.URL) bool
	// Skipped takes URLs that are sampled and were skipped. The rest is as with Page.
	Skipped(ctx context.Context, skips []crawl.Skip) error
}

// derive hands what was read of an answer to the Deriver, if there is one.
func (w *worker) derive(ctx context.Context, v *crawl.Visit, c *crawl.Capture, o *crawl.Outcome, doc *htmlparse.Document) error {
	d := w.p.o.Deriver
	if d == nil {
		return nil
	}
	if err := d.Page(ctx, c, o, v.Item.Depth, doc); err != nil {
		return err
	}
	if len(w.skipped) == 0 {
		return nil
	}
	err := d.Skipped(ctx, w.skipped)
	if clear(w.skipped); cap(w.skipped) > 4096 { // what one page once needed is not kept by every worker
		w.skipped = nil
	}
	return err
}

// refuse ends a visit that robots.txt forbids, with a line in the log of those.
func (w *worker) refuse(ctx context.Context, v crawl.Visit, r crawl.Response, o crawl.Outcome) error {
	w.p.o.Source.Release(v, r)
	if d := w.p.o.Deriver; d != nil && o.Kind == crawl.Refused && d.Sampled(v.Item.URL) {
		skips := []crawl.Skip{{URL: v.Item.URL, Reason: o.Skip, Via: v.Item.Via, At: o.FetchedAt}}
		if err := d.Skipped(ctx, skips); err != nil {
			return w.broken(ctx, v, fmt.Errorf("log %s as skipped: %w", v.Item.URL, err), &o)
		}
	}
	return w.settle(ctx, v, o)
}

// skip counts a URL of the page that is not taken, and keeps it for the log.
func (f *finds) skip(u urlnorm.URL, via crawl.Via, reason crawl.SkipReason) {
	f.o.Skipped[reason]++
	if f.deriver != nil && f.deriver.Sampled(u) {
		f.skipped = append(f.skipped, crawl.Skip{URL: u, Source: f.v.Item.URL, Reason: reason, Via: via, At: time.Now()})
	}
}

// options say what is read of pages beside what the crawl itself needs.
func (f *finds) options() htmlparse.Options {
	return htmlparse.Options{Anchors: f.deriver != nil && f.deriver.Anchors()}
}
