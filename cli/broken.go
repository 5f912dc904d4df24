package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
	"crawlnode/frontier/offline"
	"crawlnode/local/datadir"
	"crawlnode/output/lists/follow"
)

const (
	// maxBrokenLinks is how many broken links are named.
	maxBrokenLinks = 10
	// maxLinkPages is how many of the pages are named that have a broken link.
	maxLinkPages = 5
	// maxLinkLines bounds the lines of the list of links that are read: some seconds.
	maxLinkLines = 5_000_000
)

// brokenList are the links that lead nowhere: to URLs that were given up, or answered with 4xx or
// 5xx. With -o json it is written as it is.
type brokenList struct {
	Links int64        `json:"links"`
	More  bool         `json:"more"`  // there are more, which were not read
	First []brokenLink `json:"first"` // maxBrokenLinks at most
}

// brokenLink is a link that leads nowhere.
type brokenLink struct {
	URL  string `json:"url"`
	Why  string `json:"why"`      // the status, or why it was given up
	From string `json:"referrer"` // the page on which the URL was found first
	// Pages are those that have the link, maxLinkPages at most, and Others counts the rest. The list
	// of links knows them (--derive links); without it there is none.
	Pages  []string `json:"pages,omitempty"`
	Others int64    `json:"other_pages,omitempty"`
}

// readBroken finds the broken links that the node with this data directory has found. A seed that
// leads nowhere is none: no page links to it.
func readBroken(ctx context.Context, dir string) (b brokenList, err error) {
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
	if b, err = countBroken(ctx, store); err != nil {
		return b, err
	}
	return b, b.readPages(ctx, filepath.Join(dir, "derived"))
}

// readPages finds the pages that have the links, in the list of links of this folder, if there is
// one. Of a list that is too long, or lacks a page, nothing is told: a part would look like all.
func (b *brokenList) readPages(ctx context.Context, folder string) error {
	found := map[string]map[string]bool{} // pages by the URL that they link to
	for _, l := range b.First {
		found[l.URL] = map[string]bool{}
	}
	list := follow.New(folder, "links", follow.Cursor{})
	for read := 0; len(b.First) > 0; {
		lines, err := list.Next(1000)
		if err != nil || ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		if len(lines) == 0 {
			break
		}
		if read += len(lines); read > maxLinkLines {
			return nil
		}
		for _, line := range lines {
			var link struct{ Source, Target string }
			if err := json.Unmarshal(line, &link); err != nil {
				return fmt.Errorf("a line of the list of links: %w", err)
			}
			if pages := found[link.Target]; pages != nil {
				pages[link.Source] = true
			}
		}
	}
	for i := range b.First {
		l := &b.First[i]
		if !found[l.URL][l.From] { // the list was begun later than the crawl
			continue
		}
		pages := slices.Sorted(maps.Keys(found[l.URL]))
		named := min(len(pages), maxLinkPages)
		l.Pages, l.Others = pages[:named], int64(len(pages)-named)
	}
	return nil
}

func countBroken(ctx context.Context, list urlPages) (b brokenList, err error) {
	q := crawl.URLQuery{State: crawl.ListBroken, Referrer: true}
	err = eachLine(ctx, list, q, func(l *crawl.URLLine) bool {
		if l.Referrer == nil {
			return true
		}
		if b.Links++; len(b.First) < maxBrokenLinks {
			b.First = append(b.First, brokenLink{URL: l.URL, Why: whyBroken(l), From: *l.Referrer})
		}
		b.More = b.Links >= maxLostRead
		return !b.More
	})
	return b, err
}

// whyBroken is what became of the URL.
func whyBroken(l *crawl.URLLine) string {
	if l.Status != nil && *l.Status != 0 {
		return strings.TrimSpace(fmt.Sprint(*l.Status, " ", http.StatusText(*l.Status)))
	}
	if reason := orEmpty(l.Reason); reason != "" {
		return reason
	}
	return "given up"
}

// where says which pages have the link.
func (l *brokenLink) where() string {
	if len(l.Pages) == 0 {
		return "found first on " + l.From
	}
	text := "linked from " + strings.Join(l.Pages, ", ")
	if l.Others > 0 {
		text += fmt.Sprintf(" and %s more", plaintext.Count(l.Others))
	}
	return text
}

// Lines name the links.
func (b *brokenList) Lines() []string {
	var lines []string
	for _, l := range b.First {
		lines = append(lines, fmt.Sprintf("%s (%s) %s", l.URL, l.Why, l.where()))
	}
	if n := b.Links - int64(len(b.First)); n > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", plaintext.Count(n)))
	}
	return lines
}

// Total is the count with its noun.
func (b *brokenList) Total() string {
	switch {
	case b.More:
		return plaintext.Count(b.Links) + " broken links or more"
	case b.Links == 1:
		return "1 broken link"
	}
	return plaintext.Count(b.Links) + " broken links"
}
