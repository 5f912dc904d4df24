package scheduler

import (
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/sites"
	"crawlnode/web/urlnorm"
)

// This file applies the rules for sites: what holds for a host or a URL in place of the crawl's
// settings, and what becomes of the hosts' times when the rules change.

// rules are the settings of a moment, with the rules for sites that go with them.
type rules struct {
	settings *crawl.Settings
	sites    *sites.Table // nil: there are none
}

// sites is the present table; nil: there are no rules for sites.
func (d *Dispatcher) sites() *sites.Table { return d.o.Rules.Sites() }

// rules are the present ones. Settings and table are of one version of the crawl's rules.
func (d *Dispatcher) rules() rules {
	for {
		t := d.sites()
		r := rules{d.o.Rules.Settings(), t}
		if d.sites() == t {
			return r
		}
	}
}

// ofHost are the settings that hold for all URLs of a host.
func (r *rules) ofHost(host crawl.Host) *crawl.Settings {
	if site := r.sites.OfHost(string(host)); site != nil {
		return site.Settings
	}
	return r.settings
}

// of are the settings of a URL.
func (r *rules) of(u urlnorm.URL) *crawl.Settings {
	if site := r.sites.Of(u); site != nil {
		return site.Settings
	}
	return r.settings
}

// sameSites reports whether both were made of the same rules for sites.
func (r *rules) sameSites(o *rules) bool {
	return r.sites == o.sites || r.sites != nil && o.sites != nil && r.sites.File() == o.sites.File()
}

// retries is how often an item is tried again.
func (d *Dispatcher) retries(it *crawl.Item) int {
	r := d.rules()
	return r.of(it.URL).RetryCount()
}

// budgetReason is why a URL is refused whose host has had its pages.
func (d *Dispatcher) budgetReason(u urlnorm.URL) string {
	if site := d.sites().Of(u); site != nil && site.From("max-pages") != nil {
		return "the host has reached its limit of pages (max-pages of a rule for sites)"
	}
	return "the host has reached its limit of pages (--max-pages-per-host)"
}

// siteChange is a change of the rules for sites, or of the crawl's delay beside such rules. It
// counts for hosts that are on disk at that time, until they are loaded.
type siteChange struct {
	at            time.Time
	before, after rules
}

const (
	// changesKept is how many changes are told apart, and changesLife for how long one may matter:
	// no gap is longer. One more counts for all hosts, as a change of the crawl's delay does.
	changesKept = 4
	changesLife = 24 * time.Hour
)

// of reports what has become of the gap of a host. One whose URLs may have had longer pauses than
// they have now may wait for less. Those that have become longer count from the next request on.
func (c *siteChange) of(host crawl.Host) (grew, shrank bool) {
	before, after := c.before.ofHost(host).Delay, c.after.ofHost(host).Delay
	return after > before, after < before ||
		c.after.sites.LongestDelay(string(host)) < c.before.sites.LongestDelay(string(host))
}

// followSites applies a change to the hosts in memory, and notes it for those on disk.
func (l *loop) followSites(now time.Time, before, after *rules) {
	if before.sameSites(after) && before.settings.Delay == after.settings.Delay {
		return
	}
	change := siteChange{now, *before, *after}
	if len(l.changes) == changesKept {
		l.widen(l.changes[0].at)
		l.changes = slices.Delete(l.changes, 0, 1)
	}
	l.changes = append(l.changes, change)
	for _, h := range l.held {
		h.again, h.earlySites = true, earlySweeps
	}
	l.core.HostGapsChanged(now, change.of)
}

// forgetChanges drops what cannot matter any more.
func (l *loop) forgetChanges(now time.Time) {
	for len(l.changes) > 0 && now.Sub(l.changes[0].at) > changesLife {
		l.changes = slices.Delete(l.changes, 0, 1)
	}
}

// widen makes a change count for all hosts on disk.
func (l *loop) widen(at time.Time) {
	for _, h := range l.held {
		h.acquired = crawl.Latest(h.acquired, at)
		h.early = max(h.early, h.earlySites)
	}
}

// acquired is the time from which a host on disk waits for its gap at least.
func (l *loop) acquired(h *holding, host crawl.Host) time.Time {
	at := h.acquired
	for i := range l.changes {
		if c := &l.changes[i]; c.at.After(at) {
			if grew, _ := c.of(host); grew {
				at = c.at
			}
		}
	}
	return at
}

// shorter reports whether the gap of a host on disk may have become smaller.
func (l *loop) shorter(host crawl.Host) bool {
	for i := range l.changes {
		if _, shrank := l.changes[i].of(host); shrank {
			return true
		}
	}
	return false
}
