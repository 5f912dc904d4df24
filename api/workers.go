package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
)

const (
	// usualBatch and usualWait are what GET next does without its parameters, maxWait its longest
	// wait.
	usualBatch, usualWait, maxWait = 100, 5 * time.Second, time.Minute
	maxWorkerID                    = 128
	// maxResults bounds the results of one request.
	maxResults = 10_000
	// settleTimeout bounds the time for results, some of which are another node's.
	settleTimeout = 30 * time.Second
)

// workerRoutes are what workers ask: programs outside of the cluster that fetch pages of its
// frontier.
func workerRoutes() []route {
	return []route{
		{
			method: "POST",
			path:   "/api/v1/frontier/urls",
			id:     "addFound",
			gives:  "what became of the URLs; what was accepted is stored durably",
			summary: "Add URLs that a program has found. Without a source and a depth one is a seed, " +
				"and opens its scope; otherwise it is judged as a link. After 503 send them again.",
			serve:  (*server).addFound,
			takes:  "the URLs",
			body:   crawl.FoundURLs{},
			code:   http.StatusAccepted,
			reply:  crawl.FoundReport{},
			errors: []int{bad, refused, tooLarge, busy},
		},
		{
			method: "GET",
			path:   "/api/v1/frontier/next",
			id:     "nextURLs",
			gives: "the URLs, of all nodes, each of another host; none when nothing may be fetched " +
				"within the wait",
			summary: "Lease URLs to a worker. Until it has sent the result, or its lease has ended, " +
				"nobody else requests their hosts.",
			serve: (*server).nextURLs,
			params: []param{
				{name: "worker_id", in: "query", what: "name of the worker, for limits and figures; at most 128 bytes", sample: "", required: true},
				{name: "batch_size", in: "query", what: "how many URLs at most, up to 1000; default: 100", sample: uint16(0)},
				{name: "timeout_ms", in: "query", what: "how long to wait for the first URL, up to 60000; default: 5000", sample: uint16(0)},
			},
			reply:  crawl.WorkerLease{},
			errors: []int{bad, many, busy},
		},
		{
			method: "POST",
			path:   "/api/v1/frontier/results",
			id:     "addResults",
			gives:  "what became of the results",
			summary: "Send results of a lease, all at once or a part at a time, to any node. " +
				"After 503 send all of them again: none counts twice.",
			serve:  (*server).addResults,
			takes:  "the results, at most 10,000",
			body:   crawl.WorkerResults{},
			reply:  crawl.ResultsReport{},
			errors: []int{bad, gone, tooLarge, busy},
		},
	}
}

// nextURLs leases URLs. It changes something although it is a GET: other sites do not reach it.
func (s *server) nextURLs(w http.ResponseWriter, r *http.Request) {
	q, err := nextQuery(r.URL.Query())
	if err != nil {
		writeProblem(w, http.StatusBadRequest, plaintext.Escape(err.Error()))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), q.Wait+readTimeout)
	defer cancel()
	lease, err := s.backend.NextURLs(ctx, q)
	if err != nil {
		s.fail(w, r, fmt.Errorf("lease URLs to worker %s: %w", plaintext.Cut(q.Worker), err))
		return
	}
	writeJSON(w, lease)
}

// nextQuery reads the parameters.
func nextQuery(v url.Values) (q crawl.NextQuery, err error) {
	q = crawl.NextQuery{Worker: v.Get("worker_id"), Most: usualBatch, Wait: usualWait}
	if q.Worker == "" || len(q.Worker) > maxWorkerID {
		return q, fmt.Errorf("worker_id must name the worker, in 1 to %d bytes", maxWorkerID)
	}
	if text := v.Get("batch_size"); text != "" {
		if q.Most, err = strconv.Atoi(text); err != nil || q.Most < 1 || q.Most > crawl.MaxLeaseBatch {
			return q, fmt.Errorf("batch_size must be a number from 1 to %d, not %s", crawl.MaxLeaseBatch,
				plaintext.Cut(text))
		}
	}
	if text := v.Get("timeout_ms"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms < 0 || ms > int(maxWait/time.Millisecond) {
			return q, fmt.Errorf("timeout_ms must be a number from 0 to %d, not %s",
				maxWait/time.Millisecond, plaintext.Cut(text))
		}
		q.Wait = time.Duration(ms) * time.Millisecond
	}
	return q, nil
}

// addResults takes results of a lease.
func (s *server) addResults(w http.ResponseWriter, r *http.Request) {
	var doc crawl.WorkerResults
	if !readDocument(w, r, &doc) {
		return
	}
	switch {
	case doc.LeaseID == "":
		writeProblem(w, http.StatusBadRequest,
			`the body has no "lease_id": send that of the answer with the URLs`)
		return
	case len(doc.Results) > maxResults:
		writeProblem(w, http.StatusRequestEntityTooLarge,
			fmt.Sprintf("more than %d results: send them in several requests", maxResults))
		return
	}
	for i := range doc.Results {
		if err := checkResult(&doc.Results[i]); err != nil {
			writeProblem(w, http.StatusBadRequest, plaintext.Escape(fmt.Sprintf("results[%d].%v", i, err)))
			return
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), settleTimeout)
	defer cancel()
	report, err := s.backend.SettleURLs(ctx, doc)
	if err != nil {
		s.fail(w, r, fmt.Errorf("results of lease %s: %w", plaintext.Cut(doc.LeaseID), err))
		return
	}
	writeJSON(w, report)
}

// checkResult says what of a result cannot be meant.
func checkResult(r *crawl.WorkerResult) error {
	switch {
	case r.Status != crawl.WorkerSuccess && r.Status != crawl.WorkerError:
		return fmt.Errorf("status is %q: write success or error", plaintext.Cut(r.Status))
	case r.HTTPStatus != 0 && (r.HTTPStatus < 100 || r.HTTPStatus > 999):
		return fmt.Errorf("http_status is %d: write the status of the answer, from 100 to 999; "+
			"without an answer leave it out, and say why in error", r.HTTPStatus)
	}
	return nil
}

// addFound takes URLs that a program has found.
func (s *server) addFound(w http.ResponseWriter, r *http.Request) {
	var doc crawl.FoundURLs
	if !readDocument(w, r, &doc) {
		return
	}
	if len(doc.URLs) > MaxSeeds {
		writeProblem(w, http.StatusRequestEntityTooLarge, errTooManySeeds.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), seedsTimeout)
	defer cancel()
	count, first := 0, ""
	for i := range doc.URLs {
		if u := &doc.URLs[i]; u.IsSeed() {
			if count++; count == 1 {
				first = u.URL
			}
		}
	}
	if count > 0 {
		s.noteSeeds(ctx, count, first)
	}
	report, err := s.backend.AddFound(ctx, doc)
	if err != nil {
		if !errors.Is(err, crawl.ErrRefused) {
			err = fmt.Errorf("not all URLs were stored, send them again: %w", err)
		}
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(report) // the client has gone
}

// readDocument reads a JSON body; false: it has answered.
func readDocument(w http.ResponseWriter, r *http.Request, doc any) bool {
	body, ok := readBody(w, r, MaxBodyBytes, "send it in several requests")
	if !ok {
		return false
	}
	if err := decodeStrict(body, doc); err != nil {
		code := http.StatusBadRequest
		if errors.Is(err, errCrowded) {
			code = http.StatusRequestEntityTooLarge
		}
		writeProblem(w, code,
			plaintext.Escape("the body is not what /openapi.json says of it: "+err.Error()))
		return false
	}
	return true
}
