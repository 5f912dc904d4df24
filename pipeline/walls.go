package pipeline

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/wall"
)

// This file is what becomes of an answer that is a bot wall. It is archived at each try, because it
// is what the server said, and it is nothing else: no page, so there are no links, no text and no
// document, and no capture of a later page refers to it.

// wallOf is the product whose bot wall an answer is; None: it is none, or nobody wants to know.
// With a browser the page is judged as it was fetched.
func (p *Pipeline) wallOf(resp *fetcher.Response, rules *Rules) wall.Product {
	if !rules.Settings.KnowsWalls() {
		return wall.None
	}
	return p.o.Walls.Of(&wall.Answer{
		Status: resp.Status, Header: resp.Header, MediaType: resp.MediaType, Body: resp.Body,
	})
}

// keepWall archives a wall and completes the visit: its URL is tried again, or has failed.
func (w *worker) keepWall(
	ctx context.Context,
	v crawl.Visit,
	resp *fetcher.Response,
	rules *Rules,
	o *crawl.Outcome,
) error {
	if !rules.Settings.Archive {
		return w.completeVisit(ctx, v, *o)
	}
	o.Digest = digestOf(resp)
	c := capture(v, resp, o, nil, rules.Settings.Agent())
	c.Wall, c.NoIndex = o.Wall.String(), true
	var err error
	o.Archive, err = w.p.o.Archive.Put(ctx, c)
	o.Digest = crawl.Digest{} // it is not the digest of the page
	return w.closeVisit(ctx, v, err, o)
}
