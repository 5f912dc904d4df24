package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/preferences"
	"crawlnode/web/urlnorm"
)

// This file is what owners say of the use of their pages: where it is read from, and what it means for
// a visit. It never decides what is fetched: that is robots.txt's.

// prefer notes what the owner says of an answer that was read. doc is nil when it is no page.
func (w *worker) prefer(v *crawl.Visit, resp *fetcher.Response, rules *Rules, o *crawl.Outcome, doc *htmlparse.Document) {
	if !rules.Settings.ReadsPreferences() {
		return
	}
	w.preferred(w.statements(v, resp, rules, doc), rules, o)
}

// preferAgain notes it of a page that was not read again, since the server says, or its payload, that it is the
// same: last is what is stored of it.
func (w *worker) preferAgain(v *crawl.Visit, resp *fetcher.Response, rules *Rules, o *crawl.Outcome, last string) {
	if !rules.Settings.ReadsPreferences() {
		return
	}
	stored, err := preferences.Decode(last)
	if err != nil {
		w.p.o.Log.Error("what a page's owner said cannot be read; it is known again after the next whole answer",
			"url", v.Item.URL.String(), "error", err)
	}
	fresh := w.statements(v, resp, rules, nil)
	w.preferred(preferences.Again(stored.Statements, fresh, resp.Header, resp.Status == http.StatusNotModified, rules.Settings.Agent()), rules, o)
}

// statements are what is said of an answer: by the site, by its header and by the page.
func (w *worker) statements(v *crawl.Visit, resp *fetcher.Response, rules *Rules, doc *htmlparse.Document) []preferences.Statement {
	s := preferences.Sources{URL: v.Item.URL.String(), Header: resp.Header, Agent: rules.Settings.Agent()}
	if v.Robots != nil && v.Robots.Verdict != crawl.RobotsDenyAll {
		read := w.p.parsed.of(v.Robots, s.Agent)
		s.Robots, s.TDM = read.Rules, read.TDM
	}
	if doc != nil {
		s.Metas = doc.Metas
	}
	return preferences.Read(&s)
}

// preferred stores what was said with the outcome, and which purposes are refused.
func (w *worker) preferred(list []preferences.Statement, rules *Rules, o *crawl.Outcome) {
	if len(list) == 0 {
		return
	}
	r := preferences.Of(list, rules.Settings.Agent())
	o.Preferences = r.Encode()
	if !rules.Settings.ObeysPreferences() || o.IsSitemap {
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
	return w.p.parsed.of(v.Robots, rules.Settings.Agent()).Allowed(v.Robots.Origin + preferences.TDMPath)
}

// maxTDMBytes is how much of tdmrep.json is fetched: one byte more than is read, so that a longer
// one is recognised.
const maxTDMBytes = preferences.MaxTDMFile + 1

// tdm spends the visit on the site's tdmrep.json, as robots spends one on robots.txt, and follows its
// redirects in the same way. Whatever goes wrong means that there is no file: it says what pages
// may be used for, and not whether they may be fetched.
func (w *worker) tdm(ctx context.Context, v crawl.Visit, rules *Rules) (crawl.Response, crawl.Outcome) {
	now := time.Now()
	c := &robotsVisit{w: w, v: v, rules: rules, origin: v.Robots.Origin, at: now, missed: crawl.ErrOther, maxBody: maxTDMBytes, o: crawl.Outcome{FetchedAt: now}}
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
		case errors.Is(err, context.Canceled), errors.Is(err, fetcher.ErrRefused):
			w.p.robotsChains.drop(name)
			return c.failed(err)
		case err != nil:
			_, failed := failure(err, v.Host, c.at)
			a = crawl.RobotsAnswer{At: c.at, Failure: failed.Reason}
			c.r.Requested = true
		case !arrived:
			w.p.robotsChains.put(name, c.robotsChain, time.Now())
			c.r.Kind, c.o.Kind, c.o.Reason = crawl.RobotsPending, crawl.RobotsPending, name+" redirects to "+c.next.String()
			return c.r, c.o
		}
		next := redirectOf(c.next, a.Status, a.Location)
		if !next.IsZero() && c.hop < maxRobotsHops {
			c.next, c.hop = next, c.hop+1
			continue
		}
		w.p.robotsChains.drop(name)
		return c.tdmAnswered(&a, name)
	}
}

// tdmAnswered stores the file beside the rules of robots.txt, which stay as they are.
func (c *robotsVisit) tdmAnswered(a *crawl.RobotsAnswer, name string) (crawl.Response, crawl.Outcome) {
	entry := *c.v.Robots
	entry.TDMAsked, entry.TDM = true, nil
	switch {
	case a.Status >= 200 && a.Status < 300:
		entry.TDM = preferences.CompactTDM(a.Body)
	case a.Status == 0:
		c.o.Reason = fmt.Sprintf("%s could not be read, and counts as none: %s", name, a.Failure)
	}
	c.r.Kind, c.o.Kind, c.r.Robots, c.o.Robots = crawl.RobotsFetched, crawl.RobotsFetched, &entry, &entry
	c.r.Wall, c.o.Wall = false, 0
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
