package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
)

// takeOverPatience is how long a partition without a holder is expected to be taken over by itself:
// some seconds of silence, an exclusion, the fence, and a margin.
const takeOverPatience = 30 * time.Second

func fillCluster(s *crawl.Status, p *Picture) {
	c := &s.Cluster
	c.Name = p.Cluster
	c.State, c.Message = clusterState(s, p)
	h := &c.Health
	h.Reasons = append(h.Reasons, clusterReasons(s, p)...)
	if h.Reasons == nil {
		h.Reasons = []crawl.HealthReason{}
	}
	slices.SortStableFunc(h.Reasons, func(a, b crawl.HealthReason) int {
		return cmp.Compare(urgency(a.Code), urgency(b.Code))
	})
	h.Level = crawl.HealthOK
	for _, r := range h.Reasons {
		switch {
		case Critical(r.Code):
			h.Level = crawl.HealthCritical
		case h.Level == crawl.HealthOK:
			h.Level = crawl.HealthWarn
		}
	}
}

// urgency orders reasons: critical ones first, and what sites do behind what nodes do, of which there
// may be a reason for each of hundreds of sites.
func urgency(code string) int {
	switch {
	case Critical(code):
		return 0
	case code == crawl.ReasonTrap:
		return 2
	}
	return 1
}

// Critical reports whether a reason of this code means that work has stopped or may be lost.
func Critical(code string) bool {
	switch code {
	case crawl.ReasonPausedMinority, crawl.ReasonWaitsForMembers, crawl.ReasonOffline, crawl.ReasonUnserved, crawl.ReasonLowDisk, crawl.ReasonDiskFull, crawl.ReasonDiskStalled, crawl.ReasonDNSDown, crawl.ReasonBotKey:
		return true
	}
	return false
}

func clusterState(s *crawl.Status, p *Picture) (state, message string) {
	r := &s.Ring
	switch {
	case p.Drains && !p.Joined: // or it has not joined yet
		return crawl.ClusterDraining, "this node takes no part any more, and ends"
	case !p.Joined:
		return crawl.ClusterJoining, "this node is looking for its cluster; it crawls once a view lists it"
	case p.Drains:
		return crawl.ClusterDraining, "this node hands over its partitions and leaves"
	case p.Doc.State == crawl.CrawlFinished:
		return crawl.ClusterFinished, s.Crawl.Message
	case p.Minority:
		return crawl.ClusterPausedMinority, minorityText(p)
	case p.Doc.State == crawl.CrawlPaused:
		return crawl.ClusterPaused, "the crawl is paused; crawlnode resume resumes it"
	case r.Promoting > 0 && p.failing():
		return crawl.ClusterRebalancing, fmt.Sprintf("%d partitions of a failed node are being taken over", r.Promoting)
	case r.Handoff.Active:
		return crawl.ClusterRebalancing, fmt.Sprintf("%d of %d partitions are still moving to other nodes", r.Handoff.PartitionsTotal-r.Handoff.PartitionsDone, r.Handoff.PartitionsTotal)
	}
	if missing := r.Partitions - r.Served; missing > 0 && !p.Alone {
		return crawl.ClusterRunning, fmt.Sprintf("%d of %d partitions are not served; their hosts are not fetched", missing, r.Partitions)
	}
	if r.Repair.Active {
		return crawl.ClusterRunning, fmt.Sprintf("every partition is served; %d lack a copy", r.UnderReplicated)
	}
	return crawl.ClusterRunning, "every member serves its partitions"
}

// clusterReasons are the health reasons that no single node can know.
func clusterReasons(s *crawl.Status, p *Picture) []crawl.HealthReason {
	if !p.Joined {
		return nil
	}
	var rs []crawl.HealthReason
	add := func(code string, since time.Time, format string, args ...any) {
		rs = append(rs, crawl.HealthReason{Code: code, Since: since.UTC(), Message: fmt.Sprintf(format, args...)})
	}
	if p.Minority {
		add(crawl.ReasonPausedMinority, p.MinoritySince, "%s", minorityText(p))
	}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.excluded() {
			add(crawl.ReasonNodeFailed, n.GoneSince, "%s has failed and was excluded: start it again, or if it will not come back: crawlnode nodes forget %s", n.title(), n.title())
		}
	}
	if n := s.Ring.Offline; n > 0 {
		add(crawl.ReasonOffline, p.began(crawl.ReasonOffline, p.silentSince()), "%d partitions are offline, because no usable copy is reachable: %s (their URLs are then lost)", n, whatToStart(p))
	}
	if r, ok := unservedReason(s, p); ok {
		rs = append(rs, r)
	}
	if r := &s.Ring; r.UnderReplicated > 0 {
		single := ""
		if c := r.SingleCopy; c.Partitions > 0 {
			single = fmt.Sprintf("; %d have one copy only, the longest for %.0f s", c.Partitions, c.Seconds)
		}
		add(crawl.ReasonUnderReplicated, p.began(crawl.ReasonUnderReplicated, p.silentSince()),
			"%d partitions have too few copies%s (repair: %d of %d done): the loss of one more node could lose their URLs",
			r.UnderReplicated, single, r.Repair.PartitionsDone, r.Repair.PartitionsTotal)
	}
	if stuck := s.Ring.Handoff.Stuck; len(stuck) > 0 {
		f := slices.MinFunc(stuck, func(a, b crawl.StuckStatus) int { return a.Since.Compare(b.Since) })
		add(crawl.ReasonPartitionsStuck, f.Since, "%d partitions are stuck, for the longest time %d (from %q to %q): %s", len(stuck), f.Partition, f.From, f.To, f.Reason)
	}
	if n := s.Fetch.HostsBlocking; n > 0 {
		add(crawl.ReasonHostsBlock, p.began(crawl.ReasonHostsBlock, p.Now), "%s: nearly all their last answers were bot walls, so each is left alone for %.0f h at a time. "+
			"The dashboard lists them at /hosts?sort=backoff. Sign the requests (--bot-key) and register the key, crawl slower (--delay), ask the owners to let the "+
			"crawl in, or give up: crawlnode crawl-config set exclude=...", blockingHosts(n), crawl.WallRest.Hours())
	}
	if lost := lostBy(p); lost > 0 {
		add(crawl.ReasonPartitionsLost, p.began(crawl.ReasonPartitionsLost, p.Now), "%d partitions were recreated empty, because the only node with their content was forgotten: add their seeds again", lost)
	}
	return rs
}

// blockingHosts is how many hosts block the crawl, in words.
func blockingHosts(n int64) string {
	if n == 1 {
		return "1 host blocks this crawl"
	}
	return fmt.Sprintf("%d hosts block this crawl", n)
}

// unservedReason judges partitions that are not served and not known to be offline. In a minority
// other nodes may serve them.
func unservedReason(s *crawl.Status, p *Picture) (crawl.HealthReason, bool) {
	r := &s.Ring
	missing := r.Partitions - r.Served - r.Offline
	if p.Alone || p.Minority || missing <= 0 {
		return crawl.HealthReason{}, false
	}
	silent, since := p.silent(), p.began(crawl.ReasonTakingOver, p.silentSince())
	soon := p.Now.Sub(since) < takeOverPatience
	reason := crawl.HealthReason{Code: crawl.ReasonTakingOver, Since: since.UTC()}
	switch {
	case r.Promoting > 0 && p.failing():
		reason.Message = fmt.Sprintf("%d of %d partitions are being taken over from a failed node; their hosts wait until its right to fetch has ended", missing, r.Partitions)
	case len(silent) == 0 && r.Handoff.Active:
		return crawl.HealthReason{}, false // between two holders
	case soon && len(silent) > 0:
		reason.Message = fmt.Sprintf("%d of %d partitions are not served; they will be taken over if their members stay silent: %s", missing, r.Partitions, strings.Join(silent, ", "))
	case soon && r.Promoting > 0: // of a node that was removed and is back, or of one that has left
		reason.Message = fmt.Sprintf("%d of %d partitions are being taken over; their hosts wait until no "+
			"other node can have the right to fetch them", missing, r.Partitions)
	case soon:
		reason.Message = fmt.Sprintf("%d of %d partitions are not served at the moment", missing, r.Partitions)
		if p.Now.Sub(p.Since) < takeOverPatience {
			reason.Message += ", just after a change of members"
		}
	default:
		reason.Code = crawl.ReasonUnserved
		reason.Message = fmt.Sprintf("%d of %d partitions are not served: %s", missing, r.Partitions, whatToStart(p))
	}
	return reason, true
}

// minorityText says what a node in a minority waits for.
func minorityText(p *Picture) string {
	text := p.Name + " fetches nothing: it has no lease, because this side cannot reach a majority of the members"
	silent := p.silent()
	if len(silent) == 0 {
		return text + "; it resumes by itself when they answer again"
	}
	return fmt.Sprintf("%s (silent: %s); it resumes by itself when they answer again; if they are gone for good: crawlnode nodes forget %s",
		text, strings.Join(silent, ", "), silent[0])
}

// whatToStart names the nodes that could bring back the missing partitions.
func whatToStart(p *Picture) string {
	away := p.silent()
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.excluded() {
			away = append(away, n.title())
		}
	}
	if len(away) == 0 {
		return "restart the nodes that were stopped or have failed, or if one is gone for good: crawlnode nodes forget NODE"
	}
	return fmt.Sprintf("restart %s, or if it is gone for good: crawlnode nodes forget %s", strings.Join(away, ", "), away[0])
}

// failing reports whether a failed node is being replaced.
func (p *Picture) failing() bool {
	return p.Change.TakingOver()
}

// excluded reports whether a failed node was excluded and not forgotten.
func (n *Node) excluded() bool {
	return !n.Counts && n.State == crawl.NodeFailed && !n.GoneSince.IsZero()
}

// silent lists the members that have not reported recently.
func (p *Picture) silent() []string {
	var names []string
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Counts && !n.live() {
			names = append(names, n.title())
		}
	}
	slices.Sort(names)
	return names
}

// silentSince is when the first report is missing of the member that fell silent last; now, if
// every member reports.
func (p *Picture) silentSince() time.Time {
	var since time.Time
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Counts && n.Heard && !n.live() {
			since = crawl.Latest(since, p.Now.Add(reportEvery-n.Age))
		}
	}
	if since.IsZero() || since.After(p.Now) {
		return p.Now
	}
	return since
}

// lostBy counts the partitions that were lost to forgotten nodes.
func lostBy(p *Picture) int {
	lost := 0
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Counts {
			lost += n.Block.Lost
		}
	}
	return lost
}
