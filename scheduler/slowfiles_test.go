package scheduler

import (
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/fairshare"
)

// TestLargeFilesAreNoDrip: hosts of one domain send files that take 40 s each, at 5 KiB a second, which is useful. They
// are never taken back, nor is their domain judged to fail, alone or beside others.
func TestLargeFilesAreNoDrip(t *testing.T) {
	t.Parallel()
	for _, rate := range []int64{5 << 10, 1 << 10} { // the second is a drip
		for _, others := range []int{0, 100} {
			r := newRush(t, Config{Fetchers: 32}, func(h crawl.Host) temperament {
				k := quick(h)
				k.answer = time.Second // so that a hundred want all fetchers
				if h[0] == 'l' {
					k = temperament{name: 10 * time.Millisecond, answer: 40 * time.Second, bytes: 40 * rate, addr: netip.MustParseAddr("198.51.100.7")}
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
				t.Errorf("files at %d bytes a second beside %d others: %d taken back, their domain counts as %v", rate, others, r.taken, class)
			}
		}
	}
}
