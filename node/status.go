package node

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"strconv"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler"
)

// Status makes the status document from what this node knows: its own block
// and the others' last ones. It calls nobody and reads no URL (invariant I10).
func (n *Node) Status(_ context.Context, nodeOnly bool) (*crawl.Status, error) {
	snap := n.members.Snapshot()
	p := picture{now: time.Now(), self: n.id, name: n.name, version: n.version, cluster: n.cfg.ClusterName,
		joined: n.engine.Load() != nil && n.synced.Load(), drains: n.draining.Load(), doc: n.doc.Current().doc,
		total: n.cfg.Partitions, factor: n.cfg.Replication, change: n.changes.status(), rates: n.meter.cluster()}
	p.since = n.started
	if at := p.change.At; at != nil {
		p.since = *at
	}
	if v := snap.View; v != nil {
		p.view, p.total, p.factor = v.Number, v.Cluster.Partitions, v.Cluster.Replication
		p.digest = snap.Table.Digest()
	}
	p.nodes = append(p.nodes, nodePicture{block: *n.block(), heard: true, state: n.ownState(), counts: true})
	if p.alone = nodeOnly; nodeOnly {
		return merge(p), nil
	}
	infos := n.peers.all()
	known := map[crawl.NodeID]bool{n.id: true}
	for _, pr := range snap.Peers {
		if known[pr.ID] {
			continue
		}
		known[pr.ID] = true
		np := nodePicture{state: pr.State, counts: pr.Listed}
		if info, ok := infos[pr.ID]; ok {
			np.block, np.heard, np.age = info.block, true, p.now.Sub(info.heard)
		}
		np.block.Node.ID, np.block.Node.Name = pr.ID, pr.Name
		np.block.Node.HTTP, np.block.Node.RPC, np.block.Node.Gossip = pr.HTTP, pr.RPC, pr.Gossip
		p.nodes = append(p.nodes, np)
	}
	for id, info := range infos { // left long ago, and gossip has forgotten them
		if !known[id] {
			p.nodes = append(p.nodes, nodePicture{block: info.block, heard: true, age: p.now.Sub(info.heard), state: crawl.NodeLeft})
		}
	}
	return merge(p), nil
}

func (n *Node) ownState() string {
	if n.draining.Load() {
		return crawl.NodeDraining
	}
	return crawl.NodeAlive
}

// block is what this node says of itself.
func (n *Node) block() *crawl.NodeBlock {
	now := time.Now()
	self := n.members.Self()
	inHand, _ := n.purse.inHand() // before the pages: see countPages
	b := &crawl.NodeBlock{At: now.UTC(), Boot: self.Boot, View: n.viewNumber(), Counters: n.front.Totals(), PermitsInHand: inHand}
	pid, up := os.Getpid(), now.Sub(n.started).Seconds()
	pages, bytesIn, moved := n.meter.own()
	queued := b.Counters.QueuedTotal()
	b.Node = crawl.NodeStatus{ID: n.id, Name: n.name, State: n.ownState(), HTTP: self.HTTP, RPC: self.RPC, Gossip: self.Gossip,
		PID: &pid, UptimeSeconds: &up, PagesPerSecond: &pages, Queued: &queued, RSSBytes: residentBytes(), DiskFreeBytes: n.disk.free()}
	b.BytesInPerSecond = bytesIn
	fetched := n.fetched.read()
	b.Node.PagesTotal = &fetched.Pages
	n.describeEngine(b, now, moved)
	d := n.dns.Stats()
	b.DNS = crawl.DNSStatus{Lookups: d.Lookups, Hits: d.Hits, NegativeHits: d.NegativeHits, StaleServed: d.StaleServed, Failures: d.Failures}
	b.Links = crawl.LinkStatus{Local: n.links.local.Load(), Forwarded: n.links.forwarded.Load(), SuppressedBySentCache: n.links.suppressed.Load()}
	w := n.archive.Stats()
	b.Output = crawl.OutputStatus{WARCFiles: w.Files, WARCBytesTotal: w.Bytes}
	b.Reasons = n.healthReasons()
	if why := n.pausedReason(); why != "" {
		b.Node.PausedReason = &why
	}
	b.Bottleneck = n.bottleneck(b)
	b.Idle, b.Activity = n.whyNotIdle() == "", n.activity()
	return b
}

// describeEngine fills what exists only once the node has joined.
func (n *Node) describeEngine(b *crawl.NodeBlock, now time.Time, moved float64) {
	held, replica, busy, most := 0, 0, 0, n.cfg.Fetchers
	e := n.engine.Load()
	if e != nil {
		s := e.moves.Status()
		held = s.Held
		done, total := n.changes.progress(s.Outstanding)
		b.Handoff = crawl.HandoffStatus{Active: s.Outstanding > 0, PartitionsDone: done, PartitionsTotal: total, Stuck: []crawl.StuckStatus{}}
		if b.Handoff.Active {
			b.Handoff.BytesPerSecond = moved
		}
		c := e.dispatcher.Counts()
		b.Hosts, b.Stalled = hostCounts(c), e.dispatcher.Stalled()
		b.InFlight = int64(e.dispatcher.Busy())
		busy = min(e.dispatcher.Busy(), most)
		b.UnderReplicated = n.withoutCopies(held)
		if s.Outstanding == 0 && s.View == b.View {
			if took, changed := n.changes.settled(now); changed {
				n.log.Info("every partition is where the table says", "took", took.Round(time.Millisecond), "held", s.Held)
			}
		}
	}
	b.Node.Partitions = crawl.PartitionCounts{Held: &held, Replica: &replica}
	b.Node.Fetchers = crawl.FetcherCounts{Busy: &busy, Max: &most}
}

// withoutCopies counts the held partitions with fewer copies than the factor and
// the members allow. Nothing is replicated yet, so these are all of them as soon
// as somebody could have a copy.
func (n *Node) withoutCopies(held int) int {
	if v := n.members.Snapshot().View; v == nil || min(v.Cluster.Replication, len(v.Active())) < 2 {
		return 0
	}
	return held
}

// healthReasons are what a person should look at on this node.
func (n *Node) healthReasons() []crawl.HealthReason {
	var rs []crawl.HealthReason
	if n.cfg.Insecure && n.keys.key == nil {
		rs = append(rs, crawl.HealthReason{Code: "insecure", Since: n.started.UTC(), Message: n.name + " runs with --insecure: anybody who reaches its ports can join, command and read"})
	}
	if since, low := n.disk.lowSince(); low {
		rs = append(rs, crawl.HealthReason{Code: "low_disk", Since: since, Message: n.name + " has little free disk space and does not fetch: free some space"})
	}
	return rs
}

func (n *Node) pausedReason() string {
	switch d := n.doc.Current().doc; {
	case n.disk.low.Load():
		return "the disk is nearly full"
	case d.State == crawl.CrawlPaused:
		return "the crawl was paused"
	case n.engine.Load() == nil || !n.synced.Load():
		return "the node has not joined yet"
	}
	return ""
}

// bottleneck names what holds this node back, from the state of its hosts and
// fetchers.
func (n *Node) bottleneck(b *crawl.NodeBlock) crawl.BottleneckStatus {
	h := &b.Hosts
	switch {
	case b.Counters.QueuedTotal() == 0 && b.InFlight == 0:
		return crawl.BottleneckStatus{Cause: crawl.BottleneckNone, Message: "nothing is queued"}
	case *b.Node.Fetchers.Busy >= *b.Node.Fetchers.Max && h.Ready > 0:
		return crawl.BottleneckStatus{Cause: crawl.BottleneckFetchers, Message: "all " + strconv.Itoa(*b.Node.Fetchers.Max) + " fetchers are busy and " + strconv.FormatInt(h.Ready, 10) + " hosts could be asked: raise --fetchers"}
	case b.Handoff.Active:
		return crawl.BottleneckStatus{Cause: crawl.BottleneckHandoff, Message: strconv.Itoa(b.Handoff.PartitionsTotal-b.Handoff.PartitionsDone) + " partitions are on their way between nodes"}
	case h.Ready == 0 && h.Waiting+h.Backoff+h.Frozen > 0:
		return crawl.BottleneckStatus{Cause: crawl.BottleneckPoliteness, Message: "every host with queued URLs waits for its delay: more hosts or a smaller --delay would be faster"}
	case h.Ready > 0:
		return crawl.BottleneckStatus{Cause: crawl.BottleneckCPU, Message: strconv.FormatInt(h.Ready, 10) + " hosts could be asked at once and fetchers are free: the machine is the limit"}
	}
	return crawl.BottleneckStatus{Cause: crawl.BottleneckNone, Message: "the fetchers keep up with what is queued"}
}

// residentBytes is the resident memory, page cache of mapped files included;
// nil where the system does not tell.
func residentBytes() *int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(raw)
	if err != nil || len(fields) < 2 {
		return nil
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return nil
	}
	v := pages * int64(os.Getpagesize())
	return &v
}

// measure samples the totals once a second and looks at the disk.
func (n *Node) measure(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		own := n.front.Totals()
		all := own
		infos := n.peers.all()
		for _, m := range n.others() {
			if info, ok := infos[m.ID]; ok {
				all.Plus(&info.block.Counters)
			}
		}
		fetched := n.fetched.read()
		n.meter.sample(time.Now(), fetched.Pages, fetched.Bytes, all.Pages, all.Bytes, n.engine.Load().moves.BytesMoved())
		if n.disk.look(n.dir.path) {
			n.documentChanged()
		}
		if err := n.resumeFinished(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Metrics serves the Prometheus exposition.
func (n *Node) Metrics() http.Handler { return n.metrics.Handler() }

// hostCounts puts the scheduler's counts into the words of the status.
func hostCounts(c scheduler.Counts) crawl.HostCounts {
	return crawl.HostCounts{InFlight: int64(c.InFlight), Ready: int64(c.Ready), Waiting: int64(c.Waiting), Backoff: int64(c.Backoff), Frozen: int64(c.Frozen)}
}
