package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/retry"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/metadata"
	"crawlnode/web/traps"
	"crawlnode/web/urlnorm"
)

// This file is the way of a page through a browser, between its fetch and its links. The worker
// that has fetched the page goes on with other hosts: the page has a goroutine of its own until it
// is completed, and those are as many as the Renderer has slots.

// Renderer shows pages to a browser. Its methods are called by many goroutines at once.
type Renderer interface {
	// Reserve takes a slot for the page of v, which is not fetched yet. wait > 0: there is none, the
	// page is not fetched, and its host gets no visit of a page for so long. A nil slot without a
	// wait: it is not known that the page needs one.
	Reserve(v *crawl.Visit, s *crawl.Settings) (p RenderSlot, wait time.Duration)
	// Decide says whether a page is shown to a browser. doc is nil at first; known is false when the
	// page has to be parsed before.
	Decide(p *Showing, doc *htmlparse.Document, s *crawl.Settings) (d crawl.Rendering, known bool)
	// Late takes a slot for a page that was fetched without one. Nil: there is none; the page stays
	// queued, and Reserve asks its host to wait.
	Late(v *crawl.Visit) RenderSlot
	// Render shows a page. It returns soon after ctx is done, and otherwise within the limits of the
	// browser.
	Render(ctx context.Context, p *Showing, s *crawl.Settings) (*Shown, error)
}

// ErrMoved is an error of Render: the page's host goes to another node, so the browser cannot have
// what the page asks for. The page stays queued, and is shown there.
var ErrMoved = errors.New("its host moves to another node")

// RenderSlot is the right to have one page in a browser or waiting for one.
type RenderSlot interface{ Release() }

// Showing is a page that was fetched.
type Showing struct {
	Visit  *crawl.Visit
	Status int
	Header http.Header
	Body   []byte // decoded
	// Note is the Renderer's, from Decide to Render.
	Note any
}

// Shown is what a browser made of a page.
type Shown struct {
	DOM, Text  []byte
	Links      []string // absolute, with those of scripts
	Screenshot []byte   // PNG; nil: none was asked for
	Requests   int
	Took       time.Duration
	Incomplete string // why something may be missing; ""
}

const (
	shownType = "text/html; charset=utf-8"
	// maxPartBytes bounds what a page may ask for.
	maxPartBytes = 16 << 20
	// noSlotReason is why a page waits without being fetched, or fetched for nothing.
	noSlotReason = "too many pages wait for the browser"
)

// reserve takes a slot for the page of v, if it may need one.
func (w *worker) reserve(v *crawl.Visit, rules *Rules) (RenderSlot, time.Duration) {
	if w.p.o.Renderer == nil || !rules.Settings.Renders() || v.Item.Via == crawl.ViaSitemapFile {
		return nil, 0
	}
	return w.p.o.Renderer.Reserve(v, &rules.Settings)
}

// noSlot ends a visit before its request: too many pages wait for the browsers.
func (w *worker) noSlot(ctx context.Context, v crawl.Visit, wait time.Duration) error {
	return w.finish(ctx, v, crawl.Response{Kind: crawl.Aborted, HoldPages: wait},
		crawl.Outcome{Kind: crawl.Aborted, Reason: noSlotReason, FetchedAt: time.Now()})
}

// mayShow reports whether an answer is a page that a browser could show.
func (w *worker) mayShow(v *crawl.Visit, resp *fetcher.Response, rules *Rules) bool {
	return w.p.o.Renderer != nil && rules.Settings.Renders() && resp.Status >= 200 &&
		resp.Status < 300 &&
		v.Item.Via != crawl.ViaSitemapFile && kindOf(resp) == pageMedia &&
		!(&linkCollector{v: *v, rules: rules}).isForeign()
}

// fetched is a page on its way to a browser.
type fetched struct {
	v        crawl.Visit
	resp     *fetcher.Response
	rules    *Rules
	o        crawl.Outcome
	fetching context.Context
	takeBack context.CancelCauseFunc
	place    RenderSlot
	page     Showing
}

// leave frees what the page holds.
func (f *fetched) leave() {
	f.resp.Release()
	leave(f.place)
}

// leave releases the slot, if there is one.
func leave(p RenderSlot) {
	if p != nil {
		p.Release()
	}
}

// show completes a page that a browser may have to show: at once, or on a goroutine of its own.
func (w *worker) show(keep context.Context, f *fetched) error {
	f.page = Showing{Visit: &f.v, Status: f.resp.Status, Header: f.resp.Header, Body: f.resp.Body}
	d, known := w.p.o.Renderer.Decide(&f.page, nil, &f.rules.Settings)
	if !known {
		if done, err := w.decideParsed(keep, f, &d); done {
			f.leave()
			return err
		}
	}
	f.o.Rendering = &d
	switch {
	case !d.Rendered:
		defer f.leave()
		return w.closeVisit(keep, f.v, w.keep(keep, f.v, f.resp, f.rules, &f.o), &f.o)
	case f.place == nil:
		f.place = w.p.o.Renderer.Late(&f.v)
	}
	if f.place == nil {
		defer f.leave()
		return w.completeVisit(keep, f.v,
			crawl.Outcome{Kind: crawl.Aborted, Reason: noSlotReason, FetchedAt: f.o.FetchedAt})
	}
	w.p.showing.Go(func() error { return w.p.rendered(keep, f) })
	return nil
}

// decideParsed parses a page to decide about it. done: it is completed as it was fetched.
func (w *worker) decideParsed(
	keep context.Context,
	f *fetched,
	d *crawl.Rendering,
) (done bool, err error) {
	w.p.backlog.begin(f.v.Domain, time.Now())
	defer w.p.backlog.end(f.v.Domain)
	o := f.o
	if err := w.prepare(keep, &f.v, f.rules); err != nil {
		return true, w.broken(keep, f.v, err, &o)
	}
	doc, _ := w.read(f.v, f.resp, f.rules, &o)
	if *d, _ = w.p.o.Renderer.Decide(&f.page, doc, &f.rules.Settings); d.Rendered {
		w.skipped = w.skipped[:0]
		return false, nil
	}
	o.Rendering = d
	w.readPreferences(&f.v, f.resp, f.rules, &o, doc)
	return true, w.closeVisit(keep, f.v, w.keepParsed(keep, f.v, f.resp, f.rules, &o, doc, nil), &o)
}

// rendered shows a page, takes what the browser made of it, and completes it. A page that the
// browser cannot show is taken as it was fetched, with a remark.
func (p *Pipeline) rendered(keep context.Context, f *fetched) error {
	defer f.leave()
	defer context.AfterFunc(p.running, func() { f.takeBack(nil) })()
	w := &worker{p: p}
	shown, err := p.o.Renderer.Render(f.fetching, &f.page, &f.rules.Settings)
	switch {
	case errors.Is(err, ErrMoved), err != nil && f.fetching.Err() != nil:
		return w.completeVisit(keep, f.v, crawl.Outcome{
			Kind:      crawl.Aborted,
			Reason:    "the page was taken back while a browser showed it",
			FetchedAt: f.o.FetchedAt,
		})
	case err != nil:
		f.o.Rendering = &crawl.Rendering{Reason: err.Error()}
		f.o.Reason = joined(f.o.Reason, "taken as it was fetched: "+err.Error())
		return w.closeVisit(keep, f.v, w.keep(keep, f.v, f.resp, f.rules, &f.o), &f.o)
	}
	f.o.Rendering.Milliseconds, f.o.Rendering.Requests = shown.Took.Milliseconds(), shown.Requests
	if shown.Incomplete != "" {
		f.o.Reason = joined(f.o.Reason, shown.Incomplete)
	}
	f.o.ETag, f.o.LastMod = "", "" // those of the frame, not of what scripts put into it
	return w.closeVisit(keep, f.v, w.keepShown(keep, f, shown), &f.o)
}

// keepShown parses and stores a page as a browser showed it.
func (w *worker) keepShown(ctx context.Context, f *fetched, shown *Shown) error {
	w.p.backlog.begin(f.v.Domain, time.Now())
	defer w.p.backlog.end(f.v.Domain)
	if err := w.prepare(ctx, &f.v, f.rules); err != nil {
		return err
	}
	page := *f.resp // with the header fields that speak of links and indexing
	page.Body, page.ContentType, page.MediaType = shown.DOM, shownType, "text/html"
	w.shown = shown
	doc, _ := w.read(f.v, &page, f.rules, &f.o)
	w.readPreferences(&f.v, f.resp, f.rules, &f.o, doc)
	made := []crawl.Resource{{At: time.Now(), ContentType: shownType, Body: shown.DOM}}
	if shown.Screenshot != nil {
		made = append(made,
			crawl.Resource{At: made[0].At, ContentType: "image/png", Body: shown.Screenshot})
	}
	return w.keepParsed(ctx, f.v, f.resp, f.rules, &f.o, doc, &madeOf{resources: made, page: &page})
}

// madeOf is what a browser, or a reader of documents, made of an answer.
type madeOf struct {
	resources []crawl.Resource
	page      *fetcher.Response // as it is indexed
	document  bool              // the answer is no page: all of its text is indexed
}

// keepParsed archives a page that was parsed and writes what is derived from it. It uses up doc.
func (w *worker) keepParsed(
	ctx context.Context,
	v crawl.Visit,
	resp *fetcher.Response,
	rules *Rules,
	o *crawl.Outcome,
	doc *htmlparse.Document,
	made *madeOf,
) error {
	if o.Digest == (crawl.Digest{}) {
		o.Digest = digestOf(resp)
	}
	remark(resp, o)
	var original *crawl.Original
	if rules.Settings.Archive {
		original = w.known(ctx, v, resp, o)
		o.Refers = original != nil
	}
	c, indexed := capture(v, resp, o, original, rules.Settings.Agent()), resp
	if made != nil {
		c.Resources, indexed = made.resources, made.page
	}
	if made != nil && !made.document {
		o.DuplicateOf = "" // pages of an application differ by what its scripts make of one file
	}
	var said *metadata.Record
	if doc != nil {
		said = w.metadata(&v, indexed)
	}
	if err := w.store(ctx, &v, c, rules, o, doc, said); err != nil {
		return err
	}
	w.index(&v, indexed, rules, o, doc != nil, made != nil && made.document)
	if doc != nil {
		w.watch(&v, doc, o)
		w.p.memories.Put(doc.Release())
	}
	return nil
}

// watch tells a page to those who notice traps: each page of a reader's once, when it is new.
func (w *worker) watch(v *crawl.Visit, doc *htmlparse.Document, o *crawl.Outcome) {
	if w.p.o.Traps == nil || v.Item.Refetch || v.Item.Via == crawl.ViaAsset {
		return
	}
	p := traps.Page{URL: v.Item.URL, Text: doc.Text, Copy: sameOrigin(v.Item.URL, o.DuplicateOf)}
	for i := range doc.Links {
		if l := &doc.Links[i]; l.Tag == "img" {
			p.Pictures = append(p.Pictures, l.URL.String())
		}
	}
	w.p.o.Traps.Observe(&p)
}

// sameOrigin reports whether another URL has the origin of u; "" has none.
func sameOrigin(u urlnorm.URL, other string) bool {
	rest, ok := strings.CutPrefix(other, u.Origin())
	return ok && strings.HasPrefix(rest, "/")
}

// closeVisit completes a visit whose page was kept, or not: then the item stays queued.
func (w *worker) closeVisit(
	keep context.Context,
	v crawl.Visit,
	err error,
	o *crawl.Outcome,
) error {
	if err != nil {
		return w.broken(keep, v, fmt.Errorf("archive %s: %w", v.Item.URL, err), o)
	}
	return w.completeVisit(keep, v, *o)
}

// text is what a reader sees, as the parser of pages leaves texts.
func (s *Shown) text() []byte {
	t := bytes.Join(bytes.Fields(s.Text), []byte(" "))
	return t[:min(len(t), htmlparse.MaxText)]
}

// take gives a parsed page the links that only scripts know.
func (s *Shown) take(f *linkCollector, doc *htmlparse.Document, follow bool, why crawl.SkipReason) {
	anchors := bytes.Contains(s.DOM, []byte("$docsify"))
	for _, ref := range s.Links {
		u, err := f.v.Item.URL.Resolve(ref)
		if err != nil {
			continue
		}
		if u == f.v.Item.URL.WithoutRoute() {
			u = routeOf(u, ref, anchors)
		}
		if _, known := f.seen[f.rules.Normalize.Apply(u).String()]; known ||
			slices.ContainsFunc(doc.Links, func(l htmlparse.Link) bool { return l.URL == u }) {
			continue
		}
		f.o.LinksFound++
		if !follow {
			f.skip(u, crawl.ViaLink, why)
			continue
		}
		f.add(crawl.Target{URL: u, Depth: f.v.Item.Depth + 1, Via: crawl.ViaLink}, 0)
	}
}

// routeOf is the page that the document u shows for the fragment of ref (decision 0244). anchors:
// the application writes anchors within a page as "?id=" of the route, as docsify does.
func routeOf(u urlnorm.URL, ref string, anchors bool) urlnorm.URL {
	_, fragment, _ := strings.Cut(ref, "#")
	if anchors {
		fragment, _, _ = strings.Cut(fragment, "?id=")
	}
	return u.WithRoute(fragment)
}

// part makes one request for a page that a browser shows, in the turn of this host. With validators
// of an earlier answer the status may be 304.
func (w *worker) part(keep, fetching context.Context, v crawl.Visit, rules *Rules) error {
	at := time.Now()
	req := w.request(v.Item.URL, v, rules)
	req.MaxBody = min(req.MaxBody, maxPartBytes)
	resp, err := w.p.o.Fetcher.Do(fetching, req)
	if err != nil {
		r, o := w.failure(err, v.Host, at)
		return w.finish(keep, v, r, o)
	}
	defer resp.Release()
	r := crawl.Response{Kind: crawl.Fetched, Requested: true, Took: resp.Took, Bytes: resp.WireBytes}
	if retry.Limited(resp.Status) {
		r.Kind, r.RetryAfter = crawl.RateLimited, askedWait(resp.Header, time.Now())
	}
	o := crawl.Outcome{
		Kind:      r.Kind,
		Status:    resp.Status,
		Took:      resp.Took,
		Bytes:     resp.WireBytes,
		FetchedAt: at,
	}
	keepValidators(&v, resp, &o)
	if o.Part = (&crawl.Part{
		Status: resp.Status,
		Header: resp.Header,
		Body:   slices.Clone(resp.Body),
	}); resp.DecodeErr != nil || resp.Truncated != "" {
		o.Part = &crawl.Part{
			Refusal: errors.Join(errors.New("the answer is not whole"), resp.DecodeErr).Error(),
		}
	}
	return w.finish(keep, v, r, o)
}
