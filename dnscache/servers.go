package dnscache

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// The rest that a server gets after a failure: the first value, doubled by
// each further one, up to the last.
const (
	firstRest = time.Second
	maxRest   = 30 * time.Second
)

// servers is a list of name servers with what is known of their health.
type servers struct {
	mu   sync.Mutex // guards list and its elements
	list []server
}

type server struct {
	addr      string
	failures  int       // in a row
	downUntil time.Time // asked only after all others until then
}

// set replaces the list and keeps the health of those who stay.
func (s *servers) set(addrs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.list
	s.list = make([]server, 0, len(addrs))
	for _, addr := range addrs {
		if i := slices.IndexFunc(old, func(o server) bool { return o.addr == addr }); i >= 0 {
			s.list = append(s.list, old[i])
		} else {
			s.list = append(s.list, server{addr: addr})
		}
	}
}

// order returns whom to ask, best first: the healthy ones as listed, then the
// others, longest rested first. allDown says that there is no healthy one.
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

// rest compares two servers by how long they must still rest.
func (s server) rest(now time.Time, other server) int {
	return cmp.Compare(max(s.downUntil.Sub(now), 0), max(other.downUntil.Sub(now), 0))
}

// report notes how a query to addr went.
func (s *servers) report(addr string, ok bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.list, func(one server) bool { return one.addr == addr })
	if i < 0 {
		return // replaced meanwhile
	}
	one := &s.list[i]
	if ok {
		one.failures, one.downUntil = 0, time.Time{}
		return
	}
	one.downUntil = now.Add(min(firstRest<<min(one.failures, 10), maxRest))
	one.failures++
}
