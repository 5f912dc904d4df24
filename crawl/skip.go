package crawl

import (
	"time"

	"crawlnode/web/urlnorm"
)

// Skip is a URL that was found, or was queued, and is not fetched: a line in the log of skipped
// URLs.
type Skip struct {
	URL urlnorm.URL
	// Source is the page on which it was found; zero when it was refused in its own turn.
	Source urlnorm.URL
	Reason SkipReason
	Via    Via
	At     time.Time
}
