package rendering

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/ring"
	"crawlnode/web/render"
	"crawlnode/web/urlnorm"
)

// errNotOurs refuses a request to a host that another node holds.
var errNotOurs = errors.New("another node holds the host")

// asker answers the requests of one page.
type asker struct {
	r     *Renderer
	page  *pipeline.Showing
	s     *crawl.Settings
	rules *pipeline.Rules
	// end ends the page with pipeline.ErrMoved when its own host is not held any more: without its scripts it would be half a page.
	end context.CancelCauseFunc
}

// unwanted are the kinds of requests that neither text nor links need. A picture of the page does.
func unwanted(kind string, s *crawl.Settings) bool {
	switch kind {
	case "Image", "Font":
		return !s.RenderScreenshot
	case "Media", "TextTrack", "Manifest", "SignedExchange":
		return true
	}
	return false
}

// Fetch answers a request of the page, by the rules of the crawl.
func (a *asker) Fetch(ctx context.Context, q render.Request) (render.Response, error) {
	part, err := a.fetch(ctx, q)
	if err != nil {
		a.r.log.Debug("a request of a page in the browser is refused", "page", a.page.Visit.Item.URL.String(), "url", q.URL, "reason", err)
		return render.Response{}, err
	}
	return render.Response{Status: part.Status, Header: part.Header, Body: part.Body}, nil
}

func (a *asker) fetch(ctx context.Context, q render.Request) (*crawl.Part, error) {
	if q.Method != "GET" {
		return nil, fmt.Errorf("method %.20q is not fetched", q.Method)
	}
	if unwanted(q.Kind, a.s) {
		return nil, fmt.Errorf("kind %.20s is not fetched", q.Kind)
	}
	u, err := urlnorm.Parse(q.URL)
	if err != nil {
		return nil, err
	}
	if q.Kind == "Other" && strings.HasSuffix(u.Path(), ".ico") {
		return nil, errors.New("an icon is not fetched")
	}
	if u == a.page.Visit.Item.URL { // the page itself
		return &crawl.Part{Status: a.page.Status, Header: a.page.Header, Body: a.page.Body}, nil
	}
	if err := a.admits(u); err != nil {
		return nil, err
	}
	p := ring.PartitionOf(crawl.Host(u.Host()), a.r.o.Partitions())
	if a.r.o.Holder(p) != a.r.o.Self {
		if u.Host() == a.page.Visit.Item.URL.Host() {
			a.end(pipeline.ErrMoved)
		}
		return nil, errNotOurs
	}
	part, hit, err := a.r.Parts.Ask(ctx, p, u)
	if err != nil {
		return nil, err
	}
	if hit {
		a.r.hits.Add(1)
	}
	if part.Refusal != "" {
		return nil, errors.New(part.Refusal)
	}
	return part, nil
}

// admits judges a request by the scope, as a part of the page: on hosts with pages in scope, and on others
// when the crawl takes parts of pages from any host (--assets any).
func (a *asker) admits(u urlnorm.URL) error {
	if v := a.rules.Scope.JudgeAsset(u); !v.Admit {
		return fmt.Errorf("out of scope: %s", v.Rule)
	}
	if u.Host() != a.page.Visit.Item.URL.Host() && a.s.AssetPolicy() != crawl.AssetsAny && !a.rules.Scope.CoversHost(u, a.rules.Seeds) {
		return errors.New("its host is out of scope, and assets is not any")
	}
	return nil
}
