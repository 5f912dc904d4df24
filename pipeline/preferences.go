package pipeline

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/retry"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/preferences"
	"crawlnode/web/urlnorm"
	"crawlnode/web/wall"
)

// This file is what owners say of the use of their pages: where it is read from, and what it means
// for a visit. It never decides what is fetched: that is robots.txt's.

// readPreferences notes what the owner says of an answer that was read. doc is nil when it is no
// page.
func (w *worker) readPreferences(v *crawl.Visit, resp *fetcher.Response, rules *Rules,
	o *crawl.Outcome, doc *htmlparse.Document) {
	if rules.Settings.ReadsPreferences() {
		w.setPreferences(w.statements(v, resp, rules, doc), rules, o)
	}
}

// carryPreferences notes it of a page that was not read again, since the server says, or its
// payload shows, that it is the same. last is what is stored of it.
func (w *worker) carryPreferences(v *crawl.Visit, resp *fetcher.Response, rules *Rules,
	o *crawl.Outcome, last string) {
	if !rules.Settings.ReadsPreferences() {
		return
	}
	stored, err := preferences.Decode(last)
	if err != nil {
		w.p.o.Log.Error("what a page's owner said cannot be read; the next whole answer brings it again",
			"url", v.Item.URL.String(), "error", err)
	}
	o.PreferencesUnread = last == ""
	fresh := w.statements(v, resp, rules, nil)
	w.setPreferences(preferences.Again(stored.Statements, fresh, resp.Header,
		resp.Status == http.StatusNotModified, rules.Settings.Agent()), rules, o)
}

// statements are what is said of an answer: by the site, by its header and by the page.
func (w *worker) statements(v *crawl.Visit, resp *fetcher.Response, rules *Rules,
	doc *htmlparse.Document) []preferences.Statement {
	s := preferences.Sources{URL: v.Item.URL.String(), Header: resp.Header,
		Agent: rules.Settings.Agent()}
	if v.Robots != nil && v.Robots.Verdict != crawl.RobotsDenyAll {
		read := w.p.parsed.of(v.Robots, s.Agent)
		s.Robots, s.TDM = read.Rules, read.TDM
	}
	if doc != nil {
		s.Metas = doc.Metas
	}
	return preferences.Read(&s)
}

// setPreferences stores what was said with the outcome, and which purposes are refused.
func (w *worker) setPreferences(list []preferences.Statement, rules *Rules, o *crawl.Outcome) {
	r := preferences.Of(list, rules.Settings.Agent())
	o.Preferences = r.Encode()
	page := o.Status >= 200 && o.Status < 300 || o.Status == http.StatusNotModified
	if len(list) == 0 || !rules.Settings.ObeysPreferences() || !page || o.IsSitemap {
		return
	}
	purposes := rules.Settings.Purposes()
	if rules.Settings.Index {
		purposes |= preferences.PurposesOf(preferences.Search)
	}
	o.LeftOut = r.Answers.Refused(purposes, o.FetchedAt)
}

// needsTDM reports whether the visit must be spent on the site's tdmrep.json: it was not asked for
// since robots.txt was fetched, which allows it.
func (w *worker) needsTDM(v *crawl.Visit, rules *Rules) bool {
	switch {
	case v.Robots == nil || v.Robots.TDMAsked || !rules.Settings.ReadsTDMFile():
		return false
	case v.Robots.Verdict == crawl.RobotsAllowAll:
		return true
	case v.Robots.Verdict == crawl.RobotsDenyAll:
		return false
	}
	return w.p.parsed.of(v.Robots, rules.Settings.Agent()).
		Allowed(v.Robots.Origin + preferences.TDMPath)
}

// maxTDMBytes is how much of tdmrep.json is fetched: one byte more than is read, so that a longer
// one is recognised.
const maxTDMBytes = preferences.MaxTDMFile + 1

// tdm spends the visit on the site's tdmrep.json, as robots spends one on robots.txt. Redirects are
// followed within the origin, to what robots.txt allows; one that leads elsewhere is as good as no
// file. An error, or no answer, leaves what was known before: the file says what pages may be used
// for, and not whether they may be fetched.
func (w *worker) tdm(
	ctx context.Context,
	v crawl.Visit,
	rules *Rules,
) (crawl.Response, crawl.Outcome) {
	now := time.Now()
	c := &robotsVisit{w: w, v: v, rules: rules, origin: v.Robots.Origin, at: now,
		missed: crawl.ErrOther, maxBody: maxTDMBytes, o: crawl.Outcome{FetchedAt: now}}
	name := c.origin + preferences.TDMPath
	var onTrail bool
	if c.robotsChain, onTrail = w.p.robotsChains.get(name, now); !onTrail {
		u, err := urlnorm.Parse(name)
		if err != nil { // the origin of a canonical URL is canonical
			panic("BUG: " + name + ": " + err.Error())
		}
		c.robotsChain = robotsChain{next: u}
	}
	for {
		a, arrived, err := c.step(ctx)
		switch {
		case err != nil:
			w.p.robotsChains.drop(name)
			return c.tdmFailed(err, name)
		case !arrived:
			w.p.robotsChains.put(name, c.robotsChain, time.Now())
			c.r.Kind, c.o.Kind = crawl.RobotsPending, crawl.RobotsPending
			c.o.Reason = name + " redirects to " + c.next.String()
			return c.r, c.o
		}
		next := redirectOf(c.next, a.Status, a.Location)
		if !next.IsZero() && c.hop < maxRobotsHops && w.mayFollow(&v, next, rules) {
			c.next, c.hop = next, c.hop+1
			continue
		}
		w.p.robotsChains.drop(name)
		return c.tdmAnswered(&a, name)
	}
}

// mayFollow reports whether a redirect of tdmrep.json leads to what may be fetched in this visit.
// The leave that RFC 9309 (section 2.3.1.2) gives to follow those of robots.txt anywhere is for
// robots.txt alone.
func (w *worker) mayFollow(v *crawl.Visit, next urlnorm.URL, rules *Rules) bool {
	return next.Origin() == v.Robots.Origin && (v.Robots.Verdict == crawl.RobotsAllowAll ||
		w.p.parsed.of(v.Robots, rules.Settings.Agent()).Allowed(next.String()))
}

// tdmFailed ends a visit whose request got no answer. One that was cancelled, or whose kept
// connection had ended, is made again.
func (c *robotsVisit) tdmFailed(err error, name string) (crawl.Response, crawl.Outcome) {
	r, o := c.w.failure(err, c.v.Host, c.at)
	lose(err, &r, &o)
	// The requests before this one were sent; their timings and Retry-After still apply.
	r.Requested, r.Took = r.Requested || c.r.Requested, max(r.Took, c.r.Took)
	r.RetryAfter = max(r.RetryAfter, c.r.RetryAfter)
	if r.Kind == crawl.Aborted || r.Kind == crawl.Lost {
		return r, o
	}
	c.r = r
	return c.tdmAnswered(&crawl.RobotsAnswer{At: c.at, Failure: o.Reason}, name)
}

// tdmAnswered stores the file beside the rules of robots.txt, which stay as they are. An answer
// that says nothing of the file leaves what is known of it; one that limits the crawl slows the
// host down.
func (c *robotsVisit) tdmAnswered(
	a *crawl.RobotsAnswer,
	name string,
) (crawl.Response, crawl.Outcome) {
	entry := *c.v.Robots
	entry.TDMAsked = true
	switch {
	case a.Status >= 200 && a.Status < 300:
		entry.TDM = preferences.CompactTDM(a.Body)
	case a.Status == 0:
		c.o.Reason = fmt.Sprintf(
			"%s could not be read, so what was known of it holds: %s",
			name,
			a.Failure,
		)
	case !unreachable(a):
		entry.TDM = nil
	}
	c.r.Kind, c.o.Kind = crawl.RobotsFetched, crawl.RobotsFetched
	c.r.Robots, c.o.Robots = &entry, &entry
	if c.r.Wall || retry.Limited(c.o.Status) {
		c.r.Kind = crawl.RateLimited
	}
	c.o.Wall = wall.None
	return c.r, c.o
}

// tdmAnswer keeps the parts of an answer to tdmrep.json that are needed.
func tdmAnswer(resp *fetcher.Response, at time.Time) crawl.RobotsAnswer {
	a := crawl.RobotsAnswer{At: at, Status: resp.Status, Location: resp.Header.Get("Location")}
	switch {
	case resp.Status < 200 || resp.Status >= 300:
	case resp.DecodeErr != nil || resp.Truncated != "" || len(resp.Body) > preferences.MaxTDMFile:
		return crawl.RobotsAnswer{At: at, Failure: "it is not whole, or too long"}
	default:
		a.Body = slices.Clone(resp.Body)
	}
	return a
}
