package node

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
	"crawlnode/search"
)

// This file fits package search to the rest of the node.

func (n *Node) openIndexer() {
	n.indexer = search.New(search.Options{Self: n.id, Dir: n.dir.Join("index"), Store: n.front,
		Cluster: searchedCluster{n}, Rules: n.indexRules, Now: time.Now, Log: n.log})
	n.searcher = search.NewSearcher(n.indexer)
}

// searchedCluster is the cluster as package search sees it.
type searchedCluster struct{ node *Node }

func (c searchedCluster) Partitions() int { return c.node.partitions() }

func (c searchedCluster) Holders(p crawl.Partition) []crawl.NodeID {
	n := c.node
	ids := []crawl.NodeID{n.peers.Holder(p)}
	if m, _ := n.front.Meta(p); m.State == frontier.Holder {
		ids[0] = n.id
	}
	if t := n.members.Snapshot().Table; t != nil {
		ids = append(append(ids, t.Owner(p)), t.Replicas(p)...)
	}
	return ids
}

func (c searchedCluster) Documents() int64 {
	n := c.node
	return n.peers.Texts(n.members.Snapshot().Table.OwnedBy) + n.front.Totals().Texts
}

func (c searchedCluster) Call(
	ctx context.Context, to crawl.NodeID, payload []byte,
) ([]byte, error) {
	n := c.node
	reply, err := peer.Call(ctx, n.pool, n.target(to), &peer.Envelope{Payload: payload},
		peer.PeerClient.Search)
	return reply.GetPayload(), err
}

func (n *Node) indexRules() search.Rules {
	b := n.doc.Current()
	version, excludes := b.Indexed(n.spread.Stamp().ScopeHash, n.doc.Seeds)
	on := b.Doc.Settings.Index || b.Pipeline.Sites.Indexes()
	return search.Rules{On: on, Ranked: n.ranking.On(), Version: version, Excludes: excludes}
}

// Search answers a question over the whole cluster: search.Searcher.Search.
func (n *Node) Search(ctx context.Context, q crawl.SearchQuery) (*crawl.SearchReport, error) {
	if err := n.readyNow(); err != nil {
		return nil, err
	}
	return n.searcher.Search(ctx, q)
}

// Search answers another member out of this node's index.
func (h handler) Search(ctx context.Context, _ string, req *peer.Envelope) (*peer.Envelope, error) {
	payload, err := h.node.indexer.Serve(ctx, req.Payload)
	return &peer.Envelope{Payload: payload}, err
}
