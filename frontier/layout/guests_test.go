package layout

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// FuzzGuests: what is read of the table of guests is written to the same.
func FuzzGuests(f *testing.F) {
	md := crawl.Metadata{"a": {"1", "", "2"}, "": {}, "b": {"x"}}
	at := time.Unix(0, 5).UTC()
	for _, b := range [][]byte{
		nil, {FormatVersion}, {9},
		EncodeNote(&NoteEntry{
			HTTPS:    true,
			Created:  5,
			Refetch:  -7,
			Due:      9,
			Metadata: md,
			Rest:     []byte("/a"),
		}),
		EncodeGuest(&GuestEntry{
			Known:    true,
			Active:   true,
			Leased:   true,
			Created:  1,
			Due:      3,
			Metadata: md,
			Rest:     []byte(":8/"),
		}),
		EncodeGuestQueue(&GuestQueueEntry{
			URLs:    3,
			Active:  2,
			Changes: 9,
			Awake:   true,
			Wake:    4,
			Blocked: at,
			Delay:   3,
			Delayed: true,
			Last:    at,
			Limit:   7,
		}),
		EncodeGuestSums(
			&GuestSumsEntry{Queues: 1, ActiveQueues: 1, URLs: 5, Active: 2, Delay: 5, Limit: 9}),
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := DecodeNote(b); err == nil {
			if again, err := DecodeNote(EncodeNote(&n)); err != nil || !reflect.DeepEqual(again, n) {
				t.Fatalf("note %+v became %+v, %v", n, again, err)
			}
		}
		if g, err := DecodeGuest(b); err == nil {
			if again, err := DecodeGuest(EncodeGuest(&g)); err != nil || !reflect.DeepEqual(again, g) {
				t.Fatalf("guest %+v became %+v, %v", g, again, err)
			}
		}
		if q, err := DecodeGuestQueue(b); err == nil {
			if again, err := DecodeGuestQueue(EncodeGuestQueue(&q)); err != nil || again.URLs != q.URLs ||
				again.Wake != q.Wake || !again.Blocked.Equal(q.Blocked) {
				t.Fatalf("queue %+v became %+v, %v", q, again, err)
			}
		}
		if s, err := DecodeGuestSums(b); err == nil {
			if again, err := DecodeGuestSums(EncodeGuestSums(&s)); err != nil || again.URLs != s.URLs ||
				again.Active != s.Active {
				t.Fatalf("sums %+v became %+v, %v", s, again, err)
			}
		}
	})
}

// Keys of one crawl or host are never among those of another, and can be read back.
func TestGuestKeys(t *testing.T) {
	t.Parallel()
	fp := FingerprintOf("http://a/")
	for _, id := range []string{"a", "ab", strings.Repeat("x", crawl.MaxCrawlID), "ü"} {
		for _, h := range []crawl.Host{"a", "ab", "a.b", "[::1]"} {
			if got := HostOfGuestQueueKey(AppendGuestQueueKey(nil, id, h), id); got != h {
				t.Errorf("queue of %q and %q: %q", id, h, got)
			}
			if ms, got, ok := ParseGuestWakeKey(AppendGuestWakeKey(nil, id, 7, h), id); !ok || ms != 7 ||
				got != h {
				t.Errorf("wake of %q and %q: %d %q %v", id, h, ms, got, ok)
			}
			if ms, got, ok := ParseGuestDueKey(AppendGuestDueKey(nil, id, h, 9, fp)); !ok || ms != 9 ||
				got != fp {
				t.Errorf("due of %q and %q: %d %x %v", id, h, ms, got, ok)
			}
			if ms, host, got, ok := ParseDateKey(AppendDateKey(nil, 3, h, fp)); !ok || ms != 3 ||
				host != h || got != fp {
				t.Errorf("date of %q: %d %q %x %v", h, ms, host, got, ok)
			}
		}
	}
	if bytes.HasPrefix(AppendGuestKey(nil, "ab", "h", fp), AppendGuestsPrefix(nil, "a", "")) {
		t.Error("the crawl ab is in the crawl a")
	}
	if bytes.HasPrefix(AppendGuestKey(nil, "a", "hh", fp), AppendGuestsPrefix(nil, "a", "h")) {
		t.Error("the host hh is in the queue of h")
	}
}
