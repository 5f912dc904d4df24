package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/mime"
	"crawlnode/web/preferences"
	"crawlnode/web/robots"
	"crawlnode/web/sitemap"
	"crawlnode/web/urlnorm"
	"crawlnode/web/wall"
)

const (
	// maxRobotsBytes is how much of a robots.txt is fetched: one byte more than is read (RFC 9309
	// section 2.5), so that a cut line is recognised.
	maxRobotsBytes = robots.MaxBody + 1
	// maxRobotsHops is how many redirects of it are followed (section 2.3.1.2).
	maxRobotsHops = 5
	// robotsLife is how long an answer is used (section 2.4).
	robotsLife = 24 * time.Hour
	// maxCrawlDelay is the longest delay that a robots.txt can ask for.
	maxCrawlDelay = 60 * time.Second
	// maxHopPause is how long a visit waits between two requests to its own host. For a longer
	// pause the host is visited again later, so the worker is free meanwhile.
	maxHopPause = 2 * time.Second
)

// robotsVisit is a visit spent on a robots.txt: how far it has come, and what the host's own
// answers showed.
type robotsVisit struct {
	w      *worker
	v      crawl.Visit
	rules  *Rules
	origin string
	robotsChain
	at     time.Time         // start of the last request, or of the wait for it
	missed crawl.ErrCategory // why there was no answer, in the end
	wall   wall.Product      // whose bot wall stands before the file
	// maxBody is how much of the file is fetched, if it is tdmrep.json and not robots.txt.
	maxBody int64
	r       crawl.Response
	o       crawl.Outcome
}

// robots spends the visit on the robots.txt of the item's origin.
//
//	2xx                              its rules, for a day
//	4xx                              no such file: everything is allowed
//	429, 5xx, bot wall, no answer    unreachable: nothing may be fetched, the host backs off
//	2xx, cut or not decodable        the rules that could be read, else unreachable
//	redirect within the host         followed with the host's gap between, and what its
//	                                 Retry-After asks for: in this visit when that is
//	                                 short, else in the next one
//	redirect to another host         fetched by that host's holder, in that host's turn; this
//	                                 host looks again every second, and nothing of it is fetched
//	more than five redirects, or     as if there were no file
//	one to what cannot be fetched
//
// Whichever host it comes from, the file is that of the item's origin.
func (w *worker) robots(
	ctx context.Context,
	v crawl.Visit,
	rules *Rules,
) (crawl.Response, crawl.Outcome) {
	now := time.Now()
	c := &robotsVisit{
		w:      w,
		v:      v,
		rules:  rules,
		origin: v.Item.URL.Origin(),
		at:     now,
		missed: crawl.ErrOther,
		o:      crawl.Outcome{FetchedAt: now},
	}
	var onTrail bool
	if c.robotsChain, onTrail = w.p.robotsChains.get(c.origin, now); !onTrail {
		u, err := urlnorm.Parse(c.origin + "/robots.txt")
		if err != nil { // the origin of a canonical URL is canonical
			panic("BUG: robots.txt of " + c.origin + ": " + err.Error())
		}
		c.robotsChain = robotsChain{next: u}
	}
	for {
		a, arrived, err := c.step(ctx)
		switch {
		case err != nil:
			w.p.robotsChains.drop(c.origin)
			return c.failed(err)
		case !arrived:
			w.p.robotsChains.put(c.origin, c.robotsChain, time.Now())
			c.r.Kind, c.o.Kind, c.o.Reason = crawl.RobotsPending, crawl.RobotsPending,
				"robots.txt redirects to "+c.next.String()
			return c.r, c.o
		}
		next := redirectOf(c.next, a.Status, a.Location)
		if next.IsZero() || c.hop == maxRobotsHops {
			w.p.robotsChains.drop(c.origin)
			return c.answered(a)
		}
		c.next, c.hop = next, c.hop+1
	}
}

// step gets the file at next: in this host's turn, or from the holder of another host. False: it is
// not here yet, or this host may not be asked yet.
func (c *robotsVisit) step(ctx context.Context) (crawl.RobotsAnswer, bool, error) {
	if crawl.Host(c.next.Host()) != c.v.Host {
		a, arrived := c.elsewhere(ctx)
		return a, arrived, nil
	}
	if c.r.Requested {
		c.at = time.Now()
		wait := max(c.v.Gap, c.rules.Settings.Delay, 2*c.r.Took, c.r.RetryAfter)
		if wait > maxHopPause {
			// This wait is spent on this host, so it does not count against the time of the others.
			c.since, c.until = time.Time{}, c.at.Add(wait+2*robotsChainLife)
			return crawl.RobotsAnswer{}, false, nil
		}
		if !crawl.Wait(ctx, wait) {
			return crawl.RobotsAnswer{}, false, &fetcher.Error{
				Category:  fetcher.Other,
				Contacted: true,
				Err:       context.Canceled,
			}
		}
	}
	c.at = time.Now()
	req, read := c.w.robotsRequest(c.next, c.v, c.rules), answerOf
	if c.maxBody != 0 {
		req.MaxBody, read = c.maxBody, tdmAnswer
	}
	resp, err := c.w.p.o.Fetcher.Do(ctx, req)
	if err != nil {
		return crawl.RobotsAnswer{}, false, err
	}
	defer resp.Release()
	c.r.Requested, c.r.Took = true, resp.Took
	c.r.RetryAfter = max(c.r.RetryAfter, askedWait(resp.Header, time.Now()))
	c.o.Status, c.o.Took, c.o.ContentType, c.o.Truncated = resp.Status, resp.Took, resp.MediaType,
		string(resp.Truncated)
	c.o.Bytes += resp.WireBytes
	a := read(resp, c.at)
	if c.wall = c.w.p.wallOf(resp, c.rules); c.wall != wall.None {
		a = crawl.RobotsAnswer{At: c.at, Failure: crawl.WallReason(c.wall)}
		c.r.Wall, c.o.Wall = true, c.wall
	}
	if a.Status == 0 {
		c.missed = categoryOf(a.Failure)
	}
	return a, true, nil
}

// elsewhere gets the file at next from the holder of its host.
func (c *robotsVisit) elsewhere(ctx context.Context) (crawl.RobotsAnswer, bool) {
	now := time.Now()
	if c.since.IsZero() {
		c.since = now
	}
	c.until = c.since.Add(2 * robotsChainLife)
	a, arrived := c.w.p.o.Elsewhere.RobotsFile(ctx, c.next)
	switch {
	case arrived && a.Status == 0:
		c.missed = categoryOf(a.Failure)
		a.Failure = fmt.Sprintf("%s, where it redirects to: %s", c.next, a.Failure)
	case !arrived && now.Sub(c.since) > robotsChainLife:
		c.missed = crawl.ErrTimeout
		return crawl.RobotsAnswer{Failure: fmt.Sprintf(
			"%s, where it redirects to, could not be fetched in %v", c.next, robotsChainLife)}, true
	}
	return a, arrived
}

func (w *worker) robotsRequest(u urlnorm.URL, v crawl.Visit, rules *Rules) fetcher.Request {
	r := w.request(u, v, rules)
	r.MaxBody, r.ETag, r.LastModified = maxRobotsBytes, "", ""
	return r
}

// categoryOf classes what another host's holder says of a file that it could not fetch: its reason
// begins with the category, as that of each failed request, or is a sentence about the addresses.
func categoryOf(reason string) crawl.ErrCategory {
	switch {
	case strings.HasPrefix(reason, noUsableAddress):
		return crawl.ErrBlockedAddress
	case strings.HasPrefix(reason, noAddress):
		return crawl.ErrDNS
	}
	_, category := reportedFailure(reason)
	return category
}

// answerOf keeps the parts of an answer that are needed.
func answerOf(resp *fetcher.Response, at time.Time) crawl.RobotsAnswer {
	a := crawl.RobotsAnswer{At: at, Status: resp.Status, Location: resp.Header.Get("Location")}
	if resp.Status < 200 || resp.Status >= 300 {
		return a
	}
	body, why := legible(resp)
	if why != "" {
		return crawl.RobotsAnswer{At: at, Failure: why}
	}
	a.Body = bytes.Clone(body)
	return a
}

// legible is the part of a robots.txt that could be read, or why the file is as good as not there:
// a file of which the end is missing, or that could not be decoded, has rules that nobody knows. It
// counts when rules of it could be read, and else as unreachable (RFC 9309, section 2.3.1.4), never
// as a file without rules. A file beyond the limit of size is whole: the standard lets a crawler
// stop there.
//
// A gzip file that no Content-Encoding names, as object stores serve files that were packed before
// they were stored, is unpacked.
func legible(resp *fetcher.Response) (body []byte, why string) {
	body = resp.Body
	packed, failed := sitemap.Packed(body), resp.DecodeErr
	if packed {
		body, _, failed = fetcher.Content(body, []string{"gzip"}, maxRobotsBytes)
	}
	body = robots.Readable(body)
	undecoded := failed != nil
	// text for which a coding was named
	asItCame := undecoded && !packed && len(resp.Body) > 0 && &resp.Body[0] == &resp.RawBody[0]
	cut := resp.Truncated == fetcher.CutTime || resp.Truncated == fetcher.CutDisconnect
	named := len(resp.Header["Content-Encoding"]) > 0
	opaque := (named || packed) && len(body) > 0 &&
		!strings.HasPrefix(mime.Of(nil, body).Essence, "text/")
	if !undecoded && !cut && !opaque {
		return body, ""
	}
	if cut || !asItCame {
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	switch {
	case !opaque && hasRules(body):
		return body, ""
	case resp.Truncated == fetcher.CutTime:
		return nil, fmt.Sprintf("%s: the file was too slow: no rule of it came in time", crawl.ErrTimeout)
	case cut:
		return nil, fmt.Sprintf("%s: the file ended before any rule (%s)", crawl.ErrTruncated,
			resp.Truncated)
	case undecoded:
		return nil, fmt.Sprintf("%s: the file could not be decoded: %v", crawl.ErrProtocol, failed)
	}
	if packed {
		return nil, fmt.Sprintf("%s: the file is packed, and no text is in it", crawl.ErrProtocol)
	}
	return nil, fmt.Sprintf("%s: the file is no text in the content coding %q", crawl.ErrProtocol,
		resp.Header.Get("Content-Encoding"))
}

// hasRules reports whether a file has an Allow or Disallow line, however it is spelled.
func hasRules(body []byte) bool {
	for line := range bytes.Lines(compact(body)) {
		if c := line[0] | 0x20; c == 'a' || c == 'd' {
			return true
		}
	}
	return false
}

// failed counts a failed request against the host, unless it was cancelled.
func (c *robotsVisit) failed(err error) (crawl.Response, crawl.Outcome) {
	r, o := c.w.failure(err, c.v.Host, c.at)
	// A redirect's target says nothing about the origin, whose rules stay unavailable.
	if o.Kind != crawl.Aborted && (o.Kind != crawl.Blocked || c.hop > 0) {
		r.Kind, o.Kind = crawl.HostFailed, crawl.HostFailed
	}
	if o.Kind != crawl.Aborted {
		o.Reason = "robots.txt: " + o.Reason
	}
	if c.hop == 0 {
		fallBack(err, &c.v, c.rules, &r, &o)
	}
	lose(err, &r, &o)
	// The requests before this one were sent; their timings and Retry-After still apply.
	r.Requested, r.Took = r.Requested || c.r.Requested, max(r.Took, c.r.Took)
	r.RetryAfter = max(r.RetryAfter, c.r.RetryAfter)
	return r, o
}

// unreachable reports whether an answer means that the file is unavailable now (RFC 9309 section
// 2.3.1.4). 429 is included: it says nothing about the rules.
func unreachable(a *crawl.RobotsAnswer) bool {
	return a.Status == 0 || a.Status == http.StatusTooManyRequests || a.Status >= 500
}

// answered reads the last answer.
func (c *robotsVisit) answered(a crawl.RobotsAnswer) (crawl.Response, crawl.Outcome) {
	if unreachable(&a) {
		c.r.Kind, c.o.Kind, c.o.Category = crawl.HostFailed, crawl.HostFailed, c.missed
		c.o.Reason = fmt.Sprintf("robots.txt of %s: %s", c.origin, a.Failure)
		if a.Status != 0 {
			c.o.Reason = fmt.Sprintf("robots.txt of %s answered %d", c.origin, a.Status)
		}
		return c.r, c.o
	}
	entry := &crawl.Robots{
		Origin:  c.origin,
		Verdict: crawl.RobotsAllowAll,
		Status:  a.Status,
		Fetched: a.At,
		Expires: a.At.Add(robotsLife),
	}
	if c.v.Robots != nil && c.rules.Settings.ReadsTDMFile() {
		entry.TDM = c.v.Robots.TDM // until it is asked for again
	}
	var sitemaps []string
	if a.Status >= 200 && a.Status < 300 {
		parsed := robots.Parse(a.Body, c.rules.Settings.Agent())
		sitemaps = parsed.Sitemaps()
		entry.Verdict, entry.Body = crawl.RobotsRules, compact(a.Body)
		if d, ok := parsed.CrawlDelay(); ok {
			entry.CrawlDelay = min(max(d, 0), maxCrawlDelay)
		}
	}
	c.r.Kind, c.o.Kind, c.r.Robots, c.o.Robots = crawl.RobotsFetched, crawl.RobotsFetched, entry, entry
	addSitemaps(&c.o, c.origin, sitemaps, c.rules, c.w.complete)
	return c.r, c.o
}

// compact removes what cannot be a rule from a robots.txt: comments, empty lines, and lines that
// start with none of the letters of user-agent, allow, disallow, crawl-delay and their known
// misspellings. The rest is kept with the host, in memory and on disk.
func compact(body []byte) []byte {
	body = robots.Readable(body)
	// a byte order mark, or its beginning, as the parser skips it
	for _, b := range []byte("\xef\xbb\xbf") {
		if len(body) == 0 || body[0] != b {
			break
		}
		body = body[1:]
	}
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

// parsedFile is what was read of the files of an origin.
type parsedFile struct {
	*robots.Rules
	TDM []preferences.TDMRule
}

// parsedRules caches the parsed rules of active hosts. It has two generations: when the younger is
// full it becomes the older, and the older is dropped. So it is bounded, and rules in use stay.
type parsedRules struct {
	// mu guards the rest. Parsing happens outside it.
	mu         sync.Mutex
	young, old map[parsedKey]*parsedFile
	bytes      int // approximate size of the younger generation
}

// parsedKey names one answer of one origin, read for one agent.
type parsedKey struct {
	origin  string
	fetched int64 // nanoseconds since 1970
	length  int   // of the body; tells apart two answers of one instant, in tests
	tdm     int   // length of tdmrep.json
	agent   string
}

// Bounds of one generation, in answers and in bytes, since hostile files may be large. One answer
// beyond the bound is kept.
const (
	maxParsedRules = 2048
	maxParsedBytes = 16 << 20
)

func (c *parsedRules) of(r *crawl.Robots, agent string) *parsedFile {
	key := parsedKey{r.Origin, r.Fetched.UnixNano(), len(r.Body), len(r.TDM), agent}
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
	rules = &parsedFile{robots.Parse(r.Body, agent), preferences.ParseTDM(r.TDM)}
	c.mu.Lock()
	c.putLocked(key, rules)
	c.mu.Unlock()
	return rules
}

func (c *parsedRules) putLocked(key parsedKey, rules *parsedFile) {
	if _, known := c.young[key]; known {
		return // another worker was faster
	}
	if c.young == nil || len(c.young) >= maxParsedRules || c.bytes >= maxParsedBytes {
		c.old, c.young, c.bytes = c.young, make(map[parsedKey]*parsedFile), 0
	}
	c.young[key] = rules
	c.bytes += len(key.origin) + key.length + 2*key.tdm + rules.Size()
}
