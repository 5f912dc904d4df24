package status

import (
	"fmt"
	"slices"

	"crawlnode/crawl"
)

// Thresholds of saturation. Shares are over the last five seconds.
const (
	// ownSaturated is the share of all processors used by this process.
	ownSaturated = 0.75
	// machineSaturated is the share used by all processes together. It counts as this process's
	// limit if it uses at least ownPart, as one of several nodes.
	machineSaturated, ownPart = 0.95, 0.10
	// diskSaturated is the share of the time in which acknowledgements wait for the disk.
	diskSaturated = 0.60
	// muchUnindexed is how many changes wait when the index is what the processors are short for.
	muchUnindexed = 5000
)

// Strain has the figures from which a bottleneck is computed: those of one node, or with the sums
// of all (Picture.strain) those of the cluster.
type Strain struct {
	Queued, InFlight int64            // URLs, and visits of some of them that are not completed
	Hosts            crawl.HostCounts // in memory, by state
	Busy, Fetchers   int
	FetchOff         bool    // --fetch off: this node fetches no page, its workers do
	Lookups          int     // host names being looked up
	DNSDown          bool    // no name server answers
	CPU, Machine     float64 // shares of the processors: this process, all processes
	Processors       int
	DiskWait         float64  // share of the time in which acknowledgements wait for the disk
	Syncing          bool     // --sync
	Short            []string // of each volume with too little space, what it lacks and what ends that
	Leaving, Moves   int      // partitions still to be moved, and their total
	Paused           string   // why nothing is fetched; "" when something is
	Revisits         bool     // known pages are visited again
	Due              int64    // of them, those that are due
	Unindexed        int64    // changes of pages that are not in the index yet
	// Unrendered are pages that wait for a browser, Rendering those in one, of Renderers at most.
	Unrendered, Rendering, Renderers int
}

// StrainOf reads the figures of one node from its block. revisits says whether known pages are
// visited again.
func StrainOf(b *crawl.NodeBlock, revisits bool) Strain {
	s := Strain{Queued: b.Counters.QueuedTotal(), InFlight: b.InFlight, Hosts: b.Hosts,
		Revisits: revisits, Due: b.Revisits.Due}
	if f := b.Node.Fetchers; f.Busy != nil && f.Max != nil {
		s.Busy, s.Fetchers = min(*f.Busy, int(b.Hosts.InFlight)), *f.Max
	}
	if why := b.Node.PausedReason; why != nil {
		s.Paused = *why
	}
	if l := b.Load; l != nil {
		s.CPU, s.Machine, s.Processors = l.CPU, l.Machine, l.Processors
		s.DiskWait, s.Syncing, s.FetchOff = l.DiskWait, l.Syncing, l.FetchOff
		s.Lookups, s.Short = l.Lookups, l.Short
	}
	if b.Index != nil {
		s.Unindexed = b.Index.Waiting
	}
	if r := b.Render; r != nil {
		s.Unrendered, s.Rendering, s.Renderers = r.Queued, r.Busy, r.Max
	}
	s.DNSDown = slices.ContainsFunc(b.Reasons, func(r crawl.HealthReason) bool {
		return r.Code == crawl.ReasonDNSDown
	})
	if h := &b.Handoff; h.Active {
		s.Leaving = max(h.PartitionsTotal-h.PartitionsDone, 1)
		s.Moves = max(h.PartitionsTotal, s.Leaving)
	}
	return s
}

// mostWait reports whether the delay of hosts is what holds the crawl back, whatever else is
// busy. A host with queued URLs is waiting for its delay, ready, or in flight. Its share of time
// in each is as the share of the hosts, so a faster machine cannot help where nearly none is
// ready and more wait than are in flight. While all fetchers are taken, a host that is ready
// waits for one of them.
func (s *Strain) mostWait() bool {
	h := &s.Hosts
	names := min(int64(s.Lookups), h.Waiting) // these wait for a name server
	waiting := h.Waiting - names
	taken := !s.FetchOff && s.Busy >= s.Fetchers && h.Ready > 0
	return waiting > max(h.InFlight, names, h.OverShare) && fewReady*h.Ready <= waiting && !taken
}

// fewReady is how many hosts wait for each one that is ready, when the ready ones are only on their
// way from their delay to their fetch.
const fewReady = 10

// BottleneckOf names the main limit, with its figure and a remedy. It checks first for causes
// that stop everything, then whether the delay of hosts is what is waited for, then for used-up
// resources, and last for other waits.
func BottleneckOf(s *Strain) crawl.BottleneckStatus {
	say := func(cause, format string, args ...any) crawl.BottleneckStatus {
		return crawl.BottleneckStatus{Cause: cause, Message: fmt.Sprintf(format, args...)}
	}
	h := &s.Hosts
	computing := s.CPU >= ownSaturated || s.Machine >= machineSaturated && s.CPU >= ownPart
	switch {
	case len(s.Short) > 0:
		return say(crawl.BottleneckDisk, "%s", s.Short[0])
	case s.Queued == 0 && s.InFlight == 0 && s.Revisits && s.Due == 0:
		return say(crawl.BottleneckNothingDue, "nothing is queued and no known page is due: %s", moreDue)
	case s.Queued == 0 && s.InFlight == 0 && s.Revisits:
		return say(crawl.BottleneckNone, "%s", dueText(s.Due))
	case s.Queued == 0 && s.InFlight == 0:
		return say(crawl.BottleneckNone, "nothing is queued: more seeds or a wider scope would bring work")
	case s.Paused != "": // before the moves: speed would not recover when they have arrived
		return say(crawl.BottleneckNone, "no fetching although %s queued: %s",
			are(s.Queued, "URL", "URLs"), s.Paused)
	case s.Leaving > 0:
		return say(crawl.BottleneckHandoff,
			"%d of %d partitions are still moving to other nodes: speed recovers by itself when they have arrived",
			s.Leaving, max(s.Moves, s.Leaving))
	case s.mostWait() && !s.DNSDown:
		return say(crawl.BottleneckPoliteness, "%s: more hosts or a smaller --delay would help", waitingText(h))
	case s.DiskWait >= diskSaturated && !computing:
		help := "a faster disk for --data-dir would help"
		if s.Syncing {
			help += ", or running without --sync"
		}
		return say(crawl.BottleneckDisk, "acknowledgements wait for the disk %.0f %% of the time: %s", 100*s.DiskWait, help)
	case s.Unrendered > 0 && s.Rendering >= s.Renderers:
		return say(crawl.BottleneckRender,
			"all %s busy and %s for one: raise --renderers if processors are idle, render fewer pages (--render auto, --render-match), or add a machine",
			are(int64(s.Renderers), "renderer", "renderers"), waits(int64(s.Unrendered), "page", "pages"))
	case computing && s.Unindexed >= muchUnindexed:
		return say(crawl.BottleneckIndex,
			"%s, and %d changes of pages wait for the index: more processors or another machine would help, or index=off",
			s.processorsText(), s.Unindexed)
	case computing:
		return say(crawl.BottleneckCPU, "%s: more processors or another machine would help", s.processorsText())
	case s.FetchOff && h.Ready > 0:
		return say(crawl.BottleneckFetchers,
			"%s ready, and this node fetches no page itself (--fetch off): start a worker, or more of them (crawlnode worker)",
			are(h.Ready, "host", "hosts"))
	case s.Busy >= s.Fetchers && h.Ready > 0:
		return say(crawl.BottleneckFetchers, "all %s busy and %s ready: raise --fetchers",
			are(int64(s.Fetchers), "fetcher", "fetchers"), are(h.Ready, "more host", "more hosts"))
	case h.Ready == 0 && s.DNSDown:
		return say(crawl.BottleneckDNS,
			"no name server answers, and none of %d hosts with queued URLs is ready and has a known address: check --dns",
			h.Waiting+h.Backoff+h.Frozen)
	case h.Ready == 0 && s.Lookups > 0 && 2*int64(s.Lookups) >= h.Waiting+h.Backoff:
		return say(crawl.BottleneckDNS,
			"%s being looked up and no other host is ready: a faster name server (--dns) would help",
			are(int64(s.Lookups), "host name", "host names"))
	case h.Ready == 0 && h.OverShare > h.Waiting:
		return say(crawl.BottleneckFetchers,
			"%s held back by their domain's share of the fetchers, of which %d of %d are free: more domains would help, and health names those that fail",
			are(h.OverShare, "host", "hosts"), s.Fetchers-min(s.Busy, s.Fetchers), s.Fetchers)
	case h.Ready+h.Waiting+h.InFlight+h.OverShare == 0 && h.Backoff+h.Frozen > 0: // a smaller delay would not help
		return say(crawl.BottleneckPoliteness,
			"all %d hosts with queued URLs are backing off after errors: crawlnode hosts show HOST tells why",
			h.Backoff+h.Frozen)
	case h.Ready == 0 && s.Queued > s.InFlight:
		return say(crawl.BottleneckPoliteness, "%s: more hosts or a smaller --delay would help", waitingText(h))
	case h.Ready > 0 && s.Machine >= machineSaturated:
		return say(crawl.BottleneckCPU,
			"%s ready and %d of %d fetchers are free, while other programs keep the processors busy to %.0f %%: more processors would help",
			are(h.Ready, "host", "hosts"), s.Fetchers-min(s.Busy, s.Fetchers), s.Fetchers, 100*s.Machine)
	case h.Ready > 0:
		return say(crawl.BottleneckNone, "the fetchers keep up with the queue: %d of %d are busy, and %s ready",
			min(s.Busy, s.Fetchers), s.Fetchers, are(h.Ready, "more host", "more hosts"))
	}
	return say(crawl.BottleneckNone, "the fetchers keep up with the queue: %d of %d are busy", min(s.Busy, s.Fetchers), s.Fetchers)
}

// are counts things as the subject of a sentence: "one host is", "3 hosts are".
func are(n int64, one, more string) string {
	if n == 1 {
		return "one " + one + " is"
	}
	return fmt.Sprintf("%d %s are", n, more)
}

// waits is "one page waits", "3 pages wait".
func waits(n int64, one, more string) string {
	if n == 1 {
		return "one " + one + " waits"
	}
	return fmt.Sprintf("%d %s wait", n, more)
}

// dueText says that known pages are about to be queued.
func dueText(due int64) string {
	if due == 1 {
		return "one known page is due and goes into the queue now"
	}
	return fmt.Sprintf("%d known pages are due and go into the queue now", due)
}

func (s *Strain) processorsText() string {
	text := fmt.Sprintf("this process keeps %d processors busy to %.0f %%", s.Processors, 100*s.CPU)
	if s.Machine > 0 {
		text += fmt.Sprintf(" (the whole machine: %.0f %%)", 100*s.Machine)
	}
	return text
}

// waitingText says why the hosts with queued URLs wait.
func waitingText(h *crawl.HostCounts) string {
	text := fmt.Sprintf("%d hosts with queued URLs wait for their delay, %s in flight",
		h.Waiting, plural(h.InFlight))
	switch {
	case h.Waiting == 0 && h.InFlight > 0 && h.OverShare+h.Backoff+h.Frozen == 0:
		text = fmt.Sprintf("every host with queued URLs is in flight (%d)", h.InFlight)
	case h.Waiting == 0:
		text = fmt.Sprintf("no host with queued URLs is ready, %s in flight", plural(h.InFlight))
	case h.Waiting == 1:
		text = fmt.Sprintf("one host with queued URLs waits for its delay, %s in flight", plural(h.InFlight))
	}
	if h.Ready > 0 {
		text += fmt.Sprintf(", %s ready", plural(h.Ready))
	}
	if h.OverShare > 0 {
		text += fmt.Sprintf(", %s held back by their domain's share", plural(h.OverShare))
	}
	if away := h.Backoff + h.Frozen; away > 0 {
		text += fmt.Sprintf(", %s backing off after errors", plural(away))
	}
	return text
}

// plural is "1 is", "3 are".
func plural(n int64) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}
