package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
)

// Bounds of one request that adds seeds.
const (
	MaxBodyBytes = 16 << 20
	MaxSeeds     = 100_000
)

var errTooManySeeds = fmt.Errorf("more than %d URLs: send them in several requests", MaxSeeds)

// readSeeds reads the URLs of a request; without ok it has answered.
func readSeeds(
	w http.ResponseWriter,
	r *http.Request,
) (seeds []crawl.Seed, invalid []crawl.SeedError, ok bool) {
	body, ok := readBody(w, r, MaxBodyBytes, "send the URLs in several requests")
	if !ok {
		return nil, nil, false
	}
	seeds, invalid, err := parseSeeds(r.Header.Get("Content-Type"), body)
	if err != nil {
		code := http.StatusBadRequest
		if errors.Is(err, errTooManySeeds) || errors.Is(err, errCrowded) {
			code = http.StatusRequestEntityTooLarge
		}
		writeProblem(w, code, plaintext.Escape(err.Error()))
		return nil, nil, false
	}
	return seeds, invalid, true
}

// removeSeeds takes URLs out of the queue.
func (s *server) removeSeeds(w http.ResponseWriter, r *http.Request) {
	seeds, invalid, ok := readSeeds(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), seedsTimeout)
	defer cancel()
	report := crawl.RemovalReport{URLs: []crawl.Removal{}}
	if len(seeds) > 0 {
		crawl.NoteOf(ctx).Set("", crawl.SeedsRemoved(len(seeds), seeds[0].URL))
		var err error
		if report, err = s.backend.RemoveSeeds(ctx, seeds); err != nil {
			s.fail(w, r, fmt.Errorf("not all URLs were removed, send them again: %w", err))
			return
		}
	}
	report.Invalid = append(orEmpty(report.Invalid), invalid...)
	slices.SortStableFunc(report.Invalid, func(a, b crawl.SeedError) int { return a.Line - b.Line })
	writeJSON(w, report)
}

func (s *server) addSeeds(w http.ResponseWriter, r *http.Request) {
	seeds, invalid, ok := readSeeds(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), seedsTimeout)
	defer cancel()
	var report crawl.SeedReport
	var err error
	if len(seeds) > 0 {
		s.noteSeeds(ctx, len(seeds), seeds[0].URL)
		if report, err = s.backend.AddSeeds(ctx, seeds); err != nil {
			if !errors.Is(err, crawl.ErrRefused) {
				err = fmt.Errorf("not all seeds were stored, send them again: %w", err)
			}
			s.fail(w, r, err)
			return
		}
	}
	report.Invalid = append(orEmpty(report.Invalid), invalid...)
	slices.SortStableFunc(report.Invalid, func(a, b crawl.SeedError) int { return a.Line - b.Line })
	writeJSON(w, report)
}

// noteSeeds notes seeds for the audit, with the state of the crawl before them: the first ones
// start it.
func (s *server) noteSeeds(ctx context.Context, count int, first string) {
	before := ""
	if now, err := s.backend.CrawlConfig(ctx); err == nil {
		before = now.State
	}
	crawl.NoteOf(ctx).Set(before, crawl.SeedsAdded(count, first))
}

// parseSeeds reads a body: JSON if the type says so or, with an uninformative type, if it looks so;
// otherwise one URL a line. Entries that cannot be seeds are returned apart. An error means that
// nothing could be read.
func parseSeeds(contentType string, body []byte) ([]crawl.Seed, []crawl.SeedError, error) {
	media, _, _ := mime.ParseMediaType(contentType)
	switch {
	case media == "application/json", strings.HasSuffix(media, "+json"):
		return parseSeedsJSON(body)
	case media != "text/plain" && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")):
		return parseSeedsJSON(body)
	}
	seeds, err := ReadSeedLines(bytes.NewReader(body))
	if err == nil && len(seeds) > MaxSeeds {
		err = errTooManySeeds
	}
	return seeds, nil, err
}

// parseSeedsJSON reads {"urls":[...]}, each a string or an object. The line of an entry is its
// position in the list, from 1.
func parseSeedsJSON(body []byte) ([]crawl.Seed, []crawl.SeedError, error) {
	var doc struct {
		URLs []json.RawMessage `json:"urls"`
	}
	if err := decodeStrict(body, &doc); err != nil {
		return nil, nil, fmt.Errorf(`the body is not {"urls":["https://...", ...]}: %w`, err)
	}
	if doc.URLs == nil {
		return nil, nil, errors.New(`the body has no "urls": send {"urls":["https://...", ...]}`)
	}
	if len(doc.URLs) > MaxSeeds {
		return nil, nil, errTooManySeeds
	}
	var seeds []crawl.Seed
	var invalid []crawl.SeedError
	for i, raw := range doc.URLs {
		seed, err := parseSeedJSON(raw)
		if err != nil {
			invalid = append(invalid,
				crawl.SeedError{Line: i + 1, Input: plaintext.Cut(string(raw)), Error: err.Error()})
			continue
		}
		seed.Line = i + 1
		seeds = append(seeds, seed)
	}
	return seeds, invalid, nil
}

// parseSeedJSON reads one entry.
func parseSeedJSON(raw json.RawMessage) (crawl.Seed, error) {
	var seed crawl.Seed
	if len(raw) > 0 && raw[0] == '"' {
		err := json.Unmarshal(raw, &seed.URL)
		return seed, err
	}
	if err := decodeStrict(raw, &seed); err != nil {
		return seed, fmt.Errorf(`neither a string nor {"url":...,"priority":...,"again":...}: %w`, err)
	}
	if seed.URL == "" {
		return seed, errors.New(`has no "url"`)
	}
	if p := seed.Priority; p != nil && (*p < 0 || *p > 1) {
		return seed, errors.New(
			"priority " + strconv.FormatFloat(*p, 'g', -1, 64) + " is not between 0 and 1")
	}
	return seed, nil
}

// ReadSeedLines reads one URL a line, without checking it. Empty lines and lines that begin with #
// are skipped, but counted.
func ReadSeedLines(r io.Reader) ([]crawl.Seed, error) {
	var seeds []crawl.Seed
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), MaxBodyBytes+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		seeds = append(seeds, crawl.Seed{URL: line, Line: n})
	}
	return seeds, lines.Err()
}
