package core

import (
	"net/netip"
	"time"

	"crawlnode/crawl"
	"crawlnode/retry"
)

// Dispatcher is what the core asks of the dispatcher that it decides for. It is asked for every
// decision, so that a change takes effect at once: each method must be cheap, and must not call the
// core.
type Dispatcher interface {
	// Delay is the configured least gap for a host at addr. addr is the zero Addr while the host is
	// not resolved.
	Delay(host crawl.Host, addr netip.Addr) time.Duration
	// Pause is the configured least gap after a request for a URL, where that is chosen by the URL and
	// not by its host; 0: that of the host.
	Pause(it *crawl.Item) time.Duration
	// LongestPause is the longest that a URL of a host may have: what is known of a host that was on
	// disk.
	LongestPause(host crawl.Host) time.Duration
	// IPDelay is the least gap for one address, across all its hosts; 0 allows any number of requests
	// to the address at a time.
	IPDelay(addr netip.Addr) time.Duration
	// Excluded reports whether an item was queued by older rules and must not be fetched any more. Its
	// visit is handed out at once, without look-up, wait or share, and without the data that a request
	// needs. ExcludeChanged says that the answers changed.
	Excluded(it *crawl.Item) bool
	// Retries is how often a URL is tried again that failed; it is asked when a visit begins.
	Retries(it *crawl.Item) int
	// Received is how many bytes of the payload of an open visit have arrived, so that a large one is
	// not taken for a slow one.
	Received(visit uint64) int64
}

// Turns says which process may make the next request to an address with an IPDelay. Both methods
// must be cheap, and must not call the core.
type Turns interface {
	// Turn reports whether this process may, after wait. If not, TurnCame follows when it may.
	Turn(addr netip.Addr) (wait time.Duration, ok bool)
	// Idle says that no host needs the address any more.
	Idle(addr netip.Addr)
}

// Config has the settings of the scheduler. The zero value works: each field that is zero
// gets its default.
type Config struct {
	// Dispatcher's default is one without rules: every host has a gap of 1 s and no URL a pause, an
	// address has no gap, nothing is excluded, and a failed URL has crawl.DefaultRetries.
	Dispatcher Dispatcher
	// Turns is nil where it is always this process's turn.
	Turns Turns
	// MaxActive bounds the hosts in memory. Default 20,000.
	MaxActive int
	// MaxBytes bounds the memory of the hosts, roughly: their URLs and their robots.txt
	// files. Above it no host is activated. Default 256 MiB.
	MaxBytes int
	// Fetchers and Lookups are how many visits and look-ups there can be at a time;
	// package shares divides them. Defaults 256 and 64.
	Fetchers, Lookups int
	// ItemsPerHost is how many URLs a host has in memory after a Refill.
	// Default 16.
	ItemsPerHost int
	// Shares are the bands' relative shares of the visits while all of them
	// have hosts ready. Default 8, 7, ... 1.
	Shares [crawl.Bands]int
	// MaxFailures in a row freeze a host. Default 5.
	MaxFailures int
	// Freeze is for how long. Default 1 h.
	Freeze time.Duration
	// Forgive, if set, is a time before which failures of hosts do not count any more: see
	// forgive.
	Forgive time.Time
	// Quantum is how many visits a host may have before it makes room for
	// hosts that wait on disk. Default 128.
	Quantum int
}

// The fixed times of politeness.
const (
	// MaxCrawlDelay caps what robots.txt can ask for.
	MaxCrawlDelay = 60 * time.Second
	// MaxBackoff caps the doubling after 429 and 503.
	MaxBackoff = 24 * time.Hour
	// pendingWait is how soon a host is visited again whose robots.txt is fetched at
	// another host meanwhile.
	pendingWait = time.Second
	// LongWait is the longest wait for a host before a crawl that is otherwise finished
	// gives the host up.
	LongWait = time.Hour
	// OutagePatience is how long no failure is counted while no name server answers any
	// query. After it such a look-up fails like any other, so that a finite crawl ends
	// even if its name servers never return.
	OutagePatience = 24 * time.Hour
	// maxNameWait caps the pause between two look-ups of a host in such an outage.
	maxNameWait = 30 * time.Second
	// LoadAhead is how long before its turn a host's URLs and address are loaded. A host
	// that waits longer than this may wait on disk.
	LoadAhead = 10 * time.Second
	// linger is how long a host without work stays in memory, in case new links to it
	// are found.
	linger = 10 * time.Second
	// shortOutage is how long a host may answer one URL after the other with 429 or 503
	// before its URLs are given up for it.
	shortOutage = 10 * time.Minute
	// robotsLife is how long an answer for robots.txt is used (RFC 9309, 2.4).
	robotsLife = 24 * time.Hour
	// maxLimited bounds the remembered URLs of that kind.
	maxLimited = 32
	// maxOrigins bounds the robots.txt entries of one host.
	maxOrigins = 8
)

// withoutRules is the default Dispatcher.
type withoutRules struct{}

func (withoutRules) Delay(crawl.Host, netip.Addr) time.Duration { return time.Second }
func (withoutRules) Pause(*crawl.Item) time.Duration            { return 0 }
func (withoutRules) LongestPause(crawl.Host) time.Duration      { return 0 }
func (withoutRules) IPDelay(netip.Addr) time.Duration           { return 0 }
func (withoutRules) Excluded(*crawl.Item) bool                  { return false }
func (withoutRules) Retries(*crawl.Item) int                    { return crawl.DefaultRetries }
func (withoutRules) Received(uint64) int64                      { return 0 }

// alwaysOurs is the default Turns.
type alwaysOurs struct{}

func (alwaysOurs) Turn(netip.Addr) (wait time.Duration, ok bool) { return 0, true }
func (alwaysOurs) Idle(netip.Addr)                               {}

func (c Config) withDefaults() Config {
	if c.Dispatcher == nil {
		c.Dispatcher = withoutRules{}
	}
	if c.Turns == nil {
		c.Turns = alwaysOurs{}
	}
	for _, d := range []struct {
		field *int
		value int
	}{{&c.MaxActive, 20_000}, {&c.MaxBytes, 256 << 20}, {&c.ItemsPerHost, 16}, {&c.MaxFailures, 5},
		{&c.Quantum, 128}, {&c.Fetchers, 256}, {&c.Lookups, 64}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if c.Freeze <= 0 {
		c.Freeze = time.Hour
	}
	for b := range c.Shares {
		if c.Shares[b] <= 0 {
			c.Shares[b] = crawl.Bands - b
		}
	}
	return c
}

// Again says when the item of a visit that ended with kind is tried again; false: it had its last
// try. Whoever decides what becomes of a visit asks this, so that all of them agree.
func Again(v *crawl.Visit, kind crawl.Kind) (time.Duration, bool) {
	return again(v.Item.Attempts, v.Retries, kind)
}

func again(attempts, retries int, kind crawl.Kind) (time.Duration, bool) {
	switch kind {
	case crawl.URLFailed:
		return retry.After(attempts+1, retries)
	case crawl.RateLimited:
		return retry.After(attempts+1, retry.LimitedTries)
	}
	return 0, false
}
