package plaintext

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"crawlnode/crawl"
)

// WriteStatus formats a status for people: about twenty lines and one for each node. Control and
// invisible characters are escaped.
func WriteStatus(w io.Writer, s *crawl.Status) error {
	var b bytes.Buffer
	writeCluster(&b, s)
	writeCrawl(&b, s)
	writeWork(&b, s)
	writeNodes(&b, s.Nodes)
	_, err := w.Write(b.Bytes())
	return err
}

// row writes one labelled line.
func row(b *bytes.Buffer, label, format string, args ...any) {
	fmt.Fprintf(b, "%-11s %s\n", label, Escape(fmt.Sprintf(format, args...)))
}

func writeCluster(b *bytes.Buffer, s *crawl.Status) {
	row(b, "crawlnode", "%s, asked %s at %s", s.Version.Crawlnode, s.ServedBy, s.AsOf.UTC().Format(time.RFC3339))
	row(b, "cluster", "%s: %s", s.Cluster.Name, sentence(s.Cluster.State, s.Cluster.Message))
	row(b, "health", "%s", s.Cluster.Health.Level)
	for _, r := range s.Cluster.Health.Reasons {
		row(b, "", "%s: %s (since %s)", r.Code, r.Message, r.Since.UTC().Format(time.RFC3339))
	}
	m := s.Cluster.Members
	row(b, "members", "%d alive, %d suspect, %d draining, %d left, %d failed", m.Alive, m.Suspect, m.Draining, m.Left, m.Failed)
	converged := "converged"
	if !s.Ring.Converged {
		converged = "not converged"
	}
	row(b, "ring", "view %d, table %s, %s; %d of %d partitions served, %d under-replicated, %d offline", s.Ring.View,
		s.Ring.Digest, converged, s.Ring.Served, s.Ring.Partitions, s.Ring.UnderReplicated, s.Ring.Offline)
	writeMoves(b, &s.Ring)
	if c := s.Ring.LastChange; c.Cause != nil && c.Node != nil && c.At != nil {
		row(b, "last change", "%s", changeText(&c))
	}
}

// writeMoves writes the partitions that move between nodes, if any.
func writeMoves(b *bytes.Buffer, r *crawl.RingStatus) {
	switch {
	case r.Promoting > 0 && !r.LastChange.TakingOver():
		row(b, "hand-over", "%d partitions have no holder at the moment: they are being handed over or promoted from copies", r.Promoting)
	case r.Promoting > 0:
		row(b, "take-over", "%d partitions of a failed node are being taken over from their copies", r.Promoting)
	}
	if h := r.Handoff; h.Active {
		row(b, "hand-over", "%d of %d partitions, %s/s, %s to go", h.PartitionsDone, h.PartitionsTotal, Bytes(int64(h.BytesPerSecond)), seconds(h.ETASeconds))
	}
	if c := r.SingleCopy; c.Partitions > 0 {
		row(b, "one copy", "%d partitions, the longest for %.0f s", c.Partitions, c.Seconds)
	}
	if c := r.Repair; c.Active {
		row(b, "repair", "%d of %d partitions have all their copies again", c.PartitionsDone, c.PartitionsTotal)
	}
	for i, p := range r.Handoff.Stuck {
		if i == maxStuckLines {
			row(b, "", "stuck: %d more partitions", len(r.Handoff.Stuck)-i)
			break
		}
		row(b, "", "stuck: partition %d from %s to %s since %s: %s", p.Partition, orDash(p.From), orDash(p.To), p.Since.UTC().Format(time.RFC3339), p.Reason)
	}
}

// maxStuckLines bounds how many stuck partitions are listed.
const maxStuckLines = 5

// changeText is the last change of members in one line.
func changeText(c *crawl.ChangeStatus) string {
	text := fmt.Sprintf("%s of %s at %s, ", *c.Cause, *c.Node, c.At.UTC().Format(time.RFC3339))
	done := "completed"
	if *c.Cause == crawl.CauseFailed {
		done = "taken over"
	}
	if c.TakeoverSeconds == nil {
		return text + "not " + done + " yet"
	}
	text += done + " in " + seconds(c.TakeoverSeconds)
	if c.InflightRequeued != nil && (*c.InflightRequeued > 0 || *c.Cause == crawl.CauseFailed) {
		text += ", " + known(c.InflightRequeued) + " fetches queued again"
	}
	if c.PartitionsLost != nil && (*c.PartitionsLost > 0 || *c.Cause == crawl.CauseFailed) {
		text += ", " + known(c.PartitionsLost) + " partitions lost"
	}
	return text
}

func orDash(s string) string {
	if s == "" {
		return unknown
	}
	return s
}

func writeCrawl(b *bytes.Buffer, s *crawl.Status) {
	state := sentence(s.Crawl.State, s.Crawl.Message)
	if r := s.Crawl.FinishReason; r != nil {
		state += " (" + *r + ")"
	}
	row(b, "crawl", "%s, %s", state, seconds(&s.Crawl.RunningSeconds))
	if limits := limitsText(s.Crawl.Limits); limits != "" {
		row(b, "limits", "%s", limits)
	}
	p, in := s.Throughput.PagesPerSecond, s.Throughput.BytesInPerSecond
	row(b, "pages", "%s; %.1f/s now, %.1f/s in the last minute, %.1f/s average, %.1f/s peak", Count(s.Throughput.PagesTotal), p.Now, p.Avg1m, p.Avg, p.Peak)
	row(b, "received", "%s; %s/s now", Bytes(s.Throughput.BytesInTotal), Bytes(int64(in.Now)))
	row(b, "bottleneck", "%s", sentence(s.Bottleneck.Cause, s.Bottleneck.Message))
}

func writeWork(b *bytes.Buffer, s *crawl.Status) {
	f := s.Frontier
	row(b, "queue", "%s queued %v, %s in flight, %s in outboxes", Count(f.Queued), f.ByBand, Count(f.InFlight), Count(f.Outbox))
	writeFreshness(b, &s.Freshness)
	writeWorkers(b, &s.Workers)
	row(b, "seen", "%s URLs; %s links were already known", Count(f.SeenTotal), Count(f.DuplicatesTotal))
	h := f.Hosts
	row(b, "hosts", "%s; %d in flight, %d ready, %d waiting, %d backing off, %d frozen, %d over their domain's share", Count(h.Total), h.InFlight, h.Ready, h.Waiting, h.Backoff, h.Frozen, h.OverShare)
	r, l := s.Fetch.Responses, s.Fetch.LatencySeconds
	row(b, "answers", "%s 2xx, %s 3xx, %s 4xx, %s 5xx; half within %s, 99%% within %s", Count(r.C2xx), Count(r.C3xx), Count(r.C4xx), Count(r.C5xx), millis(l.P50), millis(l.P99))
	e := s.Fetch.ErrorsByCategory
	row(b, "errors", "%s; dns %d, connect %d, tls %d, timeout %d, protocol %d, truncated %d, blocked address %d, other %d",
		Count(s.Fetch.ErrorsTotal), e.DNS, e.Connect, e.TLS, e.Timeout, e.Protocol, e.Truncated, e.BlockedAddress, e.Other)
	k := s.Fetch.SkippedByReason
	row(b, "skipped", "out of scope %d, robots %d, depth %d, trap %d, too long %d, host budget %d, scheme %d, invalid %d, nofollow %d, focus %d",
		k.OutOfScope, k.Robots, k.Depth, k.Trap, k.TooLong, k.HostBudget, k.Scheme, k.Invalid, k.NoFollow, k.Focus)
	row(b, "links", "%s found; since the nodes started %s local, %s forwarded, %s not sent again", Count(s.Links.Found), Count(s.Links.Local),
		Count(s.Links.Forwarded), Count(s.Links.SuppressedBySentCache))
	row(b, "dns", "since the nodes started %s look-ups, %s from the cache, %s stale, %s failed", Count(s.DNS.Lookups), Count(s.DNS.Hits), Count(s.DNS.StaleServed), Count(s.DNS.Failures))
	o := s.Output
	row(b, "archive", "%s records, %s in %s files%s, %s of indexes; %.1f/s and %s/s now", Count(o.RecordsTotal),
		Bytes(o.WARCBytesTotal), Count(o.WARCFiles), elsewhere(&o), Bytes(o.IndexBytesTotal), o.RecordsPerSecond, Bytes(int64(o.WARCBytesPerSecond)))
	row(b, "content", "%s exact duplicates, %s near-duplicates; %s records lost", Count(o.ContentDuplicatesTotal),
		Count(o.NearDuplicatesTotal), Count(o.RecordsLost))
	writeOutputs(b, s)
}

// writeFreshness writes what revisits do, unless they are off.
func writeFreshness(b *bytes.Buffer, f *crawl.FreshnessStatus) {
	if f.Mode == "" || f.Mode == crawl.RecrawlOff {
		return
	}
	next, fresh := "", ""
	if f.NextDueAt != nil {
		next = ", the next page at " + f.NextDueAt.UTC().Format(time.RFC3339)
	}
	if f.Expected != nil {
		fresh = fmt.Sprintf("; %.0f %% of the pages are expected to be fresh", 100**f.Expected)
	}
	row(b, "freshness", "%s: %s due%s; %s revisits: %s unchanged (%s by 304), %s changed, %s gone; half queued within %s, 99%% within %s%s", f.Mode, Count(f.Due), next,
		Count(f.RevisitsTotal), Count(f.UnchangedTotal), Count(f.NotModifiedTotal), Count(f.ChangedTotal), Count(f.GoneTotal), seconds(f.OverdueSeconds.P50), seconds(f.OverdueSeconds.P99), fresh)
}

// writeWorkers writes what programs outside have to fetch, unless none has ever asked.
func writeWorkers(b *bytes.Buffer, w *crawl.WorkersStatus) {
	if *w != (crawl.WorkersStatus{}) {
		row(b, "workers", "%s with %s URLs in %s leases; %s leases ended without a result", Count(w.Active), Count(w.LeasedURLs), Count(w.Leases), Count(w.ExpiredTotal))
	}
}

// elsewhere reports how much of the archives cannot be read now.
func elsewhere(o *crawl.OutputStatus) string {
	var parts []string
	if o.WARCFilesAway > 0 {
		parts = append(parts, fmt.Sprintf("%s in %s files on nodes that are away", Bytes(o.WARCBytesAway), Count(o.WARCFilesAway)))
	}
	if o.WARCFilesLost > 0 {
		parts = append(parts, fmt.Sprintf("%s in %s files on nodes that were forgotten", Bytes(o.WARCBytesLost), Count(o.WARCFilesLost)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (of these " + strings.Join(parts, ", ") + ")"
}

func writeNodes(b *bytes.Buffer, nodes []crawl.NodeStatus) {
	b.WriteByte('\n')
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tSTATE\tSEEN\tHELD\tREPLICA\tPAGES\tPAGES/S\tQUEUED\tBUSY\tMEMORY\tDISK FREE\tLEASE\tHTTP")
	for _, n := range nodes {
		state := n.State
		if n.PausedReason != nil {
			state += ", paused: " + *n.PausedReason
		}
		cells := []string{
			n.Name, state, ago(n.AgeSeconds), known(n.Partitions.Held), known(n.Partitions.Replica), known(n.PagesTotal),
			rate(n.PagesPerSecond), known(n.Queued), known(n.Fetchers.Busy) + "/" + known(n.Fetchers.Max),
			knownBytes(n.RSSBytes), knownBytes(n.DiskFreeBytes), seconds(n.LeaseRemainingSeconds), n.HTTP,
		}
		for i := range cells {
			cells[i] = Escape(cells[i])
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // into memory
}

func limitsText(l crawl.LimitStatus) string {
	var parts []string
	if l.MaxPages != nil {
		parts = append(parts, Count(*l.MaxPages)+" pages")
	}
	if l.MaxPagesPerHost != nil {
		parts = append(parts, Count(*l.MaxPagesPerHost)+" pages a host")
	}
	if l.MaxDepth != nil {
		parts = append(parts, strconv.Itoa(*l.MaxDepth)+" links deep")
	}
	if l.MaxDurationSeconds != nil {
		parts = append(parts, seconds(l.MaxDurationSeconds))
	}
	return strings.Join(parts, ", ")
}

// sentence joins a state's code and its explanation.
func sentence(code, message string) string {
	if message == "" {
		return code
	}
	return code + ": " + message
}

// unknown stands for null.
const unknown = "-"

func known[T int | int64](n *T) string {
	if n == nil {
		return unknown
	}
	return Count(int64(*n))
}

func knownBytes(n *int64) string {
	if n == nil {
		return unknown
	}
	return Bytes(*n)
}

func rate(n *float64) string {
	if n == nil {
		return unknown
	}
	return strconv.FormatFloat(*n, 'f', 1, 64)
}

func ago(s *float64) string {
	switch {
	case s == nil:
		return "never"
	case *s < 2:
		return "now"
	}
	return seconds(s) + " ago"
}

// seconds writes a duration with a suitable number of digits.
func seconds(s *float64) string {
	if s == nil || math.IsNaN(*s) || math.Abs(*s) > 1e9 {
		return unknown
	}
	d := time.Duration(*s * float64(time.Second))
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func millis(s *float64) string {
	if s == nil {
		return unknown
	}
	return strconv.FormatFloat(*s*1000, 'f', 0, 64) + "ms"
}
