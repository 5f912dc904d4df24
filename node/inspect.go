package node

import (
	"cmp"
	"context"
	"io"

	"crawlnode/crawl"
	"crawlnode/handoff/transfer"
	"crawlnode/links"
	"crawlnode/peer"
	"crawlnode/ring"
	"crawlnode/scheduler/core"
	"crawlnode/status/inspect"
	"crawlnode/web/urlnorm"
)

// This file fits package inspect to the rest of the node, and to its callers.

func (n *Node) openInspector() {
	n.inspector = inspect.New(inspect.Options{
		Self:       n.id,
		Documents:  n.doc,
		Store:      n.front,
		Dispatcher: hostsInMemory{n},
		Archive:    n.outputs.Archive(),
		Away:       n.outputs.Away,
		Cluster:    inspectedCluster{n},
		Peers:      inspectedPeers{n},
		Links:      n.ranking.Links,
		Audit:      n.audit.Newest,
		Partitions: n.ownPartitions,
		Withdraw:   n.withdraw,
		Copied:     n.router.Copied,
	})
	n.Questions = n.inspector.Questions(n.readyNow, n.listedNow)
}

// withdraw takes a URL out of the dispatcher's memory.
func (n *Node) withdraw(
	ctx context.Context,
	host crawl.Host,
	url string,
) (underWay bool, err error) {
	e := n.engine.Load()
	if e == nil {
		return false, errNotJoined
	}
	return e.dispatcher.Withdraw(ctx, host, url)
}

// RemoveSeeds takes URLs out of the queue that are not fetched yet. It returns when those that are
// reported as removed are durable.
func (n *Node) RemoveSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.RemovalReport, error) {
	report := crawl.RemovalReport{URLs: []crawl.Removal{}, Invalid: []crawl.SeedError{}}
	if err := n.readyNow(); err != nil {
		return report, err
	}
	var urls []urlnorm.URL
	for i, s := range seeds {
		u, err := links.ParseSeed(s.URL)
		if err != nil {
			report.Invalid = append(report.Invalid,
				crawl.SeedError{Line: cmp.Or(s.Line, i+1), Input: s.URL, Error: err.Error()})
			continue
		}
		urls = append(urls, n.doc.Current().Pipeline.Normalize.Apply(u))
	}
	states, err := n.inspector.RemoveURLs(ctx, urls)
	if err != nil {
		return report, err
	}
	for i, u := range urls {
		report.Add(u.String(), states[i])
	}
	return report, nil
}

// listedNow says why this node cannot compare tables: no view lists it.
func (n *Node) listedNow() error {
	if n.viewNumber() == 0 || n.partitions() == 0 {
		return ErrNotReady
	}
	return nil
}

// readyNow is Ready as an error.
func (n *Node) readyNow() error {
	switch ok, _ := n.Ready(); {
	case ok:
		return nil
	case n.draining.Load() || n.stopped.Load():
		return ErrLeaving
	}
	return ErrNotReady
}

// JudgeScope is the scope's verdict on a URL without any cluster: inspect.JudgeScope.
func JudgeScope(s crawl.Settings, seeds []string, raw string, depth int) (*crawl.URLReport, error) {
	r, err := inspect.JudgeScope(s, seeds, raw, depth)
	if err != nil {
		return nil, usageError(err)
	}
	return r, nil
}

// Explain answers a question of another member.
func (h handler) Explain(
	ctx context.Context,
	_ string,
	req *peer.Envelope,
) (*peer.Envelope, error) {
	if h.node.partitions() == 0 {
		return nil, errNotJoined
	}
	payload, err := h.node.inspector.Serve(ctx, req.Payload)
	if err != nil {
		return nil, err
	}
	return &peer.Envelope{Payload: payload}, nil
}

// Archive answers another member out of this node's archive.
func (h handler) Archive(_ context.Context, _ string, req *peer.Envelope, out io.Writer) error {
	return h.node.inspector.ServeArchive(req.Payload, out)
}

// hostsInMemory is the dispatcher as package inspect sees it.
type hostsInMemory struct{ node *Node }

func (h hostsInMemory) Inspect(
	ctx context.Context,
	host crawl.Host,
) (s core.HostSnapshot, ok bool, err error) {
	e := h.node.engine.Load()
	if e == nil {
		return s, false, errNotJoined
	}
	return e.dispatcher.Inspect(ctx, host)
}

func (h hostsInMemory) LastFailure(
	ctx context.Context,
	host crawl.Host,
) (*crawl.HostFailure, error) {
	e := h.node.engine.Load()
	if e == nil {
		return nil, errNotJoined
	}
	return e.dispatcher.LastFailure(ctx, host)
}

func (h hostsInMemory) Lacks(host crawl.Host) string { return h.node.means.lackedBy(host) }

func (h hostsInMemory) Top(
	ctx context.Context,
	sort string,
	n int,
) (top []core.TopHost, inMemory int, err error) {
	e := h.node.engine.Load()
	if e == nil {
		return nil, 0, errNotJoined
	}
	return e.dispatcher.Top(ctx, sort, n)
}

// inspectedCluster is the cluster as package inspect sees it.
type inspectedCluster struct{ node *Node }

func (c inspectedCluster) Partitions() int { return c.node.partitions() }

func (c inspectedCluster) Table() (crawl.Epoch, *ring.Table) {
	snap := c.node.members.Snapshot()
	return snap.View.Number, snap.Table
}

func (c inspectedCluster) Owner(p crawl.Partition) crawl.NodeID { return c.node.tableOwner(p) }

func (c inspectedCluster) Holder(p crawl.Partition) crawl.NodeID {
	return crawl.NodeID(c.node.target(c.node.peers.Holder(p)).ID)
}

func (c inspectedCluster) Others() []crawl.NodeRef {
	var refs []crawl.NodeRef
	for _, m := range c.node.others() {
		refs = append(refs, crawl.NodeRef{ID: m.ID, Name: m.Name})
	}
	return refs
}

func (c inspectedCluster) Ref(id crawl.NodeID) crawl.NodeRef {
	return crawl.NodeRef{ID: id, Name: c.node.report.NameOf(id)}
}

func (c inspectedCluster) HostsElsewhere() (hosts int64) {
	infos := c.node.peers.All()
	for _, m := range c.node.others() {
		hosts += infos[m.ID].Block.Counters.Hosts
	}
	return hosts
}

// inspectedPeers carries the questions of package inspect.
type inspectedPeers struct{ node *Node }

func (p inspectedPeers) Explain(
	ctx context.Context,
	to crawl.NodeID,
	payload []byte,
) ([]byte, error) {
	reply, err := peer.Call(ctx, p.node.pool, p.node.target(to), &peer.Envelope{Payload: payload},
		peer.PeerClient.Explain)
	if err != nil {
		return nil, err
	}
	return reply.Payload, nil
}

func (p inspectedPeers) Archive(
	ctx context.Context,
	to crawl.NodeID,
	payload []byte,
) (io.ReadCloser, error) {
	return p.node.pool.Archive(ctx, p.node.target(to), &peer.Envelope{Payload: payload})
}

func (p inspectedPeers) Partitions(
	ctx context.Context,
	to crawl.NodeID,
) (crawl.Epoch, []crawl.PartitionReport, error) {
	reply, err := peer.Call(ctx, p.node.pool, p.node.target(to), &peer.PartitionsRequest{},
		peer.PeerClient.Partitions)
	if err != nil {
		return 0, nil, err
	}
	view, parts := transfer.FromReply(to, reply)
	return view, parts, nil
}
