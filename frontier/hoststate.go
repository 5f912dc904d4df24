package frontier

import (
	"slices"
	"strings"

	"crawlnode/crawl"
)

// maxRobots is the number of origins of one host whose robots.txt is kept.
const maxRobots = 8

// bandQueue is the state of a host's queue of one band. Sequence numbers begin
// with 1 and are never used twice.
type bandQueue struct {
	queued int64
	head   uint64 // no entry is below; what is between may be gone
	next   uint64 // the next entry's number
}

// hostEntry is all that stands under a host's key.
//
//	version, u flags, time not before, dur crawl delay, dur backoff,
//	dur latency, u failures, time frozen until, time hold until, u requests,
//	u pages, u suspicious, byte band mask,
//	  for each band of the mask: u queued, u head, u next - head
//	[u wake band, u wake ms], u origins, for each: str tag,
//	[str queue entry of its only URL, the last of its band], [u near streak]
type hostEntry struct {
	crawl.HostState
	bands  [crawl.Bands]bandQueue
	awake  bool // an entry stands in the wake index, at wake
	wake   wake
	origin []string // tags of the robots entries, the oldest first
	sole   *sole    // its only URL, while that stands here
}

const (
	hostLastTry = 1 << iota
	hostAwake
	hostSole // the queue entry of its only URL follows
)

func (h *hostEntry) total() (n int64) {
	for i := range h.bands {
		n += h.bands[i].queued
	}
	return n
}

// admitted reports whether a URL of the host was ever queued. A host may be in the
// store without one: it was asked for another host's robots.txt.
func (h *hostEntry) admitted() bool {
	return slices.ContainsFunc(h.bands[:], func(b bandQueue) bool { return b.next > 0 })
}

// best is the best band with a queued URL.
func (h *hostEntry) best() (crawl.Band, bool) {
	for i := range h.bands {
		if h.bands[i].queued > 0 {
			return crawl.Band(i), true
		}
	}
	return 0, false
}

func encodeHost(h *hostEntry) []byte {
	w := newWriter(64 + maxSole)
	w.u(flagIf(h.LastTry, hostLastTry) | flagIf(h.awake, hostAwake) | flagIf(h.sole != nil, hostSole))
	w.time(h.NotBefore)
	w.dur(h.CrawlDelay)
	w.dur(h.Backoff)
	w.dur(h.Latency)
	w.n(h.Failures)
	w.time(h.FrozenUntil)
	w.time(h.HoldUntil)
	w.u(uint64(max(h.Requests, 0)))
	w.u(uint64(max(h.Pages, 0)))
	w.u(uint64(max(h.Suspicious, 0)))
	var mask byte
	for i := range h.bands {
		if h.bands[i].next > 0 {
			mask |= 1 << i
		}
	}
	w.byte(mask)
	for i := range h.bands {
		if b := &h.bands[i]; b.next > 0 {
			w.u(uint64(b.queued))
			w.u(b.head)
			w.u(b.next - b.head)
		}
	}
	if h.awake {
		w.u(uint64(h.wake.band))
		w.u(h.wake.ms)
	}
	w.u(uint64(len(h.origin)))
	for _, tag := range h.origin {
		w.str(tag)
	}
	if h.sole != nil {
		w.u(uint64(len(h.sole.entry)))
		w.bytes(h.sole.entry)
	}
	if h.NearStreak > 0 {
		w.n(h.NearStreak)
	}
	return w.b
}

func decodeHost(b []byte) (*hostEntry, error) {
	h := &hostEntry{}
	return h, h.decode(b)
}

// decode reads a host's entry into h, which is empty.
func (h *hostEntry) decode(b []byte) error {
	r := newReader(b)
	flags := r.u()
	h.LastTry, h.awake = flags&hostLastTry != 0, flags&hostAwake != 0
	h.NotBefore = r.time()
	h.CrawlDelay = r.dur()
	h.Backoff = r.dur()
	h.Latency = r.dur()
	h.Failures = r.count()
	h.FrozenUntil = r.time()
	h.HoldUntil = r.time()
	h.Requests = int64(r.u())
	h.Pages = int64(r.u())
	h.Suspicious = int64(r.u())
	mask := r.byte()
	for i := range h.bands {
		if mask&(1<<i) != 0 {
			h.bands[i] = bandQueue{queued: int64(r.u()), head: r.u()}
			h.bands[i].next = h.bands[i].head + r.u()
		}
	}
	if h.awake {
		h.wake = wake{band: crawl.Band(r.small(crawl.Bands)), ms: r.u()}
	}
	n := r.small(maxRobots + 1)
	for range n {
		h.origin = append(h.origin, r.str())
	}
	if flags&hostSole != 0 {
		h.readSole(&r)
	}
	if len(r.b) > 0 {
		h.NearStreak = r.count()
	}
	return r.end("host state")
}

// readSole reads the only URL of the host, which is the last of its only band.
func (h *hostEntry) readSole(r *reader) {
	band, ok := h.best()
	entry := append([]byte(nil), r.take(r.u())...)
	if !ok || h.total() != 1 || h.bands[band].next < 2 {
		r.fail()
		return
	}
	h.sole = &sole{band, h.bands[band].next - 1, entry}
}

// An origin's tag is 'h' or 's' with the port, if any, when the origin is one
// of this host, which it always should be; else 'x' with the whole origin.

func originTag(h crawl.Host, origin string) string {
	if port, ok := strings.CutPrefix(origin, "http://"+string(h)); ok {
		return "h" + port
	}
	if port, ok := strings.CutPrefix(origin, "https://"+string(h)); ok {
		return "s" + port
	}
	return "x" + origin
}

func originOf(h crawl.Host, tag string) string {
	switch {
	case strings.HasPrefix(tag, "h"):
		return "http://" + string(h) + tag[1:]
	case strings.HasPrefix(tag, "s"):
		return "https://" + string(h) + tag[1:]
	default:
		return strings.TrimPrefix(tag, "x")
	}
}

// encodeRobots writes a robots entry; the origin stands in the key.
//
//	version, byte verdict, u status, time fetched, time expires,
//	dur crawl delay, rest body
func encodeRobots(e *crawl.Robots) []byte {
	w := newWriter(len(e.Body) + 32)
	w.byte(byte(e.Verdict))
	w.n(e.Status)
	w.time(e.Fetched)
	w.time(e.Expires)
	w.dur(e.CrawlDelay)
	w.bytes(e.Body)
	return w.b
}

func decodeRobots(h crawl.Host, tag string, b []byte) (*crawl.Robots, error) {
	r := newReader(b)
	e := &crawl.Robots{Origin: originOf(h, tag)}
	e.Verdict = crawl.RobotsVerdict(r.byte())
	e.Status = r.count()
	e.Fetched = r.time()
	e.Expires = r.time()
	e.CrawlDelay = r.dur()
	if body := r.rest(); len(body) > 0 {
		e.Body = append([]byte(nil), body...)
	}
	return e, r.end("robots entry of " + e.Origin)
}
