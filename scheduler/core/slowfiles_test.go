package core

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
	fairshare "crawlnode/scheduler/shares"
)

// TestLargeFilesAreNoDrip: hosts of one domain send files that take 40 s each, at 5 KiB a second,
// which is useful. They are never taken back, nor is their domain judged to fail, alone or beside
// others.
func TestLargeFilesAreNoDrip(t *testing.T) {
	t.Parallel()
	for _, rate := range []int64{5 << 10, 1 << 10} { // the second is a drip
		for _, others := range []int{0, 100} {
			r := newRush(t, Config{Fetchers: 32}, func(h crawl.Host) temperament {
				k := quick(h)
				k.answer = time.Second // so that a hundred want all fetchers
				if h[0] == 'l' {
					k = temperament{
						name:   10 * time.Millisecond,
						answer: 40 * time.Second,
						bytes:  40 * rate,
						addr:   netip.MustParseAddr("198.51.100.7"),
					}
				}
				return k
			})
			r.add(hostNames(40, "large%d.files.test")...)
			r.pass(20 * time.Second)
			r.add(hostNames(others, "host.other%d.test")...)
			r.pass(2 * time.Minute)
			class := r.core.shares.domains["files.test"].Class()
			cut := rate < dripRate && others > 0
			if (r.taken > 0) != cut || (class == fairshare.Poor) != (rate < dripRate) {
				t.Errorf(
					"files at %d bytes a second beside %d others: %d taken back, their domain counts as %v",
					rate, others, r.taken, class)
			}
		}
	}
}

// TestHeavyPages: hosts of one or of many domains answer at once, with pages that take the parser
// 300 ms each. They hold no more than the share of a domain that never answered well, and good
// hosts lose nothing.
func TestHeavyPages(t *testing.T) {
	t.Parallel()
	for _, domains := range []int{1, 20} {
		r := newRush(t, Config{}, func(h crawl.Host) temperament {
			k := quick(h)
			if h[0] == 'h' {
				k.parse = 300 * time.Millisecond
			}
			return k
		})
		good := hostNames(5, "good%d.test")
		r.add(good...)
		before := r.of(good, 10*time.Second)
		for i := range domains {
			r.add(hostNames(1000/domains, fmt.Sprintf("h%%d.heavy%d.test", i))...)
		}
		r.pass(time.Second)
		if during := r.of(good, 20*time.Second); during < 19*before/10 {
			t.Errorf("%d domains: good hosts have %d visits in 20 s, %d in 10 s before", domains, during,
				before)
		}
		if most := min(domains*256/8+5, 251); r.unread > most || domains == 1 && r.unread < 16 {
			t.Errorf("%d domains: %d pages wait, at most %d should", domains, r.unread, most)
		}
	}
}
