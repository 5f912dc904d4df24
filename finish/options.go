package finish

import (
	"context"
	"log/slog"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/settings/crawldoc"
)

// Options are the package's dependencies. All are required.
type Options struct {
	Self      crawl.NodeID
	Boot      crawl.Boot
	Documents Documents
	Cluster   Cluster
	Engine    Engine
	Peers     Peers
	// Rules identifies the rules of this node in a request.
	Rules func() *peer.RulesStamp
	// DocumentChanged is called after this package has stored another document.
	DocumentChanged func()
	Logger          *slog.Logger
}

// Documents keeps the crawl document: *crawldoc.Store.
type Documents interface {
	Current() *crawldoc.Rulebook
	Change(func(*crawldoc.Document) *crawldoc.Document) (*crawldoc.Document, error)
	Merge(doc *crawldoc.Document, now time.Time) (changed bool, err error)
}

// Cluster is this node's knowledge of the cluster. Its methods read memory and call no node.
type Cluster interface {
	// View is the installed view; nil before there is one.
	View() *membership.View
	// Partitions is the number of partitions; 0 before this node has joined.
	Partitions() int
	// Grants reports whether this node holds partition 0.
	Grants() bool
	// Moves is how many partitions this node holds, and whether some are on their way to or from it.
	Moves() (held int, moving bool)
	// Reachable reports whether gossip reaches a node.
	Reachable(crawl.NodeID) bool
	// Reports are the last reports of the other nodes.
	Reports() map[crawl.NodeID]Report
	// TakeBlocks stores the last blocks of members, where no newer one is known.
	TakeBlocks(map[crawl.NodeID]crawl.NodeBlock)
}

// Report is the last report of another node.
type Report struct {
	Block crawl.NodeBlock
	// MadeAfter is a time of this node's clock before the block was made.
	MadeAfter time.Time
}

// Engine is this node's own part of the crawl.
type Engine interface {
	// Totals are the counters of the partitions held here.
	Totals() crawl.Counters
	// Work is the node's remaining work.
	Work() Work
	// Activity rises with everything that could lead to more work.
	Activity() uint64
	// Block is this node's report about itself.
	Block() *crawl.NodeBlock
	// Wake is called when permits have arrived.
	Wake()
}

// Peers calls other nodes.
type Peers interface {
	// Permits asks the holder of partition 0.
	Permits(ctx context.Context, req *peer.PermitRequest) (*peer.PermitReply, error)
	// Idle asks a member, in the boot that is given.
	Idle(ctx context.Context, m membership.Member, req *peer.IdleRequest) (*peer.IdleReply, error)
}

// settings are the current settings of this node.
func (o *Options) settings() *crawl.Settings { return &o.Documents.Current().Doc.Settings }

// viewNumber is the installed view's, 0 before there is one.
func (o *Options) viewNumber() crawl.Epoch {
	if v := o.Cluster.View(); v != nil {
		return v.Number
	}
	return 0
}

// others are the other members of the installed view.
func (o *Options) others() []membership.Member { return o.Cluster.View().Others(o.Self) }
