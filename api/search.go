package api

import (
	"context"
	"net/http"

	"crawlnode/api/search"
	"crawlnode/crawl"
)

// searchRoutes are the questions about the text of pages.
func searchRoutes() []route {
	return []route{
		{
			method:  "GET",
			path:    "/api/v1/search",
			id:      "search",
			gives:   "a page of results, the best first",
			summary: "Finds pages by their text, over all nodes.",
			serve:   (*server).search,
			params: []param{
				{name: "query", in: "query", what: "words, \"phrases\", -not, title: host: site: lang: " +
					"filetype: before: after:, prefix*; at most 2,048 bytes count", sample: "", required: true},
				{name: "page", in: "query", what: "from 1", sample: uint16(0)},
				{name: "size", in: "query", what: "results of a page, 1 to 100; 10 when it is left out", sample: uint16(0)},
				{name: "format", in: "query", what: "atom or jsonfeed: a feed", sample: "", words: []string{"json", "atom", "jsonfeed"}},
			},
			reply: crawl.SearchReport{},
			other: []media{
				{name: "application/atom+xml", what: "with format=atom"},
				{name: "application/feed+json", what: "with format=jsonfeed"},
			},
			errors: []int{bad, refused, busy},
		},
		{
			method:  "GET",
			path:    "/opensearch.xml",
			id:      "openSearch",
			gives:   "the description",
			summary: "OpenSearch description document: how a browser asks this node.",
			serve:   (*server).openSearch,
			other:   []media{{name: "application/opensearchdescription+xml", what: "the description"}},
		},
	}
}

func (s *server) search(w http.ResponseWriter, r *http.Request) {
	q, format, problem := search.Read(r.URL.Query())
	if problem != "" {
		writeProblem(w, http.StatusBadRequest, problem)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), holderTimeout)
	defer cancel()
	report, err := s.backend.Search(ctx, q)
	switch {
	case err != nil:
		s.fail(w, r, err)
	case format == "":
		writeJSON(w, report)
	default:
		search.WriteFeed(w, format, search.BaseOf(r), report)
	}
}

func (s *server) openSearch(w http.ResponseWriter, r *http.Request) {
	search.WriteDescription(w, search.BaseOf(r))
}
