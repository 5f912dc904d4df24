package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"crawlnode/clusterkey"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/dnscache"
	"crawlnode/door"
	"crawlnode/fairshare"
	"crawlnode/frontier"
	"crawlnode/membership"
	"crawlnode/metrics"
	"crawlnode/node/crawldoc"
	"crawlnode/node/datadir"
	"crawlnode/node/transfer"
	"crawlnode/peer"
	"crawlnode/store/archive"
	"crawlnode/store/files"
)

// archiver is the part of package archive that a node uses.
type archiver interface {
	Put(ctx context.Context, c crawl.Capture) (crawl.ArchiveRef, error)
	PutFailure(ctx context.Context, f crawl.Failure) error
	Sync() error
	Stats() archive.Stats
	WriteIndex(out io.Writer) error
	OpenMember(file string, offset int64) (*archive.Member, error)
	Close() error
}

// keyring is the cluster's key, or none.
type keyring struct {
	ring *clusterkey.Ring // nil: none
}

func (k *keyring) describe(insecure bool) string {
	switch {
	case k.ring != nil:
		return "encrypted and authenticated with the cluster key"
	case insecure:
		return "INSECURE: no key, and listening beyond loopback is allowed"
	default:
		return "no key; loopback only"
	}
}

// Open locks the data directory, binds the addresses and opens everything on
// disk. Nothing runs and nobody is called yet. Its errors are of the classes
// ErrUsage, ErrStorage and ErrCluster, and leave nothing half-started.
func Open(o Options) (_ *Node, err error) {
	n := &Node{cfg: o.Config, log: o.Logger, version: o.Version, started: time.Now(), network: o.Network, bare: o.Bare, given: o.Given, timings: newTimings(),
		peers: newPeerTable(), events: newEventLog(), fences: transfer.NewFences(),
		drain: make(chan struct{}), stop: make(chan struct{}), finished: make(chan string, 1), writersDone: make(chan struct{}), joined: make(chan struct{}), excluded: make(chan struct{}, 1)}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	n.disk.ask, n.disk.fell = o.FreeBytes, make(chan struct{}, 1)
	if n.processors = o.ProcessorTime; n.processors == nil {
		n.processors = processorTime
	}
	n.renewals = &renewals{node: n, now: make(chan struct{}, 1), busy: map[crawl.NodeID]bool{}}
	n.spread = newSpreader(n)
	defer func() {
		if err == nil {
			return
		}
		n.close()
		if n.http != nil {
			_ = n.http.Close() // later it belongs to whoever serves the API
		}
	}()
	n.heap = newCollector(int64(o.Config.Memory))
	key, err := loadKey(&o.Config)
	if err != nil {
		return nil, err
	}
	if err = n.openData(); err != nil {
		return nil, err
	}
	if o.Store == nil { // another one says nothing about the directory
		if err = n.roomToBegin(); err != nil {
			return nil, err
		}
	}
	n.disk.look(n.volumes()...)
	n.rotator.node, n.rotator.look = n, make(chan struct{}, 1)
	if n.keys, err = n.rotator.open(key); err != nil {
		return nil, err
	}
	n.audit.dir, n.audit.max = n.dir, maxAuditFile
	if err = n.openStores(o.Store); err != nil {
		return nil, err
	}
	if err = n.openAddresses(o.State); err != nil {
		return nil, err
	}
	if err = n.openArchive(); err != nil {
		return nil, err
	}
	if err = n.openDerived(); err != nil {
		return nil, err
	}
	n.openPeers()
	n.openLinks()
	n.openFinish()
	n.openInspector()
	n.contents = n.newContents()
	n.addresses.begin(&n.cfg, n.listeners(), n.network == nil)
	return n, nil
}

// loadKey reads the key file; nil: there is none.
func loadKey(c *config.Config) (*clusterkey.Key, error) {
	if c.ClusterKeyFile == "" {
		return nil, nil
	}
	k, err := clusterkey.Load(c.ClusterKeyFile)
	if err != nil {
		return nil, usageError(fmt.Errorf("--cluster-key-file: %w", err))
	}
	return &k, nil
}

// openData locks the data directory. Without --name the name is the host's; when
// a running node has that directory, the next free of n1, n2... is taken.
func (n *Node) openData() error {
	name := n.cfg.Name
	var err error
	if name != "" {
		n.dir, err = datadir.Open(n.cfg.DataDirFor(name))
		n.name = name
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	name = config.NameFrom(host)
	for i := 1; ; i++ {
		n.dir, err = datadir.Open(n.cfg.DataDirFor(name))
		var locked *datadir.LockedError
		if !errors.As(err, &locked) || n.cfg.DataDir != "" || i > 100 {
			n.name = name
			return err
		}
		name = fmt.Sprintf("n%d", i)
	}
}

// seenEntryShare is how many bytes of --memory stand for one known URL in the cache,
// which takes 16: a million at a gibibyte, and not more beyond.
const seenEntryShare = 1 << 10

// commitPace is how long links, completions and mutations gather for one commit; an
// answer to another node comes so much later at most, at the holder and at a replica.
// With 5 ms a page of eight nodes cost a tenth more, with 20 ms one of three nodes did.
const commitPace = 10 * time.Millisecond

// storeOptions are the frontier's store's. With little memory its tables and caches
// are smaller: as they were, three tables of 42 MiB and the caches alone took more than
// a --memory of 128 MiB, and the collector never rested.
func (n *Node) storeOptions() frontier.BadgerOptions {
	o := frontier.BadgerOptions{Sync: n.cfg.Sync, Logger: n.log}
	if memory := int64(n.cfg.Memory); memory < 512<<20 {
		o.MemTableBytes = 16 << 20
		o.BlockCacheBytes, o.IndexCacheBytes = memory/16, memory/32
	}
	return o
}

// openStores opens the frontier, in kv unless that is nil, the document and the
// resolver.
func (n *Node) openStores(kv frontier.KV) (err error) {
	if n.doc, err = crawldoc.Open(n.dir, n.cfg.Settings(n.version), crawldoc.NewClock(n.network.clock())); err != nil {
		return err
	}
	n.events.doc = n.doc.Current().Doc
	if n.kv = kv; kv == nil {
		n.kv, err = frontier.OpenBadger(n.dir.Join("frontier"), n.storeOptions())
		if err != nil {
			return datadir.Failed("open the frontier in "+n.dir.Join("frontier"), err)
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
	clock, machine := n.network.clock()
	n.front, err = frontier.New(n.kv, frontier.Options{Clock: clock, Machine: machine, BloomDir: bloom, HighWater: marks, PayloadFilterBytes: int64(n.cfg.Memory) / 32,
		CacheEntries: int(min(n.cfg.Memory, 1<<30) / seenEntryShare),
		CommitPace:   commitPace, OnQueued: n.noteQueued, OnCommit: n.timings.commit.Observe, Logger: n.log})
	if err != nil {
		return datadir.Failed("open the frontier in "+n.dir.Join("frontier"), err)
	}
	if n.dns, err = dnscache.New(dnscache.Options{Servers: n.cfg.DNS, Exchange: n.network.exchange(), Owner: fairshare.Domain, Events: dnscache.Events{Outage: n.namesOut, Limited: n.namesLimited, Resolved: n.timings.lookup.Observe}}); err != nil {
		return usageError(fmt.Errorf("--dns: %w", err))
	}
	n.metrics = metrics.New(n.sample)
	return nil
}

// openAddresses binds the three addresses and opens the membership on the gossip
// one. When somebody takes that between the look and memberlist's bind, the next
// triple is tried.
func (n *Node) openAddresses(wrap func(membership.Storage) membership.Storage) error {
	for try := 0; ; try++ {
		b, err := listenTriple(&n.cfg, n.dir, n.network)
		if err != nil {
			return err
		}
		n.http, n.rpc = door.Listen(b.http, httpConnections), door.Listen(b.rpc, rpcConnections)
		err = n.openMembership(b.gossip, wrap)
		if !errors.Is(err, membership.ErrAddressInUse) || try == 3 {
			return err
		}
		_ = n.http.Close()
		_ = n.rpc.Close()
	}
}

func (n *Node) openMembership(gossip string, wrap func(membership.Storage) membership.Storage) error {
	o := membership.Options{
		Storage: membership.NewFile(n.dir.Path(), files.Replace), Name: n.name, Cluster: n.cfg.ClusterName,
		Partitions: n.cfg.Partitions, Replication: n.cfg.Replication,
		Bind: gossip, Advertise: n.cfg.Advertise, RPC: n.advertised(n.rpc), HTTP: n.advertised(n.http), Join: n.cfg.Join,
		Caller: caller{n}, Logger: n.log, Transport: n.network.transport(),
		Events:    membership.Events{Installed: n.fences.Installed},
		QuorumOff: n.cfg.Quorum == "off", ProofOfDeath: n.cfg.ProofOfDeath != "off",
	}
	n.network.hook(&o)
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
	n.events.begin(n.name, m.Self().Boot)
	return n.doc.Begin(n.id)
}

// advertised is a listener's address as others reach it.
func (n *Node) advertised(l net.Listener) string {
	if n.cfg.Advertise == "" {
		return l.Addr().String()
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return l.Addr().String()
	}
	host := n.cfg.Advertise
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return net.JoinHostPort(host, port)
}

func (n *Node) openArchive() (err error) {
	if !n.doc.Current().Doc.Settings.Archive && n.cfg.Store == "none" {
		n.archive = archive.None{}
		return nil
	}
	a, err := archive.Open(n.dir.Join("warc"), archive.Options{
		Node: n.id, MaxFileBytes: int64(n.cfg.WARCSize), Compression: archive.Compression(n.cfg.WARCCompression), Software: "crawlnode/" + n.version, Info: n.archiveInfo,
		NoIndex: n.bare,
		OnRepair: func(r archive.Repair) {
			n.log.Info("an archive file that was not closed properly is whole again", "file", r.File, "kept_bytes", r.Kept,
				"cut_bytes", r.Cut, "captures_indexed", r.Captures, "removed", r.Removed, "reason", r.Reason)
			n.events.add(repairEvent(time.Now(), n.name, r))
		},
		OnUnsorted: func(file string, err error) {
			n.log.Warn("the index of an archive file is not sorted; the next start tries again", "file", file, "error", err)
		},
	})
	if err != nil {
		return datadir.Failed("open the archive in "+filepath.Join(n.dir.Path(), "warc"), err)
	}
	n.archive = &patientArchive{archiver: a, hasSpace: n.hasSpace, running: func() context.Context { return n.running }}
	return nil
}

func (n *Node) openPeers() {
	cluster := func() string {
		if v := n.members.Snapshot().View; v != nil {
			return string(v.Cluster.ID)
		}
		return ""
	}
	po := peer.PoolOptions{Self: string(n.id), Protocol: protocolVersion, Cluster: cluster, Rules: func() *peer.RulesStamp { return stampOf(n.doc) }, Dial: n.network.dialer(), Ended: n.streamEnded}
	so := peer.ServerOptions{Self: string(n.id), Boot: uint64(n.members.Self().Boot), Protocol: protocolVersion, Cluster: cluster, Handler: handler{n}, Logger: n.log}
	if n.keys.ring != nil {
		po.TLS, so.TLS = n.keys.ring.ClientTLS, n.keys.ring.ServerTLS()
	}
	n.pool, n.server = peer.NewPool(po), peer.NewServer(so)
}

// caller carries membership's messages over the peers' connections.
type caller struct{ node *Node }

func (c caller) Call(ctx context.Context, to membership.Member, payload []byte) ([]byte, error) {
	reply, err := peer.Call(ctx, c.node.pool, targetOf(to), &peer.Envelope{Payload: payload}, peer.PeerClient.Membership)
	if err != nil {
		return nil, err
	}
	return reply.Payload, nil
}

// close frees what Open and Run opened, in the order in which it depends on
// each other. It is safe after a half-done Open.
func (n *Node) close() {
	var errs []error
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
	if n.archive != nil {
		errs = append(errs, n.archive.Close())
	}
	if n.derived != nil {
		errs = append(errs, n.derived.Close())
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
		_ = n.rpc.Close() // the server has closed it; after a failed Open nobody has
	}
	if n.dir != nil {
		n.dir.Close()
	}
	if err := errors.Join(errs...); err != nil {
		n.log.Error("closing", "error", err)
	}
}

// mayDial reports whether the crawl may connect to an address that is not
// public. Public ones need a contact, whom a site can ask.
func (n *Node) mayDial(addr netip.Addr) bool {
	return n.doc.Current().Doc.Settings.Allowed(addr)
}

// mayNotDial says why the crawl must not connect to an address, whatever its settings
// allow; nil: it may.
func (n *Node) mayNotDial(at netip.AddrPort) error {
	return n.addresses.judge(at, n.members.Snapshot(), n.doc.Seeds.HasPort, time.Now())
}

// listeners are where this node listens, as host:port.
func (n *Node) listeners() []string {
	self := n.members.Self()
	return []string{n.http.Addr().String(), n.rpc.Addr().String(), self.HTTP, self.RPC, self.Gossip, n.cfg.DebugAddr}
}
