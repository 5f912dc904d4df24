package spread

import (
	"context"
	"log/slog"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/settings/crawldoc"
)

// Cluster is what the package asks of the rest of the node. Any goroutine calls it. Only Call asks
// another node.
type Cluster interface {
	// View is the installed view; nil before there is one.
	View() *membership.View
	// SilentFor is the time since a member's last renewal.
	SilentFor(id crawl.NodeID, now time.Time) time.Duration
	// Call asks a member, in the boot that is given; its Serve answers.
	Call(
		ctx context.Context,
		to membership.Member,
		req *peer.CrawlRequest,
	) (*peer.CrawlReply, error)
	// Ready is nil once this node has the cluster's document; before that it is the error that
	// callers of ChangeSettings, Control and Revoke get.
	Ready() error
	// Founded reports whether this node has founded the partitions of its cluster.
	Founded() bool
	// Changed hears that this package has stored another document.
	Changed()
}

// Options are the package's dependencies. All are set, but for AllowRemoteUnsafe.
type Options struct {
	Self     crawl.NodeID
	Document *crawldoc.Store
	Cluster  Cluster
	// Silence makes a member silent: no caller waits for it.
	Silence time.Duration
	// Version is this program's, for the default of the user agent.
	Version string
	// AllowRemoteUnsafe lets callers from other machines widen what the crawl may reach.
	AllowRemoteUnsafe bool
	Logger            *slog.Logger
}

// viewNumber is the installed view's, 0 before there is one.
func (o *Options) viewNumber() crawl.Epoch {
	if v := o.Cluster.View(); v != nil {
		return v.Number
	}
	return 0
}

// others are the other members of the installed view.
func (o *Options) others() []membership.Member { return o.Cluster.View().Others(o.Self) }

// document is the newest one that this node has.
func (o *Options) document() *crawldoc.Document { return o.Document.Current().Doc }
