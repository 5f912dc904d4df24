package node

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/membership"
	"crawlnode/node/status"
	"crawlnode/node/transfer"
	"crawlnode/scheduler"
)

// Status makes the status document from what this node knows: its own block
// and the others' last ones. It calls nobody and reads no URL (invariant I10).
func (n *Node) Status(_ context.Context, nodeOnly bool) (*crawl.Status, error) {
	return status.Merge(n.picture(time.Now(), nodeOnly)), nil
}

// picture gathers what a status is made of.
func (n *Node) picture(now time.Time, nodeOnly bool) status.Picture {
	snap := n.members.Snapshot()
	p := status.Picture{Now: now, Self: n.id, Name: n.name, Version: n.version, Protocol: protocolVersion, Cluster: n.cfg.ClusterName,
		Joined: n.engine.Load() != nil && n.synced.Load() && n.listed(), Drains: n.draining.Load(), Doc: n.doc.Current().Doc,
		Total: n.cfg.Partitions, Factor: n.cfg.Replication, Change: n.changes.status(), Rates: n.meter.Cluster(), Alone: nodeOnly}
	p.Minority = p.Joined && snap.Minority
	p.MinoritySince = n.changes.pausedSince(p.Minority, now)
	p.Since = n.started
	if at := p.Change.At; at != nil {
		p.Since = *at
	}
	if v := snap.View; v != nil {
		p.View, p.Total, p.Factor = v.Number, v.Cluster.Partitions, v.Cluster.Replication
		p.Digest = snap.Table.Digest()
	}
	p.Nodes = []status.Node{{Block: *n.block(), Held: n.heldBits(), Heard: true, State: n.ownState(), Counts: true}}
	if !nodeOnly {
		p.Nodes = append(p.Nodes, n.othersPictured(snap, now)...)
	}
	return p
}

// othersPictured shows every other node that was ever heard of.
func (n *Node) othersPictured(snap *membership.Snapshot, now time.Time) []status.Node {
	infos, gone := n.peers.all(), n.changes.departed()
	known := map[crawl.NodeID]bool{n.id: true}
	var out []status.Node
	show := func(np status.Node, id crawl.NodeID) {
		known[id] = true
		if info, ok := infos[id]; ok {
			names := np.Block.Node
			np.Block, np.Held, np.Heard, np.Age = info.block, info.held, true, now.Sub(info.heard)
			st := &np.Block.Node
			st.ID, st.Name, st.HTTP, st.RPC, st.Gossip = names.ID, names.Name, names.HTTP, names.RPC, names.Gossip
		}
		np.Forgotten = forgotten(snap.View, id)
		np.Settle(gone[id].told())
		out = append(out, np)
	}
	for _, pr := range snap.Peers {
		if !known[pr.ID] {
			np := status.Node{State: pr.State, Boot: pr.Boot, Counts: pr.Listed}
			np.Block.Node = crawl.NodeStatus{ID: pr.ID, Name: pr.Name, HTTP: pr.HTTP, RPC: pr.RPC, Gossip: pr.Gossip}
			show(np, pr.ID)
		}
	}
	for id, d := range gone { // gossip has forgotten them
		if m := d.member; !known[id] {
			np := status.Node{State: d.state, Boot: m.Boot}
			np.Block.Node = crawl.NodeStatus{ID: id, Name: m.Name, HTTP: m.HTTP, RPC: m.RPC, Gossip: m.Gossip}
			show(np, id)
		}
	}
	return out
}

// Nodes lists every node that was ever heard of.
func (n *Node) Nodes(ctx context.Context) ([]crawl.NodeStatus, error) {
	s, err := n.Status(ctx, false)
	if err != nil {
		return nil, err
	}
	return s.Nodes, nil
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
	document := n.doc.Current().Doc.Version // before the permits, and these
	inHand, _ := n.permits.InHand()         // before the pages: so a page that is done in between counts twice
	b := &crawl.NodeBlock{At: now.UTC(), Boot: self.Boot, View: n.viewNumber(), Document: document, Counters: n.front.Totals(), PermitsInHand: inHand}
	pid, up := os.Getpid(), now.Sub(n.started).Seconds()
	pages, bytesIn, moved := n.meter.Own()
	queued := b.Counters.QueuedTotal()
	b.Node = crawl.NodeStatus{ID: n.id, Name: n.name, State: n.ownState(), HTTP: self.HTTP, RPC: self.RPC, Gossip: self.Gossip,
		PID: &pid, UptimeSeconds: &up, PagesPerSecond: &pages, Queued: &queued, RSSBytes: residentBytes(), DiskFreeBytes: n.disk.free(n.dir.Path()), WARCDiskFreeBytes: n.archiveFree()}
	dead := n.front.Dead().Bytes
	b.Node.DeletingBytes = &dead
	b.BytesInPerSecond = bytesIn
	fetched := n.fetched.read()
	b.Node.PagesTotal = &fetched.Pages
	n.describeEngine(b, moved)
	d := n.dns.Stats()
	b.DNS = crawl.DNSStatus{Lookups: d.Lookups, Hits: d.Hits, NegativeHits: d.NegativeHits, StaleServed: d.StaleServed, Failures: d.Failures}
	l := n.router.Counts()
	b.Links = crawl.LinkStatus{Local: l.Local, Forwarded: l.Forwarded, SuppressedBySentCache: l.Suppressed}
	w := n.archive.Stats()
	b.Output = crawl.OutputStatus{WARCFiles: w.Files, WARCBytesTotal: w.Bytes, IndexBytesTotal: w.IndexBytes}
	b.Output.ContentUnansweredTotal = n.contents.Unanswered()
	b.Output.WARCBytesPerSecond, b.Output.RecordsPerSecond = n.meter.Archive()
	if n.derived != nil {
		d := n.derived.Stats()
		b.Output.DerivedFiles, b.Output.DerivedBytesTotal = d.Files, d.Bytes
	}
	b.Reasons = n.healthReasons()
	if why := n.pausedReason(b.NoLease); why != "" {
		b.Node.PausedReason = &why
	}
	b.Bottleneck = n.bottleneck(b)
	b.WhyNotIdle, b.Activity = n.whyNotIdle(), n.activity()
	b.Idle = b.WhyNotIdle == ""
	return b
}

// describeEngine fills what exists only once the node has joined.
func (n *Node) describeEngine(b *crawl.NodeBlock, moved float64) {
	var m transfer.Figures
	busy, most := 0, n.cfg.Fetchers
	if e := n.engine.Load(); e != nil {
		m = transfer.FiguresOf(e.moves, n.front)
		n.describeMoves(b, m)
		if b.Handoff.Active {
			b.Handoff.BytesPerSecond = moved
		}
		c := e.dispatcher.Counts()
		b.Hosts, b.Stalled = hostCounts(c), e.dispatcher.Stalled()
		b.InFlight = int64(e.dispatcher.Busy())
		busy = min(e.dispatcher.Busy(), most)
	}
	b.Node.Partitions = crawl.PartitionCounts{Held: &m.Held, Replica: &m.Replicas}
	b.Node.Fetchers = crawl.FetcherCounts{Busy: &busy, Max: &most}
	left := n.lease()
	sec := left.Seconds()
	b.Node.LeaseRemainingSeconds, b.NoLease = &sec, left <= 0
}

// describeMoves fills what handoff says.
func (n *Node) describeMoves(b *crawl.NodeBlock, m transfer.Figures) {
	moves, repairs := n.changes.progress(m.Leaving, m.UnderRepl)
	b.Handoff = crawl.HandoffStatus{Active: m.Leaving > 0, PartitionsDone: moves[0], PartitionsTotal: moves[1], Stuck: []crawl.StuckStatus{}}
	b.Repair = crawl.RepairStatus{Active: m.UnderRepl > 0, PartitionsDone: repairs[0], PartitionsTotal: repairs[1]}
	b.UnderReplicated, b.Offline, b.Promoting, b.Lost = m.UnderRepl, m.Offline, m.Awaited, m.Lost
	b.SingleCopy = m.Single
	b.Repair.CopiedTotal, b.Repair.CaughtUpTotal = m.Copied, m.CaughtUp
	for _, s := range m.Stuck[:min(len(m.Stuck), maxStuckTold)] {
		b.Handoff.Stuck = append(b.Handoff.Stuck, crawl.StuckStatus{
			Partition: s.P, From: n.nameOf(s.From), To: n.nameOf(s.To), Reason: s.Reason, Since: s.Since.UTC()})
	}
}

// maxStuckTold bounds how many stuck partitions a node tells the others of; a
// block is sent every second.
const maxStuckTold = 20

// nameOf is a node's human name, or its id when nobody here knows the name.
func (n *Node) nameOf(id crawl.NodeID) string {
	if id == n.id {
		return n.name
	}
	snap := n.members.Snapshot()
	if v := snap.View; v != nil {
		if m, ok := v.Member(id); ok {
			return m.Name
		}
	}
	if d, ok := n.changes.departed()[id]; ok {
		return d.member.Name
	}
	return string(id)
}

// healthReasons are what a person should look at on this node.
func (n *Node) healthReasons() []crawl.HealthReason {
	var rs []crawl.HealthReason
	if n.cfg.Insecure && n.keys.ring == nil {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonInsecure, Since: n.started.UTC(), Message: n.name + " runs with --insecure: anybody who reaches its ports can join, command and read"})
	}
	for _, v := range n.disk.short() {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonLowDisk, Since: v.since, Message: fmt.Sprintf(
			"%s does not fetch, because only %d MiB are free at %s: free some space there; it goes on when %d MiB are free", n.name, v.free>>20, v.path, 2*lowDiskBytes>>20)})
		if v.path == n.dir.Path() && v.free < frontier.ReserveBytes {
			rs = append(rs, crawl.HealthReason{Code: crawl.ReasonDiskFull, Since: v.since, Message: fmt.Sprintf(
				"%s stores and acknowledges nothing new, seeds and links included, because less than %d MiB are free at %s; its partitions can still change hands: free some space, or drain it", n.name, frontier.ReserveBytes>>20, v.path)})
		}
	}
	if s := n.progress.stalled(); s != nil {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonDiskStalled, Since: s.since.UTC(), Message: n.name + " " + s.text() +
			": look at the disk of " + n.dir.Path() + "; the node goes on by itself when it answers"})
	}
	rs = append(rs, n.standingReasons(time.Now())...)
	rs = append(rs, n.joinReasons()...)
	if since, down := n.dns.Outage(); down {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonDNSDown, Since: since.UTC(), Message: n.name + " gets no answer from any name server: hosts whose addresses are not known wait, and nothing is given up for a day; look at --dns, or at the system's name servers"})
	}
	rs = append(rs, n.failingReasons()...)
	if d := n.front.Dead(); d.Err != nil && time.Since(d.Since) > deletePatience {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonNotDeleted, Since: d.Since.UTC(), Message: fmt.Sprintf(
			"%s cannot delete %d copies that it does not use any more, about %d MiB, and goes on trying: %v; look at its disk", n.name, d.Generations, d.Bytes>>20, d.Err)})
	}
	return rs
}

// failingReasons are the domains that are held back.
func (n *Node) failingReasons() []crawl.HealthReason {
	e := n.engine.Load()
	if e == nil {
		return nil
	}
	var rs []crawl.HealthReason
	for _, f := range e.dispatcher.Failing() {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonDomainFails, Since: f.Since.UTC(), Message: fmt.Sprintf(
			"%s holds hosts of %s back, because %d of the last %d tries there failed or were too slow: they have a small share of look-ups and fetchers and their URLs wait on disk; to leave them out: crawlnode crawl-config set 'exclude=%s'",
			n.name, f.Domain, f.Bad, f.Tries, excludePattern(f.Domain))})
	}
	return rs
}

// excludePattern leaves out the hosts of a domain, or of the block of addresses that
// literals belong to.
func excludePattern(domain string) string {
	p, err := netip.ParsePrefix(domain)
	switch {
	case err != nil:
		return "host:*." + domain
	case p.Addr().Is4():
		return strings.TrimSuffix(domain, "0/24") + "*"
	}
	return "[" + strings.TrimSuffix(domain, ":/48") + "*"
}

// deletePatience is how long deleting may fail before a person is told.
const deletePatience = 10 * time.Second

// joinReasons are the addresses of --join that are of no use, one reason for each kind.
func (n *Node) joinReasons() []crawl.HealthReason {
	var rs []crawl.HealthReason
	for _, code := range [...]string{crawl.ReasonJoinSilent, crawl.ReasonJoinWrong} {
		more := 0
		for _, j := range n.members.Snapshot().Join {
			switch last := len(rs) - 1; {
			case j.Code != code:
			case last >= 0 && rs[last].Code == code:
				more++
			default:
				rs = append(rs, crawl.HealthReason{Code: code, Since: j.Since.UTC(), Message: fmt.Sprintf("%s cannot use %s of its --join: %s", n.name, j.Addr, j.Reason)})
			}
		}
		if more > 0 {
			rs[len(rs)-1].Message += fmt.Sprintf(" (and %d more of its addresses)", more)
		}
	}
	return rs
}

// pausedReason says why this node fetches nothing although there may be work.
func (n *Node) pausedReason(noLease bool) string {
	switch d := n.doc.Current().Doc; {
	case n.engine.Load() == nil || !n.synced.Load() || !n.listed():
		return "the node has not joined yet"
	case n.progress.stalled() != nil:
		return n.progress.stalled().text()
	case noLease && n.members.Snapshot().Minority:
		return "no lease: this side cannot reach a majority of the members"
	case n.disk.low.Load():
		return "the disk is nearly full" + n.disk.where()
	case d.State == crawl.CrawlPaused:
		return "the crawl was paused"
	case noLease:
		return "no lease: too few members have confirmed it in the last seconds"
	}
	return ""
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

// watchEvery is how often the end of a change of members is looked for.
const watchEvery = 100 * time.Millisecond

// measure samples the totals once a second, looks at the disk, at once when a page has
// found it low, and sees a change of members to its end.
func (n *Node) measure(ctx context.Context) error {
	tick, look := time.NewTicker(time.Second), time.NewTicker(watchEvery)
	defer tick.Stop()
	defer look.Stop()
	var around status.Lookout
	for {
		n.sampleTotals()
		n.heap.look()
		n.lookAround(&around, time.Now())
		n.lookAtDisk()
		if err := n.resumeFinished(); err != nil {
			return err
		}
		if !n.watchUntil(ctx, tick.C, look.C) {
			return nil
		}
	}
}

// watchUntil does what cannot wait for the next tick, until that comes; false: ctx ended.
func (n *Node) watchUntil(ctx context.Context, tick, look <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
			return true
		case now := <-look:
			n.watchChange(now)
		case <-n.disk.fell:
			n.lookAtDisk()
		}
	}
}

// sampleTotals feeds the meter.
func (n *Node) sampleTotals() {
	own := n.front.Totals()
	all := own
	infos, counted := n.peers.all(), n.heldBits()
	for _, m := range n.others() {
		if info, ok := infos[m.ID]; ok {
			all.Plus(&info.block.Counters)
			for i := range min(len(info.held), len(counted)) {
				counted[i] |= info.held[i]
			}
		}
	}
	fetched, w := n.fetched.read(), n.archive.Stats()
	cpu, busy, everybody := n.processors()
	n.meter.Sample(time.Now(), status.Totals{Pages: fetched.Pages, Bytes: fetched.Bytes, AllPages: all.Pages, AllBytes: all.Bytes,
		Moved: n.engine.Load().moves.BytesMoved(), Written: w.Written, Records: w.Records,
		CPU: cpu, BusyTicks: busy, AllTicks: everybody, DiskWait: n.front.Waited().Microseconds(), Partial: crawl.CountBits(counted) < n.partitions()})
}

// Metrics serves the Prometheus exposition.
func (n *Node) Metrics() http.Handler { return n.metrics.Handler() }

// hostCounts puts the scheduler's counts into the words of the status.
func hostCounts(c scheduler.Counts) crawl.HostCounts {
	return crawl.HostCounts{InFlight: int64(c.InFlight), Ready: int64(c.Ready), Waiting: int64(c.Waiting), Backoff: int64(c.Backoff), Frozen: int64(c.Frozen), OverShare: int64(c.OverShare)}
}
