package node

import (
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/pipeline"
	"crawlnode/web/robots"
	"crawlnode/web/urlnorm"
)

// explainURL describes a URL of a partition that is held here.
func (n *Node) explainURL(p crawl.Partition, canonical string, info frontier.HostInfo) (explained, error) {
	u, err := urlnorm.Parse(canonical)
	if err != nil {
		panic("BUG: " + err.Error()) // the caller has parsed it
	}
	rec, ok, err := n.front.Record(p, u)
	if err != nil {
		return explained{}, err
	}
	r := robotsReport(u, info.Robots, n.doc.Current().Doc.Settings.RobotsIgnore)
	e := explained{Robots: &r, Spent: info.State.Suspicious >= int64(n.front.SuspiciousPerHost())}
	if ok {
		e.Record = n.recordReport(&rec)
	}
	return e, nil
}

func (n *Node) recordReport(rec *crawl.Record) *crawl.RecordReport {
	r := &crawl.RecordReport{
		State: rec.State.String(), Depth: rec.Depth, Band: rec.Band, Via: rec.Via.String(), Hops: rec.Hops, Attempts: rec.Attempts,
		NotBefore: timeOrNil(rec.NotBefore), FetchedAt: timeOrNil(rec.FetchedAt),
	}
	if rec.Status != 0 {
		r.Status = &rec.Status
	}
	if rec.Reason != "" {
		r.Reason = &rec.Reason
	}
	if rec.DuplicateOf != "" {
		r.DuplicateOf = &rec.DuplicateOf
	}
	if rec.NearOf != "" {
		r.NearDuplicateOf = &rec.NearOf
	}
	if a := rec.Archive; a != (crawl.ArchiveRef{}) {
		r.Archive = &crawl.ArchiveReport{Node: n.refOf(a.Node), File: a.File, Offset: a.Offset, Length: a.Length}
	}
	return r
}

// refOf names a node for a report.
func (n *Node) refOf(id crawl.NodeID) crawl.NodeRef { return crawl.NodeRef{ID: id, Name: n.nameOf(id)} }

// robotsReport is what the stored robots.txt of u's origin says of u. An entry
// that has expired still answers: it is what was obeyed last.
func robotsReport(u urlnorm.URL, entries []*crawl.Robots, ignored bool) crawl.RobotsReport {
	r := crawl.RobotsReport{Verdict: crawl.RobotsSaysUnknown, Origin: u.Origin(), Rule: "robots.txt of this origin was not read yet; it is, before the first page"}
	if ignored {
		r.Rule = "robots.txt is ignored inside --allow-net (--robots ignore), and was not read"
	}
	for _, e := range entries {
		if e.Origin != u.Origin() {
			continue
		}
		r.FetchedAt, r.ExpiresAt = timeOrNil(e.Fetched), timeOrNil(e.Expires)
		if e.Status != 0 {
			r.Status = &e.Status
		}
		switch e.Verdict {
		case crawl.RobotsAllowAll:
			r.Verdict, r.Rule = crawl.RobotsSaysAllowed, "there is no robots.txt, so everything is allowed"
		case crawl.RobotsDenyAll:
			r.Verdict, r.Rule = crawl.RobotsSaysUnreachable, "robots.txt could not be read, so nothing is fetched"
		default:
			r.Verdict, r.Rule = robotsVerdict(e.Body, u)
		}
	}
	return r
}

// robotsVerdict judges by the rules of a robots.txt.
func robotsVerdict(body []byte, u urlnorm.URL) (verdict, rule string) {
	allowed, line := robots.Parse(body, pipeline.Agent).Explain(u.String())
	if line == "" {
		line = "no line matches, so it is allowed"
	}
	if !allowed {
		return crawl.RobotsSaysForbidden, line
	}
	return crawl.RobotsSaysAllowed, line
}

// summaryOf says in one sentence what became, or would become, of a URL.
func summaryOf(r *crawl.URLReport) string {
	rec := r.Record
	switch {
	case rec == nil && r.Unanswered != nil:
		return "what is stored of it is not known: " + *r.Unanswered
	case rec == nil && !r.Scope.Admit:
		return "it is refused (" + r.Scope.Reason + "): " + r.Scope.Rule
	case rec == nil && r.Robots.Verdict == crawl.RobotsSaysForbidden:
		return "it was not found yet; the scope would admit it, and robots.txt forbids it"
	case rec == nil && r.Scope.Suspicious:
		return "it was not found yet; it would be admitted to the lowest band, under its host's budget"
	case rec == nil:
		return "it was not found yet; it would be admitted"
	}
	reason := ""
	if rec.Reason != nil {
		reason = ": " + *rec.Reason
	}
	switch rec.State {
	case crawl.Done.String():
		if rec.Status != nil && rec.FetchedAt != nil {
			return fmt.Sprintf("it was fetched at %s and answered %d%s", rec.FetchedAt.Format(time.RFC3339), *rec.Status, reason)
		}
		return "it was fetched" + reason
	case crawl.Failed.String():
		return "it was given up" + reason
	case crawl.RefusedForever.String():
		return "it was refused" + reason
	}
	if rec.Attempts > 0 {
		last := ""
		if reason != "" {
			last = ", the last" + reason
		}
		return fmt.Sprintf("it is queued in band %d, after %d failed attempts%s; crawlnode hosts show tells what its host waits for", rec.Band, rec.Attempts, last)
	}
	return fmt.Sprintf("it is queued in band %d; crawlnode hosts show tells what its host waits for", rec.Band)
}
