package layout

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/importance/opic"
	"crawlnode/web/urlnorm"
)

var (
	noon     = time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)
	archived = crawl.ArchiveRef{Node: "n1", File: "f-1.warc.gz", Offset: 7, Length: 9}
)

// canonical reads a URL that is canonical.
func canonical(raw string) urlnorm.URL {
	u, err := urlnorm.Parse(raw)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return u
}

func TestTimesSurvive(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want time.Time }{
		{time.Time{}, time.Time{}},
		{noon, noon},
		{noon.Local(), noon},
		{time.Date(1900, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(1900, 1, 1, 0, 0, 0, 1, time.UTC)},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, 1<<63-1).UTC()},
		{time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), time.Unix(0, -1<<63).UTC()},
	} {
		w := newEncoder(10)
		w.time(tc.in)
		r := newDecoder(w.b)
		if got := r.time(); !got.Equal(tc.want) || r.end("time") != nil {
			t.Errorf("%v came back as %v, want %v", tc.in, got, tc.want)
		}
	}
}

func TestWakeNeverTooEarly(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{noon, noon.Truncate(time.Millisecond), noon.Add(-time.Nanosecond),
		time.Unix(0, 1).UTC()} {
		w := WakeOf(3, &crawl.HostState{NotBefore: at})
		if got := w.Time(); got.Before(at) || got.Sub(at) >= time.Millisecond || w.Band != 3 {
			t.Errorf("%v became %v", at, got)
		}
	}
	late := crawl.HostState{
		NotBefore:   noon,
		FrozenUntil: noon.Add(time.Hour),
		HoldUntil:   noon.Add(2 * time.Hour),
	}
	if got := WakeOf(0, &late).Time(); got.Before(late.HoldUntil) {
		t.Errorf("a held host wakes at %v", got)
	}
	if got := WakeOf(0, &crawl.HostState{}).Time(); !got.IsZero() {
		t.Errorf("a host that may start at once wakes at %v", got)
	}
}

// TestValuesSurvive writes and reads each kind of value.
func TestValuesSurvive(t *testing.T) {
	t.Parallel()
	u := canonical("https://[::1]:8443/a%20b?q=1")
	item := crawl.Item{
		URL:          u,
		Band:         3,
		Seq:          1 << 40,
		Depth:        5,
		Hops:         2,
		Via:          crawl.ViaSitemap,
		Attempts:     2,
		NotBefore:    noon,
		ETag:         "e",
		LastModified: "m",
		Cookies:      "k=1; Path=/",
		Revisit:      true,
		Refetch:      true,
	}
	got, err := DecodeItem(HostOf(u), item.Band, item.Seq, EncodeQueued(&item, true, 2))
	if err != nil || got != item {
		t.Errorf("item %+v came back as %+v, %v", item, got, err)
	}
	rec := crawl.Record{
		Item:      item,
		State:     crawl.Failed,
		Status:    503,
		FetchedAt: noon,
		Reason:    "no",
		Digest:    [20]byte{9},
		Archive:   archived,
	}
	// they stand in the queue entry
	rec.NotBefore, rec.Revisit, rec.Refetch, rec.Cookies = time.Time{}, false, false, ""
	rec.Visits, rec.VisitedAt, rec.CheckAt, rec.DepthCut = "visits", noon, noon.Add(time.Hour), true
	rec.Basis, rec.ChangedAt = 1<<31, noon.Add(time.Minute)
	s, err := DecodeRecord(EncodeRecord(&rec))
	if err != nil || !s.Is(u) {
		t.Errorf("record: %+v, %v", s, err)
	}
	s.URL = u
	if s.Record != rec {
		t.Errorf("record %+v came back as %+v", rec, s.Record)
	}
	link := crawl.Target{
		URL:        u,
		Depth:      3,
		Band:       7,
		Hops:       1,
		Via:        crawl.ViaAsset,
		Again:      true,
		Suspicious: true,
		Claimed:    noon,
		From:       "http://b.test/",
		Anchor:     "what it says",
	}
	if l, err := DecodeLink(EncodeLink(&link)); err != nil || l != link {
		t.Errorf("link %+v came back as %+v, %v", link, l, err)
	}
	robots := &crawl.Robots{
		Origin:     "https://[::1]:8443",
		Verdict:    crawl.RobotsDenyAll,
		Status:     500,
		Fetched:    noon,
		Expires:    noon,
		CrawlDelay: 9,
		Body:       []byte("b"),
	}
	tag := OriginTag(HostOf(u), robots.Origin)
	if r, err := DecodeRobots(HostOf(u), tag, EncodeRobots(robots)); err != nil ||
		!reflect.DeepEqual(r, robots) || tag != "s:8443" {
		t.Errorf("robots %+v came back as %+v, %v", robots, r, err)
	}
	for _, about := range []crawl.Robots{{TDMAsked: true}, {TDM: []byte("[]")},
		{TDM: []byte("[]"), TDMAsked: true, Body: []byte("b")}} {
		about.Origin, about.Verdict = robots.Origin, crawl.RobotsAllowAll
		if r, err := DecodeRobots(HostOf(u), tag, EncodeRobots(&about)); err != nil ||
			!reflect.DeepEqual(r, &about) {
			t.Errorf("robots %+v came back as %+v, %v", about, r, err)
		}
	}
	st := PartState{Meta: Meta{
		Partition:  3,
		State:      Released,
		Epoch:      4,
		MaxEpoch:   5,
		Seq:        6,
		Generation: 7,
		To:         "n",
		View:       8,
		Sealed:     true,
	}, LastGeneration: 9}
	if got, err := DecodeState(3, EncodeState(&st)); err != nil || got != st {
		t.Errorf("state %+v came back as %+v, %v", st, got, err)
	}
	st.OutboxNext = 17
	i := int64(0)
	st.Counters.Each(func(v *int64) { i++; *v = i * i })
	if m, err := DecodeMeta(EncodeMeta(&st, Stamp{})); err != nil || m.Seq != 6 || m.epoch != 4 ||
		m.OutboxNext != 17 || m.Counters != st.Counters {
		t.Errorf("meta came back as %+v, %v", m, err)
	}
}

// TestBlocks: a block keeps what it has by number, and what is no block, or not in it, is told.
func TestBlocks(t *testing.T) {
	t.Parallel()
	for _, numbers := range [][]int{{0}, {30}, {1, 2, 3}, {0, 29, 30}} {
		var b Block
		for _, i := range numbers {
			b[i] = []byte{FormatVersion, byte(i)}
		}
		value := b.Encode()
		again, err := DecodeBlock(value)
		if err != nil || !reflect.DeepEqual(again, b) || !IsBlock(value) {
			t.Errorf("%v: %x, %v", numbers, again, err)
		}
		for i := range uint64(BlockSpan) {
			entry, ok, err := OfBlock(value, 7*BlockSpan+i)
			if want := slices.Contains(numbers, int(i)); err != nil || ok != want ||
				ok && entry[1] != byte(i) {
				t.Errorf("%v: number %d: %x, %t, %v", numbers, i, entry, ok, err)
			}
		}
	}
	item := crawl.Item{URL: canonical("http://h.test/")}
	for name, value := range map[string][]byte{
		"nothing": nil, "nobody": {blockMark}, "nobody at its end": {blockMark, 1, 7, 0},
		"cut": {blockMark, 9, 1}, "an entry": EncodeQueued(&item, false, 0),
		"too many": append([]byte{blockMark}, bytes.Repeat([]byte{1, 7}, BlockSpan)...),
	} {
		if b, err := DecodeBlock(value); err == nil {
			t.Errorf("%s: %x", name, b)
		}
	}
	for next, want := range map[uint64]uint64{0: 1, 1: 1, 2: 32, 31: 32, 32: 32, 33: 64} {
		if got := NextBlock(next); got != want {
			t.Errorf("behind %d a block begins with %d, want %d", next, got, want)
		}
	}
}

// TestSites: what revisits know of a site stands beside all that a host's entry may have.
func TestSites(t *testing.T) {
	t.Parallel()
	for _, site := range []string{"", "site"} {
		for _, streak := range []int{0, 7} {
			h := HostEntry{Origins: []string{"h"}, Site: site}
			h.NearStreak, h.Lease = streak, crawl.LeaseTag(streak)<<60
			got, err := DecodeHost(EncodeHost(&h))
			if err != nil || got.Site != site || got.NearStreak != streak || got.Lease != h.Lease {
				t.Errorf("%+v came back as %+v, %v", h, got, err)
			}
		}
	}
}

// TestHostWalls: what is known of a host's walls is kept, beside each of the other parts that a
// host may lack. A host without is written as before they were known, so stores of then are read.
func TestHostWalls(t *testing.T) {
	t.Parallel()
	for _, streak := range []int{0, 3} {
		for _, walls := range []uint16{0, 1, 0x3ff} {
			for _, since := range []time.Time{{}, noon} {
				h := HostEntry{Origins: []string{"h"}}
				h.NearStreak, h.Walls, h.WalledSince = streak, walls, since
				got, err := DecodeHost(EncodeHost(&h))
				if err != nil || got.NearStreak != streak || got.Walls != walls ||
					!got.WalledSince.Equal(since) {
					t.Errorf("%+v came back as %+v, %v", h, got, err)
				}
			}
		}
	}
	without := HostEntry{Origins: []string{"h"}}
	with := without
	with.Walls = 1
	if more := len(EncodeHost(&with)) - len(EncodeHost(&without)); more < 2 {
		t.Errorf("the walls take %d bytes", more)
	}
}

// TestDueOrder: the keys of due pages are in the order of their times, and say what they were made
// of.
func TestDueOrder(t *testing.T) {
	t.Parallel()
	var last []byte
	for i, at := range []time.Time{{}, time.Unix(0, -5), time.Unix(0, 1), noon, noon.Add(1),
		noon.Add(time.Hour)} {
		d := DueAt(at, crawl.Host("z.test"[i%3:]), Fingerprint{byte(i)})
		key := AppendDueKey(nil, &d)
		got, ok := ParseDueKey(key)
		if !ok || got != d || at.After(time.Unix(0, 0)) && !got.Time().Equal(at) {
			t.Errorf("%v came back as %v, %v", at, got.Time(), ok)
		}
		if i > 1 && bytes.Compare(key, last) <= 0 {
			t.Errorf("%v is not behind", at)
		}
		last = key
	}
	for _, bad := range [][]byte{nil, {TableDue}, append([]byte{TableDue}, make([]byte, 25)...),
		AppendRecordKey(nil, "host-of-a-record.test", Fingerprint{})} {
		if d, ok := ParseDueKey(bad); ok {
			t.Errorf("%x was read as %+v", bad, d)
		}
	}
}

// TestOffCostsNothing: without revisits no value is longer than before there were any.
func TestOffCostsNothing(t *testing.T) {
	t.Parallel()
	st := PartState{Meta: Meta{State: Holder, Seq: 3, Epoch: 1}}
	st.Counters.Pages, st.Counters.NearDup = 1, 1 // the last one before
	short := len(EncodeMeta(&st, Stamp{}))
	st.Counters.Overdue[crawl.NumOverdueBuckets-1] = 1
	if long := len(EncodeMeta(&st, Stamp{})); long-short != 5+crawl.NumOverdueBuckets {
		t.Errorf("books of %d bytes, %d with revisits", short, long)
	}
}

// TestEarlierURLs reads what was canonical when it was stored: a store with such a URL
// opens, and its records stay under their keys.
func TestEarlierURLs(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"http://h.test/a^b?c", "https://xn--a-.h.test:81/"} {
		u, err := urlnorm.ParseStored(form)
		if err != nil {
			t.Fatal(err)
		}
		q := crawl.Item{URL: u}
		if it, err := DecodeItem(HostOf(u), 0, 0, EncodeQueued(&q, false, 0)); err != nil || it.URL != u {
			t.Errorf("item of %s: %q, %v", form, it.URL, err)
		}
		link := crawl.Target{URL: u}
		if l, err := DecodeLink(EncodeLink(&link)); err != nil || l != link {
			t.Errorf("link to %s: %q, %v", form, l.URL, err)
		}
	}
}

// FuzzDecode feeds every decoder with bytes from outside: an import brings
// those of another node. What is read without an error is written and read
// again to the same.
func FuzzDecode(f *testing.F) {
	u := canonical("http://h.test:81/x")
	item := crawl.Item{URL: u, NotBefore: noon, ETag: "e"}
	rec := crawl.Record{
		Item:      item,
		State:     crawl.Done,
		Status:    200,
		FetchedAt: noon,
		Reason:    "r",
		Digest:    [20]byte{1},
		Archive:   archived,
	}
	host := HostEntry{Awake: true, Wake: WakeSlot{2, 5}, Origins: []string{"h", "s:1"}}
	host.Bands[2] = BandQueue{1, 2, 9}
	planned, site := rec, host
	planned.Visits, planned.CheckAt, site.Site, site.NearStreak, site.Lease = "visits", noon, "site",
		3, 1<<63|9
	site.Blocks = []OpenBlock{{Band: 2, Number: 63, Left: 5},
		{Band: 2, Number: 95, Left: 1<<MaxBlock - 1}}
	block := Block{3: EncodeQueued(&item, false, 0), MaxBlock - 1: EncodeQueued(&item, true, 1)}
	found := rec
	found.Referrer = string(ReferrerOf("http://b.test/", "h.test"))
	shown := found
	shown.Rendering = crawl.Rendering{Rendered: true, Reason: "why", Milliseconds: 1200, Requests: 3}
	shown.Basis = 7
	moved := QueueEntry{
		Item:      item,
		Referrer:  ReferrerOf(u.String(), "h.test"),
		Scored:    true,
		Base:      200,
		MovedFrom: []QueueSlot{{6, 1}, {3, 1 << 30}},
	}
	place := DueAt(noon, "h.test", Fingerprint{1})
	st := PartState{Meta: Meta{State: Holder, Epoch: 1, To: "n"}}
	for _, b := range [][]byte{
		EncodeQueued(&item, true, 1), moved.Encode(), EncodeSites(&opic.Sites{3}), EncodeRecord(&rec),
		EncodeLink(&crawl.Target{URL: u}),
		EncodeLink(&crawl.Target{URL: u, From: "http://b.test/", Anchor: "a"}), EncodeHost(&host),
		EncodeRobots(&crawl.Robots{Body: []byte("b")}), EncodeState(&st), EncodeMeta(&st, Stamp{}),
		EncodeRecord(&planned), EncodeRecord(&found), EncodeRecord(&shown), EncodeHost(&site),
		AppendDueKey(nil, &place), EncodeDue(Estimate{[4]byte{1}, 2, 3}), block.Encode(), nil,
		{FormatVersion}, {99},
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if it, err := DecodeItem("h.test", 1, 2, b); err == nil {
			again, err := DecodeItem("h.test", 1, 2, EncodeQueued(&it, it.Refetch, 0))
			if err != nil || again != it {
				t.Fatalf("item %+v became %+v, %v", it, again, err)
			}
		}
		if q, err := DecodeQueued(b); err == nil {
			if q.Item.URL, err = JoinURL("h.test", q.HTTPS, q.Rest); err == nil {
				again, err := DecodeQueued(q.Encode())
				if err != nil || again.Scored != q.Scored || again.Base != q.Base ||
					!slices.Equal(again.MovedFrom, q.MovedFrom) || !bytes.Equal(again.Referrer, q.Referrer) ||
					again.Probe != q.Probe || len(q.MovedFrom) > MaxMoves {
					t.Fatalf("entry %+v became %+v, %v", q, again, err)
				}
			}
		}
		if s, err := DecodeSites(b); err == nil && len(b) > 1 {
			if again, err := DecodeSites(EncodeSites(&s)); err != nil || again != s {
				t.Fatalf("sites %x became %x, %v", s, again, err)
			}
		}
		if s, err := DecodeRecord(b); err == nil {
			if s.URL, err = JoinURL("h.test", s.HTTPS, s.Rest); err == nil {
				again, err := DecodeRecord(EncodeRecord(&s.Record))
				if again.URL = s.URL; err != nil || again.Record != s.Record {
					t.Fatalf("record %+v became %+v, %v", s.Record, again.Record, err)
				}
			}
		}
		if l, err := DecodeLink(b); err == nil {
			if again, err := DecodeLink(EncodeLink(&l)); err != nil || again != l {
				t.Fatalf("link %+v became %+v, %v", l, again, err)
			}
		}
		if h, err := DecodeHost(b); err == nil {
			if again, err := DecodeHost(EncodeHost(h)); err != nil || again.Site != h.Site ||
				!slices.Equal(again.Blocks, h.Blocks) {
				t.Fatalf("site %q, blocks %v became %q, %v, %v", h.Site, h.Blocks, again.Site, again.Blocks,
					err)
			}
		}
		if block, err := DecodeBlock(b); err == nil {
			if again, err := DecodeBlock(block.Encode()); err != nil || !reflect.DeepEqual(again, block) ||
				block.Left() == 0 {
				t.Fatalf("block %x became %x, %v", block, again, err)
			}
		}
		if e, err := DecodeDue(b); err == nil && !bytes.Equal(EncodeDue(e), b) {
			t.Fatalf("due page %x became %+v", b, e)
		}
		if d, ok := ParseDueKey(b); ok && !bytes.Equal(AppendDueKey(nil, &d), b) {
			t.Fatalf("place %x became %+v", b, d)
		}
		if h, fp, ok := ParseRecordKey(b); ok && !bytes.Equal(AppendRecordKey(nil, h, fp), b) {
			t.Fatalf("record key %x became %s %x", b, h, fp)
		}
		if s, err := DecodeState(1, b); err == nil {
			if again, err := DecodeState(1, EncodeState(&s)); err != nil || again != s {
				t.Fatalf("state %+v became %+v, %v", s, again, err)
			}
		}
		if m, err := DecodeMeta(b); err == nil {
			s := PartState{Meta: Meta{Epoch: m.epoch}}
			s.Apply(&m)
			if again, err := DecodeMeta(EncodeMeta(&s, m.Stamp)); err != nil || again != m {
				t.Fatalf("meta %+v became %+v, %v", m, again, err)
			}
		}
		if r, err := DecodeRobots("h.test", "h", b); err == nil {
			if again, err := DecodeRobots("h.test", "h", EncodeRobots(r)); err != nil ||
				!bytes.Equal(again.Body, r.Body) {
				t.Fatalf("robots %+v became %+v, %v", r, again, err)
			}
		}
		_, _, _ = ParseWakeKey(b)
		_, _ = ParseOutboxKey(b)
		_, _ = SeqOfQueueKey(b)
		_, _ = FingerprintOfKey(b)
	})
}
