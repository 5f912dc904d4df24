package layout

import (
	"encoding/binary"
	"slices"
	"strings"

	"crawlnode/crawl"
)

// MaxRobots is the number of origins of one host whose robots.txt is kept.
const MaxRobots = 8

// BandQueue is the state of a host's queue of one band. Sequence numbers begin
// with 1 and are never used twice.
type BandQueue struct {
	Queued int64
	Head   uint64 // no entry is below; what is between may be gone
	Next   uint64 // the next entry's number
}

// HostEntry is all that stands under a host's key.
//
//	version, u flags, time not before, dur crawl delay, dur backoff,
//	dur latency, u failures, time frozen until, time hold until, u requests,
//	u pages, u suspicious, byte band mask,
//	  for each band of the mask: u queued, u head, u next - head
//	[u wake band, u wake ms], u origins, for each: str tag,
//	[str queue entry of its only URL, the last of its band], [str site], [8 bytes lease], [time blocked until],
//	[its open blocks, see block.go], [u walls, time walled since], [dur asked delay], [u near streak]
type HostEntry struct {
	crawl.HostState
	Bands   [crawl.Bands]BandQueue
	Awake   bool // an entry stands in the wake index, at Wake
	Wake    WakeSlot
	Origins []string   // tags of the robots entries, the oldest first
	Inline  *InlineURL // its only URL, while that stands here
	Site    string     // recrawl.Site; "": none of its pages is planned
	Indexed bool       // importance finds its name by the number of a URL
	Blocks  []OpenBlock
}

const (
	hostLastTry = 1 << iota
	hostAwake
	hostInline // the queue entry of its only URL follows
	hostSite   // what revisits know of the site follows
	hostIndexed
	hostLeased // the tag of a worker's lease follows
	hostBlocked
	hostBlocks // its open blocks follow
	hostWalls  // which of its last answers were bot walls follows
	hostDelay  // the gap that a program outside wants follows
)

// Total is the number of the host's queued URLs.
func (h *HostEntry) Total() (n int64) {
	for i := range h.Bands {
		n += h.Bands[i].Queued
	}
	return n
}

// Admitted reports whether a URL of the host was ever queued. A host may be in the
// store without one: it was asked for another host's robots.txt.
func (h *HostEntry) Admitted() bool {
	return slices.ContainsFunc(h.Bands[:], func(b BandQueue) bool { return b.Next > 0 })
}

// Best is the best band with a queued URL.
func (h *HostEntry) Best() (crawl.Band, bool) {
	for i := range h.Bands {
		if h.Bands[i].Queued > 0 {
			return crawl.Band(i), true
		}
	}
	return 0, false
}

// EncodeHost writes a host's entry.
func EncodeHost(h *HostEntry) []byte {
	w := newEncoder(64 + MaxInline)
	w.u(FlagIf(h.LastTry, hostLastTry) | FlagIf(h.Awake, hostAwake) |
		FlagIf(h.Inline != nil, hostInline) | FlagIf(h.Site != "", hostSite) |
		FlagIf(h.Indexed, hostIndexed) |
		FlagIf(h.Lease != 0, hostLeased) | FlagIf(!h.BlockedUntil.IsZero(),
		hostBlocked) | FlagIf(len(h.Blocks) > 0, hostBlocks) |
		FlagIf(h.hasWalls(), hostWalls) | FlagIf(h.AskedDelay > 0, hostDelay))
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
	for i := range h.Bands {
		if h.Bands[i].Next > 0 {
			mask |= 1 << i
		}
	}
	w.byte(mask)
	for i := range h.Bands {
		if b := &h.Bands[i]; b.Next > 0 {
			w.u(uint64(b.Queued))
			w.u(b.Head)
			w.u(b.Next - b.Head)
		}
	}
	if h.Awake {
		w.u(uint64(h.Wake.Band))
		w.u(h.Wake.ms)
	}
	w.u(uint64(len(h.Origins)))
	for _, tag := range h.Origins {
		w.str(tag)
	}
	if h.Inline != nil {
		w.u(uint64(len(h.Inline.Entry)))
		w.bytes(h.Inline.Entry)
	}
	if h.Site != "" {
		w.str(h.Site)
	}
	if h.Lease != 0 {
		w.bytes(binary.BigEndian.AppendUint64(nil, uint64(h.Lease)))
	}
	if !h.BlockedUntil.IsZero() {
		w.time(h.BlockedUntil)
	}
	if len(h.Blocks) > 0 {
		w.writeBlocks(h.Blocks)
	}
	if h.hasWalls() {
		w.u(uint64(h.Walls))
		w.time(h.WalledSince)
	}
	if h.AskedDelay > 0 {
		w.dur(h.AskedDelay)
	}
	if h.NearStreak > 0 {
		w.n(h.NearStreak)
	}
	return w.b
}

// hasWalls reports whether there is something to keep of the host's bot walls.
func (h *HostEntry) hasWalls() bool { return h.Walls != 0 || !h.WalledSince.IsZero() }

// DecodeHost reads a host's entry.
func DecodeHost(b []byte) (*HostEntry, error) {
	h := &HostEntry{}
	return h, h.Decode(b)
}

// Decode reads a host's entry into h, which is empty.
func (h *HostEntry) Decode(b []byte) error {
	r := newDecoder(b)
	flags := r.u()
	h.LastTry, h.Awake, h.Indexed = flags&hostLastTry != 0, flags&hostAwake != 0,
		flags&hostIndexed != 0
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
	for i := range h.Bands {
		if mask&(1<<i) != 0 {
			h.Bands[i] = BandQueue{Queued: int64(r.u()), Head: r.u()}
			h.Bands[i].Next = h.Bands[i].Head + r.u()
		}
	}
	if h.Awake {
		h.Wake = WakeSlot{Band: crawl.Band(r.small(crawl.Bands)), ms: r.u()}
	}
	n := r.small(MaxRobots + 1)
	for range n {
		h.Origins = append(h.Origins, r.str())
	}
	if flags&hostInline != 0 {
		h.readInline(&r)
	}
	if flags&hostSite != 0 {
		h.Site = r.str()
	}
	if flags&hostLeased != 0 {
		if tag := r.take(8); len(tag) == 8 {
			h.Lease = crawl.LeaseTag(binary.BigEndian.Uint64(tag))
		}
	}
	if flags&hostBlocked != 0 {
		h.BlockedUntil = r.time()
	}
	if flags&hostBlocks != 0 {
		h.Blocks = r.readBlocks()
	}
	if flags&hostWalls != 0 {
		h.Walls = uint16(r.small(1 << crawl.WallWindow)) //nolint:gosec // below 1024
		h.WalledSince = r.time()
	}
	if flags&hostDelay != 0 {
		if h.AskedDelay = r.dur(); h.AskedDelay <= 0 {
			r.fail()
		}
	}
	if len(r.b) > 0 {
		h.NearStreak = r.count()
	}
	return r.end("host state")
}

// readInline reads the only URL of the host, which is the last of its only band.
func (h *HostEntry) readInline(r *decoder) {
	band, ok := h.Best()
	entry := append([]byte(nil), r.take(r.u())...)
	if !ok || h.Total() != 1 || h.Bands[band].Next < 2 {
		r.fail()
		return
	}
	h.Inline = &InlineURL{band, h.Bands[band].Next - 1, entry}
}

// An origin's tag is 'h' or 's' with the port, if any, when the origin is one
// of this host, which it always should be; else 'x' with the whole origin.

// OriginTag is the short form of an origin under the key of its host.
func OriginTag(h crawl.Host, origin string) string {
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

// The bits of a robots entry's verdict about tdmrep.json: it follows, and it was asked for.
const (
	robotsTDM      = 1 << 7
	robotsTDMAsked = 1 << 6
)

// EncodeRobots writes a robots entry; the origin stands in the key.
//
//	version, byte verdict (and the bits about tdmrep.json), u status, time fetched,
//	time expires, dur crawl delay, [str tdmrep.json], rest body
func EncodeRobots(e *crawl.Robots) []byte {
	w := newEncoder(len(e.Body) + len(e.TDM) + 34)
	w.byte(byte(e.Verdict) |
		byte(FlagIf(len(e.TDM) > 0, robotsTDM)|FlagIf(e.TDMAsked, robotsTDMAsked)))
	w.n(e.Status)
	w.time(e.Fetched)
	w.time(e.Expires)
	w.dur(e.CrawlDelay)
	if len(e.TDM) > 0 {
		w.str(string(e.TDM))
	}
	w.bytes(e.Body)
	return w.b
}

// DecodeRobots reads a robots entry.
func DecodeRobots(h crawl.Host, tag string, b []byte) (*crawl.Robots, error) {
	r := newDecoder(b)
	e := &crawl.Robots{Origin: originOf(h, tag)}
	verdict := r.byte()
	e.Verdict, e.TDMAsked = crawl.RobotsVerdict(verdict&^(robotsTDM|robotsTDMAsked)),
		verdict&robotsTDMAsked != 0
	e.Status = r.count()
	e.Fetched = r.time()
	e.Expires = r.time()
	e.CrawlDelay = r.dur()
	if verdict&robotsTDM != 0 {
		if e.TDM = []byte(r.str()); len(e.TDM) == 0 {
			r.fail()
		}
	}
	if body := r.rest(); len(body) > 0 {
		e.Body = append([]byte(nil), body...)
	}
	return e, r.end("robots entry of " + e.Origin)
}
