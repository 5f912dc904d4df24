package dnscache

import (
	"container/list"
	"net/netip"
	"time"
)

// entry is what is known of one name.
type entry struct {
	name  string
	addrs []netip.Addr // nil: no address is known
	// gone is set, and addrs is nil, when the servers said that there is no
	// address.
	gone *Error
	// expires is the end of addrs or gone.
	expires time.Time
	// staleUntil is how long addrs may be served while the servers fail.
	staleUntil time.Time
	// failed is the failure that holds until retry.
	failed *Error
	retry  time.Time
	fails  int // in a row
}

// failureWait is how long the nth failure of a name in a row is kept: each time twice as
// long, up to what RFC 9520 allows.
func failureWait(first time.Duration, n int) time.Duration {
	return min(first<<min(n-1, 16), max(first, maxFailureTTL))
}

// at returns the answer to a look-up at now; known is false if the servers must be asked.
func (e *entry) at(now time.Time) (answer Answer, err error, known bool) {
	switch {
	case now.Before(e.expires) && e.gone != nil:
		return Answer{}, e.gone, true
	case now.Before(e.expires):
		return Answer{Addrs: e.addrs, Expires: e.expires}, nil, true
	case e.failed == nil || !now.Before(e.retry):
		return Answer{}, nil, false
	case e.addrs != nil && now.Before(e.staleUntil):
		return Answer{Addrs: e.addrs, Expires: e.retry, Stale: true}, nil, true
	default:
		return Answer{}, e.failed, true
	}
}

// entries is a bounded set of entries that drops the least recently used one; for an owner
// of names that has its share, one of its own. The caller locks it.
type entries struct {
	limit   int
	ownerOf func(name string) string
	byName  map[string]*list.Element // of *kept
	order   *list.List               // front: used last
	owners  map[string]*list.List    // each one's elements of order, in the same order
}

// kept is an entry in its places.
type kept struct {
	entry
	owner string
	own   *list.Element // in owners[owner]
}

// maxOwned is the part of a full set that an owner may have beside others: an eighth.
const maxOwned = 8

func newEntries(limit int, ownerOf func(name string) string) *entries {
	return &entries{
		limit:   limit,
		ownerOf: ownerOf,
		byName:  make(map[string]*list.Element),
		order:   list.New(),
		owners:  make(map[string]*list.List),
	}
}

// use marks an entry as used.
func (s *entries) use(el *list.Element) *entry {
	k := el.Value.(*kept)
	s.order.MoveToFront(el)
	s.owners[k.owner].MoveToFront(k.own)
	return &k.entry
}

// get looks a name up and marks it as used.
func (s *entries) get(name string, now time.Time) (answer Answer, err error, known bool) {
	el := s.byName[name]
	if el == nil {
		return Answer{}, nil, false
	}
	return s.use(el).at(now)
}

// standIn returns the expired address that may be served while the servers fail.
func (s *entries) standIn(name string, now time.Time) (Answer, bool) {
	el := s.byName[name]
	if el == nil {
		return Answer{}, false
	}
	e := &el.Value.(*kept).entry
	return Answer{Addrs: e.addrs, Stale: true}, e.addrs != nil && now.Before(e.staleUntil)
}

// put stores the outcome of a flight and returns the answer to its look-ups. A failure
// leaves the old addresses in place.
func (s *entries) put(name string, got result, now time.Time, o *Options) (Answer, error) {
	e := s.ensure(name)
	switch {
	case got.err == nil:
		expires := now.Add(got.ttl)
		*e = entry{name: name, addrs: got.addrs, expires: expires, staleUntil: expires.Add(o.StaleFor)}
	case got.err.Class == ErrNotFound:
		*e = entry{name: name, gone: got.err, expires: now.Add(got.ttl)}
	default:
		wait := o.FailureTTL
		if got.err.Class == ErrFailed { // else the name is not to blame
			e.fails++
			wait = failureWait(wait, e.fails)
		}
		e.failed, e.retry = got.err, now.Add(wait)
	}
	answer, err, known := e.at(now)
	if !known { // a zero lifetime was asked for
		return Answer{Addrs: e.addrs, Expires: now}, nil
	}
	return answer, err
}

// ensure returns the entry of name, making room for a new one.
func (s *entries) ensure(name string) *entry {
	if el := s.byName[name]; el != nil {
		return s.use(el)
	}
	owner := s.ownerOf(name)
	for len(s.byName) >= s.limit && s.order.Len() > 0 {
		oldest := s.order.Back()
		if own := s.owners[owner]; own != nil && own.Len() >= max(s.limit/maxOwned, 1) {
			oldest = own.Back().Value.(*list.Element)
		}
		s.forget(oldest)
	}
	k := &kept{entry: entry{name: name}, owner: owner}
	el := s.order.PushFront(k)
	s.byName[name] = el
	if s.owners[owner] == nil {
		s.owners[owner] = list.New()
	}
	k.own = s.owners[owner].PushFront(el)
	return &k.entry
}

func (s *entries) forget(el *list.Element) {
	k := s.order.Remove(el).(*kept)
	delete(s.byName, k.name)
	own := s.owners[k.owner]
	if own.Remove(k.own); own.Len() == 0 {
		delete(s.owners, k.owner)
	}
}
