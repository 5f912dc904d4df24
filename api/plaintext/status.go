package plaintext

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"crawlnode/crawl"
)

// WriteStatus formats the part of a status that a person looks for first: the state, what is
// wrong, the speed, the queue and the nodes. For three nodes it fits a screen of 24 lines of 80
// columns. Control and invisible characters are escaped.
func WriteStatus(w io.Writer, s *crawl.Status) error {
	var b, rest bytes.Buffer
	row(&b, "crawlnode", "%s, asked %s at %s", s.Version.Crawlnode, s.ServedBy,
		s.AsOf.UTC().Format(time.RFC3339))
	fold(&b, "cluster", "%s: %s", s.Cluster.Name, sentence(s.Cluster.State, s.Cluster.Message))
	if c := s.Ring.LastChange; c.Cause != nil && *c.Cause == crawl.CauseFailed && c.Node != nil &&
		c.At != nil {
		fold(&b, "last change", "%s", changeText(&c))
	}
	row(&b, "health", "%s", s.Cluster.Health.Level)

	limits := ""
	if text := limitsText(s.Crawl.Limits); text != "" {
		limits = "; limits: " + text
	}
	fold(&rest, "crawl", "%s%s", crawlText(&s.Crawl), limits)
	fold(&rest, "pages", "%s", pagesText(&s.Throughput))
	if st := s.Crawl.State; st == crawl.CrawlRunning || st == crawl.CrawlIdle {
		fold(&rest, "bottleneck", "%s", sentence(s.Bottleneck.Cause, s.Bottleneck.Message))
	}
	f := &s.Frontier
	fold(&rest, "queue", "%s queued, %s in flight, %s in outboxes", Count(f.Queued), Count(f.InFlight),
		Count(f.Outbox))
	writeNodesBriefly(&rest, s)
	rest.WriteString("\nmore: crawlnode status --all; what a word means: crawlnode explain WORD\n")

	lines := bytes.Count(b.Bytes(), []byte("\n")) + bytes.Count(rest.Bytes(), []byte("\n"))
	more := max(len(s.Nodes)-screenNodes, 0) // the screen is too small for these anyway
	writeTroubles(&b, s, max(screenLines+more-lines, fewestTroubleLines))
	b.Write(rest.Bytes())
	_, err := w.Write(b.Bytes())
	return err
}

// WriteStatusAll formats all of a status: about twenty lines and one for each node.
func WriteStatusAll(w io.Writer, s *crawl.Status) error {
	var b bytes.Buffer
	writeCluster(&b, s)
	writeCrawl(&b, s)
	writeWork(&b, s)
	writeNodes(&b, s.Nodes)
	_, err := w.Write(b.Bytes())
	return err
}

// The screen that WriteStatus fits with so many nodes, and the lines that always tell what is
// wrong.
const (
	screenColumns, screenLines = 80, 24
	screenNodes                = 3
	fewestTroubleLines         = 3
	labelColumns               = 12
)

// fold writes one labelled line, folded between words to the width of the screen.
func fold(b *bytes.Buffer, label, format string, args ...any) {
	for i, line := range folded(fmt.Sprintf(format, args...), screenColumns-labelColumns) {
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(b, "%-11s %s\n", label, line)
	}
}

// folded escapes a text and divides it into lines. A word that is longer than a line has one of
// its own.
func folded(text string, columns int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(Escape(text)) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// writeTroubles writes as many reasons of health as there is room for, and the beginning of the
// first in any case: the worst are first.
func writeTroubles(b *bytes.Buffer, s *crawl.Status, room int) {
	reasons := firstOfEach(s.Cluster.Health.Reasons)
	for i, r := range reasons {
		age := max(s.AsOf.Sub(r.Since).Seconds(), 0)
		lines := folded(fmt.Sprintf("%s for %s: %s", r.Code, seconds(&age), r.Message),
			screenColumns-labelColumns)
		last := i == len(reasons)-1
		if !last && room <= len(lines) || last && room < len(lines) { // one line says that there are more
			if i > 0 {
				row(b, "", "and %d more: crawlnode status --all", len(reasons)-i)
				return
			}
			lines = append(lines[:min(len(lines), max(room-1, 1))], "...: crawlnode status --all")
		}
		for _, line := range lines {
			fmt.Fprintf(b, "%-11s %s\n", "", line)
		}
		if room -= len(lines); room <= 0 {
			return
		}
	}
}

// firstOfEach has the first reason of each code before the others.
func firstOfEach(reasons []crawl.HealthReason) []crawl.HealthReason {
	var first, rest []crawl.HealthReason
	for _, r := range reasons {
		if slices.ContainsFunc(first, func(f crawl.HealthReason) bool { return f.Code == r.Code }) {
			rest = append(rest, r)
		} else {
			first = append(first, r)
		}
	}
	return append(first, rest...)
}

// writeNodesBriefly writes a line for each node, and why it fetches nothing unless all do.
func writeNodesBriefly(b *bytes.Buffer, s *crawl.Status) {
	b.WriteByte('\n')
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tSTATE\tSEEN\tPAGES\tPAGES/S\tQUEUED\tBUSY\tHTTP")
	for i := range s.Nodes {
		n := &s.Nodes[i]
		cells := []string{n.Name, n.State, ago(n.AgeSeconds)}
		cells = append(cells,
			figures(n, known(n.PagesTotal), rate(n.PagesPerSecond), known(n.Queued), busyText(n))...)
		cells = append(cells, n.HTTP)
		for i := range cells {
			cells[i] = Escape(cells[i])
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // into memory
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.PausedReason != nil && !gone(n) && s.Crawl.State == crawl.CrawlRunning {
			for _, line := range folded(n.Name+" fetches nothing: "+*n.PausedReason, screenColumns) {
				fmt.Fprintln(b, line)
			}
		}
	}
}

// gone reports whether a node takes no part any more: what it had is with others.
func gone(
	n *crawl.NodeStatus,
) bool {
	return n.State == crawl.NodeLeft || n.State == crawl.NodeFailed
}

// figures are those of a node that takes part; of one that is gone they are no figures.
func figures(n *crawl.NodeStatus, cells ...string) []string {
	if gone(n) {
		for i := range cells {
			cells[i] = unknown
		}
	}
	return cells
}

func busyText(n *crawl.NodeStatus) string {
	return known(n.Fetchers.Busy) + "/" + known(n.Fetchers.Max)
}

// crawlText is the state of the crawl in one line.
func crawlText(c *crawl.CrawlStatus) string {
	text := sentence(c.State, c.Message)
	if r := c.FinishReason; r != nil && !strings.Contains(text, *r) {
		text += " (" + *r + ")"
	}
	return text + ", " + seconds(&c.RunningSeconds)
}

// pagesText is the speed of the crawl in one line. Nodes forget the peak when they stop: one that
// is no higher than the average was not seen, and is left out.
func pagesText(t *crawl.ThroughputStatus) string {
	p := &t.PagesPerSecond
	text := fmt.Sprintf("%s; %.1f/s now, %.1f/s last minute, %.1f/s average",
		Count(t.PagesTotal), p.Now, p.Avg1m, p.Avg)
	if p.Peak > p.Avg {
		text += fmt.Sprintf(", %.1f/s peak", p.Peak)
	}
	return text
}

// row writes one labelled line.
func row(b *bytes.Buffer, label, format string, args ...any) {
	fmt.Fprintf(b, "%-11s %s\n", label, Escape(fmt.Sprintf(format, args...)))
}

func writeCluster(b *bytes.Buffer, s *crawl.Status) {
	row(b, "crawlnode", "%s, asked %s at %s", s.Version.Crawlnode, s.ServedBy,
		s.AsOf.UTC().Format(time.RFC3339))
	row(b, "cluster", "%s: %s", s.Cluster.Name, sentence(s.Cluster.State, s.Cluster.Message))
	row(b, "health", "%s", s.Cluster.Health.Level)
	for _, r := range s.Cluster.Health.Reasons {
		row(b, "", "%s: %s (since %s)", r.Code, r.Message, r.Since.UTC().Format(time.RFC3339))
	}
	m := s.Cluster.Members
	row(b, "members", "%d alive, %d suspect, %d draining, %d left, %d failed", m.Alive, m.Suspect,
		m.Draining, m.Left, m.Failed)
	converged := "converged"
	if !s.Ring.Converged {
		converged = "not converged"
	}
	row(b, "ring",
		"view %d, table %s, %s; %d of %d partitions served, %d under-replicated, %d offline", s.Ring.View,
		s.Ring.Digest, converged, s.Ring.Served, s.Ring.Partitions, s.Ring.UnderReplicated,
		s.Ring.Offline)
	writeMoves(b, &s.Ring)
	if c := s.Ring.LastChange; c.Cause != nil && c.Node != nil && c.At != nil {
		row(b, "last change", "%s", changeText(&c))
	}
}

// writeMoves writes the partitions that move between nodes, if any.
func writeMoves(b *bytes.Buffer, r *crawl.RingStatus) {
	switch {
	case r.Promoting > 0 && !r.LastChange.TakingOver():
		row(b, "hand-over",
			"%d partitions have no holder at the moment: they are being handed over or promoted from copies",
			r.Promoting)
	case r.Promoting > 0:
		row(b, "take-over", "%d partitions of a failed node are being taken over from their copies",
			r.Promoting)
	}
	if h := r.Handoff; h.Active {
		row(b, "hand-over", "%d of %d partitions, %s/s, %s to go", h.PartitionsDone, h.PartitionsTotal,
			Bytes(int64(h.BytesPerSecond)), seconds(h.ETASeconds))
	}
	if c := r.SingleCopy; c.Partitions > 0 {
		row(b, "one copy", "%d partitions, the longest for %.0f s", c.Partitions, c.Seconds)
	}
	if c := r.Repair; c.Active {
		row(b, "repair", "%d of %d partitions have all their copies again", c.PartitionsDone,
			c.PartitionsTotal)
	}
	for i, p := range r.Handoff.Stuck {
		if i == maxStuckLines {
			row(b, "", "stuck: %d more partitions", len(r.Handoff.Stuck)-i)
			break
		}
		row(b, "", "stuck: partition %d from %s to %s since %s: %s", p.Partition, orDash(p.From),
			orDash(p.To), p.Since.UTC().Format(time.RFC3339), p.Reason)
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
	row(b, "crawl", "%s", crawlText(&s.Crawl))
	if limits := limitsText(s.Crawl.Limits); limits != "" {
		row(b, "limits", "%s", limits)
	}
	row(b, "pages", "%s", pagesText(&s.Throughput))
	row(b, "received", "%s; %s/s now", Bytes(s.Throughput.BytesInTotal),
		Bytes(int64(s.Throughput.BytesInPerSecond.Now)))
	row(b, "bottleneck", "%s", sentence(s.Bottleneck.Cause, s.Bottleneck.Message))
}

func writeWork(b *bytes.Buffer, s *crawl.Status) {
	f := s.Frontier
	row(b, "queue", "%s queued %v, %s in flight, %s in outboxes", Count(f.Queued), f.ByBand,
		Count(f.InFlight), Count(f.Outbox))
	writeFreshness(b, &s.Freshness)
	writeWorkers(b, &s.Workers)
	row(b, "seen", "%s URLs; %s links were already known", Count(f.SeenTotal),
		Count(f.DuplicatesTotal))
	h := f.Hosts
	row(b, "hosts",
		"%s; %d in flight, %d ready, %d waiting, %d backing off, %d frozen, %d over their domain's share",
		Count(h.Total), h.InFlight, h.Ready, h.Waiting, h.Backoff, h.Frozen, h.OverShare)
	r, l := s.Fetch.Responses, s.Fetch.LatencySeconds
	row(b, "answers", "%s 2xx, %s 3xx, %s 4xx, %s 5xx; half within %s, 99%% within %s", Count(r.C2xx),
		Count(r.C3xx), Count(r.C4xx), Count(r.C5xx), millis(l.P50), millis(l.P99))
	e := s.Fetch.ErrorsByCategory
	row(b, "errors", "%s; dns %d, connect %d, tls %d, timeout %d, protocol %d, truncated %d, "+
		"blocked address %d, other %d, proxy %d",
		Count(s.Fetch.ErrorsTotal), e.DNS, e.Connect, e.TLS, e.Timeout, e.Protocol, e.Truncated,
		e.BlockedAddress, e.Other, e.Proxy)
	k := s.Fetch.SkippedByReason
	row(b, "skipped", "out of scope %d, robots %d, depth %d, trap %d, too long %d, host budget %d, "+
		"scheme %d, invalid %d, nofollow %d, focus %d",
		k.OutOfScope, k.Robots, k.Depth, k.Trap, k.TooLong, k.HostBudget, k.Scheme, k.Invalid, k.NoFollow,
		k.Focus)
	row(b, "links", "%s found; since the nodes started %s local, %s forwarded, %s not sent again",
		Count(s.Links.Found), Count(s.Links.Local),
		Count(s.Links.Forwarded), Count(s.Links.SuppressedBySentCache))
	row(b, "dns", "since the nodes started %s look-ups, %s from the cache, %s stale, %s failed",
		Count(s.DNS.Lookups), Count(s.DNS.Hits), Count(s.DNS.StaleServed), Count(s.DNS.Failures))
	o := s.Output
	row(b, "archive", "%s records, %s in %s files%s, %s of indexes; %.1f/s and %s/s now",
		Count(o.RecordsTotal),
		Bytes(o.WARCBytesTotal), Count(o.WARCFiles), elsewhere(&o), Bytes(o.IndexBytesTotal),
		o.RecordsPerSecond, Bytes(int64(o.WARCBytesPerSecond)))
	row(b, "content", "%s exact duplicates, %s near-duplicates; %s records lost",
		Count(o.ContentDuplicatesTotal),
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
	if f.Useful != nil {
		fresh = fmt.Sprintf("; %.1f %% of the newest found a change", 100**f.Useful)
	}
	if f.Expected != nil {
		fresh += fmt.Sprintf("; %.0f %% of the pages are expected to be fresh", 100**f.Expected)
	}
	row(b, "freshness", "%s: %s due%s; %s revisits: %s unchanged (%s by 304), %s changed, %s gone; "+
		"half queued within %s, 99%% within %s%s", f.Mode, Count(f.Due), next,
		Count(f.RevisitsTotal), Count(f.UnchangedTotal), Count(f.NotModifiedTotal), Count(f.ChangedTotal),
		Count(f.GoneTotal), seconds(f.OverdueSeconds.P50), seconds(f.OverdueSeconds.P99), fresh)
}

// writeWorkers writes what programs outside have to fetch, unless none has ever asked.
func writeWorkers(b *bytes.Buffer, w *crawl.WorkersStatus) {
	if *w != (crawl.WorkersStatus{}) {
		row(b, "workers", "%s with %s URLs in %s leases; %s leases ended without a result",
			Count(w.Active), Count(w.LeasedURLs), Count(w.Leases), Count(w.ExpiredTotal))
	}
}

// elsewhere reports how much of the archives cannot be read now.
func elsewhere(o *crawl.OutputStatus) string {
	var parts []string
	if o.WARCFilesAway > 0 {
		parts = append(parts, fmt.Sprintf("%s in %s files on nodes that are away", Bytes(o.WARCBytesAway),
			Count(o.WARCFilesAway)))
	}
	if o.WARCFilesLost > 0 {
		parts = append(parts, fmt.Sprintf("%s in %s files on nodes that were forgotten",
			Bytes(o.WARCBytesLost), Count(o.WARCFilesLost)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (of these " + strings.Join(parts, ", ") + ")"
}

func writeNodes(b *bytes.Buffer, nodes []crawl.NodeStatus) {
	b.WriteByte('\n')
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t,
		"NODE\tSTATE\tSEEN\tHELD\tREPLICA\tPAGES\tPAGES/S\tQUEUED\tBUSY\tMEMORY\tDISK FREE\tLEASE\tHTTP")
	for _, n := range nodes {
		state := n.State
		if n.PausedReason != nil {
			state += ", paused: " + *n.PausedReason
		}
		state += placeText(&n)
		cells := []string{n.Name, state, ago(n.AgeSeconds)}
		cells = append(cells,
			figures(&n, known(n.Partitions.Held), known(n.Partitions.Replica), known(n.PagesTotal),
				rate(n.PagesPerSecond), known(n.Queued), busyText(&n), knownBytes(n.RSSBytes))...)
		cells = append(cells, knownBytes(n.DiskFreeBytes), seconds(n.LeaseRemainingSeconds), n.HTTP)
		for i := range cells {
			cells[i] = Escape(cells[i])
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // into memory
}

// placeText shows a node's weight and zone, unless they are what they are without flags.
func placeText(n *crawl.NodeStatus) (out string) {
	if n.Weight > 1 {
		out += fmt.Sprintf(", weight %d", n.Weight)
	}
	if n.Zone != nil {
		out += ", " + crawl.ZoneText(*n.Zone)
	}
	return out
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
