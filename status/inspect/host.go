package inspect

import (
	"context"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/ring"
	"crawlnode/scheduler/core"
	"crawlnode/web/robots"
	"crawlnode/web/urlnorm"
)

// Host reports the politeness state of a host, and its queue. The name may be written as in a URL.
// crawl.ErrUnknownHost: no URL of it was ever admitted.
func (i *Inspector) Host(ctx context.Context, name string) (*crawl.HostReport, error) {
	u, err := urlnorm.Parse("http://" + name + "/")
	// Only an IPv6 address has colons, and it is written in brackets.
	if err != nil || strings.ContainsAny(name, "/\\?#@") || strings.Contains(name, ":") && !strings.HasSuffix(name, "]") {
		return nil, fmt.Errorf("%w: %q is not a host name: give it without scheme, port and path", crawl.ErrUnknownHost, name)
	}
	host := crawl.Host(u.Host())
	p := ring.PartitionOf(host, i.o.Cluster.Partitions())
	a, holder, err := i.askHolder(ctx, p, question{Host: host})
	if err != nil {
		return nil, err
	}
	if a.Host == nil {
		return nil, fmt.Errorf("%w: no URL of %s was ever admitted; crawlnode scope test says whether one would be", crawl.ErrUnknownHost, host)
	}
	a.Host.Owner, a.Host.Holder = i.o.Cluster.Ref(i.o.Cluster.Owner(p)), i.o.Cluster.Ref(holder)
	return a.Host, nil
}

// hostAnswer describes a host of a partition held here. State in memory is newer than the store and
// takes precedence.
func (i *Inspector) hostAnswer(ctx context.Context, p crawl.Partition, host crawl.Host, info frontier.HostInfo, known bool) (answer, error) {
	if !known {
		return answer{}, nil
	}
	var inMemory *core.HostSnapshot
	s, ok, err := i.o.Dispatcher.Inspect(ctx, host)
	if err != nil {
		return answer{}, fmt.Errorf("looking at host %s: %w", host, err)
	}
	if ok {
		inMemory = &s
	}
	book := i.o.Documents.Current()
	settings := &book.Doc.Settings
	if site := book.Pipeline.Sites.OfHost(string(host)); site != nil {
		settings = site.Settings
	}
	r := hostReport(host, &info, inMemory, settings.Agent(), time.Now())
	if r.Politeness.LastFailure, err = i.o.Dispatcher.LastFailure(ctx, host); err != nil {
		return answer{}, fmt.Errorf("looking at host %s: %w", host, err)
	}
	if what := i.o.Dispatcher.Lacks(host); what != "" {
		why := fmt.Sprintf("a rule for sites needs %s, which this node lacks", what)
		r.Politeness.BackoffReason, r.Summary = &why, why+"; see crawlnode health"
	}
	r.Partition, r.SuspiciousBudget = p, i.o.Store.SuspiciousPerHost()
	return answer{Host: r}, nil
}

// hostReport combines the store's data about a host with the dispatcher's, unless that is nil. agent
// is the crawl's product token.
func hostReport(host crawl.Host, info *frontier.HostInfo, inMemory *core.HostSnapshot, agent string, now time.Time) *crawl.HostReport {
	s := &info.State
	r := &crawl.HostReport{
		Host: host, ByBand: info.Queued, Requests: s.Requests, Pages: s.Pages, Suspicious: s.Suspicious,
		Politeness: crawl.PolitenessReport{
			CrawlDelaySeconds: s.CrawlDelay.Seconds(), LatencySeconds: s.Latency.Seconds(), BackoffSeconds: s.Backoff.Seconds(),
			Failures: s.Failures, FrozenUntil: timeOrNil(s.FrozenUntil), HoldUntil: timeOrNil(s.HoldUntil),
			WalledSince: timeOrNil(s.WalledSince),
		},
		Robots: robotsSummaries(info.Robots, agent),
	}
	for _, q := range info.Queued {
		r.Queued += q
	}
	next := crawl.Latest(crawl.Latest(s.NotBefore, s.BlockedUntil), crawl.Latest(s.HoldUntil, s.FrozenUntil))
	if inMemory != nil {
		next = crawl.Latest(next, inMemory.Start)
		gap := inMemory.Gap.Seconds()
		r.Politeness.GapSeconds = &gap
		if inMemory.Requests > 0 {
			average := inMemory.Took.Seconds() / float64(inMemory.Requests)
			r.Politeness.AverageLatencySeconds = &average
		}
		if inMemory.Addr.IsValid() {
			addr := inMemory.Addr.String()
			r.Politeness.Address = &addr
		}
	}
	if next.After(now) {
		r.NextAllowedAt = timeOrNil(next)
	}
	if why := backoffReason(s, now); why != "" {
		r.Politeness.BackoffReason = &why
	}
	r.State = hostState(r, s, inMemory, now)
	r.Summary = hostSummary(r, s, now)
	switch {
	case inMemory == nil || r.State != crawl.HostWaiting:
	case inMemory.Status == core.AddressWait:
		r.Summary = "it waits for the turn of its address, which other hosts here or on other nodes use as well"
	case s.Requests == 0 && !inMemory.Addr.IsValid() && r.NextAllowedAt != nil:
		// Only a look-up without any answer has a host wait that was never asked.
		r.Summary = fmt.Sprintf("no name server has answered for its name yet; it is looked up again in %v",
			next.Sub(now).Round(time.Millisecond))
	}
	return r
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// backoffReason is why a host is held back beyond its usual delay, or "".
func backoffReason(s *crawl.HostState, now time.Time) string {
	switch {
	case s.FrozenUntil.After(now):
		return fmt.Sprintf("it failed %d times in a row: unreachable, name not found, or robots.txt not readable", s.Failures)
	case s.HoldUntil.After(now) && !s.WalledSince.IsZero():
		return fmt.Sprintf("it blocks this crawl: %d of its last %d answers were bot walls, so it rests until %s; crawlnode explain hosts_block_us says what to do",
			bits.OnesCount16(s.Walls), crawl.WallWindow, s.HoldUntil.UTC().Format(time.RFC3339))
	case s.HoldUntil.After(now):
		return "it asked for a pause (Retry-After)"
	case s.BlockedUntil.After(now):
		return "a URLFrontier client wants it left alone until " + s.BlockedUntil.UTC().Format(time.RFC3339)
	case s.Backoff > 0 && s.Walls&1 != 0:
		return "its last answer was a bot wall; each answer that is none halves the delay"
	case s.Backoff > 0:
		return "it answered 429 or 503 and asks for fewer requests; each success halves the delay"
	case s.Failures > 0:
		return fmt.Sprintf("it failed %d times in a row: unreachable, name not found, or robots.txt not readable", s.Failures)
	}
	return ""
}

// hostState is the state of a host in one word.
func hostState(r *crawl.HostReport, s *crawl.HostState, inMemory *core.HostSnapshot, now time.Time) string {
	flying := inMemory != nil && inMemory.Status == core.InFlight
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
	case inMemory == nil:
		return crawl.HostParked
	}
	switch inMemory.Status {
	case core.Waiting, core.AddressWait:
		return crawl.HostWaiting
	case core.Ready:
		return crawl.HostReady
	case core.OverShare:
		return crawl.HostOverShare
	case core.PartitionFrozen:
		return crawl.HostHeld
	}
	return crawl.HostLoading
}

// hostSummary is the state of a host in one sentence.
func hostSummary(r *crawl.HostReport, s *crawl.HostState, now time.Time) string {
	text := map[string]string{
		crawl.HostIdle:      "nothing is queued",
		crawl.HostParked:    "its URLs wait on disk for a place in memory",
		crawl.HostLoading:   "its URLs are being read from disk, its address is being looked up, or its pages are being read or shown to a browser",
		crawl.HostWaiting:   "its delay has not passed",
		crawl.HostReady:     "it may be requested now and waits for a fetcher",
		crawl.HostInFlight:  "a request is open",
		crawl.HostBackoff:   "it is held back",
		crawl.HostFrozen:    "it is frozen",
		crawl.HostHeld:      "its partition is about to move",
		crawl.HostOverShare: "it is ready, but held back by the fetcher share of its domain or address block",
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

// robotsVerdictNames are the values of RobotsSummary.Verdict.
var robotsVerdictNames = [...]string{crawl.RobotsRules: "rules", crawl.RobotsAllowAll: "allow_all", crawl.RobotsDenyAll: "deny_all"}

func robotsSummaries(entries []*crawl.Robots, agent string) []crawl.RobotsSummary {
	out := []crawl.RobotsSummary{}
	for _, e := range entries {
		out = append(out, crawl.RobotsSummary{
			Origin: e.Origin, Verdict: robotsVerdictNames[min(int(e.Verdict), len(robotsVerdictNames)-1)], Status: e.Status,
			FetchedAt: e.Fetched.UTC(), ExpiresAt: e.Expires.UTC(), CrawlDelaySeconds: e.CrawlDelay.Seconds(), Bytes: len(e.Body), BlockedPaths: blockedPaths(e, agent),
		})
	}
	return out
}

// blockedPaths are the patterns that an origin's robots.txt forbids this crawler.
func blockedPaths(e *crawl.Robots, agent string) []string {
	switch e.Verdict {
	case crawl.RobotsAllowAll:
		return []string{}
	case crawl.RobotsDenyAll:
		return []string{"/"}
	}
	return append([]string{}, robots.Parse(e.Body, agent).Blocked(crawl.MaxBlockedPaths)...)
}
