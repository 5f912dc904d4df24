package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/dnscache"
	"crawlnode/frontier"
	"crawlnode/frontier/storage"
	"crawlnode/handoff/transfer"
	"crawlnode/local/datadir"
	"crawlnode/local/disk"
	"crawlnode/local/files"
	"crawlnode/local/resources"
	"crawlnode/membership"
	"crawlnode/membership/heartbeat"
	"crawlnode/metrics"
	"crawlnode/node/network"
	"crawlnode/output"
	"crawlnode/output/archive"
	"crawlnode/output/sink"
	"crawlnode/peer"
	"crawlnode/scheduler"
	"crawlnode/scheduler/breadth"
	"crawlnode/scheduler/shares"
	"crawlnode/security/access"
	"crawlnode/security/clusterkey"
	"crawlnode/security/egress"
	"crawlnode/security/keyfile"
	"crawlnode/settings/crawldoc"
	"crawlnode/status/events"
	"crawlnode/status/report"
	"crawlnode/web/preferences"
	"crawlnode/web/traps"
)

// keyring is the cluster's key, or none.
type keyring struct {
	ring *clusterkey.Ring // nil: none
}

// Open locks the data directory, binds the addresses and opens everything on
// disk. Nothing runs and no node is called yet. Its errors are of the classes
// ErrUsage, ErrStorage and ErrCluster, and leave nothing half-started.
func Open(o Options) (_ *Node, err error) {
	n := &Node{
		cfg:     o.Config,
		log:     o.Logger,
		version: o.Version,
		started: time.Now(),
		network: o.Network,
		bare:    o.Bare,
		given:   o.Given,
		adopt:   o.Adopt,
		timings: report.NewTimings(),
		breadth: breadth.For(o.Config.Fetchers, o.FollowFetchers, int64(o.Config.Memory),
			resources.OpenFiles),
		peers:       heartbeat.NewTable(),
		events:      events.New(),
		fences:      transfer.NewFences(),
		drain:       make(chan struct{}),
		stop:        make(chan struct{}),
		finished:    make(chan string, 1),
		writersDone: make(chan struct{}),
		joined:      make(chan struct{}),
		excluded:    make(chan struct{}, 1),
	}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	if o.ResetFailures {
		n.forgive = n.started
	}
	if n.processors = o.ProcessorTime; n.processors == nil {
		n.processors = resources.ProcessorTime
	}
	defer func() {
		if err == nil {
			return
		}
		dir := n.dir
		n.dir = nil // it stays locked until it is removed
		n.close()
		if dir != nil {
			dir.Abandon()
		}
		if n.http != nil {
			_ = n.http.Close() // later its owner is the API's server
		}
	}()
	n.heap = resources.NewCollector(int64(o.Config.Memory))
	key, err := keyfile.LoadKey(o.Config.ClusterKeyFile)
	if err != nil {
		return nil, err
	}
	if n.bot, err = openBot(&n.cfg, n.started); err != nil {
		return nil, err
	}
	if n.walls, err = openWalls(n.cfg.WallMarks); err != nil {
		return nil, err
	}
	if err = n.openSecrets(); err != nil {
		return nil, err
	}
	if n.dir, n.name, err = datadir.OpenNamed(n.cfg.Name, n.cfg.DataDir ==
		"", config.NameFrom, n.cfg.DataDirFor); err != nil {
		return nil, err
	}
	n.openDisk(o.FreeBytes)
	if o.Store == nil { // another one says nothing about the directory
		if err = n.space.RoomToBegin(); err != nil {
			return nil, err
		}
	}
	n.space.Look()
	if err = n.openKeys(key); err != nil {
		return nil, err
	}
	n.audit = access.NewAudit(n.dir, n.name, n.log)
	if err = n.openStores(o.Store); err != nil {
		return nil, err
	}
	if err = n.openAddresses(o.State); err != nil {
		return nil, err
	}
	if err = n.openOutputs(o.OpenFile); err != nil {
		return nil, err
	}
	if err = n.openEarlier(); err != nil {
		return nil, err
	}
	if n.sinks, err = sink.Open(n.cfg.Sinks, n.dir.Join("derived"), n.dir.Join("sinks"),
		func() preferences.Purposes { return n.settings().Obeyed() }, n.log); err != nil {
		return nil, datadir.Failed("open the sinks", err)
	}
	if err = n.openWebhooks(); err != nil {
		return nil, err
	}
	if err = n.openTraces(); err != nil {
		return nil, err
	}
	n.openSpread()
	n.openPeers()
	n.openRevisits()
	n.openRanking()
	n.openHeartbeat()
	n.openLinks()
	n.openFinish()
	n.openInspector()
	n.openIndexer()
	n.openWorkers()
	n.contents, n.elsewhere = n.newContents(), scheduler.NewElsewhere(n.id, robotsCluster{n})
	if err = n.openRenderer(); err != nil {
		return nil, err
	}
	if err = n.openDocuments(); err != nil {
		return nil, err
	}
	n.egress = egress.New(egress.Options{
		Deny:       n.cfg.DenyNet,
		Allow:      n.cfg.AllowNet,
		Ports:      n.cfg.AllowPorts,
		Listeners:  n.listeners(),
		Interfaces: n.network == nil,
		Settings:   n.settings,
		Log:        n.log,
	})
	n.traps = traps.New(int(min(int64(n.cfg.Memory)/trapShare, maxTrapMemory)))
	n.openReport()
	n.openDrain()
	return n, nil
}

// seenEntryShare is how many bytes of --memory stand for one known URL in the cache,
// which takes 8: two million at a gibibyte, and not more beyond.
const seenEntryShare = 1 << 9

// commitPace is how long links, completions and mutations gather for one commit; an
// answer to another node comes so much later at most, at the holder and at a replica.
// With 5 ms a page of eight nodes cost a tenth more. It grows with the members.
const commitPace = 10 * time.Millisecond

// What is known of the pages of sites, to notice those that do not end, takes a sixty-fourth part
// of
// --memory, and not more than there is use for.
const (
	trapShare     = 64
	maxTrapMemory = 16 << 20
)

// openStores opens the frontier, in kv unless that is nil, the document and the
// resolver.
func (n *Node) openStores(kv storage.KV) (err error) {
	if n.doc, err = crawldoc.Open(n.dir, n.cfg.Settings(n.version)); err != nil {
		return err
	}
	n.events.StartFrom(n.doc.Current().Doc)
	if n.kv = kv; kv == nil {
		n.kv, err = storage.OpenBadger(n.dir.Join("frontier"),
			storage.OptionsFor(int64(n.cfg.Memory), n.cfg.Sync, n.log))
		if err != nil {
			return transfer.CannotOpen(n.dir, err)
		}
	}
	bloom := n.dir.Join("bloom")
	if err := os.MkdirAll(bloom, 0o755); err != nil {
		return datadir.Failed("make "+bloom, err)
	}
	marks := ""
	if kv == nil {
		marks = n.dir.Join("highwater")
	}
	clock, machine := n.network.TimeSource()
	n.front, err = frontier.New(n.kv, frontier.Options{
		Clock:              clock,
		Machine:            machine,
		BloomDir:           bloom,
		HighWater:          marks,
		PayloadFilterBytes: int64(n.cfg.Memory) / 32,
		CacheEntries:       int(min(n.cfg.Memory, 1<<30) / seenEntryShare),
		CommitPace:         commitPace,
		Members:            func() int { return len(n.memberIDs()) },
		OnQueued:           n.noteQueued,
		SuspiciousPerHost:  func() int64 { return n.settings().SuspiciousPerHost() },
		BeforeCommit:       func() error { return n.outputs.Flush() },
		OnCommit:           func(took time.Duration) { n.heap.Work(); n.timings.Commit.Observe(took) },
		Logger:             n.log,
	})
	if err != nil {
		return transfer.CannotOpen(n.dir, err)
	}
	if n.dns, err = dnscache.New(dnscache.Options{
		Servers:  n.cfg.DNS,
		Exchange: n.network.Exchanger(),
		Owner:    shares.Domain,
		Events:   egress.NameEvents(n.log, n.timings.Lookup.Observe),
	}); err != nil {
		return usageError(fmt.Errorf("--dns: %w", err))
	}
	n.metrics = metrics.New(func() metrics.Sample { return n.report.Metrics() })
	return nil
}

// openAddresses binds the three addresses and opens the membership on the gossip
// one. When another process takes that between the check and memberlist's bind, the next
// triple is tried.
func (n *Node) openAddresses(wrap func(membership.Storage) membership.Storage) error {
	for try := 0; ; try++ {
		b, err := network.Listen(&n.cfg, n.given, n.dir, n.network)
		if bad := (*network.Error)(nil); errors.As(err, &bad) {
			return usageError(err)
		}
		if err != nil {
			return err
		}
		n.http, n.rpc = b.HTTP, b.RPC
		err = n.openMembership(b.Gossip, wrap)
		if !errors.Is(err, membership.ErrAddressInUse) || try == 3 {
			return err
		}
		_ = n.http.Close()
		_ = n.rpc.Close()
	}
}

func (n *Node) openMembership(
	gossip string,
	wrap func(membership.Storage) membership.Storage,
) error {
	o := membership.Options{
		Storage: membership.NewFile(n.dir.Path(),
			files.Replace),
		Name:        n.name,
		Cluster:     n.cfg.ClusterName,
		Partitions:  n.cfg.Partitions,
		Replication: n.cfg.Replication,
		Weight:      n.cfg.Weight,
		Zone:        n.cfg.Zone,
		Bind:        gossip,
		Advertise:   n.cfg.Advertise,
		RPC: network.Advertised(n.rpc,
			n.cfg.Advertise),
		HTTP:         network.Advertised(n.http, n.cfg.Advertise),
		Join:         n.cfg.Join,
		Caller:       caller{n},
		Logger:       n.log,
		Transport:    n.network.Transport(),
		Events:       membership.Events{Installed: n.fences.Installed},
		QuorumOff:    n.cfg.Quorum == "off",
		ProofOfDeath: n.cfg.ProofOfDeath != "off",
	}
	n.network.Hook(&o)
	if wrap != nil {
		o.Storage = wrap(o.Storage)
	}
	if n.keys.ring != nil {
		keys := n.keys.ring.Keys()
		o.SecretKey = keys[0].GossipKey()
		for _, also := range keys[1:] {
			o.AlsoKeys = append(o.AlsoKeys, also.GossipKey())
		}
	}
	m, err := membership.Open(o)
	switch {
	case errors.Is(err, membership.ErrCorrupt), errors.Is(err, membership.ErrForeign):
		return datadir.Failed("open "+n.dir.Path(), err)
	case err != nil:
		return clusterError("join", err)
	}
	n.members, n.id = m, m.Self().ID
	n.events.Begin(n.name, n.id, m.Self().Boot)
	return n.doc.Begin(n.id)
}

// openOutputs opens the archive and what is derived.
func (n *Node) openOutputs(openFile files.Opener) (err error) {
	n.outputs, err = output.Open(output.Options{
		Node:     n.id,
		Version:  n.version,
		Dir:      n.dir,
		Config:   &n.cfg,
		Settings: n.settings,
		Space:    n.space,
		Running:  func() context.Context { return n.running },
		Stop:     n.stop,
		NoIndex:  n.bare,
		OpenFile: openFile,
		Cluster:  n.clusterID,
		Log:      n.log,
		LastTry: func(v crawl.Visit) (failures int, last bool) {
			s := n.engine.Load().dispatcher.HostState(v)
			return s.Failures, s.LastTry
		},
		Repaired: func(r archive.Repair) { n.events.Add(events.Repaired(time.Now(), n.name, r)) },
	})
	return err
}

// openDisk makes what watches the disks.
func (n *Node) openDisk(freeBytes func(path string) (int64, error)) {
	n.space = disk.NewSpace(n.dir, freeBytes)
	moves := func() time.Duration {
		if e := n.engine.Load(); e != nil {
			return e.moves.Stalled()
		}
		return 0
	}
	n.stalls = disk.NewStalls(disk.StallOptions{Changed: n.stallChanged,
		Try: func(ctx context.Context) error { return n.front.Beat(ctx) },
		Waiters: []disk.Waiter{
			{Name: "the frontier's writer", Wait: func() time.Duration { return n.front.Stalled() }},
			{Name: "the vote for a view", Wait: func() time.Duration { return n.members.Saving() }},
			{Name: "a partition that changes hands", Wait: moves},
		}})
}

// clusterID is "" until a view is known.
func (n *Node) clusterID() string {
	if v := n.members.Snapshot().View; v != nil {
		return string(v.Cluster.ID)
	}
	return ""
}

func (n *Node) openPeers() {
	po := peer.PoolOptions{
		Self:     string(n.id),
		Protocol: protocolVersion,
		Cluster:  n.clusterID,
		Rules:    n.spread.Stamp,
		Dial:     n.network.Dialer(),
		Ended:    n.streamEnded,
	}
	so := peer.ServerOptions{
		Self:     string(n.id),
		Boot:     uint64(n.members.Self().Boot),
		Protocol: protocolVersion,
		Cluster:  n.clusterID,
		Handler:  handler{n},
		Logger:   n.log,
	}
	if n.keys.ring != nil {
		po.TLS, so.TLS = n.keys.ring.ClientTLS, n.keys.ring.ServerTLS()
	}
	n.pool, n.server = peer.NewPool(po), peer.NewServer(so)
}

// streamEnded takes the first half of a proof of death to membership: the other side closed a
// connection on which this boot had answered.
func (n *Node) streamEnded(was peer.Target) {
	n.heap.Work() // what follows waits for milliseconds
	n.members.StreamEnded(crawl.NodeID(was.ID), crawl.Boot(was.Boot), was.Addr)
}

// caller carries membership's messages over the peers' connections.
type caller struct{ node *Node }

// membershipPatience bounds a call of membership. Membership ends each of its calls earlier, and
// waits longer than peer.Call before it takes a node for one that does not answer.
const membershipPatience = time.Minute

func (c caller) Call(ctx context.Context, to membership.Member, payload []byte) ([]byte, error) {
	reply, err := peer.CallWithin(ctx, membershipPatience, c.node.pool, targetOf(to),
		&peer.Envelope{Payload: payload}, peer.PeerClient.Membership)
	if err != nil {
		return nil, err
	}
	return reply.Payload, nil
}

// close frees what Open and Run opened, in the order in which it depends on
// each other. It is safe after a half-done Open.
func (n *Node) close() {
	var errs []error
	if n.documents != nil {
		errs = append(errs, n.documents.Close())
	}
	if n.renderer != nil {
		n.renderer.Close()
	}
	if n.contents != nil {
		n.contents.Close()
	}
	if n.pool != nil {
		n.pool.Close()
	}
	if n.server != nil {
		n.server.Stop()
	}
	if n.members != nil {
		errs = append(errs, n.members.Close())
	}
	if n.dns != nil {
		n.dns.Close()
	}
	if n.outputs != nil {
		errs = append(errs, n.outputs.Close(), n.finishSending())
	}
	if n.earlier != nil {
		errs = append(errs, n.earlier.index.Close())
	}
	switch {
	case n.front != nil:
		errs = append(errs, n.front.Close())
	case n.kv != nil:
		errs = append(errs, n.kv.Close())
	}
	if n.doc != nil {
		errs = append(errs, n.doc.Close())
	}
	if n.rpc != nil {
		_ = n.rpc.Close() // the server has closed it, but not after a failed Open
	}
	if n.dir != nil {
		n.dir.Close()
	}
	if n.tracer != nil {
		errs = append(errs, n.tracer.Close())
	}
	if err := errors.Join(errs...); err != nil {
		n.log.Error("closing", "error", err)
	}
}

// mayNotDial says why the crawl must not connect to an address, whatever its settings
// allow; nil: it may.
func (n *Node) mayNotDial(at netip.AddrPort) error {
	return n.egress.Judge(at, n.members.Snapshot(), n.doc.Seeds.HasPort, time.Now())
}

// listeners are where this node listens, as host:port.
func (n *Node) listeners() []string {
	self := n.members.Self()
	return []string{n.http.Addr().String(), n.rpc.Addr().String(), self.HTTP, self.RPC, self.Gossip,
		n.cfg.DebugAddr, n.cfg.FrontierAddr}
}
