package node

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/dnscache"
	"crawlnode/documents"
	"crawlnode/finish"
	"crawlnode/frontier"
	"crawlnode/frontier/storage"
	"crawlnode/handoff"
	"crawlnode/handoff/transfer"
	"crawlnode/importance"
	"crawlnode/links"
	"crawlnode/links/contents"
	"crawlnode/local/datadir"
	"crawlnode/local/disk"
	"crawlnode/local/files"
	"crawlnode/local/resources"
	"crawlnode/membership"
	"crawlnode/membership/heartbeat"
	"crawlnode/metrics"
	"crawlnode/node/drain"
	"crawlnode/node/network"
	"crawlnode/node/orders"
	"crawlnode/node/tracing"
	"crawlnode/output"
	"crawlnode/output/sink"
	"crawlnode/output/webhooks"
	"crawlnode/peer"
	"crawlnode/recrawl"
	"crawlnode/render"
	"crawlnode/scheduler"
	"crawlnode/scheduler/breadth"
	"crawlnode/scheduler/turns"
	"crawlnode/search"
	"crawlnode/security/access"
	"crawlnode/security/egress"
	"crawlnode/security/keyfile"
	"crawlnode/security/rotation"
	"crawlnode/security/secrets"
	"crawlnode/settings/crawldoc"
	"crawlnode/settings/spread"
	"crawlnode/status/changes"
	"crawlnode/status/events"
	"crawlnode/status/inspect"
	"crawlnode/status/report"
	"crawlnode/web/fetcher"
	"crawlnode/web/traps"
	"crawlnode/web/wall"
	"crawlnode/workers"
	"crawlnode/workers/guests"
)

// protocolVersion is what nodes of one cluster must share.
const protocolVersion = membership.ProtocolVersion

// Versions are the numbers that say which nodes and which data directories this
// program can go with (docs/decisions/0140-versions.md).
func Versions() (protocol, dataFormat int) { return protocolVersion, datadir.FormatVersion }

// Network replaces TCP and UDP in simulations.
type Network = network.Network

// Options are what a node is made of. Config must be validated.
type Options struct {
	Config  config.Config
	Logger  *slog.Logger
	Version string
	// Given names the settings that were chosen, as config.Given tells: the operator is told
	// of those that the cluster overrules.
	Given []string
	// Adopt, when set, makes the given settings those of the crawl, which this node runs
	// alone. It is called, before Ready, with what has changed in the words of the command
	// line. Run ends with ErrUsage when one was given that cannot change.
	Adopt func(changed []string)
	// ResetFailures lets hosts that could not be reached before this start be tried at once. Waits
	// that a server asked for stay.
	ResetFailures bool
	// FollowFetchers lets the number of fetchers follow what the node sees: --fetchers was not given.
	FollowFetchers bool
	// Network replaces TCP and UDP in simulations; nil is the real one.
	Network *Network
	// Store replaces the frontier's files in the data directory, in simulations; nil is Badger. The
	// node closes it when it ends, and when Open fails after having begun to use it.
	Store storage.KV
	// State puts a simulation's disk between the membership and its file; nil: none.
	State func(membership.Storage) membership.Storage
	// FreeBytes returns the free space of the volume that holds a path, in simulations; nil: the
	// system's figure.
	FreeBytes func(path string) (int64, error)
	// OpenFile opens the files of the archive, in simulations; nil: the system's.
	OpenFile files.Opener
	// ProcessorTime returns the processors' time used so far, by this process in
	// microseconds and by all and in total in ticks, in tests; nil: the system's figures.
	ProcessorTime func() (own, busy, all int64)
	// Bare leaves out the fingerprints of texts and the index of the archive, so
	// that what they cost can be measured.
	Bare bool
}

// Node is one crawlnode process. Open makes it, Run does everything, Drain and
// Stop end it.
type Node struct {
	*inspect.Questions // about URLs, hosts and archives

	cfg     config.Config
	log     *slog.Logger
	version string
	started time.Time
	network *Network       // nil is the real one
	bare    bool           // Options.Bare
	given   []string       // Options.Given
	adopt   func([]string) // Options.Adopt
	forgive time.Time      // scheduler.Config.Forgive
	breadth *breadth.Breadth

	dir     *datadir.Dir
	http    net.Listener
	rpc     net.Listener
	keys    *keyring
	id      crawl.NodeID
	name    string
	members *membership.Membership
	pool    *peer.Pool
	server  *peer.Server
	kv      storage.KV
	front   *frontier.Frontier
	outputs *output.Outputs
	earlier *earlier // nil: there are no other archives
	dns     *dnscache.Cache
	doc     *crawldoc.Store
	metrics *metrics.Registry
	timings report.Timings

	engine    atomic.Pointer[engine] // nil until the first view lists this boot
	peers     *heartbeat.Table
	heartbeat *heartbeat.Heartbeat
	clocks    *heartbeat.ClockWatch
	spread    *spread.Spreader
	heap      *resources.Collector // of measure
	router    *links.Router
	outbox    *links.Sender
	receiver  *links.Receiver
	seeder    *links.Seeder
	permits   *finish.Permits
	finisher  *finish.Finisher
	revisits  *recrawl.Keeper
	ranking   *importance.Keeper
	indexer   *search.Indexer
	searcher  *search.Searcher
	renderer  *render.Renderer
	documents *documents.Reader
	inspector *inspect.Inspector
	contents  *contents.Index
	elsewhere *scheduler.Elsewhere
	report    *report.Reporter
	drainer   *drain.Drainer
	orders    *orders.Orders
	// processors is the time that the processors have spent, as resources.ProcessorTime tells it.
	processors     func() (own, busy, all int64)
	changes        changes.Log
	traps          *traps.Detector
	events         *events.Log
	fences         *transfer.Fences
	space          *disk.Space
	stalls         *disk.Stalls
	audit          *access.Audit
	rotator        *rotation.Rotator
	egress         *egress.Rules
	*workers.Front // answers the API about workers
	sinks          *sink.Set
	webhooks       *webhooks.Set
	bot            *bot           // nil: no request is signed
	walls          *wall.Table    // nil: those that crawlnode knows
	secrets        *secrets.Store // of --secrets
	means          *means         // what rules for sites need of this node
	fetcher        atomic.Pointer[fetcher.Fetcher]
	mismatch       atomic.Pointer[keyMismatch] // nil: the others sign with the same key
	mismatchTold   bool                        // measure's: the log has it
	mismatchPaused bool                        // measure's: it was there a second ago
	tracer         *tracing.Tracer             // nil: no traces
	traced         *tracing.Visits             // nil as well

	drain       chan struct{} // closed by Drain
	stop        chan struct{} // closed by Stop
	draining    atomic.Bool
	stopped     atomic.Bool
	writersDone chan struct{}   // closed when no part writes to the frontier any more
	running     context.Context // Run's; set before anything starts
	noVisits    atomic.Bool     // no visit starts any more
	closing     atomic.Bool     // the listener for other nodes closes: nothing is requested any more
	ended       atomic.Bool     // the crawl has, as was logged last
	finished    chan string     // capacity 1: why the crawl ended, with --exit-when-done
	synced      atomic.Bool     // the cluster's document was taken over
	joined      chan struct{}   // closed when it was for the first time
	excluded    chan struct{}   // capacity 1: a view went on without this node, or took it back
	moved       atomic.Uint64
}

// engine is what needs the number of partitions, which a joining node learns
// from its first view.
type engine struct {
	partitions  int
	replication int
	dispatcher  *scheduler.Dispatcher
	turns       *turns.Turns
	desk        *workers.Desk
	guests      *guests.Desk
	completer   *links.Completer
	moves       *handoff.Driver
}

// Info is what the banner says.
type Info struct {
	ID, Name, Cluster, HTTP, Gossip, RPC, DataDir, Secure string
	FreeBytes                                             int64
}

// Info describes the node. Any time after Open.
func (n *Node) Info() Info {
	free, err := datadir.FreeBytes(n.dir.Path())
	if err != nil {
		n.log.Warn("the free space of the data directory is unknown", "error", err)
	}
	return Info{
		ID:        string(n.id),
		Name:      n.name,
		Cluster:   n.cfg.ClusterName,
		HTTP:      n.http.Addr().String(),
		Gossip:    n.members.Self().Gossip,
		RPC:       n.members.Self().RPC,
		DataDir:   n.dir.Path(),
		Secure:    keyfile.Describe(n.keys.ring != nil, n.cfg.Insecure),
		FreeBytes: free,
	}
}

// Drain begins a polite stop: the node finishes what is open, hands its
// partitions over, and Run returns. Any time, more than once.
func (n *Node) Drain() {
	if n.draining.CompareAndSwap(false, true) {
		close(n.drain)
	}
}

// Stop ends Run at once, without a hand-over; everything is flushed to disk.
func (n *Node) Stop() {
	if n.stopped.CompareAndSwap(false, true) {
		close(n.stop)
	}
}

// Finished says why the crawl ended; not ok: it has not.
func (n *Node) Finished() (reason string, ok bool) {
	d := n.doc.Current().Doc
	return d.Reason, d.State == crawl.CrawlFinished
}

// Unsent says, after Run, which files the object store has not got, and why; nil: it has all, or
// there is none.
func (n *Node) Unsent() error { return n.outputs.Unsent() }

// Ready reports whether the node has joined and is not leaving; why says what
// is missing.
func (n *Node) Ready() (ok bool, why string) {
	switch {
	case n.draining.Load() || n.stopped.Load():
		return false, "the node is leaving"
	case n.engine.Load() == nil:
		return false, "the node has not joined its cluster yet: no view lists it"
	case n.engine.Load().moves.Status().View == 0:
		return false, "the node has not looked at its partitions yet"
	case !n.synced.Load():
		return false, "the node has not taken over the crawl's settings yet"
	}
	return true, ""
}

// partitions is the cluster's P, 0 before the node has joined.
func (n *Node) partitions() int {
	if e := n.engine.Load(); e != nil {
		return e.partitions
	}
	return 0
}

// holds reports whether this node has the authority over p.
func (n *Node) holds(p crawl.Partition) bool {
	e := n.engine.Load()
	if e == nil {
		return false
	}
	s := e.moves.Status()
	// Freezing: the store refuses already, or will at once.
	return s.View > 0 && int(p) < len(s.States) && s.States[p] == handoff.Holding
}

// alone reports whether this node is the only member of its view.
func (n *Node) alone() bool {
	v := n.members.Snapshot().View
	return v != nil && len(v.Members) == 1
}

// MayFetch reports whether this node may start a request to a host of p now, but
// for the hosts' own delays: it holds p, its lease is good, and the crawl runs.
func (n *Node) MayFetch(p crawl.Partition) bool { return n.holds(p) && n.mayFetch(p) }

// heldBits is the bitmap of the partitions that this node holds.
func (n *Node) heldBits() []byte {
	e := n.engine.Load()
	if e == nil {
		return nil
	}
	b := make([]byte, (e.partitions+7)/8)
	moves := e.moves.Status()
	if moves.View == 0 {
		return b // what the disk says of an earlier boot: the first view may take it away
	}
	for p, s := range moves.States {
		if s == handoff.Holding || s == handoff.Freezing {
			crawl.SetBit(b, p)
		}
	}
	return b
}

// viewNumber is the installed view's, 0 before there is one.
func (n *Node) viewNumber() crawl.Epoch {
	if v := n.members.Snapshot().View; v != nil {
		return v.Number
	}
	return 0
}

// others are the other members of the installed view.
func (n *Node) others() []membership.Member { return n.members.View().Others(n.id) }

// target is a member as calls name it: the boot that the view lists. Of another node
// than a member it is zero, and a call to that fails.
func (n *Node) target(id crawl.NodeID) peer.Target {
	if v := n.members.Snapshot().View; v != nil && id != n.id {
		if m, ok := v.Member(id); ok {
			return targetOf(m)
		}
	}
	return peer.Target{}
}

func targetOf(m membership.Member) peer.Target {
	return peer.Target{ID: string(m.ID), Boot: uint64(m.Boot), Addr: m.RPC}
}

func (n *Node) tableOwner(p crawl.Partition) crawl.NodeID {
	if t := n.members.Snapshot().Table; t != nil {
		return t.Owner(p)
	}
	return ""
}

// documentChanged acts on a new document: the crawl runs, is paused, or has ended.
func (n *Node) documentChanged() {
	d := n.doc.Current().Doc
	joining := false
	select {
	case <-n.joined:
	default:
		joining = true
	}
	n.events.Document(time.Now(), d, n.report.NameOf(d.By), joining)
	if e := n.engine.Load(); e != nil {
		e.dispatcher.Pause(!n.runs())
	}
	if e := n.engine.Load(); n.permits.FollowLimit(d) && e != nil {
		e.dispatcher.PermitsAgain()
	}
	if ended := d.State == crawl.CrawlFinished; n.ended.Swap(ended) != ended && ended {
		n.log.Info("the crawl has ended", "reason", d.Reason)
	}
	if d.State == crawl.CrawlFinished {
		if n.cfg.ExitWhenDone {
			select {
			case n.finished <- d.Reason:
			default:
			}
		}
	}
	n.revisits.Wake()
	n.heartbeat.Soon()
	n.spread.Wake()
}

// settings are the crawl's at this moment.
func (n *Node) settings() *crawl.Settings { return &n.doc.Current().Doc.Settings }

// mayCrawl reports whether this node may start fetches at all. The dispatcher asks for each; a disk
// that answers again comes without a new document.
func (n *Node) mayCrawl() bool { return n.runs() && n.stalls.Stalled() == nil }

func (n *Node) runs() bool {
	return n.synced.Load() && !n.noVisits.Load() && !n.closing.Load() &&
		n.doc.Current().Doc.State == crawl.CrawlRunning && !n.space.Low() && n.mismatch.Load() == nil
}
