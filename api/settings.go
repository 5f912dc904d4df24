package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"crawlnode/crawl"
)

// maxChangeBytes bounds a change of the settings; patterns are the bulk of it.
const maxChangeBytes = 1 << 20

// crawlConfig shows the crawl's settings.
func (s *server) crawlConfig(w http.ResponseWriter, r *http.Request) {
	report, err := s.backend.CrawlConfig(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeSettings(w, report)
}

// changeCrawl changes some of them.
func (s *server) changeCrawl(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r, maxChangeBytes, "name fewer patterns")
	if !ok {
		return
	}
	var change crawl.CrawlChange
	if err := decodeStrict(body, &change); err != nil {
		writeProblem(w, http.StatusBadRequest, escape(fmt.Sprintf(`the body is not {"settings":{"delay":"2s", ...}}: %v`, err)))
		return
	}
	if match := r.Header.Get("If-Match"); match != "" && match != "*" {
		version := strings.Trim(match, `"`)
		if change.Version != "" && change.Version != version {
			writeProblem(w, http.StatusBadRequest, "If-Match and the body's version name different ones")
			return
		}
		change.Version = version
	}
	if len(change.Settings) == 0 {
		writeProblem(w, http.StatusBadRequest, `the body names no setting: send {"settings":{"delay":"2s"}}`)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	s.noteSettings(ctx, change)
	report, err := s.backend.ChangeCrawl(ctx, change)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeSettings(w, report)
}

// noteSettings notes the named settings as they are and as they are to be.
func (s *server) noteSettings(ctx context.Context, change crawl.CrawlChange) {
	asked, err := json.Marshal(change.Settings)
	if err != nil {
		return // they were just read, so this cannot be
	}
	old := map[string]json.RawMessage{}
	if now, err := s.backend.CrawlConfig(ctx); err == nil {
		var all map[string]json.RawMessage
		if raw, err := json.Marshal(now.Settings); err == nil && json.Unmarshal(raw, &all) == nil {
			for name := range change.Settings {
				name = strings.ReplaceAll(name, "-", "_")
				old[name] = all[name]
			}
		}
	}
	before, err := json.Marshal(old)
	if err != nil {
		return
	}
	crawl.NoteOf(ctx).Set(string(before), string(asked))
}

func writeSettings(w http.ResponseWriter, report crawl.CrawlReport) {
	report.Untold = orEmpty(report.Untold)
	w.Header().Set("ETag", `"`+report.Version+`"`)
	writeJSON(w, report)
}

// readBody reads a body; when it is too large or broken off the client has been
// told and ok is false. instead says what to do.
func readBody(w http.ResponseWriter, r *http.Request, most int64, instead string) (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err == nil {
		return body, true
	}
	code := http.StatusBadRequest
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		code = http.StatusRequestEntityTooLarge
		err = fmt.Errorf("the body is larger than %d bytes: %s", most, instead)
	}
	writeProblem(w, code, escape(err.Error()))
	return nil, false
}
