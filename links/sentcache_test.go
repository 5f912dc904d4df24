package links

import (
	"fmt"
	"testing"
)

func TestSentCache(t *testing.T) {
	t.Parallel()
	c := newSentCache(100)
	url := func(i int) string { return fmt.Sprint("http://a.test/", i) }
	for i := range 1000 {
		if c.Has(url(i)) {
			t.Fatalf("%d was never sent", i)
		}
		c.Add(url(i))
		if !c.Has(url(0)) && i < 49 {
			t.Fatalf("0 is forgotten after %d", i)
		}
		if len(c.young)+len(c.old) > 100 {
			t.Fatalf("%d entries", len(c.young)+len(c.old))
		}
	}
	for i := 951; i < 1000; i++ {
		if !c.Has(url(i)) {
			t.Errorf("%d is forgotten", i)
		}
	}
	if c.Has(url(1)) {
		t.Error("1 is not forgotten")
	}
	// Entries that are looked up stay.
	c = newSentCache(10)
	c.Add("x")
	for i := range 100 {
		c.Add(url(i))
		if !c.Has("x") {
			t.Fatalf("forgotten after %d, and asked for each time", i)
		}
	}
	c = newSentCache(0)
	c.Add("x")
	if !c.Has("x") {
		t.Error("the smallest cache holds nothing")
	}
}

// Acknowledged links are sent again after the cache was cleared.
func TestSentCacheClear(t *testing.T) {
	t.Parallel()
	c := newSentCache(4)
	for _, u := range []string{"http://a/", "http://b/", "http://c/"} {
		c.Add(u)
	}
	c.Clear()
	if c.Has("http://a/") || c.Has("http://c/") {
		t.Fatal("a URL is remembered")
	}
}
