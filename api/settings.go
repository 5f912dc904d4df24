package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"crawlnode/api/plaintext"
	"crawlnode/api/siterules"
	"crawlnode/crawl"
)

// maxChangeBytes bounds a change of the settings; most of it is patterns, and rules for sites as a
// text in JSON.
const maxChangeBytes = 1<<20 + 2*crawl.MaxSitesBytes

// crawlConfig shows the crawl's settings.
func (s *server) crawlConfig(w http.ResponseWriter, r *http.Request) {
	report, err := s.backend.CrawlConfig(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeSettings(w, report)
}

// changeCrawl changes the named settings.
func (s *server) changeCrawl(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r, maxChangeBytes, "name fewer patterns")
	if !ok {
		return
	}
	var change crawl.CrawlChange
	if err := decodeStrict(body, &change); err != nil {
		writeProblem(w, http.StatusBadRequest,
			plaintext.Escape(fmt.Sprintf(`the body is not {"settings":{"delay":"2s", ...}}: %v`, err)))
		return
	}
	if match := r.Header.Get("If-Match"); match != "" && match != "*" {
		version := strings.Trim(match, `"`)
		if change.Version != "" && change.Version != version {
			writeProblem(w, http.StatusBadRequest, "If-Match and the version in the body differ")
			return
		}
		change.Version = version
	}
	if len(change.Settings) == 0 {
		writeProblem(w, http.StatusBadRequest,
			`the body names no setting: send {"settings":{"delay":"2s"}}`)
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

// noteSettings notes the old and new values of the named settings.
func (s *server) noteSettings(ctx context.Context, change crawl.CrawlChange) {
	asked, err := json.Marshal(shortTexts(change.Settings))
	if err != nil {
		return // they were just read, so this cannot happen
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

// shortTexts returns the settings with names instead of topic models and rules for sites, which are
// long.
func shortTexts(settings map[string]json.RawMessage) map[string]json.RawMessage {
	short := maps.Clone(settings)
	for name, raw := range short {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			continue
		}
		switch {
		case strings.HasPrefix(text, crawl.TopicPrefix):
			text = crawl.ShortTopic(text)
		case name == "sites":
			text = siterules.Name(text)
		default:
			continue
		}
		b, err := json.Marshal(text)
		if err != nil {
			panic("BUG: " + err.Error()) // a text
		}
		short[name] = b
	}
	return short
}

func writeSettings(w http.ResponseWriter, report crawl.CrawlReport) {
	report.Untold = orEmpty(report.Untold)
	w.Header().Set("ETag", `"`+report.Version+`"`)
	writeJSON(w, report)
}

// readBody reads a body. When it is too large or interrupted it has answered the client, and ok is
// false. instead is the advice.
func readBody(
	w http.ResponseWriter,
	r *http.Request,
	most int64,
	instead string,
) (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err == nil {
		return body, true
	}
	code := http.StatusBadRequest
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		code = http.StatusRequestEntityTooLarge
		err = fmt.Errorf("the body is larger than %d bytes: %s", most, instead)
	}
	writeProblem(w, code, plaintext.Escape(err.Error()))
	return nil, false
}
