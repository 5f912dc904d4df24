package frontier

import (
	"bytes"
	"fmt"
	"testing"
)

func TestDamagedFilterFile(t *testing.T) {
	t.Parallel()
	fl := newFilter(10)
	fl.add(fingerprintOf("x"))
	var b bytes.Buffer
	if err := writeFilters(&b, []savedFilter{{generation{1, 2}, 3, fl}, {generation{4, 5}, 6, newFilter(0)}}); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	got, err := readFilters(bytes.NewReader(good), int64(len(good)))
	if err != nil || len(got) != 2 || got[0].gen != (generation{1, 2}) || got[0].seq != 3 || got[0].filter.count != 1 || !got[0].filter.maybe(fingerprintOf("x")) {
		t.Fatalf("read back %+v, %v", got, err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 4
		if _, err := readFilters(bytes.NewReader(bad), int64(len(bad))); err == nil {
			t.Fatalf("a flipped bit in byte %d was not noticed", i)
		}
	}
	for n := range len(good) {
		if _, err := readFilters(bytes.NewReader(good[:n]), int64(n)); err == nil {
			t.Fatalf("cut to %d bytes, not noticed", n)
		}
	}
}

func FuzzFilterFile(f *testing.F) {
	var b bytes.Buffer
	if err := writeFilters(&b, []savedFilter{{generation{1, 2}, 3, newFilter(0)}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(filterMagic + "\xff\xff\xff\xff"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		saved, err := readFilters(bytes.NewReader(b), int64(len(b)))
		for _, s := range saved {
			s.filter.add(fingerprintOf("any"))
			if err == nil && !s.filter.maybe(fingerprintOf("any")) {
				t.Fatal("a filter forgets")
			}
		}
	})
}

// TestFilterRate checks the promised rate of false maybes at the capacity.
func TestFilterRate(t *testing.T) {
	t.Parallel()
	fl := newFilter(20_000)
	for i := range fl.capacity {
		fl.add(fingerprintOf(fmt.Sprint("in", i)))
	}
	if bits := float64(fl.bits.Cap()) / float64(fl.capacity); bits < 9 || bits > 10 {
		t.Errorf("%.1f bits a URL", bits)
	}
	maybes := 0
	for i := range 20_000 {
		if fl.maybe(fingerprintOf(fmt.Sprint("out", i))) {
			maybes++
		}
	}
	if maybes > 300 {
		t.Errorf("%d of 20,000 new URLs are maybe", maybes)
	}
}

func TestSeenCache(t *testing.T) {
	t.Parallel()
	c := newSeenCache(1000, 42)
	if len(c.slots) != 1024 {
		t.Fatalf("%d slots", len(c.slots))
	}
	g := generation{3, 1}
	for i := range 100_000 {
		k := c.key(g, fmt.Sprint(i))
		if c.has(k) {
			t.Fatalf("%d is there before it was added", i)
		}
		c.add(k)
		c.add(k)
		if !c.has(k) {
			t.Fatalf("%d is not there", i)
		}
	}
	if c.has(c.key(generation{3, 2}, "99999")) || c.has(c.key(generation{4, 1}, "99999")) {
		t.Fatal("another generation knows the URL")
	}
}
