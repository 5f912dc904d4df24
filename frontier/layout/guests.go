package layout

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// What clients of the URLFrontier protocol have said stands in one table, which a crawl without
// such clients never writes. A crawl is its id; like a host it has no zero byte. Guests are URLs of
// other crawls than the cluster's own.
//
//	g n host 00 fingerprint (16)                       a note: of a URL of the own crawl
//	g t time (8) host 00 fingerprint (16)              a note with a date at which the URL is wanted again
//	g c crawl                                          sums of a crawl
//	g q crawl 00 host                                  a queue
//	g u crawl 00 host 00 fingerprint (16)              a guest
//	g d crawl 00 host 00 time (8) fingerprint (16)     a guest that waits, until then at least
//	g w crawl 00 time (8) host                         a queue with guests that wait, until then at least
//
// Times in keys are milliseconds on the partition's timeline, rounded up; 0 is at once. A place in
// w may be too early, never too late: whoever finds nothing there moves it.
const (
	TableGuests = 'g'

	guestNotes  = 'n'
	guestDates  = 't'
	guestSums   = 'c'
	guestQueues = 'q'
	guestURLs   = 'u'
	guestDue    = 'd'
	guestWake   = 'w'
)

// MillisOf is a time on the timeline as keys have it.
func MillisOf(at time.Time) uint64 {
	if at.IsZero() || at.UnixMilli() < 0 {
		return 0
	}
	return uint64(at.Add(time.Millisecond - 1).UnixMilli())
}

// AppendNoteKey appends the relative key of a note.
func AppendNoteKey(b []byte, h crawl.Host, fp Fingerprint) []byte {
	b = append(append(append(b, TableGuests, guestNotes), h...), 0)
	return append(b, fp[:]...)
}

// AppendDateKey appends the relative key of a note's date.
func AppendDateKey(b []byte, ms uint64, h crawl.Host, fp Fingerprint) []byte {
	b = binary.BigEndian.AppendUint64(append(b, TableGuests, guestDates), ms)
	b = append(append(b, h...), 0)
	return append(b, fp[:]...)
}

// DatesPrefix is what the keys of all dates begin with.
func DatesPrefix() []byte { return []byte{TableGuests, guestDates} }

// ParseDateKey reads a relative key of a date.
func ParseDateKey(rel []byte) (ms uint64, h crawl.Host, fp Fingerprint, ok bool) {
	host := len(rel) - 2 - 8 - 1 - len(fp)
	if host < 1 || rel[0] != TableGuests || rel[1] != guestDates || rel[10+host] != 0 {
		return 0, "", fp, false
	}
	copy(fp[:], rel[len(rel)-len(fp):])
	return binary.BigEndian.Uint64(rel[2:]), crawl.Host(rel[10 : 10+host]), fp, true
}

// AppendSumsKey appends the relative key of a crawl's sums; "": what all such keys begin with.
func AppendSumsKey(b []byte, id string) []byte {
	return append(append(b, TableGuests, guestSums), id...)
}

// CrawlOfSumsKey is the crawl of such a key.
func CrawlOfSumsKey(rel []byte) string { return string(rel[2:]) }

func appendCrawl(b []byte, kind byte, id string) []byte {
	return append(append(append(b, TableGuests, kind), id...), 0)
}

// AppendGuestQueueKey appends the relative key of a queue; with the host "" what the keys of all
// queues of the crawl begin with.
func AppendGuestQueueKey(b []byte, id string, h crawl.Host) []byte {
	return append(appendCrawl(b, guestQueues, id), h...)
}

// HostOfGuestQueueKey is the host of such a key.
func HostOfGuestQueueKey(rel []byte, id string) crawl.Host {
	return crawl.Host(rel[min(3+len(id), len(rel)):])
}

// AppendGuestsPrefix appends what the keys of all guests of a queue begin with; with the host ""
// those of the crawl.
func AppendGuestsPrefix(b []byte, id string, h crawl.Host) []byte {
	b = appendCrawl(b, guestURLs, id)
	if h != "" {
		b = append(append(b, h...), 0)
	}
	return b
}

// AppendGuestKey appends the relative key of a guest.
func AppendGuestKey(b []byte, id string, h crawl.Host, fp Fingerprint) []byte {
	return append(AppendGuestsPrefix(b, id, h), fp[:]...)
}

// ParseGuestKey reads the relative key of a guest of a crawl.
func ParseGuestKey(rel []byte, id string) (h crawl.Host, fp Fingerprint, ok bool) {
	from, to := 3+len(id), len(rel)-len(fp)-1
	if to <= from || rel[to] != 0 {
		return "", fp, false
	}
	copy(fp[:], rel[to+1:])
	return crawl.Host(rel[from:to]), fp, true
}

// AppendGuestDuePrefix appends what the keys of all guests of a queue that wait begin with.
func AppendGuestDuePrefix(b []byte, id string, h crawl.Host) []byte {
	return append(append(appendCrawl(b, guestDue, id), h...), 0)
}

// AppendGuestDueKey appends the relative key of a guest that waits.
func AppendGuestDueKey(b []byte, id string, h crawl.Host, ms uint64, fp Fingerprint) []byte {
	b = binary.BigEndian.AppendUint64(AppendGuestDuePrefix(b, id, h), ms)
	return append(b, fp[:]...)
}

// ParseGuestDueKey reads the end of such a key.
func ParseGuestDueKey(rel []byte) (ms uint64, fp Fingerprint, ok bool) {
	at := len(rel) - len(fp) - 8
	if at < 0 {
		return 0, fp, false
	}
	copy(fp[:], rel[at+8:])
	return binary.BigEndian.Uint64(rel[at:]), fp, true
}

// AppendGuestWakePrefix appends what the keys of all queues of a crawl that wait begin with.
func AppendGuestWakePrefix(b []byte, id string) []byte { return appendCrawl(b, guestWake, id) }

// AppendGuestWakeKey appends the relative key of a queue that waits.
func AppendGuestWakeKey(b []byte, id string, ms uint64, h crawl.Host) []byte {
	return append(binary.BigEndian.AppendUint64(AppendGuestWakePrefix(b, id), ms), h...)
}

// ParseGuestWakeKey reads the end of such a key of a crawl.
func ParseGuestWakeKey(rel []byte, id string) (ms uint64, h crawl.Host, ok bool) {
	at := 3 + len(id)
	if len(rel) < at+9 {
		return 0, "", false
	}
	return binary.BigEndian.Uint64(rel[at:]), crawl.Host(rel[at+8:]), true
}

// IsGuest reports whether a relative key is that of a guest, and IsGuestWaiting whether it is that
// of one that waits.
func IsGuest(
	rel []byte,
) bool {
	return len(rel) > 1 && rel[0] == TableGuests && rel[1] == guestURLs
}

// IsGuestWaiting reports whether a relative key is that of a guest that waits.
func IsGuestWaiting(rel []byte) bool {
	return len(rel) > 1 && rel[0] == TableGuests && rel[1] == guestDue
}

// IsNoteDate reports whether a relative key is that of a note's date.
func IsNoteDate(rel []byte) bool {
	return len(rel) > 1 && rel[0] == TableGuests && rel[1] == guestDates
}

// IsNote reports whether a relative key is that of a note.
func IsNote(
	rel []byte,
) bool {
	return len(rel) > 1 && rel[0] == TableGuests && rel[1] == guestNotes
}

// SplitURL is what is written of a URL beside its host. The pieces are those of JoinURL.
func SplitURL(u urlnorm.URL) (https bool, rest []byte) { return isHTTPS(u), []byte(behindHost(u)) }

// NoteEntry is the value of a note. Due is where its date stands, 0: it has none. Unlike the key of
// a date, Created and Refetch are times of day, as clients say and read them.
//
//	version, u flags, [i created], [i refetch], [u due], [metadata], rest URL behind the host
type NoteEntry struct {
	HTTPS            bool
	Created, Refetch int64 // seconds since 1970
	Due              uint64
	Metadata         crawl.Metadata
	Rest             []byte // the URL behind the host
}

// Flags of notes and guests.
const (
	guestHTTPS = 1 << iota
	guestCreated
	guestRefetch
	guestDueAt
	guestMetadata
	guestKnown
	guestActive
	guestLeased
)

// EncodeNote writes a note.
func EncodeNote(n *NoteEntry) []byte {
	w := newEncoder(24 + n.Metadata.Size() + len(n.Rest))
	w.u(FlagIf(n.HTTPS, guestHTTPS) | FlagIf(n.Created != 0, guestCreated) |
		FlagIf(n.Refetch != 0, guestRefetch) |
		FlagIf(n.Due != 0, guestDueAt) | FlagIf(len(n.Metadata) > 0, guestMetadata))
	if n.Created != 0 {
		w.i(n.Created)
	}
	if n.Refetch != 0 {
		w.i(n.Refetch)
	}
	if n.Due != 0 {
		w.u(n.Due)
	}
	if len(n.Metadata) > 0 {
		w.metadata(n.Metadata)
	}
	w.bytes(n.Rest)
	return w.b
}

// DecodeNote reads a note. Its Rest points into b.
func DecodeNote(b []byte) (n NoteEntry, err error) {
	r := newDecoder(b)
	flags := r.u()
	n.HTTPS = flags&guestHTTPS != 0
	if flags&guestCreated != 0 {
		n.Created = r.i()
	}
	if flags&guestRefetch != 0 {
		n.Refetch = r.i()
	}
	if flags&guestDueAt != 0 {
		n.Due = r.u()
	}
	if flags&guestMetadata != 0 {
		n.Metadata = r.metadata()
	}
	if flags&^(guestHTTPS|guestCreated|guestRefetch|guestDueAt|guestMetadata) != 0 {
		r.fail()
	}
	n.Rest = r.rest()
	return n, r.end("note of a client")
}

// GuestEntry is the value of a guest. Due is where it stands among those that wait, if it is
// Active.
//
//	version, u flags, [i created], [i refetch], [u due], [metadata], rest URL behind the host
type GuestEntry struct {
	HTTPS, Known, Active bool
	// Leased: Due is the end of a lease.
	Leased           bool
	Created, Refetch int64 // seconds since 1970
	Due              uint64
	Metadata         crawl.Metadata
	Rest             []byte // the URL behind the host
}

// EncodeGuest writes a guest.
func EncodeGuest(g *GuestEntry) []byte {
	w := newEncoder(24 + g.Metadata.Size() + len(g.Rest))
	w.u(FlagIf(g.HTTPS, guestHTTPS) | FlagIf(g.Created != 0, guestCreated) |
		FlagIf(g.Refetch != 0, guestRefetch) |
		FlagIf(g.Due != 0, guestDueAt) | FlagIf(len(g.Metadata) > 0, guestMetadata) |
		FlagIf(g.Known, guestKnown) | FlagIf(g.Active, guestActive) | FlagIf(g.Leased, guestLeased))
	if g.Created != 0 {
		w.i(g.Created)
	}
	if g.Refetch != 0 {
		w.i(g.Refetch)
	}
	if g.Due != 0 {
		w.u(g.Due)
	}
	if len(g.Metadata) > 0 {
		w.metadata(g.Metadata)
	}
	w.bytes(g.Rest)
	return w.b
}

// DecodeGuest reads a guest. Its Rest points into b.
func DecodeGuest(b []byte) (g GuestEntry, err error) {
	r := newDecoder(b)
	flags := r.u()
	g.HTTPS, g.Known, g.Active, g.Leased = flags&guestHTTPS != 0, flags&guestKnown != 0,
		flags&guestActive != 0, flags&guestLeased != 0
	if flags&guestCreated != 0 {
		g.Created = r.i()
	}
	if flags&guestRefetch != 0 {
		g.Refetch = r.i()
	}
	if flags&guestDueAt != 0 {
		g.Due = r.u()
	}
	if flags&guestMetadata != 0 {
		g.Metadata = r.metadata()
	}
	if flags>>8 != 0 {
		r.fail()
	}
	g.Rest = r.rest()
	return g, r.end("URL of another crawl")
}

// GuestQueueEntry is the value of a queue.
//
//	version, u flags, u URLs, u active, u changes, [u wake],
//	[time blocked until], [dur delay], [time last], [u limit]
type GuestQueueEntry struct {
	URLs, Active int64
	// Changes counts what may have brought its wake forward: who has read the queue before must not
	// move it back.
	Changes uint64
	Awake   bool   // it stands in w, at Wake
	Wake    uint64 // milliseconds on the timeline
	Blocked time.Time
	// Delay is the least time between two of its guests that are given out; Delayed: it was set.
	Delay   time.Duration
	Delayed bool
	Last    time.Time // when one was given out last; kept only with a delay
	Limit   int64     // with so many completed guests none is given out any more; 0: with any number
}

const (
	queueAwake = 1 << iota
	queueBlocked
	queueDelayed
	queueLast
	queueLimit
)

// EncodeGuestQueue writes a queue.
func EncodeGuestQueue(q *GuestQueueEntry) []byte {
	w := newEncoder(48)
	w.u(FlagIf(q.Awake, queueAwake) | FlagIf(!q.Blocked.IsZero(), queueBlocked) |
		FlagIf(q.Delayed, queueDelayed) |
		FlagIf(!q.Last.IsZero(), queueLast) | FlagIf(q.Limit > 0, queueLimit))
	w.u(uint64(max(q.URLs, 0)))
	w.u(uint64(max(q.Active, 0)))
	w.u(q.Changes)
	if q.Awake {
		w.u(q.Wake)
	}
	if !q.Blocked.IsZero() {
		w.time(q.Blocked)
	}
	if q.Delayed {
		w.dur(q.Delay)
	}
	if !q.Last.IsZero() {
		w.time(q.Last)
	}
	if q.Limit > 0 {
		w.u(uint64(q.Limit))
	}
	return w.b
}

// DecodeGuestQueue reads a queue.
func DecodeGuestQueue(b []byte) (q GuestQueueEntry, err error) {
	r := newDecoder(b)
	flags := r.u()
	q.Awake, q.Delayed = flags&queueAwake != 0, flags&queueDelayed != 0
	q.URLs, q.Active, q.Changes = r.amount(), r.amount(), r.u()
	if q.Awake {
		q.Wake = r.u()
	}
	if flags&queueBlocked != 0 {
		q.Blocked = r.time()
	}
	if q.Delayed {
		q.Delay = r.dur()
	}
	if flags&queueLast != 0 {
		q.Last = r.time()
	}
	if flags&queueLimit != 0 {
		q.Limit = r.amount()
	}
	if flags>>5 != 0 {
		r.fail()
	}
	return q, r.end("queue of another crawl")
}

// GuestSumsEntry is the value of a crawl's sums in a partition, with what is set for all its
// queues.
//
//	version, u flags, u queues, u active queues, u URLs, u active, [dur delay], [u limit]
type GuestSumsEntry struct {
	Queues, ActiveQueues, URLs, Active int64
	Delay                              time.Duration // of queues without one of their own
	Limit                              int64         // likewise
}

const (
	sumsDelay = 1 << iota
	sumsLimit
)

// EncodeGuestSums writes the sums.
func EncodeGuestSums(s *GuestSumsEntry) []byte {
	w := newEncoder(32)
	w.u(FlagIf(s.Delay > 0, sumsDelay) | FlagIf(s.Limit > 0, sumsLimit))
	for _, n := range [...]int64{s.Queues, s.ActiveQueues, s.URLs, s.Active} {
		w.u(uint64(max(n, 0)))
	}
	if s.Delay > 0 {
		w.dur(s.Delay)
	}
	if s.Limit > 0 {
		w.u(uint64(s.Limit))
	}
	return w.b
}

// DecodeGuestSums reads the sums.
func DecodeGuestSums(b []byte) (s GuestSumsEntry, err error) {
	r := newDecoder(b)
	flags := r.u()
	for _, n := range [...]*int64{&s.Queues, &s.ActiveQueues, &s.URLs, &s.Active} {
		*n = r.amount()
	}
	if flags&sumsDelay != 0 {
		s.Delay = r.dur()
	}
	if flags&sumsLimit != 0 {
		s.Limit = r.amount()
	}
	if flags>>2 != 0 {
		r.fail()
	}
	return s, r.end("sums of another crawl")
}

// amount reads a number that is never negative.
func (r *decoder) amount() int64 {
	n := r.u()
	if n > 1<<62 {
		r.fail()
		return 0
	}
	return int64(n)
}

// metadata writes metadata, in the order of its keys.
//
//	u keys, for each: str key, u values, for each: str value
func (w *encoder) metadata(m crawl.Metadata) {
	w.u(uint64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.str(k)
		w.u(uint64(len(m[k])))
		for _, v := range m[k] {
			w.str(v)
		}
	}
}

func (r *decoder) metadata() crawl.Metadata {
	n, parts := r.small(crawl.MaxMetadataParts), 0
	if r.bad || n == 0 {
		r.fail()
		return nil
	}
	m := make(crawl.Metadata)
	last := ""
	for i := range n {
		k := r.str()
		if i > 0 && k <= last {
			r.fail()
		}
		last = k
		vs := r.small(crawl.MaxMetadataParts)
		if parts += 1 + vs; r.bad || parts > crawl.MaxMetadataParts {
			r.fail()
			return nil
		}
		m[k] = make([]string, vs)
		for j := range vs {
			m[k][j] = r.str()
		}
	}
	return m
}
