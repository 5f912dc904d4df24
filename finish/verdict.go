package finish

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/peer/fanout"
	"crawlnode/settings/crawldoc"
)

// timeIsUp is the reason to end now, whatever is queued; "" if there is none.
func timeIsUp(d *crawldoc.Document, now time.Time) string {
	if limit := d.Settings.MaxDuration; limit > 0 && d.RunningFor(now) >= limit {
		return crawl.FinishMaxDuration
	}
	return ""
}

// waits is the verdict of a crawl that goes on when a known page is due.
const waits = "waits"

// verdict is the reason why the crawl has ended, once all members were idle in two rounds. It is ""
// when the crawl has not ended: permits were counted too high, and more will be granted after the
// next count. A crawl that visits known pages again ends by a limit only: else it waits.
func verdict(answers map[crawl.NodeID]answer, s *crawl.Settings) string {
	maxPages := s.MaxPages
	var pages, queued int64
	for _, a := range answers {
		pages += a.Block.Counters.Pages
		queued += a.Block.Counters.QueuedTotal()
	}
	switch {
	case queued == 0 && !s.Revisits():
		return crawl.FinishExhausted
	case maxPages > 0 && pages >= maxPages:
		return crawl.FinishMaxPages
	case queued == 0:
		return waits
	}
	return ""
}

// note carries the end to the members: the document, and every member's last block, so that all
// show the same totals at once. One with the document as it was carries the blocks alone. It is
// sent as JSON.
type note struct {
	Document *crawldoc.Document               `json:"document"`
	Blocks   map[crawl.NodeID]crawl.NodeBlock `json:"blocks"`
}

// end stores the end here and sends it to every member. A member that does not answer gets it with
// the next renewal. Every member has the blocks before any can hear of the end: a renewal may bring
// the end sooner than the note does, and the totals have to be the same from then on.
func (f *Finisher) end(ctx context.Context, reason string, answers map[crawl.NodeID]answer) error {
	n := note{Document: f.o.Documents.Current().Doc, Blocks: map[crawl.NodeID]crawl.NodeBlock{}}
	for id, a := range answers {
		n.Blocks[id] = a.Block
	}
	if len(n.Blocks) > 0 && n.Document.State == crawl.CrawlRunning {
		f.o.Cluster.TakeBlocks(n.Blocks)
		f.tell(ctx, &n)
	}
	doc, err := f.o.Documents.Change(func(d *crawldoc.Document) *crawldoc.Document {
		if d.State != crawl.CrawlRunning {
			return nil
		}
		return d.Enter(crawl.CrawlFinished, reason, f.o.Self, time.Now())
	})
	if err != nil || doc == nil {
		return err
	}
	n.Document = doc
	for _, a := range f.tell(ctx, &n) {
		if a.Err != nil {
			f.o.Logger.Warn("cannot tell a member that the crawl has ended; the next renewal will", "peer",
				a.Node.Name, "error", a.Err)
		}
	}
	f.o.DocumentChanged()
	return nil
}

// tell sends the note to every member and returns the answers.
func (f *Finisher) tell(
	ctx context.Context,
	n *note,
) []fanout.Answer[membership.Member, *peer.IdleReply] {
	raw, err := json.Marshal(n)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return fanout.Ask(f.o.others(), func(m membership.Member) (*peer.IdleReply, error) {
		return f.o.Peers.Idle(ctx, m, &peer.IdleRequest{View: uint64(f.o.viewNumber()), Finish: raw})
	})
}

// takeEnd accepts the end of the crawl from another node.
func (f *Finisher) takeEnd(raw []byte) error {
	var n note
	if err := json.Unmarshal(raw, &n); err != nil {
		return status.Error(codes.InvalidArgument, fmt.Sprintf("the end of the crawl: %v", err))
	}
	if n.Document == nil {
		return status.Error(codes.InvalidArgument, "the end of the crawl comes without a document")
	}
	changed, err := f.o.Documents.Merge(n.Document, time.Now())
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	// A renewal may have brought the document before; the blocks come only here.
	if d := f.o.Documents.Current().Doc; changed ||
		d.Version == n.Document.Version && d.By == n.Document.By {
		f.o.Cluster.TakeBlocks(n.Blocks)
	}
	if changed {
		f.o.DocumentChanged()
	}
	return nil
}
