package commit

import (
	"bytes"
	"fmt"
	"testing"

	"crawlnode/crawl"
)

// TestHostCache holds the cache against a map: it has what was put last, or nothing, and not more
// than twice its share.
func TestHostCache(t *testing.T) {
	c, all := &hostCache{young: map[crawl.Host][]byte{}}, map[crawl.Host][]byte{}
	const most = 16
	for i := range 2_000 {
		h := crawl.Host(fmt.Sprintf("h%d.example", i*i%97))
		all[h] = bytes.Repeat([]byte{byte(i)}, i%(maxCachedHost+50))
		c.put(h, all[h], most)
		if v, ok := c.get(h); ok != (len(v) == len(all[h]) && len(v) <= maxCachedHost) &&
			len(all[h]) > 0 {
			t.Fatalf("%s: %d bytes, %v; put were %d", h, len(v), ok, len(all[h]))
		}
		if len(c.young) > most || len(c.old) > most {
			t.Fatalf("%d and %d hosts are kept, of %d", len(c.young), len(c.old), most)
		}
		for h, want := range all {
			if v, ok := c.get(h); ok && !bytes.Equal(v, want) {
				t.Fatalf("%s is an older entry", h)
			}
		}
	}
	if _, ok := (*hostCache)(nil).get("h1.example"); ok {
		t.Error("no cache has a host")
	}
}
