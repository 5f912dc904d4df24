package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/crawldoc"
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

// How long a member may be silent. Each reports every second.
const (
	suspectAfter = 2 * time.Second
	staleAfter   = 3 * time.Second // its last block is too old for its current work
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
	return n.Heard && n.Age < staleAfter && n.State != crawl.NodeFailed && n.State != crawl.NodeLeft
}

// title is the name of a node for people.
func (n *Node) title() string {
	return cmp.Or(n.Block.Node.Name, string(n.Block.Node.ID))
}

// Merge makes the status document.
func Merge(p Picture) *crawl.Status {
	s := &crawl.Status{APIVersion: crawl.StatusAPIVersion, AsOf: p.Now.UTC(), ServedBy: p.Name,
		Version: crawl.VersionStatus{Crawlnode: p.Version, Protocol: p.Protocol}, Output: crawl.OutputStatus{Sinks: []crawl.SinkStatus{}}}
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
	fillRates(s, &p)
	fillFreshness(s, &p, &sum)
	fillIndex(s, &p)
	fillWorkers(s, &p)
	fillRender(s, &p)
	fillCluster(s, &p)
	s.Bottleneck = worstBottleneck(s, &p)
	fillEnd(s, &p)
	slices.SortStableFunc(s.Fetch.Traps, func(a, b crawl.TrapStatus) int {
		return cmp.Compare(b.Pages, a.Pages)
	})
	return s
}

func nodeStatus(n *Node) crawl.NodeStatus {
	st := n.Block.Node
	st.State = n.State
	if n.Heard {
		age := n.Age.Seconds()
		st.AgeSeconds = &age
		if said := st.LeaseRemainingSeconds; said != nil { // part of it has passed since
			left := max(*said-age, 0)
			st.LeaseRemainingSeconds = &left
		}
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
	s.Frontier.InFlight += b.InFlight
	h, t := &b.Hosts, &s.Frontier.Hosts
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

func fillRates(s *crawl.Status, p *Picture) {
	t := &s.Throughput
	sec := p.Doc.RunningFor(p.Now).Seconds()
	if sec > 0 {
		t.PagesPerSecond.Avg = float64(t.PagesTotal) / sec
		t.BytesInPerSecond.Avg = float64(t.BytesInTotal) / sec
	}
	t.PagesPerSecond.Avg1m, t.PagesPerSecond.Peak = p.Rates.Pages.Avg1m, max(p.Rates.Pages.Peak, t.PagesPerSecond.Now)
	t.BytesInPerSecond.Avg1m, t.BytesInPerSecond.Peak = p.Rates.Bytes.Avg1m, max(p.Rates.Bytes.Peak, t.BytesInPerSecond.Now)
}

// worstBottleneck takes the sentence of the node with most queued URLs. Nothing holds back a crawl
// that has ended, although a limit or an order leaves URLs in the queues.
func worstBottleneck(s *crawl.Status, p *Picture) crawl.BottleneckStatus {
	best, most := crawl.BottleneckStatus{Cause: crawl.BottleneckNone, Message: "nothing is queued"}, int64(0)
	if q := s.Frontier.Queued; s.Crawl.State == crawl.CrawlFinished && q > 0 {
		return crawl.BottleneckStatus{Cause: crawl.BottleneckNone, Message: fmt.Sprintf("%s; %d URLs are still queued", s.Crawl.Message, q)}
	}
	if s.Crawl.State == crawl.CrawlWaiting {
		best = crawl.BottleneckStatus{Cause: crawl.BottleneckNothingDue, Message: s.Crawl.Message + ": " + moreDue}
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if q := n.Block.Counters.QueuedTotal(); n.Counts && q > most && n.Block.Bottleneck.Cause != "" {
			best, most = n.Block.Bottleneck, q
		}
	}
	return best
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
