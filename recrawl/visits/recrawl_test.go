//race:none

package visits

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"crawlnode/recrawl/policy/estimate"
)

var week = Rules{Mode: Adaptive, Interval: 7 * 24 * time.Hour, Bounds: bounds, ForgetAfter: 6}

func TestJudge(t *testing.T) {
	old, other := [20]byte{1}, [20]byte{2}
	const text = 0xf0f0f0f0f0f0f0f0
	for _, c := range []struct {
		name   string
		record Record
		visit  Visit
		by     Compare
		want   Verdict
	}{
		{"304", Record{}, Visit{Status: 304}, ByText, Unchanged},
		{"same payload", Record{}, Visit{Status: 200, Digest: old}, ByPayload, Unchanged},
		{"three bits of the text", Record{Text: text}, Visit{Status: 200, Digest: other, Text: text ^ 7}, ByText, Unchanged},
		{"four bits of the text", Record{Text: text}, Visit{Status: 200, Digest: other, Text: text ^ 15}, ByText, Changed},
		{"three bits, by payload", Record{Text: text}, Visit{Status: 200, Digest: other, Text: text ^ 7}, ByPayload, Changed},
		{"no text", Record{}, Visit{Status: 200, Digest: other, Text: text}, ByText, Changed},
		{"text gone", Record{Text: text}, Visit{Status: 200, Digest: other}, ByText, Changed},
		{"a redirect instead", Record{Text: text}, Visit{Status: 301, Digest: other}, ByText, Changed},
		{"404", Record{}, Visit{Status: 404}, ByText, Gone},
		{"410", Record{}, Visit{Status: 410}, ByText, Gone},
		{"back with the same payload", Record{Misses: 2}, Visit{Status: 200, Digest: old}, ByText, Changed},
		{"503", Record{}, Visit{Status: 503}, ByText, Unknown},
		{"403", Record{}, Visit{Status: 403}, ByText, Unknown},
		{"no answer", Record{}, Visit{}, ByText, Unknown},
		{"content that nobody tells", Record{Text: text}, Visit{Status: 200}, ByText, Unknown},
		{"only the text is told", Record{Text: text}, Visit{Status: 200, Text: text ^ 7}, ByText, Unchanged},
		{"only another text is told", Record{Text: text}, Visit{Status: 200, Text: text ^ 15}, ByText, Changed},
		{"only the text is told, by payload", Record{Text: text}, Visit{Status: 200, Text: text}, ByPayload, Unknown},
		{"back, with content that nobody tells", Record{Misses: 2}, Visit{Status: 200}, ByText, Changed},
	} {
		if got := c.record.Judge(old, &c.visit, c.by); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestUntoldContent: visits of a worker that tells nothing of the content teach nothing of the
// page, neither that it never changes; its plan follows the settings.
func TestUntoldContent(t *testing.T) {
	by := Surroundings{Prior: week.Prior(), Price: 1000}
	first := Record{}.First(&Visit{Status: 200}, &week, &by)
	r := first
	r.Moved = true // its site claims a change, which the visit answers
	for range 50 {
		var verdict Verdict
		if r, verdict = r.Visited([20]byte{}, &Visit{
			Elapsed: time.Hour,
			Status:  200,
		}, &week, &by); verdict != Unknown {
			t.Fatal(verdict)
		}
	}
	if r.Interval != first.Interval || r.Belief != first.Belief || len(r.Past) != MaxPast ||
		r.Past[0].Changed || r.Moved {
		t.Errorf("after 50 visits: interval %v, belief %v; at first %v, %v; past %+v", r.Interval,
			r.Belief, first.Interval, first.Belief, r.Past)
	}
	shorter := week
	shorter.Mode, shorter.Interval = Fixed, 2*time.Hour
	if r, _ = r.Visited([20]byte{}, &Visit{
		Elapsed: time.Hour,
		Status:  200,
	}, &shorter, &by); r.Interval != 2*time.Hour {
		t.Errorf("with another interval: %v", r.Interval)
	}
	r.Misses = 3
	if r, verdict := r.Visited([20]byte{}, &Visit{
		Elapsed: time.Hour,
		Status:  200,
	}, &week, &by); verdict != Changed || r.Misses > 0 {
		t.Errorf("back again: %v, %d misses", verdict, r.Misses)
	}
}

// TestGonePage: a missing page is tried at distances that double, then forgotten; 410 is meant.
func TestGonePage(t *testing.T) {
	by := Surroundings{Prior: week.Prior(), Price: 1000}
	var r Record
	var at []time.Duration
	for !r.Forgotten(&week) {
		r, _ = r.Visited([20]byte{}, &Visit{Status: 404, Elapsed: time.Hour}, &week, &by)
		at = append(at, r.Interval/(24*time.Hour))
	}
	if r.Past[0].Changed || !r.Past[len(at)-1].Changed {
		t.Errorf("the first answer that the page is gone is a change, and no other: %+v", r.Past)
	}
	if want := []time.Duration{7, 14, 28, 56, 90, 90}; !reflect.DeepEqual(at, want) {
		t.Errorf("tried again after %v days, want %v", at, want)
	}
	r = Record{}
	for range 2 {
		r, _ = r.Visited([20]byte{}, &Visit{Status: 410}, &week, &by)
	}
	if !r.Forgotten(&week) {
		t.Errorf("after two 410 the page is tried again: %+v", r)
	}
	r, verdict := r.Visited([20]byte{1}, &Visit{Status: 200, Digest: [20]byte{1}, Elapsed: time.Hour},
		&week, &by)
	if verdict != Changed || r.Misses != 0 {
		t.Errorf("a page that is back is %v, with %d misses", verdict, r.Misses)
	}
}

// TestModes: fixed intervals are fixed; adaptive ones become long for a quiet page and short for a
// busy one; a failure teaches nothing.
func TestModes(t *testing.T) {
	by := Surroundings{Prior: week.Prior(), Price: 3600}
	after := func(rules Rules, status int) Record {
		r := Record{Weight: 1}
		for range 12 {
			v := Visit{Status: status, Elapsed: 24 * time.Hour, Digest: [20]byte{9}}
			r, _ = r.Visited([20]byte{1}, &v, &rules, &by)
		}
		return r
	}
	fixed := week
	fixed.Mode = Fixed
	if r := after(fixed, 200); r.Interval != week.Interval {
		t.Errorf("the fixed interval is %v", r.Interval)
	}
	quiet, busy := after(week, 304), after(week, 200)
	if quiet.Interval < 2*busy.Interval {
		t.Errorf("a page that never changes is visited each %v, one that always does each %v",
			quiet.Interval, busy.Interval)
	}
	if r := after(week, 503); r.Stats != (estimate.Stats{}) || len(r.Past) != MaxPast {
		t.Errorf("twelve failures taught %+v, history of %d", r.Stats, len(r.Past))
	}
	by.MaxAge = time.Hour
	first := Record{Weight: 1}.Planned(&week, &by)
	by.MaxAge = 0
	if without := (Record{Weight: 1}).Planned(&week, &by); first.Belief.Mean() <
		1.5*without.Belief.Mean() {
		t.Errorf("max-age of an hour: believed to change once in %.0f s, without it in %.0f s",
			1/first.Belief.Mean(), 1/without.Belief.Mean())
	}
}

// TestClaimed: a claim of a site that was always right brings the visit forward, one of a liar
// does not, and no claim brings it before the shortest interval.
func TestClaimed(t *testing.T) {
	r := Record{
		Weight:   1,
		Belief:   estimate.Gamma{Shape: 3, Rate: 3 * 30 * 86400},
		Interval: 30 * 24 * time.Hour,
	}
	var honest, liar Claims
	for i := range 60 {
		honest = honest.Check(i%2 == 0, i%2 == 0)
		liar = liar.Check(true, i%2 == 0)
	}
	const elapsed = 24 * time.Hour
	before, after, lied := r.Interval, r.Claimed(true, honest, elapsed, &week), r.Claimed(true, liar,
		elapsed, &week)
	if after > before*9/10 || lied < before*98/100 || lied > before*102/100 {
		t.Errorf("visit after %v; with a claim of an honest site after %v, of a liar after %v", before,
			after, lied)
	}
	r.Belief.Shape = 0.3
	if got := r.Claimed(true, honest, r.Interval-time.Hour, &week); got < week.Bounds.Min {
		t.Errorf("a claim makes the interval %v", got)
	}
	fixed := week
	fixed.Mode = Fixed
	if got := r.Claimed(true, honest, elapsed, &fixed); got != r.Interval {
		t.Errorf("a claim changes a fixed interval to %v", got)
	}
}

func TestConditional(t *testing.T) {
	by := Surroundings{Prior: week.Prior(), Price: 3600}
	count := func(v Claims) (full int) {
		var r Record
		for range 32 {
			status := 304
			if !r.Conditional(v) {
				status = 200
				full++
			}
			r, _ = r.Visited([20]byte{1}, &Visit{Status: status, Digest: [20]byte{1}, Elapsed: time.Hour},
				&week, &by)
		}
		return full
	}
	for name, c := range map[string]struct {
		validators Claims
		want       int
	}{
		"nothing is known":         {Claims{}, 4},
		"two changes were told":    {Claims{Hits: 1.97}, 2},
		"it seldom changes":        {Claims{Quiet: 16}, 2},
		"a change was hidden":      {Claims{Hits: 3, Misses: 1}, 16},
		"long ago":                 {Claims{Hits: 3, Misses: 0.4}, 2},
		"more are hidden than not": {Claims{Hits: 1, Misses: 1}, 32},
	} {
		if got := count(c.validators); got != c.want {
			t.Errorf("%s: %d of 32 visits ask for the content, want %d", name, got, c.want)
		}
	}
}

// TestSiteThatHides: what a page was taught by 304s is forgotten once its site has proved to hide
// changes, and the next content speaks of all the time since the last one.
func TestSiteThatHides(t *testing.T) {
	by := Surroundings{Prior: week.Prior(), Price: 36}
	var r Record
	r, _ = r.Visited([20]byte{1}, &Visit{Status: 200, Digest: [20]byte{1}, Elapsed: 24 * time.Hour},
		&week, &by)
	for range 5 {
		r, _ = r.Visited([20]byte{1}, &Visit{Status: 304, Elapsed: 24 * time.Hour}, &week, &by)
	}
	believed := r.Belief.Mean()
	by.Hides = true
	doubted := r.Planned(&week, &by)
	if doubted.Known() || doubted.Belief.Mean() <= believed || doubted.Interval >= r.Interval {
		t.Errorf("%v and %v are planned, %g and %g changes a second believed", r.Interval,
			doubted.Interval, believed, doubted.Belief.Mean())
	}
	if again := doubted.Planned(&week, &by); again.Stats != doubted.Stats ||
		again.Belief != doubted.Belief {
		t.Errorf("planned again it is %+v", again)
	}
	told, _ := r.Visited([20]byte{1}, &Visit{Status: 304, Elapsed: 24 * time.Hour}, &week, &by)
	if told.Known() {
		t.Errorf("a 304 has taught %+v", told.Stats)
	}
	told, verdict := told.Visited([20]byte{1},
		&Visit{Status: 200, Digest: [20]byte{2}, Elapsed: 24 * time.Hour}, &week, &by)
	want := estimate.Stats{}.Observe(estimate.Observation{Interval: 7 * 24 * time.Hour, Changed: true})
	if verdict != Changed || told.Stats != want {
		t.Errorf("%v, %+v, want %+v", verdict, told.Stats, want)
	}
}

// randomRecord is a record as it would be read back.
func randomRecord(t *testing.T, r *rand.Rand) Record {
	t.Helper()
	x := Record{
		Weight:   r.Float64(),
		Text:     r.Uint64(),
		Misses:   r.IntN(9),
		Kind:     Kind(r.IntN(int(NumKinds))),
		Listed:   r.IntN(2) == 0,
		Moved:    r.IntN(2) == 0,
		Full:     r.IntN(20),
		Interval: time.Duration(r.IntN(1e9)) * time.Millisecond,
	}
	x.Belief = estimate.Gamma{Shape: math.Exp(r.NormFloat64()), Rate: math.Exp(r.NormFloat64() + 9)}
	for range r.IntN(MaxPast + 1) {
		x.Stats = x.Stats.Observe(
			estimate.Observation{Interval: time.Duration(r.IntN(1e15)), Changed: r.IntN(2) == 0})
		x.note(Past{
			Before:  time.Duration(r.IntN(1e6)) * time.Second,
			Status:  200 + r.IntN(300),
			Took:    time.Duration(r.IntN(9999)) * time.Millisecond,
			Changed: r.IntN(2) == 0,
		})
	}
	back, rest, err := Decode(x.Append(nil))
	if err != nil || len(rest) > 0 {
		t.Fatalf("%+v: %v, %d bytes left", x, err, len(rest))
	}
	return back
}

// TestRecordRoundTrip: what was read is written and read again as it is, whatever stands behind
// it, and with a full history takes no more than a hundred bytes.
func TestRecordRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	longest := 0
	for range 2000 {
		x := randomRecord(t, r)
		b := x.Append(nil)
		longest = max(longest, len(b))
		back, rest, err := Decode(append(bytes.Clone(b), "behind"...))
		if err != nil || string(rest) != "behind" || !reflect.DeepEqual(back, x) {
			t.Fatalf("%+v became %+v (%v, %q)", x, back, err, rest)
		}
		for n := range b {
			if _, _, err := Decode(b[:n]); err == nil {
				t.Fatalf("the first %d of %d bytes are read as a record", n, len(b))
			}
		}
	}
	if longest > 100 {
		t.Errorf("a record takes %d bytes", longest)
	}
	t.Logf("the longest record has %d bytes", longest)
}

func FuzzDecode(f *testing.F) {
	r := Record{Weight: 1, Belief: week.Prior(), Past: []Past{{Status: 200}}}
	f.Add(r.Append(nil))
	f.Add([]byte{FormatVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, rest, err := Decode(b)
		if err != nil {
			return
		}
		again, _, err := Decode(r.Append(nil))
		if err != nil || !reflect.DeepEqual(again, r) || len(rest) > len(b) {
			t.Fatalf("%+v became %+v (%v)", r, again, err)
		}
		by := Surroundings{Prior: week.Prior(), Price: 100}
		next, _ := r.Visited([20]byte{}, &Visit{Status: 200, Elapsed: r.Interval}, &week, &by)
		if next.Interval < week.Bounds.Min || next.Interval > week.Bounds.Max {
			t.Errorf("%+v is visited again after %v", r, next.Interval)
		}
		if i := r.Claimed(true, Claims{Hits: 30, Quiet: 30}, r.Interval/2, &week); i < 0 {
			t.Errorf("a claim makes the interval %v", i)
		}
	})
}

// TestSiteSums: what was counted is taken out again, through any number of visits.
func TestSiteSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var site Site
	var known []Record
	for n := range 5000 {
		r := randomRecord(t, rng)
		if n > 100 {
			old := rng.IntN(len(known))
			site.Discount(&known[old])
			known[old] = known[len(known)-1]
			known = known[:len(known)-1]
		}
		site.Count(&r)
		known = append(known, r)
		var err error
		if site, err = DecodeSite(string(site.Append(nil))); err != nil {
			t.Fatal(err)
		}
	}
	var want Site
	for i := range known {
		want.Count(&known[i])
	}
	near := func(a, b float64) bool {
		return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b), 1e-9)
	}
	if !near(site.Pool.Pages, want.Pool.Pages) || !near(site.Pool.Mean, want.Pool.Mean) ||
		!near(site.Pool.MeanLog, want.Pool.MeanLog) || !near(site.Wanted, want.Wanted) {
		t.Errorf("sums %+v, want %+v", site, want)
	}
	for i := range known {
		site.Discount(&known[i])
	}
	if site.Pool != (estimate.Pool{}) || site.Wanted > 1e-6*want.Wanted {
		t.Errorf("without a page the sums are %+v", site)
	}
}

// TestUnknownBefore: a visit teaches nothing of the rate when it is not known how long ago the one
// before was.
func TestUnknownBefore(t *testing.T) {
	by := Surroundings{Prior: week.Prior(), Price: 1000}
	first := Record{Weight: 1}.First(&Visit{Status: 200, Text: 1}, &week, &by)
	for name, v := range map[string]Visit{
		"no time":                  {Status: 200, Digest: [20]byte{2}},
		"the timeline stood still": {Status: 200, Digest: [20]byte{2}, Elapsed: time.Hour, Blurred: true},
		"a clock that went back":   {Status: 200, Digest: [20]byte{2}, Elapsed: -time.Hour},
	} {
		r, verdict := first.Visited([20]byte{1}, &v, &week, &by)
		if verdict != Changed || r.Stats != first.Stats || r.Known() {
			t.Errorf("%s: %v, %+v", name, verdict, r.Stats)
		}
	}
}

// TestUnansweredVisits: what a visit finds is of all the time since the last one that was answered.
func TestUnansweredVisits(t *testing.T) {
	by := Surroundings{Prior: week.Prior(), Price: 1000}
	first := Record{Weight: 1}.First(&Visit{Status: 200, Text: 1}, &week, &by)
	r := first
	for _, status := range []int{503, 0} {
		r, _ = r.Visited([20]byte{1}, &Visit{Status: status, Elapsed: 24 * time.Hour}, &week, &by)
		if r.Interval != first.Interval || r.Stats != first.Stats {
			t.Errorf("status %d: %+v", status, r)
		}
	}
	r, _ = r.Visited([20]byte{1}, &Visit{Status: 304, Elapsed: 24 * time.Hour}, &week, &by)
	if want := (3 * 24 * time.Hour).Seconds(); math.Abs(r.Stats.Quiet-want) > 1e-6*want {
		t.Errorf("unchanged for %v s, want %v", r.Stats.Quiet, want)
	}
}

// FuzzSite: any bytes are a site or refused, and one that was read is written as it was.
func FuzzSite(f *testing.F) {
	site := Site{Pool: estimate.Pool{Pages: 3, Mean: 1e-5, MeanLog: -30}, Factor: 2, Wanted: 0.1}
	site.Dates.Hits = 4
	f.Add("")
	f.Add(string(site.Append(nil)))
	f.Add(string(bytes.Repeat([]byte{1}, packedSite)))
	f.Fuzz(func(t *testing.T, b string) {
		s, err := DecodeSite(b)
		if err != nil {
			return
		}
		if again, err := DecodeSite(string(s.Append(nil))); err != nil || again != s {
			t.Fatalf("site %+v became %+v, %v", s, again, err)
		}
	})
}

func BenchmarkVisited(b *testing.B) {
	by := Surroundings{Prior: week.Prior(), Price: 3600}
	r := Record{Weight: 1}
	v := Visit{Status: 200, Elapsed: 24 * time.Hour, Digest: [20]byte{9}}
	for b.Loop() {
		r, _ = r.Visited([20]byte{1}, &v, &week, &by)
	}
}

func BenchmarkRecord(b *testing.B) {
	r := Record{Weight: 1, Belief: week.Prior(), Past: make([]Past, MaxPast)}
	var buf []byte
	for b.Loop() {
		buf = r.Append(buf[:0])
		if _, _, err := Decode(buf); err != nil {
			b.Fatal(err)
		}
	}
}
