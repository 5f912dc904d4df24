package report

import (
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/dnscache"
	"crawlnode/finish"
	"crawlnode/frontier"
	"crawlnode/handoff"
	"crawlnode/links"
	"crawlnode/links/contents"
	"crawlnode/local/disk"
	"crawlnode/membership"
	"crawlnode/membership/heartbeat"
	"crawlnode/output"
	"crawlnode/output/sink"
	"crawlnode/output/webhooks"
	"crawlnode/peer"
	"crawlnode/recrawl"
	"crawlnode/scheduler"
	"crawlnode/scheduler/breadth"
	"crawlnode/security/egress"
	"crawlnode/settings/crawldoc"
	"crawlnode/status"
	"crawlnode/status/changes"
	"crawlnode/workers/leases"
)

// Node is what a report asks the node itself. Its methods read memory.
type Node interface {
	// Engine is nil until the node has joined.
	Engine() (*scheduler.Dispatcher, *handoff.Driver)
	// Listed reports whether the view lists this boot.
	Listed() bool
	// Synced reports whether the node has the cluster's crawl document.
	Synced() bool
	// Draining reports whether the node is leaving.
	Draining() bool
	Ready() (ok bool, why string)
	// MayCrawl reports whether the node may start fetches.
	MayCrawl() bool
	View() crawl.Epoch // 0: none yet
	Partitions() int   // 0: not joined yet
	// Held is the bitmap of the partitions held here.
	Held() []byte
	// Others are the other members of the view.
	Others() []membership.Member
	Reachable(id crawl.NodeID) bool
	// WhyNotIdle names what is left to do; "" is nothing.
	WhyNotIdle() string
	// Activity rises with everything that may lead to more work.
	Activity() uint64
	// Behind names the members that may have entries or settings which this node lacks, and since when.
	Behind(now time.Time) ([]string, time.Time)
}

// Changes are the changes of members.
type Changes interface {
	// Last is the last change, and how long its take-over took.
	Last() crawl.ChangeStatus
	// Departed has the former members that no view has taken back.
	Departed() map[crawl.NodeID]changes.Departed
	// PausedSince takes whether the node is in a minority now, and returns since when.
	PausedSince(minority bool, now time.Time) time.Time
	// Progress takes what is left to move and to copy, and returns done and total of both.
	Progress(leaving, copies int) (moves, repairs [2]int)
}

// Options are what a report reads.
type Options struct {
	ID       crawl.NodeID
	Name     string
	Version  string // of this program
	Protocol int
	Started  time.Time
	Dir      string // the data directory
	Keyed    bool   // the cluster has a key
	Config   *config.Config

	Node      Node
	Changes   Changes
	Members   *membership.Membership
	Documents *crawldoc.Store
	Front     *frontier.Frontier
	DNS       *dnscache.Cache
	Router    *links.Router
	Outputs   *output.Outputs
	Contents  *contents.Index
	Permits   *finish.Permits
	Finisher  *finish.Finisher
	Revisits  *recrawl.Keeper
	Raised    func() uint64                       // queued URLs that were moved to better bands
	Index     func() *crawl.IndexBlock            // nil: the index is off
	Leased    func() leases.Counts                // to workers
	Indexing  func() (since time.Time, err error) // what keeps the index from being written
	Render    func() *crawl.RenderBlock           // nil: no page is shown to a browser
	Traps     func() []crawl.TrapStatus           // series of pages without end; nil: none
	Refusing  func(now time.Time) (egress.Refusal, bool)
	// Bot has the keys by which this node signs; BotDiffers says why it does not fetch because of
	// them, "" is that it does.
	Bot        func() *crawl.BotBlock
	BotDiffers func() (since time.Time, why string)
	// SiteTrouble is what keeps the node from doing what the rules for sites say.
	SiteTrouble func() crawl.SiteTrouble
	Peers       *heartbeat.Table
	Space       *disk.Space
	Stalls      *disk.Stalls
	Sinks       *sink.Set
	Webhooks    *webhooks.Set
	Timings     Timings
	Breadth     *breadth.Breadth               // of the fetchers
	Traffic     func() map[string]peer.Traffic // with other nodes, by method
	// Processors is the processors' time used so far, as resources.ProcessorTime returns it.
	Processors func() (own, busy, all int64)
}

// Reporter says what this node is and does. New makes it.
type Reporter struct {
	Options
	meter   status.Meter
	onsets  status.Onsets
	sites   siteOnsets
	fetched fetchCounters
}

// New makes a Reporter.
func New(o Options) *Reporter { return &Reporter{Options: o} }

// joined reports whether the node takes part in the cluster.
func (r *Reporter) joined() bool {
	d, _ := r.Node.Engine()
	return d != nil && r.Node.Synced() && r.Node.Listed()
}
