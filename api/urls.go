package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/api/urllist"
	"crawlnode/crawl"
)

const (
	// usualURLs is how many URLs a page has by default.
	usualURLs = 100
	// maxLists bounds the lists that are streamed at the same time.
	maxLists = 4
)

// urls answers about one URL, when url= names it, and otherwise lists URLs.
func (s *server) urls(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Has("url") {
		s.explainURL(w, r)
		return
	}
	format := query.Get("format")
	q, problem := urlQuery(query, format)
	switch {
	case problem != "":
		writeProblem(w, http.StatusBadRequest, problem)
	case format == urllist.JSONLines || format == urllist.CSV:
		s.streamURLs(w, r, q, format)
	default:
		s.pageOfURLs(w, r, q)
	}
}

// urlQuery reads the parameters of a list. problem says what is wrong with them.
func urlQuery(query url.Values, format string) (q crawl.URLQuery, problem string) {
	q = crawl.URLQuery{
		State:    query.Get("state"),
		Host:     query.Get("host"),
		Contains: query.Get("contains"),
		Match:    query.Get("match"),
		Status:   query.Get("status"),
		After:    query.Get("after"),
	}
	for _, b := range []struct {
		name string
		to   *bool
	}{{"changed", &q.Changed}, {"referrer", &q.Referrer}} {
		if text := query.Get(b.name); text != "" {
			if *b.to = text == "true"; !*b.to && text != "false" {
				return q, b.name + " must be true or false, not " + plaintext.Escape(plaintext.Cut(text))
			}
		}
	}
	if text := query.Get("since"); text != "" {
		since, err := urllist.ParseSince(text, time.Now())
		if err != nil {
			return q, "since: " + plaintext.Escape(err.Error())
		}
		q.Since = since
	}
	highest := 0 // none
	switch format {
	case "", "json":
		q.Limit, highest = usualURLs, crawl.MaxURLLines
	case urllist.JSONLines, urllist.CSV:
	default:
		return q, "format must be json, jsonl or csv, not " + plaintext.Escape(plaintext.Cut(format))
	}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || highest > 0 && n > highest {
			return q, "limit must be a number from 1, to " + strconv.Itoa(crawl.MaxURLLines) +
				" for a page, not " + plaintext.Escape(plaintext.Cut(text))
		}
		q.Limit = n
	}
	if text := query.Get("partition"); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return q, "partition must be the number of one, not " + plaintext.Escape(plaintext.Cut(text))
		}
		p := crawl.Partition(n)
		q.Partition = &p
	}
	return q, ""
}

// pageOfURLs answers with one page.
func (s *server) pageOfURLs(w http.ResponseWriter, r *http.Request, q crawl.URLQuery) {
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	page, err := s.backend.ListURLs(ctx, q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page.URLs, page.Unread = orEmpty(page.URLs), orEmpty(page.Unread)
	writeJSON(w, page)
}

// streamURLs answers with all pages. Between two of them nothing is held but this goroutine. A list
// that is not complete ends with a broken connection, and as JSON lines with an error before it.
func (s *server) streamURLs(
	w http.ResponseWriter,
	r *http.Request,
	q crawl.URLQuery,
	format string,
) {
	select {
	case s.lists <- struct{}{}:
		defer func() { <-s.lists }()
	default:
		w.Header().Set("Retry-After", "10")
		writeProblem(w, http.StatusServiceUnavailable,
			strconv.Itoa(maxLists)+" lists are being sent already: try again when one has ended")
		return
	}
	if r.Method == http.MethodHead {
		return
	}
	out := &steady{w: w, control: http.NewResponseController(w)}
	emit := s.listWriter(out, format)
	err := urllist.Walk(r.Context(), s.backend.ListURLs, q, urllist.Patience, emit)
	if err == nil {
		err = emit(nil) // the header of an empty list
	}
	if lacks := (*urllist.Incomplete)(nil); errors.As(err, &lacks) && format == urllist.JSONLines {
		// the connection breaks anyway
		_ = json.NewEncoder(out).Encode(map[string]any{"error": lacks.Error(), "unread": lacks.Unread})
		_ = out.control.Flush()
	}
	s.end(out, r, err)
}

// listWriter writes lines to out and sends them at once. The head of the answer is written with the
// first of them: an error before it is a problem.
func (s *server) listWriter(out *steady, format string) func([]crawl.URLLine) error {
	var write func([]crawl.URLLine) error
	return func(lines []crawl.URLLine) (err error) {
		if write == nil {
			kind := "application/jsonl"
			if format == urllist.CSV {
				kind = "text/csv; charset=utf-8; header=present"
			}
			out.w.Header().Set("Content-Type", kind)
			out.w.Header().Set("Content-Disposition", `attachment; filename="urls.`+format+`"`)
			write = urllist.JSONWriter(out)
			if format == urllist.CSV {
				if write, err = urllist.CSVWriter(out); err != nil {
					return err
				}
			}
		}
		if err = write(lines); err == nil {
			_ = out.control.Flush() // a recorder in a test has none
		}
		return err
	}
}
