package render

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"crawlnode/crawl"
)

// The lives of answers that do not say how long they are fresh, and the bounds of those that do. A
// crawl is no reader who comes back: an answer that may not be stored is still shared by the pages
// of a few seconds, so that a site whose pages all ask for the same data is not asked for it with
// each of them.
const (
	usualLife   = time.Hour
	longestLife = 24 * time.Hour
	briefLife   = 10 * time.Second
	failedLife  = 3 * time.Second
)

// lifeOf is for how long an answer is used again.
func lifeOf(a *crawl.Part) time.Duration {
	switch {
	case a.Refusal != "", a.Status >= 500, a.Status == http.StatusTooManyRequests:
		return failedLife
	}
	for _, line := range a.Header["Cache-Control"] {
		for word := range strings.SplitSeq(strings.ToLower(line), ",") {
			switch word = strings.TrimSpace(word); {
			case word == "no-store", word == "no-cache", word == "private":
				return briefLife
			case strings.HasPrefix(word, "max-age="):
				seconds, err := strconv.ParseUint(strings.Trim(word[len("max-age="):], `"`), 10, 31)
				if err == nil {
					return min(max(time.Duration(seconds)*time.Second, briefLife), longestLife)
				}
			}
		}
	}
	return usualLife
}

// storable reports whether an answer may be kept beyond its life, to be asked for again with its
// validators.
func storable(a *crawl.Part) bool {
	for _, line := range a.Header["Cache-Control"] {
		if strings.Contains(strings.ToLower(line), "no-store") {
			return false
		}
	}
	return true
}

// refreshed is an answer that the server says still holds, with what it says anew: the life counts
// from now on.
func refreshed(old, notModified *crawl.Part) *crawl.Part {
	a := &crawl.Part{Status: old.Status, Header: old.Header.Clone(), Body: old.Body}
	for _, name := range []string{"Cache-Control", "Date", "Etag", "Expires", "Last-Modified"} {
		if values := notModified.Header[name]; len(values) > 0 {
			a.Header[name] = values
		}
	}
	return a
}
