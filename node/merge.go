package node

import (
	"cmp"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/crawldoc"
)

// picture is all that a Status is made of. merge is pure: it costs O(nodes).
type picture struct {
	now     time.Time
	self    crawl.NodeID
	name    string // of the answering node
	version string
	cluster string
	joined  bool
	alone   bool // only the answering node is in it, as somebody asked
	drains  bool
	doc     *crawldoc.Document
	view    crawl.Epoch
	digest  string
	nodes   []nodePicture // every node that was ever heard of, this one included
	total   int           // partitions
	factor  int
	change  crawl.ChangeStatus
	since   time.Time // of the last change of members, as far as this node knows
	rates   rates
	// minority says that the answering node has no lease and can get none.
	minority      bool
	minoritySince time.Time
}

// nodePicture is one node's last block with what gossip and the view say of it.
type nodePicture struct {
	block     crawl.NodeBlock
	held      []byte // bitmap of the partitions that it holds
	heard     bool
	age       time.Duration
	state     string     // crawl.NodeAlive...
	boot      crawl.Boot // that gossip or the view knows
	counts    bool       // its counters belong into the totals: it is a member of the view
	forgotten bool       // an operator swore that it is gone
	goneSince time.Time  // of a former member: when a view went on without it
}

// How long a member may be silent. Each says something of itself every second.
const (
	suspectAfter = 2 * time.Second
	staleAfter   = 3 * time.Second // its last block says nothing of what it does now
)

// settleState makes of gossip's word what people read: a member that says
// nothing is suspect, and a former one failed or left, whatever gossip still
// says of that life. gone is zero for a node that no view dropped.
func (n *nodePicture) settleState(gone departure) {
	switch {
	case n.forgotten:
		n.state = crawl.NodeLeft
	case gone.state != "" && !n.counts && n.boot <= gone.member.Boot:
		n.state, n.goneSince = gone.state, gone.at
	case n.counts && n.heard && n.age > suspectAfter && (n.state == crawl.NodeAlive || n.state == crawl.NodeDraining):
		n.state = crawl.NodeSuspect
	}
}

// live reports whether what a node does now is known: its queue still counts
// when it has failed, its fetches and partitions do not.
func (n *nodePicture) live() bool {
	return n.heard && n.age < staleAfter && n.state != crawl.NodeFailed && n.state != crawl.NodeLeft
}

// title is what people call a node.
func (n *nodePicture) title() string {
	return cmp.Or(n.block.Node.Name, string(n.block.Node.ID))
}

// merge makes the status document.
func merge(p picture) *crawl.Status {
	s := &crawl.Status{APIVersion: crawl.StatusAPIVersion, AsOf: p.now.UTC(), ServedBy: p.name,
		Version: crawl.VersionStatus{Crawlnode: p.version, Protocol: protocolVersion}}
	var sum crawl.Counters
	served, bereft := make([]byte, (p.total+7)/8), p.bereft()
	for i := range p.nodes {
		n := &p.nodes[i]
		s.Nodes = append(s.Nodes, nodeStatus(n))
		countMember(&s.Cluster.Members, n.state)
		if n.heard {
			addHistory(s, n)
		}
		if !n.counts || !n.heard {
			continue
		}
		sum.Plus(&n.block.Counters)
		if n.live() {
			addBlock(s, &n.block)
			addHeld(&s.Ring, n, served, bereft && n.block.View < p.view)
		}
	}
	s.Ring.Served = countBits(served)
	slices.SortFunc(s.Nodes, func(a, b crawl.NodeStatus) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	fillTotals(s, &sum)
	fillRing(s, &p, bereft)
	fillCrawl(s, &p)
	fillRates(s, &p)
	fillCluster(s, &p)
	s.Bottleneck = worstBottleneck(&p)
	fillEnd(s, &p)
	return s
}

func nodeStatus(n *nodePicture) crawl.NodeStatus {
	st := n.block.Node
	st.State = n.state
	if n.heard {
		age := n.age.Seconds()
		st.AgeSeconds = &age
		if said := st.LeaseRemainingSeconds; said != nil { // it has run on since
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

// addHistory adds what a node has done. It stays done when the node is gone, so its
// last word counts for good; what lies on its disk is told apart.
func addHistory(s *crawl.Status, n *nodePicture) {
	b := &n.block
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
	switch {
	case n.forgotten:
		o.WARCFilesLost += b.Output.WARCFiles
		o.WARCBytesLost += b.Output.WARCBytesTotal
	case !n.live():
		o.WARCFilesAway += b.Output.WARCFiles
		o.WARCBytesAway += b.Output.WARCBytesTotal
	}
}

// addBlock adds what a living node does now.
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
	s.Fetch.LatencySeconds = c.LatencyQuantiles()
	s.Links.Found = c.LinksFound
	s.Output.RecordsTotal, s.Output.ContentDuplicatesTotal, s.Output.NearDuplicatesTotal = c.Captures, c.ContentDup, c.NearDup
}

func fillCrawl(s *crawl.Status, p *picture) {
	d, c := p.doc, &s.Crawl
	c.State, c.StartedAt = d.State, d.Started
	c.RunningSeconds = d.RunningFor(p.now).Seconds()
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
	c.AllowedActions = crawldoc.AllowedActions(d.State)
	switch d.State {
	case crawl.CrawlIdle:
		c.Message = "no seed has been added yet"
	case crawl.CrawlRunning:
		c.Message = "the crawl runs"
	case crawl.CrawlPaused:
		c.Message = "the crawl was paused"
	case crawl.CrawlFinished:
		c.Message = "the crawl has ended: " + d.Reason
	}
}

func fillRates(s *crawl.Status, p *picture) {
	t := &s.Throughput
	sec := p.doc.RunningFor(p.now).Seconds()
	if sec > 0 {
		t.PagesPerSecond.Avg = float64(t.PagesTotal) / sec
		t.BytesInPerSecond.Avg = float64(t.BytesInTotal) / sec
	}
	t.PagesPerSecond.Avg1m, t.PagesPerSecond.Peak = p.rates.pages.Avg1m, max(p.rates.pages.Peak, t.PagesPerSecond.Now)
	t.BytesInPerSecond.Avg1m, t.BytesInPerSecond.Peak = p.rates.bytes.Avg1m, max(p.rates.bytes.Peak, t.BytesInPerSecond.Now)
}

// worstBottleneck takes the sentence of the node with most queued URLs.
func worstBottleneck(p *picture) crawl.BottleneckStatus {
	best, most := crawl.BottleneckStatus{Cause: crawl.BottleneckNone, Message: "nothing is queued"}, int64(0)
	for i := range p.nodes {
		n := &p.nodes[i]
		if q := n.block.Counters.QueuedTotal(); n.counts && q > most && n.block.Bottleneck.Cause != "" {
			best, most = n.block.Bottleneck, q
		}
	}
	return best
}
