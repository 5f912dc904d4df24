package core

import (
	"net/netip"
	"strings"
	"time"

	"crawlnode/crawl"
)

// fakeRules is a Dispatcher with rules that tests change.
type fakeRules struct {
	withoutRules
	delay    time.Duration
	at       netip.Addr // only hosts there have the delay; zero: all have it
	ipDelay  time.Duration
	pause    time.Duration // after a request for /slow
	excluded string        // the end of the names of excluded hosts; "": there are none
}

func (r *fakeRules) Delay(_ crawl.Host, addr netip.Addr) time.Duration {
	if r.at.IsValid() && addr != r.at {
		return 0
	}
	return r.delay
}

func (r *fakeRules) IPDelay(netip.Addr) time.Duration      { return r.ipDelay }
func (r *fakeRules) LongestPause(crawl.Host) time.Duration { return r.pause }

func (r *fakeRules) Pause(it *crawl.Item) time.Duration {
	if it.URL.Path() == "/slow" {
		return r.pause
	}
	return 0
}

func (r *fakeRules) Excluded(it *crawl.Item) bool {
	return r.excluded != "" && strings.HasSuffix(it.URL.Host(), r.excluded)
}
