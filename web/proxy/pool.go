package proxy

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxKnown bounds the proxies that a Pool remembers: far more than anybody rotates over. One
	// that is forgotten counts as unused and working.
	maxKnown = 4096
	// unused is how long after its last failure a proxy is still reported. Somebody who uses it tries
	// it again each minute, so this one is used no more.
	unused = 5 * time.Minute
	// recent is how long a success shows that a proxy works.
	recent = time.Minute
	// maxError bounds the text of an error that is kept, in bytes.
	maxError = 300
)

// pauses are how long a proxy is left out after its first, its second and each later failure.
var pauses = [...]time.Duration{time.Second, 10 * time.Second, 60 * time.Second}

// Pool knows which proxies work. The zero value is ready, and knows of no failure. All methods may
// be called from any goroutine.
type Pool struct {
	// mu guards the fields below.
	mu    sync.Mutex
	turn  uint64 // counts calls of Next that returned a proxy
	known map[Proxy]*state
}

// state is what is known of one proxy.
type state struct {
	turn     uint64    // when it was handed out last; 0: never
	worked   time.Time // its last success
	failures int       // in a row
	pauses   int       // that followed them: failures of one outage that come at once count as one
	since    time.Time // the first of the failures
	last     time.Time // the last of them
	until    time.Time // it is left out
	err      string    // of the last one
}

// Failure is a proxy that does not work.
type Failure struct {
	Proxy    Proxy
	Since    time.Time // its first failure in a row
	Error    string    // the last one
	Failures int       // in a row
}

// Next is the proxy of a list whose turn it is: the one that was not handed out for longest, by any
// list, of those that may be tried at now. When there is none, ok is false, and wait is how long
// until one may be tried.
func (p *Pool) Next(list []Proxy, now time.Time) (next Proxy, wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var least uint64
	for _, c := range list {
		turn := uint64(0)
		if s := p.known[c]; s != nil {
			if left := s.until.Sub(now); left > 0 {
				wait = shorter(wait, left)
				continue
			}
			turn = s.turn
		}
		if !ok || turn < least {
			next, least, ok = c, turn, true
		}
	}
	if !ok {
		return Proxy{}, wait, false
	}
	p.turn++
	p.stateLocked(next).turn = p.turn
	return next, 0, true
}

// Wait is how long until a proxy of the list may be tried, and the last failure of the one that may
// be tried first. 0: one may be tried now.
func (p *Pool) Wait(list []Proxy, now time.Time) (wait time.Duration, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range list {
		s := p.known[c]
		if s == nil || !s.until.After(now) {
			return 0, ""
		}
		if left := s.until.Sub(now); wait == 0 || left < wait {
			wait, why = left, s.err
		}
	}
	return wait, why
}

// shorter is the shorter of two waits; 0 stands for none yet.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// Failed notes that x does not work: it is left out for a while. A failure while it is left out
// already, of a request that had begun before, does not make the time longer.
func (p *Pool) Failed(x Proxy, err error, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stateLocked(x)
	if s.failures == 0 {
		s.since = now
	}
	s.failures++
	s.last, s.err = now, cut(err.Error())
	if !now.Before(s.until) {
		s.until = now.Add(pauses[min(s.pauses, len(pauses)-1)])
		s.pauses++
	}
}

// Worked notes that x works.
func (p *Pool) Worked(x Proxy, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stateLocked(x)
	*s = state{turn: s.turn, worked: now}
}

// Works reports whether x has worked within the last minute, and not failed since.
func (p *Pool) Works(x Proxy, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.known[x]
	return s != nil && s.failures == 0 && !s.worked.IsZero() && now.Sub(s.worked) < recent
}

// Failing lists the proxies whose last use failed, ordered by their text. One that was not used for
// some minutes is left out: it is probably in no list any more.
func (p *Pool) Failing(now time.Time) []Failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Failure
	for x, s := range p.known {
		if s.failures > 0 && now.Sub(s.last) < unused {
			out = append(out, Failure{Proxy: x, Since: s.since, Error: s.err, Failures: s.failures})
		}
	}
	slices.SortFunc(out, func(a, b Failure) int {
		return strings.Compare(a.Proxy.String(), b.Proxy.String())
	})
	return out
}

// stateLocked is the state of x, made if it has none. A full Pool forgets the proxy for it that was
// not handed out for longest.
func (p *Pool) stateLocked(x Proxy) *state {
	if s := p.known[x]; s != nil {
		return s
	}
	if p.known == nil {
		p.known = make(map[Proxy]*state)
	}
	if len(p.known) >= maxKnown {
		var oldest Proxy
		least := p.turn + 1
		for c, s := range p.known {
			if s.turn < least {
				oldest, least = c, s.turn
			}
		}
		delete(p.known, oldest)
	}
	s := new(state)
	p.known[x] = s
	return s
}

// cut bounds the text of an error.
func cut(text string) string {
	if len(text) <= maxError {
		return text
	}
	return strings.ToValidUTF8(text[:maxError], "") + "..."
}
