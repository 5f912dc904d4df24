package door

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// failuresAtOnce is how many log-ins an address may fail in before it has to wait.
	failuresAtOnce = 100
	// failureEvery is after how long it may fail once more.
	failureEvery = time.Second
	// maxSources bounds the addresses that are told apart; the others share one account.
	maxSources = 4096
)

// Failures counts the log-ins that failed, by address: an IPv6 /64 is one. It tells
// when one has failed too often. It is no reason to refuse a valid token from there:
// tokens cannot be guessed, and somebody else behind that address would be locked out.
// It may be used by many goroutines.
type Failures struct {
	mu      sync.Mutex                 // guards sources
	sources map[netip.Prefix]time.Time // when all that failed there is forgotten
}

// NewFailures returns a Failures that has seen none.
func NewFailures() *Failures { return &Failures{sources: map[netip.Prefix]time.Time{}} }

// Note takes in one failed log-in. wait is how long the address has to wait before it
// is answered again; 0: it has not failed too often.
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
