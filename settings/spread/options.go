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

// Options are what the package needs of the rest of the node. All are set, but for
// AllowRemoteUnsafe. The functions read memory and call no node, but for Call.
type Options struct {
	Self     crawl.NodeID
	Document *crawldoc.Store
	// View is the installed view; nil before there is one.
	View func() *membership.View
	// SilentFor is the time since a member's last renewal.
	SilentFor func(id crawl.NodeID, now time.Time) time.Duration
	// Silence makes a member silent: no caller waits for it.
	Silence time.Duration
	// Call asks a member, in the boot that is given; its Serve answers.
	Call func(
		ctx context.Context,
		to membership.Member,
		req *peer.CrawlRequest,
	) (*peer.CrawlReply, error)
	// Ready is nil once this node has the cluster's document; before that it is the error that
	// callers of ChangeSettings, Control and Revoke get.
	Ready func() error
	// Founded reports whether this node has founded the partitions of its cluster.
	Founded func() bool
	// Changed is called after this package has stored another document.
	Changed func()
	// Version is this program's, for the default of the user agent.
	Version string
	// AllowRemoteUnsafe lets callers from other machines widen what the crawl may reach.
	AllowRemoteUnsafe bool
	Logger            *slog.Logger
}

// viewNumber is the installed view's, 0 before there is one.
func (o *Options) viewNumber() crawl.Epoch {
	if v := o.View(); v != nil {
		return v.Number
	}
	return 0
}

// others are the other members of the installed view.
func (o *Options) others() []membership.Member { return o.View().Others(o.Self) }

// document is the newest one that this node has.
func (o *Options) document() *crawldoc.Document { return o.Document.Current().Doc }
