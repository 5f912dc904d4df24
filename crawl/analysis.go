package crawl

import "time"

// URLAnalysis is the document of GET /api/v1/analysis/url: a URLReport in the words that other
// crawlers use. Unknown values are null.
type URLAnalysis struct {
	URL           string  `json:"url"`           // as given in the request
	NormalizedURL *string `json:"normalizedUrl"` // null: not a URL to crawl
	Status        *string `json:"status"`        // AnalysisPending...; null: it was never found
	// FetchHistory has the newest visit first, eight at most.
	FetchHistory []FetchAnalysis `json:"fetchHistory"`
	RobotsStatus RobotsAnalysis  `json:"robotsStatus"`
	LinkAnalysis LinkAnalysis    `json:"linkAnalysis"`
}

// The values of URLAnalysis.Status.
const (
	AnalysisPending = "pending" // it waits for a fetch
	AnalysisFetched = "fetched" // it was fetched, with whatever status
	AnalysisError   = "error"   // it was given up, or is behind a bot wall
	AnalysisBlocked = "blocked" // robots.txt, a budget or the scope refuses it
)

// FetchAnalysis is one visit.
type FetchAnalysis struct {
	Timestamp    time.Time `json:"timestamp"`
	StatusCode   *int      `json:"statusCode"`   // null: there was no answer
	ResponseTime *int64    `json:"responseTime"` // milliseconds until the end of the answer
	ContentHash  *string   `json:"contentHash"`  // sha1:BASE32; kept for the newest visit alone
}

// RobotsAnalysis is the verdict of robots.txt.
type RobotsAnalysis struct {
	Allowed    *bool    `json:"allowed"` // null: robots.txt was not read yet
	Rule       string   `json:"rule"`    // the line that decided, or why there is none
	CrawlDelay *float64 `json:"crawlDelay"`
}

// LinkAnalysis is what links say of a URL.
type LinkAnalysis struct {
	InboundLinks  *int64   `json:"inboundLinks"`
	OutboundLinks *int64   `json:"outboundLinks"`
	PageRank      *float64 `json:"pageRank"` // LinksReport.Importance
}

// HostAnalysis is the document of GET /api/v1/analysis/host. The URLs of the host are counted page
// by page, for a few seconds at most: Complete says whether that was enough.
type HostAnalysis struct {
	Host Host `json:"host"`
	// all URLs of the host were counted; false: the counts are lower bounds
	Complete       bool     `json:"complete"`
	URLsDiscovered int64    `json:"urlsDiscovered"`
	URLsFetched    int64    `json:"urlsFetched"`
	URLsBlocked    int64    `json:"urlsBlocked"`
	AvgResponse    *float64 `json:"avgResponseTime"` // milliseconds
	// ErrorRate is the share of the tried URLs that were given up, or answered 4xx or 5xx at last, 0
	// to 1.
	ErrorRate *float64           `json:"errorRate"`
	Robots    HostRobotsAnalysis `json:"robots"`
	// Throughput has the minutes of the last hour in which a URL was visited for the last time, the
	// oldest first.
	Throughput []HostMinute `json:"throughputHistory"`
}

// HostRobotsAnalysis is what is known of a host's robots.txt files, one of each origin.
type HostRobotsAnalysis struct {
	LastFetched  *time.Time `json:"lastFetched"`
	CrawlDelay   *float64   `json:"crawlDelay"` // seconds; null: none is asked for
	BlockedPaths []string   `json:"blockedPaths"`
}

// HostMinute is what was fetched from a host in one minute.
type HostMinute struct {
	Timestamp     time.Time `json:"timestamp"` // begin of the minute
	URLsPerMinute int64     `json:"urlsPerMinute"`
}
