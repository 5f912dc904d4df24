package search

import (
	"context"
	"fmt"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/search/index"
)

const (
	// atOnce bounds the questions that this node asks at a time, questionTime one of them, and
	// callTime a step of it when all nodes are slow; patience.go bounds the wait for some of them.
	atOnce       = 8
	questionTime = 8 * time.Second
	callTime     = 2500 * time.Millisecond
)

// Searcher asks all nodes. Any goroutine may call it.
type Searcher struct {
	x     *Indexer
	turns chan struct{}
	late  lateNodes
}

// NewSearcher makes a Searcher over the indexes of all nodes.
func NewSearcher(
	x *Indexer,
) *Searcher {
	return &Searcher{x: x, turns: make(chan struct{}, atOnce)}
}

// errOff says what to do.
var errOff = fmt.Errorf("%w: this crawl has no index: set it with crawlnode crawl-config set "+
	"index=on, or start the founding node with --index on; pages that are fetched from then on "+
	"are found", crawl.ErrRefused)

// Search answers a question over all partitions. A node that fails is left out in a second try, and
// its partitions are asked of others that have them; one that was late comes after the others, and
// has more time. What nobody answers for is missing in Coverage.
func (s *Searcher) Search(ctx context.Context, q crawl.SearchQuery) (*crawl.SearchReport, error) {
	if !s.x.o.Rules().On {
		return nil, errOff
	}
	if err := take(ctx, s.turns); err != nil {
		return nil, err
	}
	defer func() { <-s.turns }()
	ctx, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	began := s.x.o.Now()
	// A day is one moment for freshness: so the pages of results, and the nodes, agree for that long.
	r := index.Request{
		Text: strings.ToValidUTF8(q.Query, "\uFFFD"),
		Page: q.Page,
		Size: q.Size,
		Now:  began.UTC().Truncate(24 * time.Hour),
	}
	failed := map[crawl.NodeID]bool{}
	g := newGather(s.x, &s.late, failed)
	page, err := index.Search(ctx, g, r)
	if ctx.Err() == nil && (err != nil || g.lost()) { // a node failed between two steps
		for id := range g.broken {
			// who was late comes last, and is waited for where nobody else can answer
			failed[id] = !g.waited[id]
		}
		g = newGather(s.x, &s.late, failed)
		g.patient = true
		page, err = index.Search(ctx, g, r)
	}
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	took := s.x.o.Now().Sub(began)
	s.x.observe(took)
	return Report(q.Query, &page, g.coverage(), took), nil
}

// Report is a page of results in the words of the API.
func Report(query string, p *index.Page, coverage float64, took time.Duration) *crawl.SearchReport {
	r := &crawl.SearchReport{
		Query:       query,
		Interpreted: p.Interpreted,
		Total:       p.Total,
		TotalExact:  p.TotalExact,
		Seconds:     took.Seconds(),
		Coverage:    coverage,
		Results:     []crawl.SearchResult{},
	}
	if p.DidYouMean != "" {
		r.DidYouMean = &p.DidYouMean
	}
	for i := range p.Results {
		h := &p.Results[i]
		out := crawl.SearchResult{
			Title:     h.Title,
			Snippet:   h.Snippet,
			Highlight: []crawl.SearchPart{},
			Link:      h.URL,
			Host:      h.Host,
			FetchedAt: h.FetchedAt,
			Score:     h.Score,
			File:      h.File,
			Offset:    h.Offset,
			AlsoAt: append([]string{},
				h.AlsoAt...),
			MoreFromHost: h.MoreFromHost,
		}
		if h.Language != "" {
			out.Lang = &h.Language
		}
		for _, part := range h.Highlight {
			out.Highlight = append(out.Highlight, crawl.SearchPart{Text: part.Text, Hit: part.Hit})
		}
		r.Results = append(r.Results, out)
	}
	return r
}
