package frontier

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"crawlnode/crawl"
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
		w := newWriter(10)
		w.time(tc.in)
		r := newReader(w.b)
		if got := r.time(); !got.Equal(tc.want) || r.end("time") != nil {
			t.Errorf("%v came back as %v, want %v", tc.in, got, tc.want)
		}
	}
}

func TestWakeNeverTooEarly(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{noon, noon.Truncate(time.Millisecond), noon.Add(-time.Nanosecond), time.Unix(0, 1).UTC()} {
		w := wakeOf(3, &crawl.HostState{NotBefore: at})
		if got := w.time(); got.Before(at) || got.Sub(at) >= time.Millisecond || w.band != 3 {
			t.Errorf("%v became %v", at, got)
		}
	}
	late := crawl.HostState{NotBefore: noon, FrozenUntil: noon.Add(time.Hour), HoldUntil: noon.Add(2 * time.Hour)}
	if got := wakeOf(0, &late).time(); got.Before(late.HoldUntil) {
		t.Errorf("a held host wakes at %v", got)
	}
	if got := wakeOf(0, &crawl.HostState{}).time(); !got.IsZero() {
		t.Errorf("a host that may start at once wakes at %v", got)
	}
}

// TestValuesSurvive writes and reads each kind of value.
func TestValuesSurvive(t *testing.T) {
	t.Parallel()
	u := canonical("https://[::1]:8443/a%20b?q=1")
	item := crawl.Item{URL: u, Band: 3, Seq: 1 << 40, Depth: 5, Hops: 2, Via: crawl.ViaSitemap, Attempts: 2, NotBefore: noon, ETag: "e", LastModified: "m"}
	got, err := decodeItem(hostOf(u), item.Band, item.Seq, encodeQueued(&item, true, 2))
	if err != nil || got != item {
		t.Errorf("item %+v came back as %+v, %v", item, got, err)
	}
	rec := crawl.Record{Item: item, State: crawl.Failed, Status: 503, FetchedAt: noon, Reason: "no", Digest: [20]byte{9}, Archive: archived}
	rec.NotBefore = time.Time{}
	s, err := decodeRecord(encodeRecord(&rec))
	if err != nil || !s.is(u) {
		t.Errorf("record: %+v, %v", s, err)
	}
	s.URL = u
	if s.Record != rec {
		t.Errorf("record %+v came back as %+v", rec, s.Record)
	}
	link := crawl.Target{URL: u, Depth: 3, Band: 7, Hops: 1, Via: crawl.ViaAsset, Again: true, Suspicious: true}
	if l, err := decodeLink(encodeLink(&link)); err != nil || l != link {
		t.Errorf("link %+v came back as %+v, %v", link, l, err)
	}
	robots := &crawl.Robots{Origin: "https://[::1]:8443", Verdict: crawl.RobotsDenyAll, Status: 500, Fetched: noon, Expires: noon, CrawlDelay: 9, Body: []byte("b")}
	tag := originTag(hostOf(u), robots.Origin)
	if r, err := decodeRobots(hostOf(u), tag, encodeRobots(robots)); err != nil || !reflect.DeepEqual(r, robots) || tag != "s:8443" {
		t.Errorf("robots %+v came back as %+v, %v", robots, r, err)
	}
	st := partState{Meta: Meta{Partition: 3, State: Released, Epoch: 4, MaxEpoch: 5, Seq: 6, Generation: 7, To: "n", View: 8, Sealed: true}, lastGeneration: 9}
	if got, err := decodeState(3, encodeState(&st)); err != nil || got != st {
		t.Errorf("state %+v came back as %+v, %v", st, got, err)
	}
	st.outboxNext = 17
	i := int64(0)
	st.Counters.Each(func(v *int64) { i++; *v = i * i })
	if m, err := decodeMeta(encodeMeta(&st, stamp{})); err != nil || m.seq != 6 || m.epoch != 4 || m.outboxNext != 17 || m.counters != st.Counters {
		t.Errorf("meta came back as %+v, %v", m, err)
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
		if it, err := decodeItem(hostOf(u), 0, 0, encodeQueued(&q, false, 0)); err != nil || it.URL != u {
			t.Errorf("item of %s: %q, %v", form, it.URL, err)
		}
		link := crawl.Target{URL: u}
		if l, err := decodeLink(encodeLink(&link)); err != nil || l != link {
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
	rec := crawl.Record{Item: item, State: crawl.Done, Status: 200, FetchedAt: noon, Reason: "r", Digest: [20]byte{1}, Archive: archived}
	host := hostEntry{awake: true, wake: wake{2, 5}, origin: []string{"h", "s:1"}}
	host.bands[2] = bandQueue{1, 2, 9}
	st := partState{Meta: Meta{State: Holder, Epoch: 1, To: "n"}}
	for _, b := range [][]byte{
		encodeQueued(&item, true, 1), encodeRecord(&rec), encodeLink(&crawl.Target{URL: u}), encodeHost(&host),
		encodeRobots(&crawl.Robots{Body: []byte("b")}), encodeState(&st), encodeMeta(&st, stamp{}), nil, {formatVersion}, {99},
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if it, err := decodeItem("h.test", 1, 2, b); err == nil {
			again, err := decodeItem("h.test", 1, 2, encodeQueued(&it, false, 0))
			if err != nil || again != it {
				t.Fatalf("item %+v became %+v, %v", it, again, err)
			}
		}
		if s, err := decodeRecord(b); err == nil {
			if s.URL, err = joinURL("h.test", s.https, s.rest); err == nil {
				again, err := decodeRecord(encodeRecord(&s.Record))
				if again.URL = s.URL; err != nil || again.Record != s.Record {
					t.Fatalf("record %+v became %+v, %v", s.Record, again.Record, err)
				}
			}
		}
		if l, err := decodeLink(b); err == nil {
			if again, err := decodeLink(encodeLink(&l)); err != nil || again != l {
				t.Fatalf("link %+v became %+v, %v", l, again, err)
			}
		}
		if h, err := decodeHost(b); err == nil {
			_ = encodeHost(h)
		}
		if s, err := decodeState(1, b); err == nil {
			if again, err := decodeState(1, encodeState(&s)); err != nil || again != s {
				t.Fatalf("state %+v became %+v, %v", s, again, err)
			}
		}
		if m, err := decodeMeta(b); err == nil {
			s := partState{Meta: Meta{Epoch: m.epoch}}
			s.apply(&m)
			if again, err := decodeMeta(encodeMeta(&s, m.stamp)); err != nil || again != m {
				t.Fatalf("meta %+v became %+v, %v", m, again, err)
			}
		}
		if r, err := decodeRobots("h.test", "h", b); err == nil {
			if again, err := decodeRobots("h.test", "h", encodeRobots(r)); err != nil || !bytes.Equal(again.Body, r.Body) {
				t.Fatalf("robots %+v became %+v, %v", r, again, err)
			}
		}
		_, _, _ = parseWakeKey(b)
		_, _ = parseOutboxKey(b)
		_, _ = seqOfQueueKey(b)
		_, _ = fingerprintOfKey(b)
	})
}
