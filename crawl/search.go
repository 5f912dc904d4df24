package crawl

import "time"

// SearchQuery is a question about the text of pages. Page counts from 1; Size is 1 to
// MaxSearchSize.
type SearchQuery struct {
	Query      string
	Page, Size int
}

// MaxSearchSize is the largest number of results of a page.
const MaxSearchSize = 100

// SearchReport answers a SearchQuery.
type SearchReport struct {
	Query       string `json:"query"`
	Interpreted string `json:"interpreted"` // how it was read, in words
	// with typing errors corrected; nil: nothing to correct
	DidYouMean *string `json:"did_you_mean"`
	Total      int64   `json:"total"`
	TotalExact bool    `json:"total_exact"`
	Seconds    float64 `json:"seconds"`
	// share of the indexed documents that the answer covers
	Coverage float64        `json:"coverage"`
	Results  []SearchResult `json:"results"`
}

// SearchResult is a page that was found.
type SearchResult struct {
	Title        string       `json:"title"`
	Snippet      string       `json:"snippet"`
	Highlight    []SearchPart `json:"highlight"` // the snippet in parts
	Link         string       `json:"link"`
	Host         string       `json:"host"`
	Lang         *string      `json:"lang"`
	FetchedAt    time.Time    `json:"fetched_at"`
	Score        float64      `json:"score"`
	File         string       `json:"file"` // of the archive; "" when nothing was archived
	Offset       int64        `json:"offset"`
	AlsoAt       []string     `json:"also_at"`        // pages with nearly the same text
	MoreFromHost int          `json:"more_from_host"` // further results of the host, on later pages
}

// SearchPart is a piece of a snippet; Hit marks words of the question.
type SearchPart struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit"`
}

// IndexBlock is what a node says of its index.
type IndexBlock struct {
	Documents     int64   `json:"documents"` // of the partitions that it holds
	Bytes         int64   `json:"bytes"`     // of its index on disk, with copies
	Waiting       int64   `json:"waiting"`   // changes that are not in its index yet, with copies
	BehindSeconds float64 `json:"behind_seconds"`
	Queries       int64   `json:"queries"` // that it was asked by people
	Buckets       []int64 `json:"buckets"` // of these, by LatencyBuckets
}

// IndexStatus tells of the index of the whole cluster; all is zero or null while it is off.
type IndexStatus struct {
	Documents     int64     `json:"documents"`
	Bytes         int64     `json:"bytes"`
	Waiting       int64     `json:"waiting"`
	BehindSeconds float64   `json:"behind_seconds"` // of the node that is furthest behind
	QueriesTotal  int64     `json:"queries_total"`
	Seconds       Quantiles `json:"seconds"`
}
