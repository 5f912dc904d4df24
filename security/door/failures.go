package door

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// failuresAtOnce is how many log-ins of an address may fail before it must wait.
	failuresAtOnce = 100
	// failureEvery is after how long one more may fail.
	failureEvery = time.Second
	// maxSources bounds the addresses that are counted separately; all others share one
	// account.
	maxSources = 4096
)

// Failures counts failed log-ins by address, where an IPv6 /64 is one address, and
// reports when there were too many. A valid token is still accepted from such an address:
// tokens cannot be guessed, and other users behind that address would be locked out.
// It may be used by many goroutines.
type Failures struct {
	mu      sync.Mutex                 // guards sources
	sources map[netip.Prefix]time.Time // when all failures there expire
}

// NewFailures returns a Failures without any.
func NewFailures() *Failures { return &Failures{sources: map[netip.Prefix]time.Time{}} }

// Note counts one failed log-in. wait is how long the address must wait before it is
// answered again; 0: there were not too many.
func (f *Failures) Note(from netip.Addr, now time.Time) (wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	source := sourceOfIP(from)
	if _, known := f.sources[source]; !known && len(f.sources) >= maxSources {
		for s, until := range f.sources {
			if !now.Before(until) {
				delete(f.sources, s)
			}
		}
		if len(f.sources) >= maxSources {
			source = netip.Prefix{}
		}
	}
	until := f.sources[source]
	if until.Before(now) {
		until = now
	}
	if ahead := until.Sub(now); ahead > (failuresAtOnce-1)*failureEvery {
		return ahead - (failuresAtOnce-1)*failureEvery
	}
	f.sources[source] = until.Add(failureEvery)
	return 0
}
