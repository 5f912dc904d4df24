package node

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/scheduler"
)

// explainHost describes a host of a partition that is held here. What is in
// memory is newer than the store and comes first.
func (n *Node) explainHost(ctx context.Context, p crawl.Partition, host crawl.Host, info frontier.HostInfo, known bool) (explained, error) {
	e := n.engine.Load()
	if e == nil {
		return explained{}, ErrNotReady
	}
	if !known {
		return explained{}, nil
	}
	var sight *scheduler.Sight
	s, ok, err := e.dispatcher.Sight(ctx, host)
	if err != nil {
		return explained{}, fmt.Errorf("looking at host %s: %w", host, err)
	}
	if ok {
		sight = &s
	}
	r := hostReport(host, &info, sight, time.Now())
	r.Partition, r.SuspiciousBudget = p, int64(n.front.SuspiciousPerHost())
	return explained{Host: r}, nil
}

// hostReport puts together what the store says of a host and, unless sight is
// nil, the dispatcher.
func hostReport(host crawl.Host, info *frontier.HostInfo, sight *scheduler.Sight, now time.Time) *crawl.HostReport {
	s := &info.State
	r := &crawl.HostReport{
		Host: host, ByBand: info.Queued, Requests: s.Requests, Pages: s.Pages, Suspicious: s.Suspicious,
		Politeness: crawl.PolitenessReport{
			CrawlDelaySeconds: s.CrawlDelay.Seconds(), LatencySeconds: s.Latency.Seconds(), BackoffSeconds: s.Backoff.Seconds(),
			Failures: s.Failures, FrozenUntil: timeOrNil(s.FrozenUntil), HoldUntil: timeOrNil(s.HoldUntil),
		},
		Robots: robotsSummaries(info.Robots),
	}
	for _, q := range info.Queued {
		r.Queued += q
	}
	next := crawl.Latest(s.NotBefore, crawl.Latest(s.HoldUntil, s.FrozenUntil))
	if sight != nil {
		next = crawl.Latest(next, sight.Start)
		gap := sight.Gap.Seconds()
		r.Politeness.GapSeconds = &gap
		if sight.Addr.IsValid() {
			addr := sight.Addr.String()
			r.Politeness.Address = &addr
		}
	}
	if next.After(now) {
		r.NextAllowedAt = timeOrNil(next)
	}
	if why := backoffReason(s, now); why != "" {
		r.Politeness.BackoffReason = &why
	}
	r.State = hostState(r, s, sight, now)
	r.Summary = hostSummary(r, s, now)
	return r
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// backoffReason says why a host is held back beyond its usual delay, or "".
func backoffReason(s *crawl.HostState, now time.Time) string {
	switch {
	case s.FrozenUntil.After(now):
		return fmt.Sprintf("%d times in a row it could not be reached, its name not be found or its robots.txt not be read", s.Failures)
	case s.HoldUntil.After(now):
		return "it asked for a pause (Retry-After)"
	case s.Backoff > 0:
		return "it answered 429 or 503 and asks for fewer requests; each success halves the delay"
	case s.Failures > 0:
		return fmt.Sprintf("%d times in a row it could not be reached, its name not be found or its robots.txt not be read", s.Failures)
	}
	return ""
}

// hostState is the state of a host in one word.
func hostState(r *crawl.HostReport, s *crawl.HostState, sight *scheduler.Sight, now time.Time) string {
	flying := sight != nil && sight.Status == scheduler.InFlight
	waits := r.NextAllowedAt != nil
	switch {
	case flying:
		return crawl.HostInFlight
	case r.Queued == 0:
		return crawl.HostIdle
	case s.FrozenUntil.After(now):
		return crawl.HostFrozen
	case waits && r.Politeness.BackoffReason != nil:
		return crawl.HostBackoff
	case sight == nil:
		return crawl.HostParked
	}
	switch sight.Status {
	case scheduler.Waiting, scheduler.AddressWait:
		return crawl.HostWaiting
	case scheduler.Ready:
		return crawl.HostReady
	case scheduler.OverShare:
		return crawl.HostOverShare
	case scheduler.Held:
		return crawl.HostHeld
	}
	return crawl.HostLoading
}

// hostSummary is the state of a host in one sentence.
func hostSummary(r *crawl.HostReport, s *crawl.HostState, now time.Time) string {
	text := map[string]string{
		crawl.HostIdle:      "nothing is queued",
		crawl.HostParked:    "its URLs wait on disk for a place in memory",
		crawl.HostLoading:   "its URLs are being read from disk, or its address is being looked up",
		crawl.HostWaiting:   "its delay has not passed",
		crawl.HostReady:     "it may be asked now and waits for a fetcher",
		crawl.HostInFlight:  "a request is open",
		crawl.HostBackoff:   "it is held back",
		crawl.HostFrozen:    "it is frozen",
		crawl.HostHeld:      "its partition is about to change hands",
		crawl.HostOverShare: "it could be asked, but is held back by its domain's share of the fetchers, or its block's",
	}[r.State]
	if why := r.Politeness.BackoffReason; why != nil {
		switch {
		case r.State == crawl.HostIdle && s.FrozenUntil.After(now):
			text += ", and it is frozen"
		case r.State == crawl.HostIdle:
			text += ", and it is held back"
		}
		text += ": " + *why
	}
	if r.NextAllowedAt != nil && r.Queued > 0 {
		text += fmt.Sprintf("; the next request may start in %v", r.NextAllowedAt.Sub(now).Round(time.Millisecond))
	}
	return text
}

// robotsVerdictNames are the words of RobotsSummary.Verdict.
var robotsVerdictNames = [...]string{crawl.RobotsRules: "rules", crawl.RobotsAllowAll: "allow_all", crawl.RobotsDenyAll: "deny_all"}

func robotsSummaries(entries []*crawl.Robots) []crawl.RobotsSummary {
	out := []crawl.RobotsSummary{}
	for _, e := range entries {
		out = append(out, crawl.RobotsSummary{
			Origin: e.Origin, Verdict: robotsVerdictNames[min(int(e.Verdict), len(robotsVerdictNames)-1)], Status: e.Status,
			FetchedAt: e.Fetched.UTC(), ExpiresAt: e.Expires.UTC(), CrawlDelaySeconds: e.CrawlDelay.Seconds(), Bytes: len(e.Body),
		})
	}
	return out
}
