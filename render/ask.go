package render

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/render/browser"
	"crawlnode/ring"
	"crawlnode/settings/sites"
	"crawlnode/web/urlnorm"
)

// errNotOurs refuses a request to a host that this node does not hold, or does not hold any more,
// while no other node can be asked.
var errNotOurs = errors.New("this node does not hold the host")

// asker answers the requests of one page.
type asker struct {
	r     *Renderer
	page  *pipeline.Showing
	s     *crawl.Settings
	rules *pipeline.Rules
	// end ends the page with pipeline.ErrMoved when its own host is not held any more: without its
	// scripts it would be half a page.
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
func (a *asker) Fetch(ctx context.Context, q browser.Request) (browser.Response, error) {
	part, err := a.fetch(ctx, q)
	if err != nil {
		a.r.log.Debug("a request of a page in the browser is refused", "page",
			a.page.Visit.Item.URL.String(), "url", q.URL, "reason", err)
		return browser.Response{}, err
	}
	return browser.Response{Status: part.Status, Header: part.Header, Body: part.Body}, nil
}

func (a *asker) fetch(ctx context.Context, q browser.Request) (*crawl.Part, error) {
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
	if u == a.page.Visit.Item.URL.WithoutRoute() { // the page itself
		return &crawl.Part{Status: a.page.Status, Header: a.page.Header, Body: a.page.Body}, nil
	}
	if err := a.admits(u); err != nil {
		return nil, err
	}
	part, hit, err := a.askHost(ctx, u)
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

// askHost has u fetched by the node that may ask its host. While another host has no such node, or
// moves, it is asked for again.
func (a *asker) askHost(ctx context.Context, u urlnorm.URL) (*crawl.Part, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for {
		part, hit, err := a.askOnce(ctx, u)
		switch {
		case err == nil || !passing(err) || ctx.Err() != nil:
			return part, hit, err
		case u.Host() == a.page.Visit.Item.URL.Host():
			a.end(pipeline.ErrMoved)
			return nil, false, err
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return nil, false, err
		}
	}
}

func (a *asker) askOnce(ctx context.Context, u urlnorm.URL) (*crawl.Part, bool, error) {
	p := ring.PartitionOf(crawl.Host(u.Host()), a.r.o.Node.Partitions())
	switch holder := a.r.o.Node.Holder(p); {
	case holder == a.r.o.Self:
		return a.r.Parts.Ask(ctx, p, u)
	case holder == "" || u.Host() == a.page.Visit.Item.URL.Host():
		return nil, false, errNotOurs
	default:
		return a.r.askHolder(ctx, holder, p, u)
	}
}

// admits judges a request by the scope, as a part of the page: on hosts with pages in scope, and on
// others when the crawl takes parts of pages from any host (--assets any).
func (a *asker) admits(u urlnorm.URL) error {
	page := a.page.Visit.Item.URL
	if u.Host() == page.Host() {
		return admitted(a.rules, u, true)
	}
	if err := loginOfOthers(a.rules.Sites, page, u); err != nil {
		return err
	}
	return admitted(a.rules, u, false)
}

// loginOfOthers refuses a part on another host whose rules for sites give it a login that those of
// the page do not have, be it a secret or a jar of cookies: a page could read with its scripts what
// the login of another site shows, and tell it to anybody.
func loginOfOthers(table *sites.Table, page, part urlnorm.URL) error {
	site := table.Of(part)
	if site == nil {
		return nil
	}
	own := table.Of(page)
	if own == nil {
		own = &sites.Site{}
	}
	refused := slices.ContainsFunc(site.Secrets, func(name string) bool {
		return !slices.Contains(own.Secrets, name)
	})
	if jar := site.From("cookies"); jar != nil && site.Settings.HostCookies() {
		refused = refused || own.From("cookies") != jar
	}
	if refused {
		return fmt.Errorf("the login of %s is not for pages of other sites", part.Host())
	}
	return nil
}

// admitted judges u for a page of the same host or of another one.
func admitted(rules *pipeline.Rules, u urlnorm.URL, own bool) error {
	if v := rules.Scope.DecideAsset(u); !v.Admit {
		return fmt.Errorf("out of scope: %s", v.Rule)
	}
	if !own && rules.Settings.AssetPolicy() != crawl.AssetsAny &&
		!rules.Scope.CoversHost(u, rules.Seeds) {
		return errors.New("its host is out of scope, and assets is not any")
	}
	return nil
}
