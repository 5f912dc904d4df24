package rank

import (
	"math"
	"testing"
	"time"
)

// TestCloseness: the nearer the words, the more; neighbours in the order of the question most.
func TestCloseness(t *testing.T) {
	at := func(p ...uint32) []uint32 { return p }
	falling := []struct {
		name      string
		positions [][]uint32
	}{
		{"a row", [][]uint32{at(1, 2400), at(2401), at(7, 2402)}},
		{"neighbours in another order", [][]uint32{at(2402), at(2400), at(2401)}},
		{"two words between", [][]uint32{at(2400), at(2404), at(2402)}},
		{"a passage of twelve", [][]uint32{at(2400), at(2411), at(2405)}},
		{"a page", [][]uint32{at(2400), at(2600), at(2500)}},
		{"different fields", [][]uint32{at(1), at(200), at(3000)}},
		{"nothing", [][]uint32{nil, nil, nil}},
	}
	last := math.Inf(1)
	for _, c := range falling {
		got := Closeness(c.positions, []float64{1, 1, 1})
		if got > last || got < 0 || got > 1 {
			t.Errorf("%s: %v, after %v", c.name, got, last)
		}
		last = got
	}
	if got := Closeness(falling[0].positions, []float64{3, 2, 1}); math.Abs(got-1) > 1e-9 {
		t.Errorf("a row is %v", got)
	}
	if got := Closeness([][]uint32{at(5)}, []float64{1}); got != 0 {
		t.Errorf("one word is %v", got)
	}
	two := Closeness([][]uint32{at(5), at(6), nil}, []float64{1, 1, 1})
	if two <= 0.4 || two >= 1 {
		t.Errorf("two neighbours of three words are %v", two)
	}
}

// TestImpactAndWeight: what is rarer, more often there, or in a shorter field counts more; hostile
// numbers stay in bounds.
func TestImpactAndWeight(t *testing.T) {
	impact := func(f Field, frequency, length uint32) byte {
		var fs, ls [Fields]uint32
		fs[f], ls[f] = frequency, length
		return Impact(&fs, &ls)
	}
	if !(impact(Title, 1, 5) > impact(Text, 1, 300) && impact(Text, 3, 300) > impact(Text, 1, 300) &&
		impact(Text, 1, 100) > impact(Text, 1, 3000)) {
		t.Error("the order of impacts is wrong")
	}
	if impact(Text, math.MaxUint32, 1) < 250 || impact(Text, 1, math.MaxUint32) != 1 {
		t.Error("impacts at the bounds")
	}
	if Weight(1, 1000) <= Weight(900, 1000) || Weight(5000, 1000) <= 0 {
		t.Error("weights")
	}
	for _, v := range []float64{math.NaN(), -1, 0, 1, math.Inf(1)} {
		if s := Static(v, time.Hour); !(s >= 0 && s <= importanceShare+freshShare) {
			t.Errorf("importance %v gives %v", v, s)
		}
	}
}
