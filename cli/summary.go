package cli

import (
	"encoding/json"
	"io"
	"time"

	"crawlnode/crawl"
)

// crawlSummary is what -o json writes when a crawl has ended: the counts of all runs of this crawl
// so far, what was given up, and the broken links. Its names are those of /status.
type crawlSummary struct {
	DataDir      string  `json:"data_dir"`
	Seconds      float64 `json:"seconds"` // of this run
	PagesTotal   int64   `json:"pages_total"`
	BytesInTotal int64   `json:"bytes_in_total"`

	Fetch    crawl.FetchStatus    `json:"fetch"`
	Frontier crawl.FrontierStatus `json:"frontier"`
	Output   crawl.OutputStatus   `json:"output"`

	// GivenUp is null when nothing was given up, or when it cannot be read.
	GivenUp *givenUpSummary `json:"given_up"`
	// BrokenLinks is null when there is none, or when they cannot be read.
	BrokenLinks *brokenSummary `json:"broken_links"`
	// FinishReason is null when the crawl was interrupted: the same command goes on.
	FinishReason *string `json:"finish_reason"`
	NoSeed       bool    `json:"no_seed"` // no seed could be fetched
}

// givenUpSummary are the URLs given up, by reason and host.
type givenUpSummary struct {
	URLs     int64            `json:"urls"`
	More     bool             `json:"more"` // there are more, which were not counted
	ByReason map[string]int64 `json:"by_reason"`
	// Hosts are those with the most URLs, maxLostHosts at most.
	Hosts      []givenUpHost `json:"hosts"`
	OtherHosts int           `json:"other_hosts"`
}

// givenUpHost is a host that URLs were given up of.
type givenUpHost struct {
	Host   string   `json:"host"`
	URLs   int64    `json:"urls"`
	Reason string   `json:"reason"` // of the first of them
	First  []string `json:"first"`  // some of them, maxLostNamed at most
}

// brokenSummary are the broken links, with the pages that have them.
type brokenSummary struct {
	Links int64        `json:"links"`
	More  bool         `json:"more"`  // there are more, which were not counted
	First []brokenLink `json:"first"` // some of them, maxBrokenLinks at most
}

// brokenLink is a link that leads nowhere.
type brokenLink struct {
	URL  string `json:"url"`
	Why  string `json:"why"`      // the status, or why it was given up
	From string `json:"referrer"` // the page on which the URL was found first
	// Pages have the link, maxLinkPages at most, and Others counts the rest; none without a
	// list of links (--derive links).
	Pages  []string `json:"pages,omitempty"`
	Others int64    `json:"other_pages,omitempty"`
}

// brokenDocument is what was found, with its names, or nil.
func brokenDocument(b *brokenList) *brokenSummary {
	if b == nil {
		return nil
	}
	s := &brokenSummary{Links: b.Links, More: b.More, First: []brokenLink{}}
	for _, l := range b.First {
		s.First = append(s.First, brokenLink(l))
	}
	return s
}

// givenUpDocument is a tally with its names, or nil.
func givenUpDocument(t *givenUpTally) *givenUpSummary {
	if t == nil {
		return nil
	}
	s := &givenUpSummary{URLs: t.URLs, More: t.More, ByReason: t.Reasons, Hosts: []givenUpHost{}}
	for _, h := range t.Hosts[:min(len(t.Hosts), maxLostHosts)] {
		s.Hosts = append(s.Hosts, givenUpHost{h.Name, h.URLs, h.Reason, h.First})
	}
	s.OtherHosts = len(t.Hosts) - len(s.Hosts)
	return s
}

// writeJSON writes the summary as one document.
func (w *crawlWatch) writeJSON(out io.Writer, reason string) error {
	st := w.last
	s := crawlSummary{
		DataDir: w.info.DataDir, Seconds: time.Since(w.started).Seconds(),
		PagesTotal: st.Throughput.PagesTotal, BytesInTotal: st.Throughput.BytesInTotal,
		Fetch: st.Fetch, Frontier: st.Frontier, Output: st.Output,
		GivenUp: givenUpDocument(w.lost), BrokenLinks: brokenDocument(w.broken), NoSeed: w.gaveUp.Load(),
	}
	if reason != "" {
		s.FinishReason = &reason
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(s)
}
