package visits

import (
	"bytes"
	"testing"
	"time"

	"crawlnode/recrawl/policy/estimate"
)

// TestSilence checks how long a page waits that its site lists as unchanged.
func TestSilence(t *testing.T) {
	const hour = time.Hour
	proved, unproved := Claims{Hits: 30, Quiet: 30}, Claims{Hits: 10, Misses: 6, Quiet: 30}
	by := func(site Claims) *Surroundings {
		return &Surroundings{
			Prior:   estimate.Gamma{Shape: 4, Rate: 4 * 100 * 3600},
			Price:   10000,
			Sitemap: site,
		}
	}
	base := Record{Weight: 1}.Planned(&week, by(proved)).Interval
	for _, c := range []struct {
		name     string
		page     Record
		site     Claims
		from, to time.Duration
	}{
		{"nothing is said", Record{}, proved, base, base},
		{"a site that has proved right", Record{Silent: 6 * hour}, proved, base + 5*hour, base + 6*hour},
		{"a site that has lied", Record{Silent: 6 * hour}, unproved, base, base},
		{"a site of which nothing is known", Record{Silent: 6 * hour}, Claims{}, base, base},
		{"a visit in four", Record{Silent: 100 * base}, proved, silentMost * base, silentMost * base},
		{"a change is claimed as well", Record{Silent: 6 * hour, Moved: true}, proved, base, base},
	} {
		c.page.Weight = 1
		if got := c.page.Planned(&week, by(c.site)).Interval; got < c.from || got > c.to {
			t.Errorf("%s: %v, want %v to %v", c.name, got, c.from, c.to)
		}
	}
	bounded := week
	bounded.Bounds.Max = base + hour
	if got := (Record{Weight: 1, Silent: 100 * base}).Planned(&bounded,
		by(proved)).Interval; got != bounded.Bounds.Max {
		t.Errorf("%v, the longest interval is %v", got, bounded.Bounds.Max)
	}
	after, _ := Record{Weight: 1, Silent: base}.Visited([20]byte{1},
		&Visit{Status: 200, Digest: [20]byte{1}, Elapsed: base}, &week, by(proved))
	if after.Silent != 0 {
		t.Errorf("after a visit the silence before it counts still: %v", after.Silent)
	}
}

// FuzzDecodeAll checks that what an older node wrote, and what a newer one writes, is read, and
// that an older one reads what this one writes.
func FuzzDecodeAll(f *testing.F) {
	r := Record{Weight: 1, Belief: week.Prior(), Past: []Past{{Status: 200}}}
	f.Add(r.Append(nil))
	r.Silent = 90 * time.Minute
	f.Add(r.AppendAll(nil))
	f.Add(append(r.Append(nil), markSilent))
	f.Add(append(r.Append(nil), "later"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeAll(b)
		old, _, oldErr := Decode(b)
		if (err == nil) != (oldErr == nil) {
			t.Fatalf("%v, and by an older node %v", err, oldErr)
		}
		if err != nil {
			return
		}
		if r.Silent < 0 || r.Silent > maxWait {
			t.Errorf("a silence of %v", r.Silent)
		}
		again, err := DecodeAll(r.AppendAll(nil))
		if err != nil || again.Silent != r.Silent || !bytes.Equal(again.Append(nil), r.Append(nil)) {
			t.Errorf("%+v became %+v (%v)", r, again, err)
		}
		if !bytes.Equal(old.Append(nil), r.Append(nil)) {
			t.Errorf("%+v is %+v to an older node", r, old)
		}
	})
}
