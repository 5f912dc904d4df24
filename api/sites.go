package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"crawlnode/api/siterules"
	"crawlnode/crawl"
)

// sitesType is the media type of the rules for sites (RFC 9512).
const sitesType = "application/yaml"

// rulesAtOnce is how many texts of rules are read at a time: one of them, of the allowed size,
// takes a second and a hundred times its size.
const rulesAtOnce = 1

// sitesRoutes are about the rules for sites.
func sitesRoutes() []route {
	url := param{name: "url", in: "query", what: "the URL, in any spelling", sample: "",
		required: true}
	return []route{
		{method: "GET", path: "/api/v1/sites", id: "sites",
			gives:   "the rules; empty when there are none",
			summary: "The rules for sites, as YAML; see docs/sites.md.", serve: (*server).sites,
			params: []param{{name: "If-None-Match", in: "header", sample: "",
				what: "an ETag of an earlier answer: the same rules are not sent again (304)"}},
			etag: true, unchanged: true,
			other:  []media{{name: sitesType, what: "the rules for sites"}},
			errors: []int{busy}},
		{method: "PUT", path: "/api/v1/sites", id: "setSites", gives: "the rules hold from now on",
			summary: "Replace the rules for sites on all nodes while the crawl runs.",
			serve:   (*server).setSites,
			params: []param{{name: "If-Match", in: "header", sample: "",
				what: "the ETag of the rules that the change is based on; if it differs, " +
					"nothing is changed (412). * or no header: change in any case"}},
			yaml: "the rules for sites, at most 2 MiB; empty: none", etag: true,
			reply: crawl.SitesReport{}, errors: []int{bad, refused, changed, tooLarge, busy}},
		{method: "GET", path: "/api/v1/sites/test", id: "testSites", gives: "rules and values",
			summary: "Which rules for sites apply to a URL, and what follows.",
			serve:   (*server).testSites, params: []param{url}, reply: crawl.SiteReport{},
			errors: []int{bad, busy}},
		{method: "POST", path: "/api/v1/sites/test", id: "trySites", gives: "rules and values",
			summary: "The same by rules that are not set: nothing is changed.",
			serve:   (*server).trySites, params: []param{url},
			yaml:  "the rules to try, at most 2 MiB; they are judged beside the crawl's settings",
			reply: crawl.SiteReport{}, errors: []int{bad, tooLarge, busy}},
	}
}

// sites sends the rules.
func (s *server) sites(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	text, _, err := s.backend.Sites(ctx)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", sitesType)
	w.Header().Set("ETag", `"`+crawl.SitesTag(text)+`"`)
	r.Header.Del("Range") // the whole, always
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}

// readRules reads a body of rules, and waits for the turn to have it judged. When it has answered,
// ok is false; otherwise the caller calls done.
func (s *server) readRules(w http.ResponseWriter, r *http.Request) (
	text string, done func(), ok bool) {
	body, ok := readBody(w, r, crawl.MaxSitesBytes, "give rules for domains, not for each host")
	if !ok {
		return "", nil, false
	}
	text, wrong := siterules.Normal(body)
	if wrong != nil {
		s.fail(w, r, wrong)
		return "", nil, false
	}
	select {
	case s.rules <- struct{}{}:
		return text, func() { <-s.rules }, true
	case <-r.Context().Done():
	case <-time.After(readTimeout):
	}
	s.fail(w, r, errors.New("this node reads the rules of other requests: send it again"))
	return "", nil, false
}

// setSites replaces the rules.
func (s *server) setSites(w http.ResponseWriter, r *http.Request) {
	text, done, ok := s.readRules(w, r)
	if !ok {
		return
	}
	defer done()
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	report, err := siterules.Set(ctx, s.backend, text, func(tag string) bool {
		return fits(r.Header.Values("If-Match"), tag)
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("ETag", `"`+crawl.SitesTag(text)+`"`)
	writeJSON(w, crawl.SitesReport{Version: report.Version, Untold: orEmpty(report.Untold)})
}

// fits reports whether the headers If-Match allow a change of what has this tag (RFC 9110, section
// 13.1.1). The marks around a tag may be missing, as with PUT /api/v1/crawl.
func fits(headers []string, tag string) bool {
	for _, header := range headers {
		for one := range strings.SplitSeq(header, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.Trim(one, `"`) == tag {
				return true
			}
		}
	}
	return len(headers) == 0
}

// testSites tells what the rules make of a URL.
func (s *server) testSites(w http.ResponseWriter, r *http.Request) { s.reportSite(w, r, nil) }

// trySites is the same by the rules of the body.
func (s *server) trySites(w http.ResponseWriter, r *http.Request) {
	text, done, ok := s.readRules(w, r)
	if !ok {
		return
	}
	defer done()
	s.reportSite(w, r, &text)
}

func (s *server) reportSite(w http.ResponseWriter, r *http.Request, text *string) {
	url, ok := asked(w, r, "url")
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	report, err := s.backend.TestSites(ctx, url, text)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	report.Rules, report.Values = orEmpty(report.Rules), orEmpty(report.Values)
	for i := range report.Rules {
		report.Rules[i].Match = orEmpty(report.Rules[i].Match)
	}
	writeJSON(w, report)
}
