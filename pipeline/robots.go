package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/robots"
	"crawlnode/web/urlnorm"
)

const (
	// maxRobotsBytes is what is read of a robots.txt (RFC 9309 section 2.5).
	maxRobotsBytes = 500 << 10
	// maxRobotsHops is how many redirects of it are followed (section 2.3.1.2).
	maxRobotsHops = 5
	// robotsLife is how long an answer is used (section 2.4).
	robotsLife = 24 * time.Hour
	// maxCrawlDelay bounds what a robots.txt can ask for.
	maxCrawlDelay = 60 * time.Second
)

// robots spends the visit on the robots.txt of the item's origin.
//
//	2xx                              its rules, for a day
//	4xx                              no such file: everything is allowed
//	429, 5xx, no answer              unreachable: nothing may be fetched, the host backs off
//	redirect within the host         followed in this visit, with the host's gap between
//	redirect to another host         as if there were no file: all is allowed. The other
//	                                 host's turn is not ours to take
//	more than five redirects         as if there were no file
func (w *worker) robots(ctx context.Context, v crawl.Visit, rules *Rules) (crawl.Response, crawl.Outcome) {
	at := time.Now()
	u, err := urlnorm.Parse(v.Item.URL.Origin() + "/robots.txt")
	if err != nil { // the origin of a canonical URL is canonical
		panic("BUG: robots.txt of " + v.Item.URL.Origin() + ": " + err.Error())
	}
	for hop := 0; ; hop++ {
		resp, err := w.p.o.Fetcher.Do(ctx, w.robotsRequest(u, v, rules))
		if err != nil {
			r, o := robotsUnreachable(err, at)
			r.Requested = r.Requested || hop > 0 // the hops before this one were requests
			return r, o
		}
		next := sameHostRedirect(u, resp)
		if next.IsZero() || hop == maxRobotsHops {
			r, o := w.robotsAnswered(v, resp, rules)
			o.FetchedAt = at
			resp.Release()
			return r, o
		}
		wait := max(v.Gap, rules.Settings.Delay, 2*resp.Took)
		resp.Release()
		if !pause(ctx, wait) {
			return robotsUnreachable(&fetcher.Error{Category: fetcher.Other, Contacted: true, Err: context.Canceled}, at)
		}
		u = next
	}
}

func (w *worker) robotsRequest(u urlnorm.URL, v crawl.Visit, rules *Rules) fetcher.Request {
	r := w.request(u, v, rules)
	r.MaxBody, r.ETag, r.LastModified = maxRobotsBytes, "", ""
	return r
}

// robotsUnreachable counts a failed request against the host, unless it was
// taken back.
func robotsUnreachable(err error, at time.Time) (crawl.Response, crawl.Outcome) {
	r, o := failure(err, at)
	if o.Kind != crawl.Aborted {
		r.Kind, o.Kind = crawl.HostFailed, crawl.HostFailed
		o.Reason = "robots.txt: " + o.Reason
	}
	return r, o
}

// sameHostRedirect is the target of a redirect that stays on the host, or zero.
func sameHostRedirect(u urlnorm.URL, resp *fetcher.Response) urlnorm.URL {
	if !redirects(resp.Status) {
		return urlnorm.URL{}
	}
	next, err := u.Resolve(resp.Header.Get("Location"))
	if err != nil || next.Host() != u.Host() || next == u {
		return urlnorm.URL{}
	}
	return next
}

// pause waits; false says that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// robotsAnswered reads the last answer.
func (w *worker) robotsAnswered(v crawl.Visit, resp *fetcher.Response, rules *Rules) (crawl.Response, crawl.Outcome) {
	now := time.Now()
	r := crawl.Response{Requested: true, Took: resp.Took, RetryAfter: retryAfter(resp.Header.Get("Retry-After"), now)}
	o := crawl.Outcome{Status: resp.Status, Took: resp.Took, Bytes: resp.WireBytes, ContentType: resp.MediaType, Truncated: resp.Truncated}
	if resp.Status == http.StatusTooManyRequests || resp.Status >= 500 {
		r.Kind, o.Kind, o.Category = crawl.HostFailed, crawl.HostFailed, crawl.ErrOther
		o.Reason = fmt.Sprintf("robots.txt of %s answered %d", v.Item.URL.Origin(), resp.Status)
		return r, o
	}
	entry := &crawl.Robots{
		Origin: v.Item.URL.Origin(), Verdict: crawl.RobotsAllowAll, Status: resp.Status,
		Fetched: now, Expires: now.Add(robotsLife),
	}
	var sitemaps []string
	if resp.Status >= 200 && resp.Status < 300 {
		parsed := robots.Parse(resp.Body, Agent)
		sitemaps = parsed.Sitemaps()
		entry.Verdict, entry.Body = crawl.RobotsRules, compact(resp.Body)
		if d, ok := parsed.CrawlDelay(); ok {
			entry.CrawlDelay = min(max(d, 0), maxCrawlDelay)
		}
	}
	r.Kind, o.Kind, r.Robots, o.Robots = crawl.RobotsFetched, crawl.RobotsFetched, entry, entry
	o.Targets = sitemapTargets(entry.Origin, sitemaps, rules)
	return r, o
}

// compact leaves out of a robots.txt what cannot be a rule: comments, empty
// lines, and lines that begin with none of the letters with which user-agent,
// allow, disallow, crawl-delay and their known misspellings begin. What is left
// is kept with the host, in memory and on disk.
func compact(body []byte) []byte {
	body = bytes.TrimPrefix(body[:min(len(body), maxRobotsBytes)], []byte("\xef\xbb\xbf"))
	out := make([]byte, 0, min(len(body), 4<<10))
	for line := range bytes.FieldsFuncSeq(body, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		line = bytes.TrimSpace(line)
		if len(line) == 0 || bytes.IndexByte([]byte("uadc"), line[0]|0x20) < 0 {
			continue
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

// parsedRules keeps parsed rules of the hosts at hand. It holds two
// generations: when the younger is full it becomes the older, and the older is
// forgotten; so it is bounded and what is used stays.
type parsedRules struct {
	// mu guards the maps. Parsing happens without it.
	mu         sync.Mutex
	young, old map[parsedKey]*robots.Rules
}

// parsedKey names one answer of one origin.
type parsedKey struct {
	origin  string
	fetched int64 // nanoseconds since 1970
	length  int   // of the body: two answers of one instant, in tests
}

// maxParsedRules is the size of one generation.
const maxParsedRules = 2048

func (c *parsedRules) of(r *crawl.Robots) *robots.Rules {
	key := parsedKey{r.Origin, r.Fetched.UnixNano(), len(r.Body)}
	c.mu.Lock()
	rules := c.young[key]
	if rules == nil {
		if rules = c.old[key]; rules != nil {
			c.putLocked(key, rules)
		}
	}
	c.mu.Unlock()
	if rules != nil {
		return rules
	}
	rules = robots.Parse(r.Body, Agent)
	c.mu.Lock()
	c.putLocked(key, rules)
	c.mu.Unlock()
	return rules
}

func (c *parsedRules) putLocked(key parsedKey, rules *robots.Rules) {
	if c.young == nil || len(c.young) >= maxParsedRules {
		c.old, c.young = c.young, make(map[parsedKey]*robots.Rules)
	}
	c.young[key] = rules
}
