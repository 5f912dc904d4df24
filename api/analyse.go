package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"crawlnode/api/analysis"
	"crawlnode/crawl"
)

// analysisRoutes say the same as explainRoutes in the words of other crawlers.
func analysisRoutes() []route {
	return []route{
		{
			method:  "GET",
			path:    "/api/v1/analysis/url",
			id:      "analyseURL",
			gives:   "what is known of the URL",
			summary: "A URL: its visits, robots.txt and links.",
			serve:   (*server).analyseURL,
			params: []param{{
				name:     "url",
				in:       "query",
				what:     "the URL, in any spelling",
				sample:   "",
				required: true,
			}},
			reply:  crawl.URLAnalysis{},
			errors: []int{bad, busy},
		},
		{
			method: "GET",
			path:   "/api/v1/analysis/host",
			id:     "analyseHost",
			gives:  "what is known of the host",
			summary: "A host: its URLs, speed, errors and robots.txt. Its URLs are counted for a few " +
				"seconds at most.",
			serve: (*server).analyseHost,
			params: []param{{
				name:     "host",
				in:       "query",
				what:     "host name or IP address",
				sample:   "",
				required: true,
			}},
			reply:  crawl.HostAnalysis{},
			errors: []int{bad, missing, busy},
		},
	}
}

func (s *server) analyseURL(w http.ResponseWriter, r *http.Request) {
	url, ok := asked(w, r, "url")
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), holderTimeout)
	defer cancel()
	report, err := s.backend.ExplainURL(ctx, url, -1)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, analysis.URL(report))
}

func (s *server) analyseHost(w http.ResponseWriter, r *http.Request) {
	host, ok := asked(w, r, "host")
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), holderTimeout)
	defer cancel()
	report, err := s.backend.DescribeHost(ctx, host)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	a, err := analysis.Host(ctx, report, s.backend.ListURLs, time.Now())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, a)
}

// asked is the parameter that names what is asked for.
func asked(w http.ResponseWriter, r *http.Request, name string) (value string, ok bool) {
	value = r.URL.Query().Get(name)
	if value == "" || len(value) > maxQuestion {
		writeProblem(w, http.StatusBadRequest, "ask with ?"+name+"="+strings.ToUpper(name)+
			", percent-encoded and at most "+strconv.Itoa(maxQuestion)+" bytes long")
		return "", false
	}
	return value, true
}
