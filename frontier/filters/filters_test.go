package filters

import (
	"bytes"
	"fmt"
	"testing"

	"crawlnode/frontier/layout"
)

func TestDamagedFilterFile(t *testing.T) {
	t.Parallel()
	fl := NewURLs(10)
	fl.Add(layout.FingerprintOf("x"))
	var b bytes.Buffer
	if err := Write(&b, []Saved{{layout.Generation{Partition: 1, Number: 2}, 3, fl},
		{layout.Generation{Partition: 4, Number: 5}, 6, NewURLs(0)}}); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	got, err := Read(bytes.NewReader(good), int64(len(good)))
	if err != nil || len(got) != 2 || got[0].Gen != (layout.Generation{Partition: 1, Number: 2}) ||
		got[0].Seq != 3 || got[0].Filter.Count != 1 || !got[0].Filter.Maybe(layout.FingerprintOf("x")) {
		t.Fatalf("read back %+v, %v", got, err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 4
		if _, err := Read(bytes.NewReader(bad), int64(len(bad))); err == nil {
			t.Fatalf("a flipped bit in byte %d was not noticed", i)
		}
	}
	for n := range len(good) {
		if _, err := Read(bytes.NewReader(good[:n]), int64(n)); err == nil {
			t.Fatalf("cut to %d bytes, not noticed", n)
		}
	}
}

func FuzzFilterFile(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, []Saved{
		{layout.Generation{Partition: 1, Number: 2}, 3, NewURLs(0)}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(filterMagic + "\xff\xff\xff\xff"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		saved, err := Read(bytes.NewReader(b), int64(len(b)))
		for _, s := range saved {
			s.Filter.Add(layout.FingerprintOf("any"))
			if err == nil && !s.Filter.Maybe(layout.FingerprintOf("any")) {
				t.Fatal("a filter forgets")
			}
		}
	})
}

// TestFilterRate checks the promised rate of false maybes at the capacity.
func TestFilterRate(t *testing.T) {
	t.Parallel()
	fl := NewURLs(20_000)
	for i := range fl.Capacity {
		fl.Add(layout.FingerprintOf(fmt.Sprint("in", i)))
	}
	if bits := float64(fl.bits.Cap()) / float64(fl.Capacity); bits < 9 || bits > 10 {
		t.Errorf("%.1f bits a URL", bits)
	}
	maybes := 0
	for i := range 20_000 {
		if fl.Maybe(layout.FingerprintOf(fmt.Sprint("out", i))) {
			maybes++
		}
	}
	if maybes > 300 {
		t.Errorf("%d of 20,000 new URLs are maybe", maybes)
	}
}

func TestSeenCache(t *testing.T) {
	t.Parallel()
	c := NewSeenCache(1000, 42)
	if len(c.slots) != 1024 {
		t.Fatalf("%d slots", len(c.slots))
	}
	g := layout.Generation{Partition: 3, Number: 1}
	for i := range 100_000 {
		k := c.Key(g, fmt.Sprint(i))
		if c.Has(k) {
			t.Fatalf("%d is there before it was added", i)
		}
		c.Add(k)
		c.Add(k)
		if !c.Has(k) {
			t.Fatalf("%d is not there", i)
		}
	}
	if c.Has(c.Key(layout.Generation{Partition: 3, Number: 2}, "99999")) ||
		c.Has(c.Key(layout.Generation{Partition: 4, Number: 1}, "99999")) {
		t.Fatal("another generation knows the URL")
	}
}
