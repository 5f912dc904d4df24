package render

import (
	"bytes"

	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/render/browser"
	"crawlnode/render/decide"
	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// What a browser must add to the text of a page, in bytes and as a share, to be worth its price: a
// banner is not. Any new link to the page's own host is.
const (
	gainBytes = 100
	gainShare = 10 // a tenth
)

// seen is what a page had before a browser has shown it.
type seen struct {
	signs decide.Signs
	text  int
	links map[urlnorm.URL]struct{}
}

// judge decides about a page by its signs and by what others of its template have taught. doc is
// nil when it is not parsed yet, and when it was and is no page.
func (r *Renderer) judge(
	p *pipeline.Showing,
	doc *htmlparse.Document,
) (d crawl.Rendering, known bool) {
	u, scripted := p.Visit.Item.URL, decide.Scripted(p.Body)
	if doc == nil && scripted {
		return crawl.Rendering{Reason: "it could not be parsed"}, false
	}
	var signs decide.Signs // those of a page without scripts
	if scripted {
		signs = decide.Look(p.Body, len(doc.Text), u.String())
	}
	r.mu.Lock()
	v := r.learner.Decide(u.Host(), u.Path(), signs)
	r.mu.Unlock()
	if v.Render {
		s := &seen{signs, len(doc.Text), make(map[urlnorm.URL]struct{}, len(doc.Links))}
		for i := range doc.Links {
			s.links[doc.Links[i].URL] = struct{}{}
		}
		p.Note = s
	}
	return crawl.Rendering{Rendered: v.Render, Reason: v.Reason}, true
}

// learn takes what the browser has added to a page on which judge has decided.
func (r *Renderer) learn(p *pipeline.Showing, result *browser.Result) {
	s, judged := p.Note.(*seen)
	if !judged {
		return
	}
	u := p.Visit.Item.URL
	gained := s.gained(u, result)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learner.Learn(u.Host(), u.Path(), s.signs, gained)
}

// gained reports whether the browser has added text or links.
func (s *seen) gained(page urlnorm.URL, result *browser.Result) bool {
	text := 0
	for word := range bytes.FieldsSeq([]byte(result.Text)) {
		text += len(word) + 1
	}
	if text > s.text+max(gainBytes, s.text/gainShare) {
		return true
	}
	for _, raw := range result.Links {
		u, err := page.Resolve(raw)
		if _, known := s.links[u]; err == nil && !known && u != page && u.Host() == page.Host() {
			return true
		}
	}
	return false
}
