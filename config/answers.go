package config

import (
	"time"

	"crawlnode/retry"
	"crawlnode/web/preferences"
)

// Answers define what is made of what servers answer, or fail to.
type Answers struct {
	// Retries is how often a URL is tried again, and RetryStatuses after which answers.
	Retries       int    `group:"politeness" placeholder:"N" default:"3" help:"Try a page again that failed or answered one of --retry-statuses, so many times: after 1, 10, 60 s, then every 60 s. The last answer is stored. After 429 and 503 the host waits." min:"0" max:"100" live:"cluster"`
	RetryStatuses string `name:"retry-statuses" group:"politeness" placeholder:"LIST" default:"408,425,500,502,504,520-526" empty:"none" help:"Statuses, 400 to 599, after which a page is tried again; none: no status. 429 and 503 are apart: the host waits." live:"cluster"`
	// Timeout bounds a whole answer, HeaderTimeout the wait for its head. A connection to the other
	// side of the earth and an answer take 100 ms at least. A host is not asked for anything else
	// meanwhile.
	Timeout       time.Duration `group:"politeness" placeholder:"DURATION" default:"60s" help:"Time limit of a whole answer; what came until then is kept." min:"100ms" max:"1h" live:"cluster"`
	HeaderTimeout time.Duration `name:"header-timeout" group:"politeness" placeholder:"DURATION" default:"15s" help:"Time limit of an answer's head." min:"100ms" max:"1h" live:"cluster"`
	// Cookies is off, visit or host.
	Cookies string `group:"politeness" placeholder:"off|visit|host" default:"visit" help:"visit: cookies set by a redirect go with that page's redirects, on the same host, and end with the page; host: each host has a jar of 50 cookies, 4 KiB each." live:"cluster"`
	// Blocked is off or back-off.
	Blocked string `group:"politeness" placeholder:"off|back-off" default:"back-off" help:"back-off: an answer that is a bot wall is archived, not indexed and not followed, and its host waits as after 429; a host that answers so again and again rests for a day." live:"cluster"`
	// Purpose names what the crawl is for, and Preferences is ignore, mark or obey.
	Purpose     string `group:"politeness" placeholder:"LIST" default:"search,archive" help:"What the crawl is for: any of search, archive, ai-input, ai-train. With one of the latter two each site's tdmrep.json is read." live:"cluster"`
	Preferences string `group:"politeness" placeholder:"ignore|mark|obey" default:"mark" help:"What owners say of the use of their pages. mark: it is stored with each page; obey: exports, sinks and replay leave out the pages whose owner said no to a purpose, the index those that said no to search." live:"cluster"`
}

// validateAnswers checks the settings about what servers answer.
func (c *Config) validateAnswers() error {
	if _, err := retry.ParseStatuses(c.RetryStatuses); err != nil {
		return prefixed("--retry-statuses", err)
	}
	if _, err := preferences.ParsePurposes(c.Purpose); err != nil {
		return prefixed("--purpose", err)
	}
	return nil
}
