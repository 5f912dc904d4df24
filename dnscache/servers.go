package dnscache

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// How long a server is avoided after a failure: the first value, doubled by each further
// failure, up to the last.
const (
	firstRest = time.Second
	maxRest   = 30 * time.Second
)

// servers is a list of name servers with their health and the queries under way to each.
type servers struct {
	perServer int // queries at a time

	mu   sync.Mutex // guards the rest; never held while waiting
	list []server
	// freed is closed when a query has ended or a window has changed; nil: no query waits.
	freed chan struct{}
}

type server struct {
	addr      string
	failures  int       // in a row
	downUntil time.Time // asked only after all others until then
	window    window
	probing   chan struct{} // closed when the probe under way has ended; nil: there is none
}

// set replaces the list and keeps the health of servers that are in both.
func (s *servers) set(addrs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.list
	s.list = make([]server, 0, len(addrs))
	for _, addr := range addrs {
		if i := slices.IndexFunc(old, func(o server) bool { return o.addr == addr }); i >= 0 {
			s.list = append(s.list, old[i])
		} else {
			s.list = append(s.list, server{addr: addr, window: newWindow(s.perServer)})
		}
	}
	s.wakeLocked()
}

// order returns the servers in the order of asking: the healthy ones as listed, then the
// others, those avoided for longest first. allDown says that there is no healthy one.
func (s *servers) order(now time.Time) (addrs []string, allDown bool) {
	s.mu.Lock()
	list := slices.Clone(s.list)
	s.mu.Unlock()
	slices.SortStableFunc(list, func(a, b server) int { return a.rest(now, b) })
	for _, one := range list {
		addrs = append(addrs, one.addr)
	}
	return addrs, len(list) > 0 && list[0].downUntil.After(now)
}

// rest compares two servers by how long they are still avoided.
func (s server) rest(now time.Time, other server) int {
	return cmp.Compare(max(s.downUntil.Sub(now), 0), max(other.downUntil.Sub(now), 0))
}

// take returns the best server of addrs that has room, and counts a query for it, which
// the caller must release. It waits while none has room. A server that is not healthy is
// taken only if it is the best.
func (s *servers) take(ctx context.Context, addrs []string) (string, error) {
	for {
		now := time.Now()
		s.mu.Lock()
		addr, again := s.pickLocked(now, addrs)
		if addr == "" && s.freed == nil {
			s.freed = make(chan struct{})
		}
		freed := s.freed
		s.mu.Unlock()
		if addr != "" {
			return addr, nil
		}
		var timer <-chan time.Time // nil: never
		if !again.IsZero() {
			timer = time.After(again.Sub(now))
		}
		select {
		case <-freed:
		case <-timer:
		case <-ctx.Done():
			return "", &limitedError{since: now, err: context.Cause(ctx)}
		}
	}
}

// pickLocked is take without waiting. again is when the first pause ends.
func (s *servers) pickLocked(now time.Time, addrs []string) (addr string, again time.Time) {
	for i, addr := range addrs {
		one := s.findLocked(addr)
		if one == nil {
			return addr, time.Time{} // replaced meanwhile: one last query
		}
		if i > 0 && one.downUntil.After(now) {
			break
		}
		ok, at := one.window.room(now)
		if ok {
			one.window.open++
			return addr, time.Time{}
		}
		if !at.IsZero() && (again.IsZero() || at.Before(again)) {
			again = at
		}
	}
	return "", again
}

func (s *servers) findLocked(addr string) *server {
	i := slices.IndexFunc(s.list, func(one server) bool { return one.addr == addr })
	if i < 0 {
		return nil
	}
	return &s.list[i]
}

func (s *servers) wakeLocked() {
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}

// change applies f to a server, if it is still listed, and wakes queries that wait for
// room. It returns the window's places, and whether to report them.
func (s *servers) change(addr string, f func(one *server)) (places int, small, news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.findLocked(addr)
	if one == nil {
		return 0, false, false // replaced meanwhile
	}
	f(one)
	s.wakeLocked()
	small, news = one.window.news()
	return one.window.places(), small, news
}

// report notes how a query to addr went.
func (s *servers) report(addr string, ok bool, now time.Time) {
	s.change(addr, func(one *server) {
		if ok {
			one.failures, one.downUntil = 0, time.Time{}
			return
		}
		one.downUntil = now.Add(min(firstRest<<min(one.failures, 10), maxRest))
		one.failures++
	})
}

// room is how many queries the servers that are asked may have at a time, all together.
func (s *servers) room(now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	healthy, all := 0, 0
	for i := range s.list {
		n := s.list[i].window.places()
		if all += n; !s.list[i].downUntil.After(now) {
			healthy += n
		}
	}
	return cmp.Or(healthy, all)
}
