package report

import (
	"os"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/transfer"
	"crawlnode/local/resources"
	"crawlnode/scheduler/core"
	"crawlnode/status"
)

func (r *Reporter) ownState() string {
	if r.Node.Draining() {
		return crawl.NodeDraining
	}
	return crawl.NodeAlive
}

// Block is what this node says of itself.
func (r *Reporter) Block() *crawl.NodeBlock {
	now := time.Now()
	self := r.Members.Self()
	document := r.Documents.Current().Doc.Version // before the permits, and these
	inHand, _ := r.Permits.InHand()               // before the pages: so a page that is done in between counts twice
	m := r.figures()                              // before the pages: so those of a partition that is counted as held are in them
	b := &crawl.NodeBlock{At: now.UTC(), Boot: self.Boot, View: m.View, Document: document, Counters: r.Front.Totals(), PermitsInHand: inHand}
	pid, up := os.Getpid(), now.Sub(r.Started).Seconds()
	pages, bytesIn, moved := r.meter.Own()
	queued := b.Counters.QueuedTotal()
	b.Node = crawl.NodeStatus{ID: r.ID, Name: r.Name, State: r.ownState(), HTTP: self.HTTP, RPC: self.RPC, Gossip: self.Gossip,
		PID: &pid, UptimeSeconds: &up, PagesPerSecond: &pages, Queued: &queued, RSSBytes: resources.ResidentBytes(), DiskFreeBytes: r.Space.Free(), WARCDiskFreeBytes: r.Space.ArchiveFree(), Version: &r.Version}
	for _, p := range r.Members.Snapshot().Peers {
		if p.ID == r.ID {
			b.Node.Weight, b.Node.Zone = p.Weight, crawl.ZoneOf(p.Zone)
		}
	}
	dead := r.Front.Dead().Bytes
	b.Node.DeletingBytes = &dead
	b.BytesInPerSecond = bytesIn
	b.Node.PagesTotal, b.Peaks = &b.Counters.Pages, r.meter.Peaks()
	r.describeEngine(b, m, moved)
	d := r.DNS.Stats()
	b.DNS = crawl.DNSStatus{Lookups: d.Lookups, Hits: d.Hits, NegativeHits: d.NegativeHits, StaleServed: d.StaleServed, Failures: d.Failures}
	l := r.Router.Counts()
	b.Links = crawl.LinkStatus{Local: l.Local, Forwarded: l.Forwarded, SuppressedBySentCache: l.Suppressed}
	w := r.Outputs.Archive().Stats()
	b.Output = crawl.OutputStatus{WARCFiles: w.Files, WARCBytesTotal: w.Bytes, IndexBytesTotal: w.IndexBytes}
	b.Output.ContentUnansweredTotal = r.Contents.Unanswered()
	b.Output.WARCBytesPerSecond, b.Output.RecordsPerSecond = r.meter.Archive()
	b.Output.DerivedFiles, b.Output.DerivedBytesTotal = r.Outputs.DerivedFiles()
	b.Output.Upload = r.Outputs.Uploads(now)
	b.Output.Sinks, b.Output.Webhooks = r.Sinks.State(now), r.Webhooks.State(now)
	b.Waiting, b.Revisits = r.Finisher.Waiting(), r.revisits(now, &b.Counters)
	b.Index, b.Render, b.Bot = r.Index(), r.Render(), r.Bot()
	b.Workers = r.workers()
	if r.Traps != nil {
		b.Traps = r.Traps()
		b.Traps = b.Traps[:min(len(b.Traps), crawl.MaxTraps)]
	}
	b.Reasons = append(r.HealthReasons(), trapReasons(r.Name, b.Traps)...)
	if why := r.PausedReason(b.NoLease); why != "" {
		b.Node.PausedReason = &why
	}
	b.Load = r.load()
	strain := status.StrainOf(b, r.Documents.Current().Doc.Settings.Revisits())
	b.Bottleneck = status.BottleneckOf(&strain)
	b.WhyNotIdle, b.Activity = r.Node.WhyNotIdle(), r.Node.Activity()
	b.Idle = b.WhyNotIdle == ""
	return b
}

// figures are those of handoff; none before this node has joined.
func (r *Reporter) figures() transfer.Figures {
	d, moves := r.Node.Engine()
	if d == nil {
		return transfer.Figures{}
	}
	return transfer.FiguresOf(moves, r.Front)
}

// describeEngine fills what a node has only after it has joined.
func (r *Reporter) describeEngine(b *crawl.NodeBlock, m transfer.Figures, moved float64) {
	busy, most := 0, r.Breadth.Now()
	if d, _ := r.Node.Engine(); d != nil {
		r.describeMoves(b, m)
		if b.Handoff.Active {
			b.Handoff.BytesPerSecond = moved
		}
		b.Hosts, b.Stalled, b.InFlight = hostCounts(d.Counts()), d.Stalled(), int64(d.Busy())
		busy = min(r.fetching(int(b.Hosts.InFlight)), most)
	}
	b.Node.Partitions = crawl.PartitionCounts{Held: &m.Held, Replica: &m.Replicas}
	b.Node.Fetchers = crawl.FetcherCounts{Busy: &busy, Max: &most}
	left := r.lease()
	sec := left.Seconds()
	b.Node.LeaseRemainingSeconds, b.NoLease = &sec, left <= 0
}

// describeMoves fills what handoff reports.
func (r *Reporter) describeMoves(b *crawl.NodeBlock, m transfer.Figures) {
	moves, repairs := r.Changes.Progress(m.Leaving, m.UnderRepl)
	b.Handoff = crawl.HandoffStatus{Active: m.Leaving > 0, PartitionsDone: moves[0], PartitionsTotal: moves[1], Stuck: []crawl.StuckStatus{}}
	b.Repair = crawl.RepairStatus{Active: m.UnderRepl > 0, PartitionsDone: repairs[0], PartitionsTotal: repairs[1]}
	b.UnderReplicated, b.Offline, b.Promoting, b.Lost = m.UnderRepl, m.Offline, m.Awaited, m.Lost
	b.SingleCopy = m.Single
	b.Repair.CopiedTotal, b.Repair.CaughtUpTotal = m.Copied, m.CaughtUp
	for _, s := range m.Stuck[:min(len(m.Stuck), maxStuckTold)] {
		b.Handoff.Stuck = append(b.Handoff.Stuck, crawl.StuckStatus{
			Partition: s.P, From: r.NameOf(s.From), To: r.NameOf(s.To), Reason: s.Reason, Since: s.Since.UTC()})
	}
}

// maxStuckTold bounds how many stuck partitions a node tells the others of; a
// block is sent every second.
const maxStuckTold = 20

// hostCounts are the scheduler's counts in the words of the status. A host in flight has one open
// request, so these are also the requests in flight and the busy fetchers.
func hostCounts(c core.Counts) crawl.HostCounts {
	return crawl.HostCounts{InFlight: int64(c.InFlight), Ready: int64(c.Ready), Waiting: int64(c.Waiting), Backoff: int64(c.Backoff), Frozen: int64(c.Frozen), OverShare: int64(c.OverShare)}
}

// leaseShown bounds the lease in /status. Only a node that needs no other's grant has a longer one.
const leaseShown = 8 * time.Second

// lease is how long this node may still fetch; 0: not at all.
func (r *Reporter) lease() time.Duration { return min(r.Members.Lease(), leaseShown) }
