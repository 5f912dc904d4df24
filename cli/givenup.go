package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
	"crawlnode/frontier/offline"
	"crawlnode/local/datadir"
)

const (
	// maxLostHosts is how many hosts are named.
	maxLostHosts = 10
	// maxLostNamed is how many URLs of a host are named.
	maxLostNamed = 3
	// maxLostRead bounds the URLs that are read: what is told of more is the same.
	maxLostRead = 200_000
	// maxSeedHosts bounds the hosts of seeds that are asked for.
	maxSeedHosts = 1000
)

// givenUpTally is what was given up. With -o json it is written as it is.
type givenUpTally struct {
	URLs     int64            `json:"urls"`      // all of them
	More     bool             `json:"more"`      // there are more, which were not read
	ByReason map[string]int64 `json:"by_reason"` // by the names of crawl.GiveUpReason
	// Hosts are those with the most, maxLostHosts at most, and OtherHosts counts the rest.
	Hosts      []lostHost `json:"hosts"`
	OtherHosts int        `json:"other_hosts"`
	// Barren are hosts of seeds of which no page was fetched.
	Barren []lostHost `json:"-"`
}

// lostHost is a host and what it has lost.
type lostHost struct {
	Host   string   `json:"host"`
	URLs   int64    `json:"urls"`
	Reason string   `json:"reason"` // of the first of them
	First  []string `json:"first"`  // the URLs that were read first, maxLostNamed at most
}

// readGivenUp counts what the node with this data directory has given up. seeds are the hosts of
// seeds.
func readGivenUp(ctx context.Context, dir string, seeds []string) (t givenUpTally, err error) {
	release, err := datadir.Hold(dir)
	if err != nil {
		return t, err
	}
	defer release()
	store, err := offline.Open(false, filepath.Join(dir, "frontier"))
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return countGivenUp(ctx, store, seeds)
}

// urlPages is a list of URLs, page by page.
type urlPages interface {
	Page(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error)
}

func countGivenUp(ctx context.Context, list urlPages, seeds []string) (t givenUpTally, err error) {
	t.ByReason = map[string]int64{}
	hosts := map[string]*lostHost{}
	q := crawl.URLQuery{State: crawl.Failed.String()}
	err = eachLine(ctx, list, q, func(l *crawl.URLLine) bool {
		reason, cause := orEmpty(l.Reason), orEmpty(l.Cause)
		if strings.HasSuffix(reason, crawl.TriedInItsPlace) {
			return true
		}
		t.URLs++
		t.ByReason[crawl.GiveUpReasonOf(cause).String()]++
		h := hosts[string(l.Host)]
		if h == nil {
			h = &lostHost{Host: string(l.Host), Reason: reason}
			hosts[h.Host] = h
		}
		h.URLs++
		if len(h.First) < maxLostNamed {
			h.First = append(h.First, l.URL)
		}
		t.More = t.URLs >= maxLostRead
		return !t.More
	})
	if err != nil {
		return t, err
	}
	for _, h := range hosts {
		t.Hosts = append(t.Hosts, *h)
	}
	slices.SortFunc(t.Hosts, func(a, b lostHost) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), strings.Compare(a.Host, b.Host))
	})
	t.OtherHosts = max(len(t.Hosts)-maxLostHosts, 0)
	t.Hosts = t.Hosts[:len(t.Hosts)-t.OtherHosts]
	for _, name := range seeds[:min(len(seeds), maxSeedHosts)] {
		h := hosts[name]
		if h == nil || slices.ContainsFunc(t.Barren, func(b lostHost) bool { return b.Host == name }) {
			continue
		}
		got := false
		done := crawl.URLQuery{State: crawl.Done.String(), Host: name, Limit: 1}
		err = eachLine(ctx, list, done, func(*crawl.URLLine) bool { got = true; return false })
		if err != nil {
			return t, err
		}
		if !got {
			t.Barren = append(t.Barren, *h)
		}
	}
	return t, nil
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// eachLine calls f with the lines of a list until it returns false.
func eachLine(
	ctx context.Context,
	list urlPages,
	q crawl.URLQuery,
	f func(*crawl.URLLine) bool,
) error {
	for {
		p, err := list.Page(ctx, q)
		if err != nil {
			return err
		}
		for i := range p.URLs {
			if !f(&p.URLs[i]) {
				return nil
			}
		}
		if p.Next == nil {
			return nil
		}
		q.After = *p.Next
	}
}

// Summary is the tally in one line: a count, and the reasons.
func (t *givenUpTally) Summary() string {
	var parts []string
	for r := range crawl.GiveUpReason(crawl.NumGiveUpReasons) {
		if n := t.ByReason[r.String()]; n > 0 {
			parts = append(parts, strings.ReplaceAll(r.String(), "_", " ")+" "+plaintext.Count(n))
		}
	}
	return t.Total() + " (" + strings.Join(parts, ", ") + ")"
}

// Total is the count with its noun.
func (t *givenUpTally) Total() string {
	n := plaintext.Count(t.URLs)
	switch {
	case t.More:
		return n + " URLs or more"
	case t.URLs == 1:
		return "1 URL"
	}
	return n + " URLs"
}

// HostLines name the hosts, and count the others.
func (t *givenUpTally) HostLines() []string {
	var lines []string
	for _, h := range t.Hosts {
		lines = append(lines, fmt.Sprintf("%s: %s: %s", h.Host, plaintext.Count(h.URLs),
			cmp.Or(h.Reason, "no reason is known")))
	}
	if t.OtherHosts > 0 {
		lines = append(lines, fmt.Sprintf("and %s more hosts", plaintext.Count(int64(t.OtherHosts))))
	}
	return lines
}
