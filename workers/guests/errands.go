package guests

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/guests"
	"crawlnode/web/urlnorm"
)

// Wants is scheduler.Errands.
func (d *Desk) Wants(host crawl.Host) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wishes[host] != nil || d.own[host] > 0
}

// News is scheduler.Errands.
func (d *Desk) News() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh := d.fresh
	d.fresh = false
	return fresh
}

// Begin is scheduler.Errands.
func (d *Desk) Begin(u urlnorm.URL, id uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.wishes[crawl.Host(u.Host())]
	if w == nil || w.visit != 0 || w.due.URL != u || w.call.over {
		return false
	}
	w.visit = id
	return true
}

// Ended is scheduler.Errands: a visit that nobody took has ended.
func (d *Desk) Ended(v *crawl.Visit, o *crawl.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.wishes[v.Host]
	if w == nil || w.visit != v.ID {
		return
	}
	w.visit = 0
	switch {
	case w.call.over || d.closed:
		delete(d.wishes, v.Host)
	case o == nil,
		o.Kind == crawl.Aborted,
		o.Kind == crawl.Lost,
		o.Kind == crawl.RobotsFetched,
		o.Kind == crawl.RobotsPending:
		d.fresh = true // another visit takes it
	default:
		delete(d.wishes, v.Host)
		d.shunLocked(v.Host, time.Now().Add(shun))
		if o.Kind == crawl.Refused || o.Kind == crawl.Blocked {
			delete(d.shunned, v.Host)
			d.ends.Add(1)
			go d.refuse(&w.due, w.call, o.Reason) // ends counts it
			return
		}
		crawl.Signal(w.call.event)
	}
}

// refuse completes a guest that must not be fetched, and says why in the log at level debug: a
// robots.txt may forbid a million of them.
func (d *Desk) refuse(due *guests.Due, c *call, why string) {
	defer d.ends.Done()
	d.o.Log.Debug("a URL of another crawl is completed: it must not be fetched",
		"crawl", due.Crawl, "url", due.URL.String(), "reason", why)
	// An error leaves it active: it is refused again when it is asked for.
	_, _ = d.o.Store.PutGuests(context.Background(), []guests.Put{{Partition: due.Partition,
		Crawl: due.Crawl, URL: due.URL, Metadata: due.Metadata, Known: true}})
	crawl.Signal(c.event)
}

// WishOwn has a page of the cluster's own crawl visited, for somebody who wants one of this host;
// the function that it returns ends the wish.
func (d *Desk) WishOwn(host crawl.Host) (end func()) {
	d.mu.Lock()
	d.own[host]++
	d.fresh = true
	d.mu.Unlock()
	d.o.Node.Source().Look()
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.own[host]--; d.own[host] <= 0 {
			delete(d.own, host)
		}
	}
}
