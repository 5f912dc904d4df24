package recrawl

import "testing"

// TestRecentRevisits checks the counts beside those of a plain list of the newest revisits.
func TestRecentRevisits(t *testing.T) {
	t.Parallel()
	var f recentRevisits
	var all []bool
	for i := range 2*maxRecent + 17 {
		changed := i%7 == 0 || i < 300
		f.add(changed)
		all = append(all, changed)
		if i%991 != 0 && i != 2*maxRecent+16 {
			continue
		}
		newest, want := all[max(len(all)-maxRecent, 0):], int64(0)
		for _, c := range newest {
			if c {
				want++
			}
		}
		if recent, useful := f.read(); recent != int64(len(newest)) || useful != want {
			t.Fatalf("after %d revisits: %d of %d, want %d of %d", i+1, useful, recent, want, len(newest))
		}
	}
}
