package layout

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// Flags of a queue entry and of an outbox link.
const (
	queueHTTPS     = 1 << iota // the scheme is https
	queueRefetch               // the URL was fetched before: its record holds a result
	queueNotBefore             // a time follows
	queueValidator             // ETag and Last-Modified follow
	linkAgain                  // outbox: Target.Again
	linkSuspicious             // outbox: Target.Suspicious
	queueRevisit               // the URL was done and became due
	linkClaimed                // outbox: a time follows, Target.Claimed
	queueScored                // the base of its score follows
	queueMoved                 // the places where it stood before follow
	queueCookies               // Item.Cookies follow

	// Bits that the other kind of entry has a meaning for: more of them would take a byte of each
	// entry.
	queueFrom = linkAgain  // the page on which the URL was found follows
	linkFrom  = queueHTTPS // outbox: Target.From follows
	// linkAnchor: Target.Anchor follows.
	linkAnchor = queueRefetch
)

// QueueEntry is a queue entry: an Item without what its key says.
//
//	version, u flags, byte via, u depth, u hops, u attempts, u probe,
//	[time not before], [str etag, str last-modified], [byte base],
//	[u places, for each: u band, u number], [str referrer], [str cookies], rest URL behind the host
type QueueEntry struct {
	HTTPS, Refetch bool
	Probe          uint64 // which fingerprint of the URL names its record, see probe
	Item           crawl.Item
	Rest           []byte // the URL behind the host
	// Scored: its band was made by a score, of which Base is the part that links do not change, of
	// 255.
	Scored bool
	Base   uint8
	// MovedFrom are the slots from which the URL was moved to better ones, since it was queued. Who
	// has loaded or leased it may know it by one of them.
	MovedFrom []QueueSlot
	// Referrer is the page on which the URL was found first, while it was never fetched; then its
	// record has it.
	Referrer Referrer
	// InBlock: it was read from a block. It is not a part of the entry.
	InBlock bool
}

// Slot is where the entry stands, by its Item.
func (q *QueueEntry) Slot() QueueSlot { return QueueSlot{q.Item.Band, q.Item.Seq} }

// QueueSlot is the position of an entry in a host's queue.
type QueueSlot struct {
	Band crawl.Band
	Seq  uint64
}

// MaxMoves bounds how often a queued URL is moved: each move rewrites its entry and its record.
const MaxMoves = 3

// WasAt reports whether the URL was moved from a slot.
func (q *QueueEntry) WasAt(band crawl.Band, seq uint64) bool {
	return slices.Contains(q.MovedFrom, QueueSlot{band, seq})
}

// EncodeQueued writes a queue entry.
func EncodeQueued(it *crawl.Item, refetch bool, probe uint64) []byte {
	return (&QueueEntry{Item: *it, Refetch: refetch, Probe: probe}).Encode()
}

// Encode writes the entry; its URL is that of Item.
func (q *QueueEntry) Encode() []byte {
	it := &q.Item
	rest := behindHost(it.URL)
	w := newEncoder(len(rest) + 16 + len(it.ETag) + len(it.LastModified) + 8*len(q.MovedFrom) +
		len(q.Referrer) + len(it.Cookies))
	flags := FlagIf(isHTTPS(it.URL), queueHTTPS) | FlagIf(q.Refetch, queueRefetch) |
		FlagIf(!it.NotBefore.IsZero(), queueNotBefore) | FlagIf(it.Revisit, queueRevisit) |
		FlagIf(it.ETag != "" || it.LastModified != "", queueValidator) |
		FlagIf(q.Scored, queueScored) | FlagIf(len(q.MovedFrom) > 0,
		queueMoved) | FlagIf(len(q.Referrer) > 0, queueFrom) | FlagIf(it.Cookies != "", queueCookies)
	w.u(flags)
	w.byte(byte(it.Via))
	w.n(it.Depth)
	w.n(it.Hops)
	w.n(it.Attempts)
	w.u(q.Probe)
	if flags&queueNotBefore != 0 {
		w.time(it.NotBefore)
	}
	if flags&queueValidator != 0 {
		w.str(it.ETag)
		w.str(it.LastModified)
	}
	if q.Scored {
		w.byte(q.Base)
	}
	if len(q.MovedFrom) > 0 {
		w.u(uint64(len(q.MovedFrom)))
		for _, s := range q.MovedFrom {
			w.u(uint64(s.Band))
			w.u(s.Seq)
		}
	}
	if len(q.Referrer) > 0 {
		w.str(string(q.Referrer))
	}
	if it.Cookies != "" {
		w.str(it.Cookies)
	}
	w.rest(rest)
	return w.b
}

// DecodeQueued reads all but the URL, whose pieces point into b.
func DecodeQueued(b []byte) (q QueueEntry, err error) {
	err = q.decode(b)
	return q, err
}

// decode reads an entry into q, which is empty.
func (q *QueueEntry) decode(b []byte) error {
	r := newDecoder(b)
	flags := r.u()
	q.HTTPS, q.Refetch, q.Item.Revisit = flags&queueHTTPS != 0, flags&queueRefetch != 0,
		flags&queueRevisit != 0
	q.Item.Refetch = q.Refetch
	q.Item.Via = crawl.Via(r.byte())
	q.Item.Depth = r.count()
	q.Item.Hops = r.count()
	q.Item.Attempts = r.count()
	q.Probe = r.u()
	if flags&queueNotBefore != 0 {
		q.Item.NotBefore = r.time()
	}
	if flags&queueValidator != 0 {
		q.Item.ETag = r.str()
		q.Item.LastModified = r.str()
	}
	if q.Scored = flags&queueScored != 0; q.Scored {
		q.Base = r.byte()
	}
	if flags&queueMoved != 0 {
		q.MovedFrom = r.places()
	}
	if flags&queueFrom != 0 {
		q.Referrer = r.referrer()
	}
	if flags&queueCookies != 0 {
		q.Item.Cookies = r.str()
	}
	q.Rest = r.rest()
	return r.end("queue entry")
}

// places reads where a URL stood.
func (r *decoder) places() []QueueSlot {
	n := r.small(MaxMoves + 1)
	if n == 0 {
		r.fail()
	}
	stood := make([]QueueSlot, n)
	for i := range stood {
		stood[i] = QueueSlot{crawl.Band(r.small(crawl.Bands)), r.u()}
	}
	return stood
}

// DecodeItem reads a queue entry into an Item.
func DecodeItem(h crawl.Host, band crawl.Band, seq uint64, b []byte) (crawl.Item, error) {
	var q QueueEntry
	err := q.decode(b)
	if err != nil {
		return crawl.Item{}, fmt.Errorf("%w of %s, band %d, seq %d", err, h, band, seq)
	}
	if q.Item.URL, err = JoinURL(h, q.HTTPS, q.Rest); err != nil {
		return crawl.Item{}, err
	}
	q.Item.Band, q.Item.Seq = band, seq
	return q.Item, nil
}

// Flags of a record. The lowest three bits are its crawl.RecordState.
const (
	recordState       = 1<<3 - 1
	recordHTTPS       = 1 << 3
	recordResult      = 1 << 4 // status and time of a fetch follow
	recordDigest      = 1 << 5
	recordArchive     = 1 << 6
	recordReason      = 1 << 7
	recordValid       = 1 << 8 // ETag and Last-Modified follow
	recordSame        = 1 << 9 // DuplicateOf follows
	recordNear        = 1 << 10
	recordVisits      = 1 << 11 // times of visit and check, and what visits taught, follow
	recordCut         = 1 << 12 // Record.DepthCut
	recordFrom        = 1 << 13 // the page on which it was found follows
	recordShown       = 1 << 14 // whether a browser has shown it follows
	recordBasis       = 1 << 15 // Record.Basis follows
	recordChanged     = 1 << 16 // Record.ChangedAt follows
	recordPreferences = 1 << 17 // Record.Preferences follows
)

// EncodeRecord writes a record. Attempts and NotBefore of a queued URL stand in
// its queue entry only.
//
//	version, u flags, byte via, u band, u seq, u depth, u hops, u attempts,
//	[u status, time fetched], [20 bytes digest],
//	[str node, str file, i offset, i length], [str reason],
//	[str etag, str last-modified], [str duplicate of], [str near-duplicate of],
//	[time visited, time check, str visits], [str referrer],
//	[byte rendered, str reason, u milliseconds, u requests], [4 bytes basis], [time changed],
//	[str preferences],
//	rest URL behind the host
func EncodeRecord(rec *crawl.Record) []byte {
	rest := behindHost(rec.URL)
	w := newEncoder(len(rest) + 24 + len(rec.Archive.File) + len(rec.Archive.Node) + len(rec.Reason) +
		len(rec.ETag) + len(rec.LastModified) + len(rec.DuplicateOf) + len(rec.NearOf) + len(rec.Visits) +
		len(rec.Referrer) + len(rec.Rendering.Reason) + len(rec.Preferences) + 40)
	flags := uint64(rec.State)&recordState | FlagIf(isHTTPS(rec.URL), recordHTTPS) |
		FlagIf(rec.Status != 0 || !rec.FetchedAt.IsZero(), recordResult) |
		FlagIf(rec.Digest != [20]byte{}, recordDigest) |
		FlagIf(rec.Archive != crawl.ArchiveRef{}, recordArchive) |
		FlagIf(rec.Reason != "", recordReason) |
		FlagIf(rec.ETag != "" || rec.LastModified != "", recordValid) |
		FlagIf(rec.DuplicateOf != "", recordSame) | FlagIf(rec.NearOf != "", recordNear) |
		FlagIf(rec.Visits != "", recordVisits) | FlagIf(rec.DepthCut,
		recordCut) | FlagIf(rec.Referrer != "", recordFrom) |
		FlagIf(rec.Rendering.Reason != "", recordShown) | FlagIf(rec.Basis != 0, recordBasis) |
		FlagIf(!rec.ChangedAt.IsZero(), recordChanged) | FlagIf(rec.Preferences != "", recordPreferences)
	w.u(flags)
	w.byte(byte(rec.Via))
	w.u(uint64(rec.Band))
	w.u(rec.Seq)
	w.n(rec.Depth)
	w.n(rec.Hops)
	w.n(rec.Attempts)
	if flags&recordResult != 0 {
		w.n(rec.Status)
		w.time(rec.FetchedAt)
	}
	if flags&recordDigest != 0 {
		w.bytes(rec.Digest[:])
	}
	if flags&recordArchive != 0 {
		w.str(string(rec.Archive.Node))
		w.str(rec.Archive.File)
		w.i(rec.Archive.Offset)
		w.i(rec.Archive.Length)
	}
	if flags&recordReason != 0 {
		w.str(rec.Reason)
	}
	if flags&recordValid != 0 {
		w.str(rec.ETag)
		w.str(rec.LastModified)
	}
	if flags&recordSame != 0 {
		w.str(rec.DuplicateOf)
	}
	if flags&recordNear != 0 {
		w.str(rec.NearOf)
	}
	if flags&recordVisits != 0 {
		w.time(rec.VisitedAt)
		w.time(rec.CheckAt)
		w.str(rec.Visits)
	}
	if rec.Referrer != "" {
		w.str(rec.Referrer)
	}
	if flags&recordShown != 0 {
		w.rendering(&rec.Rendering)
	}
	if rec.Basis != 0 {
		w.b = binary.BigEndian.AppendUint32(w.b, uint32(rec.Basis))
	}
	if flags&recordChanged != 0 {
		w.time(rec.ChangedAt)
	}
	if rec.Preferences != "" {
		w.str(rec.Preferences)
	}
	w.rest(rest)
	return w.b
}

// rendering writes whether a page was shown to a browser.
func (w *encoder) rendering(r *crawl.Rendering) {
	w.byte(byte(FlagIf(r.Rendered, 1)))
	w.str(r.Reason)
	w.u(uint64(max(r.Milliseconds, 0)))
	w.n(r.Requests)
}

func (r *decoder) rendering() (x crawl.Rendering) {
	rendered := r.byte()
	if x.Rendered, x.Reason = rendered == 1, r.str(); rendered > 1 || x.Reason == "" {
		r.fail()
	}
	ms := r.u()
	if x.Milliseconds = int64(ms); ms > math.MaxInt64 {
		r.fail()
	}
	x.Requests = r.count()
	return x
}

// basis reads a Basis, which is not 0.
func (r *decoder) basis() crawl.Basis {
	var b [4]byte
	copy(b[:], r.take(uint64(len(b))))
	basis := crawl.Basis(binary.BigEndian.Uint32(b[:]))
	if basis == 0 {
		r.fail()
	}
	return basis
}

// StoredRecord is a record as it stands in the store: all but the URL, whose pieces
// point into the value.
type StoredRecord struct {
	crawl.Record
	HTTPS bool
	Rest  []byte
}

// Is reports whether the record is of a URL.
func (s *StoredRecord) Is(u urlnorm.URL) bool { return SameURL(u, s.HTTPS, s.Rest) }

// URLOf is the URL of the record, of a host.
func (s *StoredRecord) URLOf(
	h crawl.Host,
) (urlnorm.URL, error) {
	return JoinURL(h, s.HTTPS, s.Rest)
}

// DecodeRecord reads all of a record but its URL, whose pieces point into b.
func DecodeRecord(b []byte) (s StoredRecord, err error) {
	r := newDecoder(b)
	flags := r.u()
	s.State, s.HTTPS, s.DepthCut = crawl.RecordState(flags&recordState), flags&recordHTTPS != 0,
		flags&recordCut != 0
	s.Via = crawl.Via(r.byte())
	s.Band = crawl.Band(r.small(crawl.Bands))
	s.Seq = r.u()
	s.Depth = r.count()
	s.Hops = r.count()
	s.Attempts = r.count()
	if flags&recordResult != 0 {
		s.Status = r.count()
		s.FetchedAt = r.time()
	}
	if flags&recordDigest != 0 {
		copy(s.Digest[:], r.take(uint64(len(s.Digest))))
	}
	if flags&recordArchive != 0 {
		s.Archive.Node = crawl.NodeID(r.str())
		s.Archive.File = r.str()
		s.Archive.Offset = r.i()
		s.Archive.Length = r.i()
	}
	if flags&recordReason != 0 {
		s.Reason = r.str()
	}
	if flags&recordValid != 0 {
		s.ETag = r.str()
		s.LastModified = r.str()
	}
	if flags&recordSame != 0 {
		s.DuplicateOf = r.str()
	}
	if flags&recordNear != 0 {
		s.NearOf = r.str()
	}
	if flags&recordVisits != 0 {
		s.VisitedAt, s.CheckAt = r.time(), r.time()
		if s.Visits = r.str(); s.Visits == "" {
			r.fail()
		}
	}
	if flags&recordFrom != 0 {
		s.Referrer = string(r.referrer())
	}
	if flags&recordShown != 0 {
		s.Rendering = r.rendering()
	}
	if flags&recordBasis != 0 {
		s.Basis = r.basis()
	}
	if flags&recordChanged != 0 {
		s.ChangedAt = r.time()
	}
	if flags&recordPreferences != 0 {
		if s.Preferences = r.str(); s.Preferences == "" {
			r.fail()
		}
	}
	s.Rest = r.rest()
	return s, r.end("record")
}

// StateOf reads the state of a record alone; ok is false when it cannot be read.
func StateOf(b []byte) (s crawl.RecordState, ok bool) {
	r := newDecoder(b)
	s = crawl.RecordState(r.u() & recordState)
	return s, !r.bad
}

// EncodeLink writes an outbox entry. Its target partition stands in the key.
//
//	version, u flags, byte via, u band, u depth, u hops, [time claimed], [str from], [str anchor], rest URL
func EncodeLink(t *crawl.Target) []byte {
	w := newEncoder(len(t.URL.String()) + len(t.From) + len(t.Anchor) + 14)
	w.u(FlagIf(t.Again, linkAgain) | FlagIf(t.Suspicious, linkSuspicious) |
		FlagIf(!t.Claimed.IsZero(), linkClaimed) | FlagIf(t.From != "", linkFrom) |
		FlagIf(t.Anchor != "", linkAnchor))
	w.byte(byte(t.Via))
	w.u(uint64(t.Band))
	w.n(t.Depth)
	w.n(t.Hops)
	if !t.Claimed.IsZero() {
		w.time(t.Claimed)
	}
	if t.From != "" {
		w.str(t.From)
	}
	if t.Anchor != "" {
		w.str(t.Anchor)
	}
	w.rest(t.URL.String())
	return w.b
}

// DecodeLink reads an outbox entry.
func DecodeLink(b []byte) (t crawl.Target, err error) {
	r := newDecoder(b)
	flags := r.u()
	t.Again, t.Suspicious = flags&linkAgain != 0, flags&linkSuspicious != 0
	t.Via = crawl.Via(r.byte())
	t.Band = crawl.Band(r.small(crawl.Bands))
	t.Depth = r.count()
	t.Hops = r.count()
	if flags&linkClaimed != 0 {
		t.Claimed = r.time()
	}
	if flags&linkFrom != 0 {
		t.From = r.str()
	}
	if flags&linkAnchor != 0 {
		t.Anchor = r.str()
	}
	raw := string(r.rest())
	if err = r.end("outbox entry"); err != nil {
		return t, err
	}
	if t.URL, err = urlnorm.ParseStored(raw); err != nil {
		return t, fmt.Errorf("%w: URL %q in the outbox: %w", ErrCorrupt, raw, err)
	}
	return t, nil
}

// FlagIf is flag when set, otherwise 0.
func FlagIf(set bool, flag uint64) uint64 {
	if set {
		return flag
	}
	return 0
}
