package givenup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
	"crawlnode/frontier/offline"
	"crawlnode/local/datadir"
)

// MaxLinks is how many broken links are named.
const MaxLinks = 10

// Broken are the links that lead nowhere: to URLs that were given up, or answered with 4xx or 5xx.
type Broken struct {
	Links int64
	More  bool   // there are more, which were not read
	First []Link // MaxLinks at most
}

// Link is a broken link.
type Link struct {
	URL  string
	Why  string // the status, or why it was given up
	From string // the page on which the URL was found first
}

// ReadBroken finds the broken links that the node with this data directory has found. A seed that
// leads nowhere is none: no page links to it.
func ReadBroken(ctx context.Context, dir string) (b Broken, err error) {
	release, err := datadir.Hold(dir)
	if err != nil {
		return b, err
	}
	defer release()
	store, err := offline.Open(false, filepath.Join(dir, "frontier"))
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return readBroken(ctx, store)
}

func readBroken(ctx context.Context, list pages) (b Broken, err error) {
	q := crawl.URLQuery{State: crawl.ListFailed, Referrer: true}
	err = each(ctx, list, q, func(l *crawl.URLLine) bool {
		if l.Referrer == nil {
			return true
		}
		if b.Links++; len(b.First) < MaxLinks {
			b.First = append(b.First, Link{l.URL, why(l), *l.Referrer})
		}
		b.More = b.Links >= maxRead
		return !b.More
	})
	return b, err
}

// why is what became of the URL.
func why(l *crawl.URLLine) string {
	if l.Status != nil && *l.Status != 0 {
		return strings.TrimSpace(fmt.Sprint(*l.Status, " ", http.StatusText(*l.Status)))
	}
	if reason := text(l.Reason); reason != "" {
		return reason
	}
	return "given up"
}

// Lines name the links.
func (b *Broken) Lines() []string {
	var lines []string
	for _, l := range b.First {
		lines = append(lines, fmt.Sprintf("%s (%s) linked from %s", l.URL, l.Why, l.From))
	}
	if n := b.Links - int64(len(b.First)); n > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", plaintext.Count(n)))
	}
	return lines
}

// Total is the count with its noun.
func (b *Broken) Total() string {
	switch {
	case b.More:
		return plaintext.Count(b.Links) + " broken links or more"
	case b.Links == 1:
		return "1 broken link"
	}
	return plaintext.Count(b.Links) + " broken links"
}
