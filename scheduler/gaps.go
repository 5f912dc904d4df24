package scheduler

import (
	"net/netip"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

const (
	// outsideDelay is the minimum gap for hosts outside --allow-net when the configured delay is 0,
	// which is meant for hosts inside it.
	outsideDelay = time.Second
	// defaultIPDelay is the minimum gap for addresses outside --allow-net.
	defaultIPDelay = 200 * time.Millisecond
)

// Delay is the configured minimum gap for a host at addr.
func (c decided) Delay(host crawl.Host, addr netip.Addr) time.Duration {
	r := c.d.rules()
	s := r.ofHost(host)
	if s.Delay <= 0 && !s.Allowed(addr) {
		return outsideDelay
	}
	return s.Delay
}

// Pause is the configured minimum gap after a request for a URL that has a longer one than its host
// has, by a rule that chooses URLs; else 0.
func (c decided) Pause(it *crawl.Item) time.Duration {
	r := c.d.rules()
	if r.sites == nil {
		return 0
	}
	if delay := r.of(it.URL).Delay; delay > r.ofHost(crawl.Host(it.URL.Host())).Delay {
		return delay
	}
	return 0
}

// LongestPause is the longest that a URL of a host may have.
func (c decided) LongestPause(host crawl.Host) time.Duration {
	return c.d.sites().LongestDelay(string(host))
}

// ipDelay is the minimum gap for an address.
func (d *Dispatcher) ipDelay(addr netip.Addr) time.Duration {
	return IPDelay(d.o.Rules.Settings(), addr)
}

// IPDelay is the minimum gap between two requests to an address by these settings.
func IPDelay(s *crawl.Settings, addr netip.Addr) time.Duration {
	switch {
	case s.IPDelay != nil:
		return *s.IPDelay
	case s.Allowed(addr):
		return 0
	}
	return defaultIPDelay
}

// earlySweeps is how many sweeps load hosts that wait on disk when a gap got smaller. The second
// finds the hosts that were just being parked.
const earlySweeps = 2

// followGaps applies changed settings. A larger gap holds from the next request of each host on,
// also for hosts on disk; a smaller one from now on. Where rules for sites have changed, that is so
// for the hosts whose own gap has, and the others keep their times. URLs that are now excluded are
// refused without waiting for their hosts' turns, and open visits to them are cancelled.
func (l *loop) followGaps(now time.Time) {
	before, after := l.rules, l.d.rules()
	if after == before {
		return
	}
	l.rules = after
	if before.settings == nil {
		return // nothing is in memory
	}
	if !slices.Equal(before.settings.Exclude, after.settings.Exclude) ||
		!before.sameSites(&after) && (before.sites.Scopes() || after.sites.Scopes()) {
		l.core.ExcludeChanged(now)
		l.takeBackExcluded()
		for _, h := range l.held {
			h.again = true
		}
	}
	larger := gapsGrew
	if before.sites != nil || after.sites != nil {
		l.followSites(now, &before, &after)
		larger = spacesGrew
	}
	grew := larger(before.settings, after.settings)
	shrank := larger(after.settings, before.settings)
	if !grew && !shrank {
		return
	}
	for _, h := range l.held {
		if grew {
			h.acquired = crawl.Latest(h.acquired, now)
		}
		if shrank {
			h.again, h.early = true, earlySweeps
		}
	}
	l.core.GapsChanged(now, grew)
}

// takeBackExcluded cancels open visits to URLs that are excluded now: a slow host would occupy
// its fetcher for as long as a fetch may take. The URL returns to the queue and is then refused.
func (l *loop) takeBackExcluded() {
	for _, flights := range l.flying {
		for _, f := range flights {
			if l.d.o.Rules.Excluded(&crawl.Item{URL: f.url, Via: f.via}) {
				f.cancel(errExcluded)
			}
		}
	}
}

// excludes reports whether a host on disk is excluded as a whole, judged by its first page.
func (l *loop) excludes(host crawl.Host) bool {
	if len(l.rules.settings.Exclude) == 0 && !l.rules.sites.Scopes() {
		return false
	}
	u, err := urlnorm.Parse("http://" + string(host) + "/")
	return err == nil && l.d.o.Rules.Excluded(&crawl.Item{URL: u})
}

// gapsGrew reports whether after requires a larger gap than before for some host or address.
func gapsGrew(before, after *crawl.Settings) bool {
	return after.Delay > before.Delay || spacesGrew(before, after)
}

// spacesGrew reports whether after requires a larger gap than before for some address. The
// addresses inside --allow-net matter too, as they decide over the gaps, those of hosts as well.
func spacesGrew(before, after *crawl.Settings) bool {
	ipDelay := func(s *crawl.Settings) time.Duration {
		if s.IPDelay == nil {
			return defaultIPDelay
		}
		return *s.IPDelay
	}
	return ipDelay(after) > ipDelay(before) ||
		!slices.Equal(before.AllowNet, after.AllowNet) || before.IPDelay == nil != (after.IPDelay == nil)
}
