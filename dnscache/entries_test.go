package dnscache

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A name whose servers go on failing is asked less and less often, and like any other
// once they have answered.
func TestFailuresBackOff(t *testing.T) {
	t.Parallel()
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := newEntries(10, o.Owner)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	fail := func(want time.Duration) {
		t.Helper()
		if _, err := s.put("a.test", result{
			err: failed("a.test", errors.New("SERVFAIL")),
		}, now, &o); err == nil {
			t.Fatal("a failure is an answer")
		}
		if _, _, known := s.get("a.test", now.Add(want-time.Millisecond)); !known {
			t.Errorf("the failure is kept for less than %v", want)
		}
		if _, _, known := s.get("a.test", now.Add(want)); known {
			t.Errorf("the failure is kept for more than %v", want)
		}
	}
	for _, want := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
		fail(want * time.Second)
	}
	if _, err := s.put("a.test", result{
		ttl:   time.Minute,
		addrs: nil,
		err:   notFound("a.test", "x"),
	}, now, &o); err == nil {
		t.Fatal("no address is one")
	}
	now = now.Add(time.Hour)
	fail(5 * time.Second)
}

// TestOwnersShare: an owner of thousands of names forgets its own once all is full, and a
// lone owner has everything.
func TestOwnersShare(t *testing.T) {
	t.Parallel()
	o, err := Options{
		Owner: func(name string) string { return name[strings.LastIndex(name, ".")+1:] },
	}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := newEntries(80, o.Owner)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	put := func(name string) { _, _ = s.put(name, result{ttl: time.Hour}, now, &o) }
	count := func(owner string) (n int) {
		for name := range s.byName {
			if o.Owner(name) == owner {
				n++
			}
		}
		return n
	}
	for i := range 100 {
		put(fmt.Sprintf("n%d.hog", i))
	}
	if n := count("hog"); n != 80 {
		t.Errorf("a lone owner has %d of 80 places", n)
	}
	for i := range 75 {
		put(fmt.Sprintf("n%d.good%d", i, i))
	}
	for i := range 1000 {
		put(fmt.Sprintf("m%d.hog", i))
	}
	if n := count("hog"); n != 10 || len(s.byName) != 80 || len(s.owners) != 71 ||
		s.order.Len() != 80 {
		t.Errorf("beside others an owner has %d of 80 places; %d names, %d owners", n, len(s.byName),
			len(s.owners))
	}
	if _, _, known := s.get("n74.good74", now); !known {
		t.Error("a good name was forgotten for the hog's")
	}
}
