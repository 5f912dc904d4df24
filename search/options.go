package search

import (
	"context"
	"log/slog"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/texts"
	"crawlnode/importance/opic"
	"crawlnode/search/index"
	"crawlnode/web/urlnorm"
)

// Index is the part of search/index that the package needs.
type Index interface {
	index.Source
	Apply(ctx context.Context, b index.Batch) error
	RemovePartition(ctx context.Context, partitions ...uint32) error
	Partitions() map[uint32]int64
	Size() index.Size
	Close() error
}

// Store is the part of the frontier that the package needs.
type Store interface {
	Walk(visit func(*frontier.Meta) bool)
	Meta(p crawl.Partition) (frontier.Meta, bool)
	TextChanges(
		p crawl.Partition,
		after texts.Position,
		visit func(texts.Change) bool,
	) (texts.Position, bool, error)
	// Account is what links say of a URL; ok is false when they say nothing.
	Account(p crawl.Partition, u urlnorm.URL) (a opic.Account, ok bool, err error)
}

// Rules are those by which URLs stay in the index.
type Rules struct {
	On      bool   // --index
	Ranked  bool   // the importance of pages is computed
	Version uint64 // of the rules of Excludes; 0: nothing is excluded
	// Excludes reports whether a URL is not to be found; nil: none.
	Excludes func(url string) bool
}

// Cluster is what the package asks of the nodes. Its methods do not block, but Call.
type Cluster interface {
	// Partitions is their number, 0 before the node has joined.
	Partitions() int
	// Holders are the nodes that have a partition, the holder first.
	Holders(p crawl.Partition) []crawl.NodeID
	// Documents is how many documents the whole cluster has, by what the nodes last said.
	Documents() int64
	// Call has a node's Serve answer.
	Call(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error)
}

// Options are what the package needs of others. The functions do not block.
type Options struct {
	Self crawl.NodeID
	Dir  string // of the index and its cursors; made when it is first on
	// Open opens the index, nil: OpenSearch; fresh says that it is empty or has lost something, so all
	// is read again.
	Open    func(dir string) (x Index, fresh bool, err error)
	Store   Store
	Cluster Cluster
	Rules   func() Rules
	Now     func() time.Time // for freshness and ages
	Log     *slog.Logger
}
