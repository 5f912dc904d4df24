package crawl

import (
	"time"

	"crawlnode/web/urlnorm"
)

// Skip is a URL that was found, or was to be fetched, and is not: a line in the log
// of those.
type Skip struct {
	URL urlnorm.URL
	// Source is the page that it was found on; zero when it was refused in its own
	// turn.
	Source urlnorm.URL
	Reason SkipReason
	Via    Via
	At     time.Time
}
