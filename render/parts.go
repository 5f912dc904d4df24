package render

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler"
	"crawlnode/web/urlnorm"
)

const (
	// maxWaiting bounds the parts that wait for their hosts' turns, and maxHostWaiting those of one
	// host.
	maxWaiting     = 1024
	maxHostWaiting = 64
)

var errTooMany = errors.New("too many requests of pages wait for their hosts' turns")

// part is one URL that pages have asked for. The lock of Parts guards it.
type part struct {
	errand scheduler.Errand
	pages  int           // that wait for the answer
	visit  uint64        // the visit that fetches it now; 0: none
	came   chan struct{} // closed with the answer
	answer *crawl.Part   // nil: it waits
	until  time.Time     // expiry of the answer
	// while it waits: the answer before, whose validators errand has; nil: there are none
	old  *crawl.Part
	used uint64 // when it was asked for last, by Parts.clock
}

// Parts are the requests of pages to hosts that this node holds, and their answers. It is the
// dispatcher's table of errands, and a cache. Its methods may be called from any goroutine.
type Parts struct {
	maxBytes int
	node     asked

	mu      sync.Mutex // guards the rest
	byURL   map[urlnorm.URL]*part
	waiting map[crawl.Host]int // parts without an answer
	left    int                // their number
	fresh   bool               // there is a new one since the dispatcher's last look
	bytes   int                // of answers
	clock   uint64
}

// asked is the node as Parts see it: *Renderer. Any goroutine calls it, and neither method blocks.
type asked interface {
	// look tells the dispatcher that a part waits.
	look()
	// holds reports whether this node may ask the hosts of p.
	holds(p crawl.Partition) bool
}

// newParts makes a table that keeps answers of maxBytes at most.
func newParts(maxBytes int, node asked) *Parts {
	return &Parts{
		maxBytes: maxBytes,
		node:     node,
		byURL:    make(map[urlnorm.URL]*part),
		waiting:  make(map[crawl.Host]int),
	}
}

// Ask returns the answer for u, whose host is of partition p, held here: one that is kept, or after
// a visit of the host. hit says that it was kept. It waits as long as ctx lasts.
func (t *Parts) Ask(
	ctx context.Context,
	p crawl.Partition,
	u urlnorm.URL,
) (a *crawl.Part, hit bool, err error) {
	x, kept, begun, err := t.want(p, u, time.Now())
	switch {
	case err != nil:
		return nil, false, err
	case kept:
		return x.answer, true, nil
	case begun:
		t.node.look()
	}
	why := t.await(ctx, p, x.came)
	t.mu.Lock()
	defer t.mu.Unlock()
	x.pages--
	if x.answer == nil {
		if x.pages == 0 && x.visit == 0 {
			t.removeLocked(x)
		}
		return nil, false, why
	}
	return x.answer, false, nil
}

// lookAgain is how often a page that waits looks whether its host is still held here: no visit
// comes to one that is not.
const lookAgain = 500 * time.Millisecond

// await waits for an answer. The error is why there will be none.
func (t *Parts) await(ctx context.Context, p crawl.Partition, came <-chan struct{}) error {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-came:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			if !t.node.holds(p) {
				return errNotOurs
			}
		}
	}
}

// want finds the part of u, or begins one. kept: it has an answer, which does not change. Otherwise
// it counts one more page that waits.
func (t *Parts) want(
	p crawl.Partition,
	u urlnorm.URL,
	now time.Time,
) (x *part, kept, begun bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock++
	x = t.byURL[u]
	var stale *part
	if x != nil && x.answer != nil && now.After(x.until) {
		t.removeLocked(x)
		x, stale = nil, x
	}
	if x == nil {
		host := crawl.Host(u.Host())
		if t.left >= maxWaiting || t.waiting[host] >= maxHostWaiting {
			return nil, false, false, errTooMany
		}
		x = &part{errand: scheduler.Errand{Partition: p, Host: host, URL: u}, came: make(chan struct{})}
		t.askAgainLocked(x, stale)
		t.byURL[u] = x
		t.waiting[host]++
		t.left++
		t.fresh, begun = true, true
	}
	if x.used = t.clock; x.answer != nil {
		return x, true, false, nil
	}
	x.pages++
	return x, false, begun, nil
}

// askAgainLocked has x, which waits, ask whether an answer whose time is over still holds, if that
// has validators.
func (t *Parts) askAgainLocked(x, stale *part) {
	if stale == nil || stale.errand.ETag == "" && stale.errand.LastModified == "" ||
		!storable(stale.answer) {
		return
	}
	x.errand.ETag, x.errand.LastModified, x.old = stale.errand.ETag, stale.errand.LastModified,
		stale.answer
	t.bytes += size(x.old)
}

// removeLocked forgets x.
func (t *Parts) removeLocked(x *part) {
	if t.byURL[x.errand.URL] != x {
		return
	}
	delete(t.byURL, x.errand.URL)
	if x.answer == nil {
		t.noLongerWaits(x)
	} else {
		t.bytes -= size(x.answer)
	}
}

func (t *Parts) noLongerWaits(x *part) {
	if x.old != nil {
		t.bytes -= size(x.old)
		x.old = nil
	}
	t.left--
	if t.waiting[x.errand.Host]--; t.waiting[x.errand.Host] == 0 {
		delete(t.waiting, x.errand.Host)
	}
}

// size is what an answer takes of the room.
func size(a *crawl.Part) int {
	n := 512 + len(a.Body)
	for name, values := range a.Header {
		for _, v := range values {
			n += len(name) + len(v)
		}
	}
	return n
}

// Waiting is part of scheduler.Errands, as the methods below.
func (t *Parts) Waiting(host crawl.Host, _ time.Time) []scheduler.Errand {
	t.mu.Lock()
	defer t.mu.Unlock()
	if host == "" {
		t.fresh = false
	}
	if t.left == 0 || host != "" && t.waiting[host] == 0 {
		return nil
	}
	var out []scheduler.Errand
	for _, x := range t.byURL {
		if x.answer == nil && x.visit == 0 && (host == "" || x.errand.Host == host) {
			out = append(out, x.errand)
		}
	}
	// first come, first served
	slices.SortFunc(out,
		func(a, b scheduler.Errand) int { return cmp.Compare(t.byURL[a.URL].used, t.byURL[b.URL].used) })
	return out
}

// Wants says whether a part of the host waits.
func (t *Parts) Wants(host crawl.Host) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[host] > 0
}

// News says whether a part has come since the last call of Waiting for all.
func (t *Parts) News() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fresh
}

// Begin notes that a visit fetches u. False: no page waits for it any more.
func (t *Parts) Begin(u urlnorm.URL, visit uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.byURL[u]
	if x == nil || x.answer != nil || x.visit != 0 {
		return false
	}
	if x.pages == 0 {
		t.removeLocked(x)
		return false
	}
	x.visit = visit
	return true
}

// Ended takes the result of a visit. One that was spent on robots.txt, or cancelled, is followed by
// another, when the dispatcher looks once more.
func (t *Parts) Ended(v *crawl.Visit, o *crawl.Outcome) { t.ended(v, o, time.Now()) }

func (t *Parts) ended(v *crawl.Visit, o *crawl.Outcome, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.byURL[v.Item.URL]
	if x == nil || x.visit != v.ID {
		return
	}
	x.visit = 0
	if o == nil || o.Kind == crawl.Aborted || o.Kind == crawl.RobotsFetched ||
		o.Kind == crawl.RobotsPending {
		if x.pages == 0 {
			t.removeLocked(x)
		}
		return
	}
	a := o.Part
	if a == nil { // no request was made, or it had no answer
		a = &crawl.Part{Refusal: cmp.Or(o.Reason, o.Kind.String())}
	}
	if x.old != nil && a.Status == http.StatusNotModified {
		a = refreshed(x.old, a)
	}
	x.errand.ETag, x.errand.LastModified = "", ""
	if a.Refusal == "" {
		x.errand.ETag, x.errand.LastModified = o.ETag, o.LastMod
	}
	t.noLongerWaits(x)
	x.answer, x.until = a, now.Add(lifeOf(a))
	close(x.came)
	t.bytes += size(a)
	t.makeRoomLocked()
}

// makeRoomLocked forgets the answers that were not asked for for longest, until the rest fits.
func (t *Parts) makeRoomLocked() {
	if t.bytes <= t.maxBytes {
		return
	}
	var kept []*part
	for _, x := range t.byURL {
		if x.answer != nil {
			kept = append(kept, x)
		}
	}
	slices.SortFunc(kept, func(a, b *part) int { return cmp.Compare(a.used, b.used) })
	for _, x := range kept {
		if t.bytes <= t.maxBytes-t.maxBytes/8 { // some more, so that it is not done for each answer
			return
		}
		t.removeLocked(x)
	}
}
