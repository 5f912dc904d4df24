package pipeline

import (
	"context"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/retry"
	"crawlnode/web/urlnorm"
	"crawlnode/web/wall"
)

// This file is both ends of a robots.txt that redirects to another host. One visit does not hold up
// the host that the file belongs to: each visit asks whether the other host's holder has the file,
// and ends as RobotsPending while it has not. A redirect within the host also ends a visit as
// RobotsPending when the host asked for a longer pause.

// Elsewhere fetches files of other hosts, each in its own host's turn.
type Elsewhere interface {
	// RobotsFile asks the holder of u's host for u. The first call for u starts the fetch, with
	// redirects not followed; later calls get the answer when there is one. False means not yet:
	// ask again in a second. It must not block for long.
	RobotsFile(ctx context.Context, u urlnorm.URL) (crawl.RobotsAnswer, bool)
}

const (
	// robotsChainLife bounds the time that other hosts may take, for all redirects together. It covers
	// the longest Crawl-delay and the slowest fetch.
	robotsChainLife = 3 * time.Minute
	// maxRobotsChains bounds how many robots.txt files are being followed at once.
	maxRobotsChains = 4096
)

// robotsChain is how far the redirects of one origin's robots.txt have been followed.
type robotsChain struct {
	next urlnorm.URL // URL to fetch next
	hop  int         // number of redirects up to next
	// when the redirects left the host; zero: they have not, or the host waits for its own turn
	since time.Time
	until time.Time // expiry
}

// robotsChains keeps the chains between the visits of their hosts. A chain that is lost, with the
// node or its partition, starts again from the host's own robots.txt.
type robotsChains struct {
	mu       sync.Mutex // guards byOrigin
	byOrigin map[string]robotsChain
}

func (t *robotsChains) get(origin string, now time.Time) (robotsChain, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tr, ok := t.byOrigin[origin]
	return tr, ok && now.Before(tr.until) // an expired one is left from an earlier attempt
}

// put keeps a chain. When there are too many, expired ones are dropped, or else any one.
func (t *robotsChains) put(origin string, tr robotsChain, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byOrigin == nil {
		t.byOrigin = make(map[string]robotsChain)
	}
	_, known := t.byOrigin[origin]
	if !known && len(t.byOrigin) >= maxRobotsChains {
		for o, old := range t.byOrigin {
			if !now.Before(old.until) {
				delete(t.byOrigin, o)
			}
		}
	}
	if !known && len(t.byOrigin) >= maxRobotsChains {
		for o := range t.byOrigin {
			delete(t.byOrigin, o)
			break
		}
	}
	t.byOrigin[origin] = tr
}

func (t *robotsChains) drop(origin string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byOrigin, origin)
}

// robotsFetch makes the one request to this host that another host's robots.txt needs. The owner of
// that file asks for it, so this host's own rules do not apply.
func (w *worker) robotsFetch(keep, fetching context.Context, v crawl.Visit, rules *Rules) error {
	at := time.Now()
	resp, err := w.p.o.Fetcher.Do(fetching, w.robotsRequest(v.Item.URL, v, rules))
	if err != nil {
		r, o := w.failure(err, v.Host, at)
		o.Answer = &crawl.RobotsAnswer{At: at, Failure: o.Reason}
		return w.finish(keep, v, r, o)
	}
	defer resp.Release()
	a := answerOf(resp, at)
	r := crawl.Response{
		Kind:       crawl.RobotsFetched,
		Requested:  true,
		Took:       resp.Took,
		RetryAfter: askedWait(resp.Header, time.Now()),
	}
	p := w.p.wallOf(resp, rules)
	if p != wall.None {
		a, r.Wall = crawl.RobotsAnswer{At: at, Failure: crawl.WallReason(p)}, true
	}
	if r.Wall || retry.Limited(resp.Status) {
		r.Kind = crawl.RateLimited
	}
	return w.finish(keep, v, r, crawl.Outcome{
		Kind:      r.Kind,
		Status:    resp.Status,
		Took:      resp.Took,
		Bytes:     resp.WireBytes,
		FetchedAt: at,
		Answer:    &a,
		Wall:      p,
	})
}

// redirectOf is the target of a redirect. It is zero when the answer is no redirect or its target
// cannot be fetched.
func redirectOf(u urlnorm.URL, status int, location string) urlnorm.URL {
	if !redirects(status) || location == "" {
		return urlnorm.URL{}
	}
	next, err := u.ResolveBytes(location)
	if err != nil || next == u {
		return urlnorm.URL{}
	}
	return next
}
