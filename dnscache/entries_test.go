package dnscache

import (
	"errors"
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
	s := newEntries(10)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	fail := func(want time.Duration) {
		t.Helper()
		if _, err := s.put("a.test", result{err: failed("a.test", errors.New("SERVFAIL"))}, now, &o); err == nil {
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
	if _, err := s.put("a.test", result{ttl: time.Minute, addrs: nil, err: notFound("a.test", "x")}, now, &o); err == nil {
		t.Fatal("no address is one")
	}
	now = now.Add(time.Hour)
	fail(5 * time.Second)
}
