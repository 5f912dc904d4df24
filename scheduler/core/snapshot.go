package core

import (
	"net/netip"
	"time"

	"crawlnode/crawl"
)

// HostSnapshot is a host in memory as it was at one moment, for people.
type HostSnapshot struct {
	Status Status
	Start  time.Time     // the earliest start of its next request; the zero time: at once
	Gap    time.Duration // between the end of a request and the start of the next, as things are
	Addr   netip.Addr    // that would be asked, or the zero Addr
	Queued bool          // something is to be fetched, as far as is known
	// Requests and Took sum up the requests since Activate, and the time until their answers ended.
	Requests int64
	Took     time.Duration
}

// Snapshot is the present state of a host; ok is false when it is not in memory.
func (c *Core) Snapshot(name crawl.Host) (s HostSnapshot, ok bool) {
	h := c.hosts[name]
	if h == nil {
		return s, false
	}
	return HostSnapshot{
		Status:   h.status,
		Start:    c.start(h),
		Gap:      c.gap(h),
		Addr:     h.addr(),
		Queued:   h.hasWork(),
		Requests: h.requests,
		Took:     h.took,
	}, true
}
