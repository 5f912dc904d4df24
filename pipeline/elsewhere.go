package pipeline

import (
	"context"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// This file is both ends of a robots.txt that redirects to another host. The host
// that it is of is not held up by one visit: each looks whether the other host's
// holder has the file, and ends as RobotsPending while it has not. A redirect within
// the host ends a visit so, too, when the host wants to be left alone for a while.

// Elsewhere fetches files of other hosts, each in its host's own turn.
type Elsewhere interface {
	// RobotsFile asks whoever holds u's host for u. The first call for u has it
	// fetched, with redirects not followed; later ones get the answer when there
	// is one. False: not yet, ask again in a second. It must not block for long.
	RobotsFile(ctx context.Context, u urlnorm.URL) (crawl.RobotsAnswer, bool)
}

const (
	// trailLife is how long other hosts may take, all redirects together. It
	// covers the longest Crawl-delay and the slowest fetch.
	trailLife = 3 * time.Minute
	// maxTrails bounds the robots.txt files that are on their way at once.
	maxTrails = 4096
)

// trail is how far the redirects of one origin's robots.txt have been followed.
type trail struct {
	next  urlnorm.URL // to be fetched
	hop   int         // redirects up to next
	since time.Time   // when the redirects left the host; zero: they have not, or it waits for its own turn
	until time.Time   // it is good until then
}

// trails keeps the trails between the visits of their hosts. What is lost, with
// the node or its partition, begins anew with the file itself.
type trails struct {
	mu       sync.Mutex // guards byOrigin
	byOrigin map[string]trail
}

func (t *trails) get(origin string, now time.Time) (trail, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tr, ok := t.byOrigin[origin]
	return tr, ok && now.Before(tr.until) // older ones are of an earlier time here
}

// put keeps a trail. When there are too many, those go that nobody follows any
// more, or one of them all.
func (t *trails) put(origin string, tr trail, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byOrigin == nil {
		t.byOrigin = make(map[string]trail)
	}
	_, known := t.byOrigin[origin]
	if !known && len(t.byOrigin) >= maxTrails {
		for o, old := range t.byOrigin {
			if !now.Before(old.until) {
				delete(t.byOrigin, o)
			}
		}
	}
	if !known && len(t.byOrigin) >= maxTrails {
		for o := range t.byOrigin {
			delete(t.byOrigin, o)
			break
		}
	}
	t.byOrigin[origin] = tr
}

func (t *trails) drop(origin string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byOrigin, origin)
}

// robotsFetch makes the one request that another host's robots.txt needs of this host.
// It is asked for by its owner, so this host's own rules do not concern it.
func (w *worker) robotsFetch(keep, fetching context.Context, v crawl.Visit, rules *Rules) error {
	at := time.Now()
	resp, err := w.p.o.Fetcher.Do(fetching, w.robotsRequest(v.Item.URL, v, rules))
	if err != nil {
		r, o := failure(err, v.Host, at)
		o.Answer = &crawl.RobotsAnswer{At: at, Failure: o.Reason}
		return w.finish(keep, v, r, o)
	}
	defer resp.Release()
	a := answerOf(resp, at)
	r := crawl.Response{Kind: crawl.RobotsFetched, Requested: true, Took: resp.Took, RetryAfter: askedWait(resp.Header, time.Now())}
	if limited(resp.Status) {
		r.Kind = crawl.RateLimited
	}
	return w.finish(keep, v, r, crawl.Outcome{Kind: r.Kind, Status: resp.Status, Took: resp.Took, Bytes: resp.WireBytes, FetchedAt: at, Answer: &a})
}

// redirectOf is where an answer sends to, or zero: no redirect, or one to nothing
// that can be fetched.
func redirectOf(u urlnorm.URL, status int, location string) urlnorm.URL {
	if !redirects(status) || location == "" {
		return urlnorm.URL{}
	}
	next, err := u.Resolve(location)
	if err != nil || next == u {
		return urlnorm.URL{}
	}
	return next
}
