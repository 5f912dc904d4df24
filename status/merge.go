package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/crawldoc"
)

// Picture is the input of a Status. Merge is pure: it costs O(nodes).
type Picture struct {
	Now      time.Time
	Self     crawl.NodeID
	Name     string // of the answering node
	Version  string
	Protocol int
	Cluster  string
	Joined   bool
	Alone    bool // only the answering node is in it, as requested
	Drains   bool
	Doc      *crawldoc.Document
	View     crawl.Epoch
	Digest   string
	Nodes    []Node // every known node, present or past, including this one
	Total    int    // partitions
	Factor   int
	Change   crawl.ChangeStatus
	Since    time.Time // of the last change of members, as far as this node knows
	Rates    Rates
	// Minority says that the answering node has no lease and can get none.
	Minority      bool
	MinoritySince time.Time
	// Waits says that the crawl waits until a known page is due (Waiting).
	Waits bool
	// Began is when the answering node first saw each trouble of the cluster that it sees since
	// without a break (Onsets).
	Began map[string]time.Time
}

// Node is one node's last block with its state by gossip and the view.
type Node struct {
	Block     crawl.NodeBlock
	Held      []byte // bitmap of the partitions that it holds
	Heard     bool
	Age       time.Duration
	State     string     // crawl.NodeAlive...
	Boot      crawl.Boot // that gossip or the view knows
	Counts    bool       // its counters belong to the totals: it is a member of the view
	Forgotten bool       // an operator has forgotten it
	GoneSince time.Time  // of a former member: when a view went on without it
}

// Departure is how a former member left; the zero value if it did not.
type Departure struct {
	Boot  crawl.Boot
	State string // crawl.NodeLeft, or NodeFailed when it was excluded
	At    time.Time
}

// Rates are the cluster's speeds, as this node sees them.
type Rates struct{ Pages, Bytes crawl.Rate }

// How long a member may be silent.
const (
	reportEvery  = time.Second // each reports so often
	suspectAfter = 2 * time.Second
	StaleAfter   = 3 * time.Second // its last block is too old for its current work
)

// DeriveState computes the state that people see from gossip's state: a silent member is suspect,
// and a former one failed or left, whatever gossip still reports of that boot. gone is zero for a
// node that no view dropped.
func (n *Node) DeriveState(gone Departure) {
	switch {
	case n.Forgotten:
		n.State = crawl.NodeLeft
	case gone.State != "" && !n.Counts && n.Boot <= gone.Boot:
		n.State, n.GoneSince = gone.State, gone.At
	case n.Counts && n.Heard && n.Age > suspectAfter && (n.State == crawl.NodeAlive || n.State == crawl.NodeDraining):
		n.State = crawl.NodeSuspect
	}
}

// live reports whether a node's current work is known. The queue of a failed node still counts, its
// fetches and partitions do not.
func (n *Node) live() bool {
	return n.Heard && n.Age < StaleAfter && n.State != crawl.NodeFailed && n.State != crawl.NodeLeft
}

// title is the name of a node for people.
func (n *Node) title() string {
	return cmp.Or(n.Block.Node.Name, string(n.Block.Node.ID))
}

// Merge makes the status document.
func Merge(p Picture) *crawl.Status {
	s := &crawl.Status{APIVersion: crawl.StatusAPIVersion, AsOf: p.Now.UTC(), ServedBy: p.Name,
		Version: crawl.VersionStatus{Crawlnode: p.Version, Protocol: p.Protocol}, Output: crawl.OutputStatus{Sinks: []crawl.SinkStatus{}, Webhooks: []crawl.WebhookStatus{}}}
	s.Fetch.Traps = []crawl.TrapStatus{}
	var sum crawl.Counters
	marks, bereft := newMarks(p.Total), p.bereft()
	for i := range p.Nodes {
		n := &p.Nodes[i]
		s.Nodes = append(s.Nodes, nodeStatus(n))
		countMember(&s.Cluster.Members, n.State)
		if n.Heard {
			addHistory(s, n)
		}
		if !n.Counts || !n.Heard {
			continue
		}
		sum.Plus(&n.Block.Counters)
		if n.live() {
			addBlock(s, &n.Block)
			addHeld(&s.Ring, n, &marks, bereft && n.Block.View < p.View)
		}
	}
	s.Ring.Served = crawl.CountBits(marks.served)
	slices.SortFunc(s.Nodes, func(a, b crawl.NodeStatus) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	fillTotals(s, &sum)
	lost := 0
	if bereft { // not moving, but without the copy that the holder had
		lost = p.Total - crawl.CountBits(marks.held)
	}
	fillRing(s, &p, lost)
	fillCrawl(s, &p)
	fillRates(s, &p, &sum)
	fillFreshness(s, &p, &sum)
	fillIndex(s, &p)
	fillWorkers(s, &p)
	fillRender(s, &p)
	fillCluster(s, &p)
	s.Bottleneck = bottleneckOf(s, &p)
	fillEnd(s, &p)
	slices.SortStableFunc(s.Fetch.Traps, func(a, b crawl.TrapStatus) int {
		return cmp.Compare(b.Pages, a.Pages)
	})
	return s
}

// nodeStatus is the row of a node. The rows agree with the totals: a silent node fetches nothing,
// and what a former member held and had queued counts where it is now. The rest of a node that
// cannot be reached is its last report, with its age.
func nodeStatus(n *Node) crawl.NodeStatus {
	st := n.Block.Node
	st.State, st.Weight = n.State, max(st.Weight, 1)
	if !n.Heard {
		return st
	}
	age := n.Age.Seconds()
	st.AgeSeconds = &age
	if said := st.LeaseRemainingSeconds; said != nil { // part of it has passed since
		left := max(*said-age, 0)
		st.LeaseRemainingSeconds = &left
	}
	st.PagesTotal = &n.Block.Counters.Pages    // a node of an earlier release counts since its start
	if busy := st.Fetchers.Busy; busy != nil { // in earlier releases also with pages that were read
		st.Fetchers.Busy = new(min(*busy, int(n.Block.Hosts.InFlight)))
	}
	if !n.Counts || !n.live() {
		st.PagesPerSecond, st.Fetchers.Busy = new(0.0), new(0)
	}
	if !n.Counts {
		st.Queued, st.PagesTotal = new(int64(0)), new(int64(0))
		st.Partitions = crawl.PartitionCounts{Held: new(0), Replica: new(0)}
	}
	return st
}

func countMember(c *crawl.MemberCounts, state string) {
	switch state {
	case crawl.NodeAlive:
		c.Alive++
	case crawl.NodeSuspect:
		c.Suspect++
	case crawl.NodeDraining:
		c.Draining++
	case crawl.NodeLeft:
		c.Left++
	case crawl.NodeFailed:
		c.Failed++
	}
}

// addHistory adds the finished work of a node. It still counts when the node is gone, by its last
// report. The files on its disk are counted separately.
func addHistory(s *crawl.Status, n *Node) {
	b := &n.Block
	s.DNS.Lookups += b.DNS.Lookups
	s.DNS.Hits += b.DNS.Hits
	s.DNS.NegativeHits += b.DNS.NegativeHits
	s.DNS.StaleServed += b.DNS.StaleServed
	s.DNS.Failures += b.DNS.Failures
	s.Links.Local += b.Links.Local
	s.Links.Forwarded += b.Links.Forwarded
	s.Links.SuppressedBySentCache += b.Links.SuppressedBySentCache
	o := &s.Output
	o.WARCFiles += b.Output.WARCFiles
	o.WARCBytesTotal += b.Output.WARCBytesTotal
	o.IndexBytesTotal += b.Output.IndexBytesTotal
	o.DerivedFiles += b.Output.DerivedFiles
	o.DerivedBytesTotal += b.Output.DerivedBytesTotal
	o.ContentUnansweredTotal += b.Output.ContentUnansweredTotal
	o.Upload.QueuedFiles += b.Output.Upload.QueuedFiles
	o.Upload.BytesTotal += b.Output.Upload.BytesTotal
	o.Upload.FailedTotal += b.Output.Upload.FailedTotal
	o.Upload.BehindSeconds = max(o.Upload.BehindSeconds, b.Output.Upload.BehindSeconds)
	addSinks(o, b.Output.Sinks)
	addWebhooks(o, b.Output.Webhooks)
	switch {
	case n.Forgotten:
		o.WARCFilesLost += b.Output.WARCFiles
		o.WARCBytesLost += b.Output.WARCBytesTotal
	case !n.live():
		o.WARCFilesAway += b.Output.WARCFiles
		o.WARCBytesAway += b.Output.WARCBytesTotal
	}
}

// addBlock adds the current work of a running node.
func addBlock(s *crawl.Status, b *crawl.NodeBlock) {
	h, t := &b.Hosts, &s.Frontier.Hosts
	s.Frontier.InFlight += h.InFlight
	t.InFlight += h.InFlight
	t.Ready += h.Ready
	t.Waiting += h.Waiting
	t.Backoff += h.Backoff
	t.Frozen += h.Frozen
	t.OverShare += h.OverShare
	s.Output.WARCBytesPerSecond += b.Output.WARCBytesPerSecond
	s.Output.RecordsPerSecond += b.Output.RecordsPerSecond
	addRing(&s.Ring, b)
	s.Cluster.Health.Reasons = append(s.Cluster.Health.Reasons, b.Reasons...)
	s.Fetch.Traps = append(s.Fetch.Traps, b.Traps...)
	s.Throughput.BytesInPerSecond.Now += b.BytesInPerSecond
	if b.Node.PagesPerSecond != nil {
		s.Throughput.PagesPerSecond.Now += *b.Node.PagesPerSecond
	}
}

func fillTotals(s *crawl.Status, c *crawl.Counters) {
	f := &s.Frontier
	f.Queued, f.ByBand, f.Outbox = c.QueuedTotal(), c.Queued, c.Outbox
	f.SeenTotal, f.DuplicatesTotal, f.Hosts.Total = c.Seen, c.Duplicates, c.Hosts
	s.Throughput.PagesTotal, s.Throughput.BytesInTotal = c.Pages, c.Bytes
	s.Fetch.Responses = crawl.ResponseCounts{C2xx: c.Responses[0], C3xx: c.Responses[1], C4xx: c.Responses[2], C5xx: c.Responses[3]}
	s.Fetch.ErrorsByCategory, s.Fetch.SkippedByReason = c.ErrorsByCategory(), c.SkippedByReason()
	for _, v := range c.Errors {
		s.Fetch.ErrorsTotal += v
	}
	s.Fetch.RetriesTotal, s.Fetch.GivenUpByReason = c.Retries, c.GivenUpByReason()
	for _, v := range c.GivenUp {
		s.Fetch.GivenUpTotal += v
	}
	s.Fetch.BlockedTotal, s.Fetch.BlockedByKind = c.BlockedByKind()
	s.Preferences.LeftOutTotal = c.LeftOutByPurpose()
	s.Fetch.HostsBlocking = max(c.HostsWalled, 0)
	s.Fetch.LatencySeconds = c.LatencyQuantiles()
	s.Links.Found = c.LinksFound
	s.Output.RecordsTotal, s.Output.ContentDuplicatesTotal, s.Output.NearDuplicatesTotal = c.Captures, c.ContentDup, c.NearDup
}

func fillCrawl(s *crawl.Status, p *Picture) {
	d, c := p.Doc, &s.Crawl
	c.State, c.StartedAt, c.EndedAt = d.State, d.Started, d.Ended
	c.RunningSeconds = d.RunningFor(p.Now).Seconds()
	if d.Reason != "" {
		c.FinishReason = &d.Reason
	}
	l := &d.Settings
	if l.MaxPages > 0 {
		c.Limits.MaxPages = &l.MaxPages
	}
	if l.MaxPagesPerHost > 0 {
		c.Limits.MaxPagesPerHost = &l.MaxPagesPerHost
	}
	if l.MaxDepth > 0 {
		c.Limits.MaxDepth = &l.MaxDepth
	}
	if l.MaxDuration > 0 {
		sec := l.MaxDuration.Seconds()
		c.Limits.MaxDurationSeconds = &sec
	}
	if p.Waits {
		c.State = crawl.CrawlWaiting
	}
	c.AllowedActions = crawldoc.AllowedActions(c.State)
	switch c.State {
	case crawl.CrawlIdle:
		c.Message = "no seed has been added yet"
	case crawl.CrawlRunning:
		c.Message = "the crawl runs"
	case crawl.CrawlWaiting:
		c.Message = revisitText(p)
	case crawl.CrawlPaused:
		c.Message = "the crawl was paused"
		if d.Started == nil {
			c.Message += " before its first seed"
		}
	case crawl.CrawlFinished:
		c.Message = "the crawl has ended: " + d.Reason
	}
}

// shortest is the running time from which an average is a speed: before, it is that of an instant.
const shortest = time.Second

// AverageOf is the speed since the crawl began, of the counters of all members.
func AverageOf(c *crawl.Counters, running time.Duration) Speeds {
	if running <= 0 {
		return Speeds{}
	}
	sec := max(running, shortest).Seconds()
	return Speeds{float64(c.Pages) / sec, float64(c.Bytes) / sec}
}

// fillRates fills the speeds; now are the sums of the nodes' own. A speed was reached if it is
// the one now, a mean, or one that any member has seen: the peak is the highest of them. So it is
// never below an average of pages that were fetched before this node started.
func fillRates(s *crawl.Status, p *Picture, sum *crawl.Counters) {
	peaks := crawl.Peaks{Pages: p.Rates.Pages.Peak, Bytes: p.Rates.Bytes.Peak}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Heard && !p.Alone {
			peaks.Pages = max(peaks.Pages, n.Block.Peaks.Pages)
			peaks.Bytes = max(peaks.Bytes, n.Block.Peaks.Bytes)
		}
	}
	avg, t := AverageOf(sum, p.Doc.RunningFor(p.Now)), &s.Throughput
	fill := func(r *crawl.Rate, seen crawl.Rate, avg, peak float64) {
		r.Avg, r.Avg1m = avg, seen.Avg1m
		r.Peak = max(peak, r.Now, r.Avg1m, r.Avg)
	}
	fill(&t.PagesPerSecond, p.Rates.Pages, avg.Pages, peaks.Pages)
	fill(&t.BytesInPerSecond, p.Rates.Bytes, avg.Bytes, peaks.Bytes)
	if s.Crawl.State == crawl.CrawlFinished || s.Crawl.State == crawl.CrawlIdle {
		stand(s)
	}
}

// stand sets the speeds of a crawl that does not run to 0: "now" covers some seconds, and would
// tell of the time before.
func stand(s *crawl.Status) {
	s.Throughput.PagesPerSecond.Now, s.Throughput.BytesInPerSecond.Now = 0, 0
	s.Output.WARCBytesPerSecond, s.Output.RecordsPerSecond = 0, 0
	for i := range s.Nodes {
		if s.Nodes[i].PagesPerSecond != nil {
			s.Nodes[i].PagesPerSecond = new(0.0)
		}
	}
}

// strain is what the cluster as a whole waits for: the sums of its running members.
func (p *Picture) strain(s *crawl.Status) Strain {
	all := Strain{Queued: s.Frontier.Queued, Hosts: s.Frontier.Hosts,
		Revisits: p.Doc.Settings.Revisits(), Due: s.Freshness.Due}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Counts && n.live() {
			one := StrainOf(&n.Block, false)
			all.InFlight += one.InFlight
			all.Busy += one.Busy
			all.Fetchers += one.Fetchers
		}
	}
	return all
}

// bottleneckOf is the main limit of the whole cluster: that of the members with most queued URLs.
// Its figures are those of the rest of the document: sums where each member has a part, and else
// of one member, which is named.
func bottleneckOf(s *crawl.Status, p *Picture) crawl.BottleneckStatus {
	q, none := s.Frontier.Queued, func(format string, args ...any) crawl.BottleneckStatus {
		return crawl.BottleneckStatus{Cause: crawl.BottleneckNone, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case s.Crawl.State == crawl.CrawlFinished && q > 0:
		return none("%s; %s still queued", s.Crawl.Message, are(q, "URL", "URLs"))
	case s.Crawl.State == crawl.CrawlFinished:
		return none("%s; nothing is queued", s.Crawl.Message)
	case s.Crawl.State == crawl.CrawlPaused && q > 0:
		return none("no fetching although %s queued: %s", are(q, "URL", "URLs"), s.Crawl.Message)
	case s.Crawl.State == crawl.CrawlWaiting:
		return crawl.BottleneckStatus{Cause: crawl.BottleneckNothingDue, Message: s.Crawl.Message + ": " + moreDue}
	}
	limit, of := p.limits()
	if limit == nil {
		return none("no node reports what it does")
	}
	all := p.strain(s)
	computing := []string{crawl.BottleneckCPU, crawl.BottleneckIndex, crawl.BottleneckRender}
	if slices.Contains(computing, limit.Cause) && all.mostWait() {
		limit.Cause = crawl.BottleneckPoliteness // one machine is busy, and the crawl waits for sites
	}
	switch {
	case limit.Cause == crawl.BottleneckPoliteness && all.Hosts.Waiting+all.Hosts.InFlight > 0:
		limit.Message = waitingText(&all.Hosts) + ": more hosts or a smaller --delay would help"
	case limit.Cause == crawl.BottleneckPoliteness, limit.Cause == crawl.BottleneckNothingDue,
		limit.Cause == crawl.BottleneckNone && of.Block.Node.PausedReason == nil:
		if one := BottleneckOf(&all); one.Cause == limit.Cause {
			limit.Message = one.Message
		}
	case p.members() > 1: // a node in trouble or short of something
		limit.Message = of.title() + ": " + limit.Message
	}
	return *limit
}

// members counts the nodes whose counters belong to the totals.
func (p *Picture) members() (n int) {
	for i := range p.Nodes {
		if p.Nodes[i].Counts {
			n++
		}
	}
	return n
}

// limits finds the cause that holds back most of the queued URLs, and of the running members that
// have it the one with most of them; nil: no member runs. Its sentence is that member's.
func (p *Picture) limits() (limit *crawl.BottleneckStatus, of *Node) {
	found, queued := map[string]crawl.BottleneckStatus{}, map[string]int64{}
	worst, most := map[string]*Node{}, map[string]int64{}
	var causes []string // in the order of the nodes, so that equals do not alternate
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !n.Counts || !n.live() {
			continue
		}
		b := n.Block.Bottleneck
		if n.Block.Load != nil {
			strain := StrainOf(&n.Block, p.Doc.Settings.Revisits())
			b = BottleneckOf(&strain)
		}
		q := n.Block.Counters.QueuedTotal()
		if b.Cause == "" {
			continue
		}
		if worst[b.Cause] == nil {
			causes = append(causes, b.Cause)
		}
		if queued[b.Cause] += q; worst[b.Cause] == nil || q > most[b.Cause] {
			found[b.Cause], worst[b.Cause], most[b.Cause] = b, n, q
		}
	}
	if len(causes) == 0 {
		return nil, nil
	}
	cause := causes[0]
	for _, c := range causes[1:] {
		if queued[c] > queued[cause] {
			cause = c
		}
	}
	b := found[cause]
	return &b, worst[cause]
}

// addWebhooks adds a node's webhooks to those of the others, by their names.
func addWebhooks(o *crawl.OutputStatus, webhooks []crawl.WebhookStatus) {
	for _, s := range webhooks {
		i := slices.IndexFunc(o.Webhooks, func(have crawl.WebhookStatus) bool { return have.Webhook == s.Webhook })
		if i < 0 {
			o.Webhooks = append(o.Webhooks, s)
			continue
		}
		have := &o.Webhooks[i]
		have.EventsTotal += s.EventsTotal
		have.Queued += s.Queued
		have.LostTotal += s.LostTotal
		have.ErrorsTotal += s.ErrorsTotal
		have.BehindSeconds = max(have.BehindSeconds, s.BehindSeconds)
		if s.FailsSince != nil && (have.FailsSince == nil || s.FailsSince.Before(*have.FailsSince)) {
			have.FailsSince, have.Error = s.FailsSince, s.Error
		}
		if s.LostAt != nil && (have.LostAt == nil || s.LostAt.After(*have.LostAt)) {
			have.LostAt = s.LostAt
		}
	}
}

// addSinks adds a node's sinks to those of the others, by their names.
func addSinks(o *crawl.OutputStatus, sinks []crawl.SinkStatus) {
	for _, s := range sinks {
		i := slices.IndexFunc(o.Sinks, func(have crawl.SinkStatus) bool { return have.Sink == s.Sink })
		if i < 0 {
			o.Sinks = append(o.Sinks, s)
			continue
		}
		have := &o.Sinks[i]
		have.EventsTotal += s.EventsTotal
		have.ErrorsTotal += s.ErrorsTotal
		have.BehindSeconds = max(have.BehindSeconds, s.BehindSeconds)
		if s.FailsSince != nil && (have.FailsSince == nil || s.FailsSince.Before(*have.FailsSince)) {
			have.FailsSince, have.Error = s.FailsSince, s.Error
		}
	}
}
