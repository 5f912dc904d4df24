package crawl

import (
	"errors"
	"time"

	"crawlnode/web/preferences"
	"crawlnode/web/wall"
)

// ErrRefused is inside an error when a retry will not help until a setting is changed. The API
// answers 409, and 503 to all other failures.
var ErrRefused = errors.New("refused")

// ErrUnknownNode is inside an error about an unknown node. The API answers 404.
var ErrUnknownNode = errors.New("unknown node")

// NodeBlock is what a node sends to the others about itself each second. Every node keeps the last
// block of each, and a Status is their sum. So a status costs O(nodes) and no call to another node.
type NodeBlock struct {
	At       time.Time  `json:"at"` // wall time at the sender
	Boot     Boot       `json:"boot"`
	View     Epoch      `json:"view"`     // in which its partitions are as it says; 0: none yet
	Document uint64     `json:"document"` // version of the crawl document that it uses
	Node     NodeStatus `json:"node"`     // the receiver fills in AgeSeconds
	Counters Counters   `json:"counters"` // sum over the partitions that it holds
	// InFlight counts visits handed out and not yet completed.
	InFlight int64 `json:"in_flight"`
	// PermitsInHand counts page permits that are not used yet (--max-pages).
	PermitsInHand int64 `json:"permits_in_hand"`
	// Stalled says that everything queued here belongs to frozen hosts.
	Stalled bool       `json:"stalled"`
	Hosts   HostCounts `json:"hosts"`
	DNS     DNSStatus  `json:"dns"`
	Links   LinkStatus `json:"links"`
	// Output holds the files of this node and their growth; RecordsTotal and
	// ContentDuplicatesTotal come from the partitions' counters.
	Output           OutputStatus  `json:"output"`
	Index            *IndexBlock   `json:"index,omitempty"` // nil: it is off
	Workers          WorkersStatus `json:"workers"`
	Render           *RenderBlock  `json:"render,omitempty"` // nil: it is off
	BytesInPerSecond float64       `json:"bytes_in_per_second"`
	Handoff          HandoffStatus `json:"handoff"`
	UnderReplicated  int           `json:"under_replicated"` // of the partitions that it holds
	SingleCopy       SingleCopy    `json:"single_copy"`      // likewise
	Repair           RepairStatus  `json:"repair"`
	// Promoting and Offline count partitions that this node owns by the table and does not hold:
	// those that it waits for or takes over, and those whose content is unavailable.
	Promoting int `json:"promoting"`
	Offline   int `json:"offline"`
	// Lost counts the partitions that it started again empty since its start, because a node was
	// forgotten.
	Lost int `json:"lost"`
	// NoLease says that it may not fetch.
	NoLease bool `json:"no_lease"`
	// Load is from what package status finds the bottleneck; nil: the node is of a release
	// that only says Bottleneck, which this one still says for it.
	Load       *NodeLoad        `json:"load,omitempty"`
	Bottleneck BottleneckStatus `json:"bottleneck"`
	// Peaks are the highest speeds of the whole cluster that this node has seen since it started.
	Peaks   Peaks          `json:"peaks,omitzero"`
	Reasons []HealthReason `json:"reasons"` // problems of this node
	Traps   []TrapStatus   `json:"traps,omitempty"`
	// Idle says that nothing is queued, leased, in an outbox, being moved, offline or paused here.
	// Activity counts visits handed out and URLs queued. Two idle blocks of one boot with the same
	// Activity prove that nothing happened in between.
	Idle     bool   `json:"idle"`
	Activity uint64 `json:"activity"`
	// WhyNotIdle is the reason why it is not idle; "" when it is.
	WhyNotIdle string `json:"why_not_idle"`
	// Waiting says that two rounds of this node found all members idle: known pages are visited again,
	// and none is due. Only the node that asks the rounds says so.
	Waiting  bool         `json:"waiting,omitempty"`
	Revisits RevisitBlock `json:"revisits,omitzero"`
	// Ranks is the histogram of the importance of the URLs that it holds (package importance); empty:
	// importance does not count.
	Ranks []byte `json:"ranks,omitempty"`
	// Bot has the keys by which it signs requests; nil: it signs none.
	Bot *BotBlock `json:"bot,omitempty"`
}

// BotBlock is what a node says of its --bot-key.
type BotBlock struct {
	Keys  []string  `json:"keys"`            // JWK thumbprints (RFC 7638); the first one's key signs
	Agent string    `json:"agent,omitempty"` // where they are published (--bot-agent)
	Since time.Time `json:"since"`           // the node's start
}

// NodeLoad is how busy a node is with what a block does not tell elsewhere. Shares are from 0 to
// 1 and over the last five seconds.
type NodeLoad struct {
	CPU        float64 `json:"cpu"`        // share of the processors that this process uses
	Machine    float64 `json:"machine"`    // share that all processes use; 0: unknown
	Processors int     `json:"processors"` // that this process may use
	// share of the time in which acknowledgements wait for the disk
	DiskWait float64 `json:"disk_wait"`
	Syncing  bool    `json:"syncing,omitempty"`
	FetchOff bool    `json:"fetch_off,omitempty"` // it fetches no page, its workers do
	Lookups  int     `json:"lookups,omitempty"`   // host names that are being looked up
	// of each volume with too little space: what it lacks, and the remedy
	Short []string `json:"short,omitempty"`
}

// Peaks are the highest speeds, per second.
type Peaks struct {
	Pages float64 `json:"pages"`
	Bytes float64 `json:"bytes"`
}

// RevisitBlock is what a node says of revisits. Due times are durations, since clocks differ.
type RevisitBlock struct {
	Due int64 `json:"due"` // pages that are due, in the partitions that it holds
	// NextDue is the time until the next page is due or planned anew; nil: there is none.
	NextDue *time.Duration `json:"next_due,omitempty"`
	// Late is for how long the first of the due pages that wait for a place in the queue has been due.
	Late time.Duration `json:"late,omitempty"`
	// Recent are the newest revisits of this node, at most 10,000; Useful of them found a change.
	Recent int64 `json:"recent,omitempty"`
	Useful int64 `json:"useful,omitempty"`
	// Expected is the freshness of the whole cluster's pages as this node computes it, if all are
	// visited as the price asks.
	Expected *float64 `json:"expected,omitempty"`
	// FreshPlanned is the weight of this node's own pages that are fresh in that case, FreshKept what
	// of it is left by when its newest revisits really were. Both are 0 when that is not known, and
	// of a node of an older version.
	FreshPlanned float64 `json:"fresh_planned,omitempty"`
	FreshKept    float64 `json:"fresh_kept,omitempty"`
}

// Seed is a URL that a person submits.
type Seed struct {
	URL      string   `json:"url"`
	Priority *float64 `json:"priority"` // 0 to 1, 1 is first; nil: the priority of seeds
	// Again fetches a known URL again, with its validators.
	Again bool `json:"again"`
	// Known, with Again, fetches the URL only if it is known, as what it was found: it becomes no seed
	// and opens no scope.
	Known bool `json:"known,omitempty"`
	// Guessed: it was written without a scheme. If the server of the https URL speaks no TLS, the
	// http URL is fetched in its place.
	Guessed bool `json:"guessed,omitempty"`
	// Line is the line of the seed in the input, from 1; 0: use its position in the list. It only
	// serves error messages.
	Line int `json:"-"`
}

// SeedReport is the answer to added seeds.
type SeedReport struct {
	Accepted   int `json:"accepted"` // durable at their owners
	Duplicates int `json:"duplicates"`
	// refused by an exclude rule; or not known, with Seed.Known
	OutOfScope int         `json:"out_of_scope"`
	Invalid    []SeedError `json:"invalid"`
}

// SeedError is a line that is not a URL to crawl.
type SeedError struct {
	Line  int    `json:"line"` // from 1
	Input string `json:"input"`
	Error string `json:"error"`
}

// The actions on a crawl (POST /api/v1/crawl/ACTION).
const (
	ActionPause  = "pause"
	ActionResume = "resume"
	ActionStop   = "stop"
)

// ActionReport is the answer to an action on the crawl.
type ActionReport struct {
	State string `json:"state"` // of the crawl from now on
	// Untold names the members that did not answer. They follow as soon as they can be reached;
	// until then they continue as before.
	Untold []string `json:"untold"`
}

// StopReport is the answer to the order to stop all nodes.
type StopReport struct {
	// Stopping are the members that end now, with no visit open.
	Stopping []NodeRef `json:"stopping"`
	// Unanswered names the members that did not take the order, or still had visits open: stop them
	// one by one when they answer.
	Unanswered []string `json:"unanswered"`
}

// RingReport is the document of GET /api/v1/ring.
type RingReport struct {
	View       Epoch             `json:"view"`
	Digest     string            `json:"digest"`
	Partitions []PartitionReport `json:"partitions"` // by number
}

// The states of a partition (PartitionReport.State).
const (
	PartitionHeld      = "held"
	PartitionMoving    = "moving"    // held, and to be moved to its owner
	PartitionFrozen    = "frozen"    // about to move, or just released: nothing is fetched
	PartitionPromoting = "promoting" // without a holder; its owner is about to take it over
	PartitionOffline   = "offline"   // the nodes with usable copies are away
	PartitionUnknown   = "unknown"   // no node that answers holds it
)

// PartitionReport lists the nodes of one partition, as far as the answering node knows.
type PartitionReport struct {
	Partition Partition `json:"partition"`
	Owner     NodeID    `json:"owner"`    // by the table
	Holder    *NodeID   `json:"holder"`   // null: no node, or unknown here
	Replicas  []NodeID  `json:"replicas"` // by the table
	Epoch     Epoch     `json:"epoch"`    // 0: unknown here
	State     string    `json:"state"`    // PartitionHeld...
	URLs      *int64    `json:"urls"`     // records; null: unknown here
	// InSync is the recorded in-sync set, including the holder: the nodes that have every
	// acknowledged change. If no node holds the partition, it is the newest set that its owner
	// knows; Reason says what is missing. null: unknown here.
	InSync []NodeID `json:"in_sync"`
	// Reason is why no node holds it, in one sentence; null: it is held, or no reason is known.
	Reason *string `json:"reason"`
}

// ErrorsByCategory returns the counted errors by name.
func (c *Counters) ErrorsByCategory() ErrorCounts {
	e := &c.Errors
	return ErrorCounts{
		DNS: e[ErrDNS], Connect: e[ErrConnect], TLS: e[ErrTLS], Timeout: e[ErrTimeout],
		Protocol: e[ErrProtocol], Truncated: e[ErrTruncated], BlockedAddress: e[ErrBlockedAddress],
		Other: e[ErrOther],
		Proxy: e[ErrProxy],
	}
}

// GivenUpByReason returns the URLs given up with their JSON names.
func (c *Counters) GivenUpByReason() GivenUpCounts {
	g := &c.GivenUp
	return GivenUpCounts{
		DNS: g[ErrDNS], Connect: g[ErrConnect], TLS: g[ErrTLS], Timeout: g[ErrTimeout],
		Protocol: g[ErrProtocol], Truncated: g[ErrTruncated], BlockedAddress: g[ErrBlockedAddress],
		Other:       g[ErrOther],
		RateLimited: g[GaveUpLimited], Blocked: g[GaveUpBlocked],
	}
}

// BlockedByKind returns the answers that were bot walls, by the names of those products that there
// were.
func (c *Counters) BlockedByKind() (total int64, byKind map[string]int64) {
	byKind = map[string]int64{}
	for i, n := range c.Walls {
		if n != 0 {
			total += n
			byKind[wall.Product(i).String()] += n //nolint:gosec // below wall.MaxProducts
		}
	}
	return total, byKind
}

// LeftOutByPurpose returns the pages that are left out by the purpose that was refused.
func (c *Counters) LeftOutByPurpose() PurposeCounts {
	n := &c.LeftOut
	return PurposeCounts{Search: n[preferences.Search], Archive: n[preferences.Archive],
		AIInput: n[preferences.AIInput], AITrain: n[preferences.AITrain]}
}

// SkippedByReason returns the counted refusals by name.
func (c *Counters) SkippedByReason() SkippedCounts {
	s := &c.Skipped
	return SkippedCounts{
		OutOfScope: s[SkipOutOfScope], Robots: s[SkipRobots], Depth: s[SkipDepth], Trap: s[SkipTrap],
		TooLong: s[SkipTooLong], HostBudget: s[SkipHostBudget], Scheme: s[SkipScheme],
		Invalid: s[SkipInvalid], NoFollow: s[SkipNoFollow],
		Focus: s[SkipFocus],
	}
}

// LatencyQuantiles computes quantiles from the histogram. Each is the upper bound of its bucket, in
// seconds; for the unbounded bucket it is the last bound.
func (c *Counters) LatencyQuantiles() Quantiles {
	return Quantiles{
		P50: c.latencyQuantile(0.50),
		P90: c.latencyQuantile(0.90),
		P99: c.latencyQuantile(0.99),
	}
}

// OverdueQuantiles computes quantiles from the histogram, as LatencyQuantiles does.
func (c *Counters) OverdueQuantiles() OverdueQuantiles {
	at := func(q float64) *float64 {
		i, ok := quantile(c.Overdue[:], q)
		if !ok {
			return nil
		}
		seconds := float64(OverdueBuckets[min(i, len(OverdueBuckets)-1)])
		return &seconds
	}
	return OverdueQuantiles{P50: at(0.50), P99: at(0.99)}
}

// quantile is the bucket in which a quantile lies; false: all are empty.
func quantile(buckets []int64, q float64) (i int, ok bool) {
	var total int64
	for _, n := range buckets {
		total += n
	}
	if total == 0 {
		return 0, false
	}
	rank := int64(q*float64(total-1)) + 1 // the rank-th smallest, from 1
	for ; i < len(buckets)-1; i++ {
		if rank -= buckets[i]; rank <= 0 {
			break
		}
	}
	return i, true
}

func (c *Counters) latencyQuantile(q float64) *float64 {
	i, ok := quantile(c.Latency[:], q)
	if !ok {
		return nil
	}
	seconds := float64(LatencyBuckets[min(i, len(LatencyBuckets)-1)]) / 1000
	return &seconds
}
