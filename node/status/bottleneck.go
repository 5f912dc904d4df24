package status

import (
	"fmt"

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

// Strain has the figures from which a node's bottleneck is computed.
type Strain struct {
	Queued, InFlight int64
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

// BottleneckOf names the main limit of a node, with its figure and a remedy. It checks first for
// causes that stop everything, then for used-up resources, and last for waits.
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
		return say(crawl.BottleneckNone, "%d known pages are due and go into the queue now", s.Due)
	case s.Queued == 0 && s.InFlight == 0:
		return say(crawl.BottleneckNone, "nothing is queued: more seeds or a wider scope would bring work")
	case s.Leaving > 0:
		return say(crawl.BottleneckHandoff, "%d of %d partitions are still moving to other nodes: speed recovers by itself when they have arrived", s.Leaving, max(s.Moves, s.Leaving))
	case s.Paused != "":
		return say(crawl.BottleneckNone, "no fetching although %d URLs are queued: %s", s.Queued, s.Paused)
	case s.DiskWait >= diskSaturated && !computing:
		help := "a faster disk for --data-dir would help"
		if s.Syncing {
			help += ", or running without --sync"
		}
		return say(crawl.BottleneckDisk, "acknowledgements wait for the disk %.0f %% of the time: %s", 100*s.DiskWait, help)
	case s.Unrendered > 0 && s.Rendering >= s.Renderers:
		return say(crawl.BottleneckRender, "all %d renderers are busy and %d pages wait for one: raise --renderers if processors are idle, render fewer pages (--render auto, --render-match), or add a machine", s.Renderers, s.Unrendered)
	case computing && s.Unindexed >= muchUnindexed:
		return say(crawl.BottleneckIndex, "%s, and %d changes of pages wait for the index: more processors or another machine would help, or index=off", s.processorsText(), s.Unindexed)
	case computing:
		return say(crawl.BottleneckCPU, "%s: more processors or another machine would help", s.processorsText())
	case s.FetchOff && h.Ready > 0:
		return say(crawl.BottleneckFetchers, "%d hosts are ready, and this node fetches no page itself (--fetch off): start a worker, or more of them (crawlnode worker)", h.Ready)
	case s.Busy >= s.Fetchers && h.Ready > 0:
		return say(crawl.BottleneckFetchers, "all %d fetchers are busy and %d more hosts are ready: raise --fetchers", s.Fetchers, h.Ready)
	case h.Ready == 0 && s.DNSDown:
		return say(crawl.BottleneckDNS, "no name server answers, and none of %d hosts with queued URLs is ready and has a known address: check --dns", h.Waiting+h.Backoff+h.Frozen)
	case h.Ready == 0 && s.Lookups > 0 && 2*int64(s.Lookups) >= h.Waiting+h.Backoff:
		return say(crawl.BottleneckDNS, "%d host names are being looked up and no other host is ready: a faster name server (--dns) would help", s.Lookups)
	case h.Ready == 0 && h.OverShare > h.Waiting:
		return say(crawl.BottleneckFetchers, "%d hosts are held back by their domain's share of the fetchers, of which %d of %d are free: more domains would help, and health names those that fail",
			h.OverShare, s.Fetchers-min(s.Busy, s.Fetchers), s.Fetchers)
	case h.Ready+h.Waiting+h.InFlight+h.OverShare == 0 && h.Backoff+h.Frozen > 0: // a smaller delay would not help
		return say(crawl.BottleneckPoliteness, "%d hosts with queued URLs, and no others, are backing off after errors: crawlnode hosts show HOST tells why", h.Backoff+h.Frozen)
	case h.Ready == 0 && s.Queued > s.InFlight:
		return say(crawl.BottleneckPoliteness, "%s: more hosts or a smaller --delay would help", waitingText(h))
	case h.Ready > 0:
		return say(crawl.BottleneckCPU, "%d hosts are ready and %d of %d fetchers are free, while %s: more processors would help",
			h.Ready, s.Fetchers-min(s.Busy, s.Fetchers), s.Fetchers, s.processorsText())
	}
	return say(crawl.BottleneckNone, "the fetchers keep up with the queue: %d of %d are busy", min(s.Busy, s.Fetchers), s.Fetchers)
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
	text := fmt.Sprintf("%d hosts with queued URLs wait for their delay, %d are in flight", h.Waiting, h.InFlight)
	if h.Waiting == 1 {
		text = fmt.Sprintf("one host with queued URLs waits for its delay, %d are in flight", h.InFlight)
	}
	if h.OverShare > 0 {
		text += fmt.Sprintf(", %d are held back by their domain's share", h.OverShare)
	}
	if away := h.Backoff + h.Frozen; away > 0 {
		text += fmt.Sprintf(", %d are backing off after errors", away)
	}
	return text
}
