package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"crawlnode/crawl"
	"crawlnode/node/datadir"
	"crawlnode/pipeline"
	"crawlnode/store/derived"
	"crawlnode/web/htmlparse"
)

// openDerived opens what is written beside the archive, if anything is. The outputs
// are this node's own matter: others may write other ones.
func (n *Node) openDerived() error {
	path := n.dir.Join("derived")
	c := &n.cfg
	o := derived.Options{
		Node: n.id, MaxFileBytes: int64(c.WARCSize), Software: "crawlnode/" + n.version, SkipRate: c.LogSkipped,
		Pages: c.Derives(derived.Pages), Links: c.Derives(derived.Links), Hosts: c.Derives(derived.Hosts), Text: c.Derives(derived.Text),
		Full: func(ctx context.Context) error { return restForSpace(ctx, n.running) },
		OnRepair: func(r derived.Repair) {
			n.log.Info("a derived file that was not closed properly is whole again", "file", r.File, "kept_bytes", r.Kept,
				"cut_bytes", r.Cut, "lines_from_tail", r.Lines, "removed", r.Removed, "reason", r.Reason)
		},
	}
	asked := len(c.Derive) > 0 || c.LogSkipped > 0
	if _, err := os.Lstat(path); !asked && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	d, err := derived.Open(path, o) // which also repairs what is not asked for any more
	if err != nil {
		return datadir.Failed("open the derived outputs in "+path, err)
	}
	if asked {
		n.derived = d
	}
	return nil
}

// deriver is the pipeline's view of the outputs; nil when there are none.
func (n *Node) deriver() pipeline.Deriver {
	if n.derived == nil {
		return nil
	}
	return patientOutputs{Outputs: n.derived, node: n}
}

// syncDerived makes what was derived durable; it stands between the archive and the
// frontier, as pages do.
func (n *Node) syncDerived() error {
	if n.derived == nil {
		return nil
	}
	if err := n.derived.Sync(); err != nil {
		return datadir.Failed("sync "+filepath.Join(n.dir.Path(), "derived"), err)
	}
	return nil
}

// refuse completes a visit of a host that has had its pages, with a line in the log of
// skipped URLs.
func (n *Node) refuse(ctx context.Context, v crawl.Visit, o crawl.Outcome) error {
	sink := n.engine.Load().completer
	if d := n.deriver(); d != nil && d.Sampled(v.Item.URL) {
		if err := d.Skipped(ctx, []crawl.Skip{{URL: v.Item.URL, Reason: o.Skip, Via: v.Item.Via, At: o.FetchedAt}}); err != nil {
			gone := crawl.Outcome{Kind: crawl.Aborted, Reason: err.Error(), FetchedAt: o.FetchedAt}
			return errors.Join(err, sink.Settle(ctx, v, gone))
		}
	}
	return sink.Settle(ctx, v, o)
}

// patientOutputs wait for space on the disk, as patientArchive does.
type patientOutputs struct {
	*derived.Outputs
	node *Node
}

// Page waits for space, then writes what is derived of an answer.
func (p patientOutputs) Page(ctx context.Context, c *crawl.Capture, o *crawl.Outcome, depth int, doc *htmlparse.Document) error {
	if !p.OfPages() {
		return nil
	}
	bytes := int64(1 << 10) // what is written at most, more or less
	if doc != nil {
		bytes += int64(len(doc.Text)) + int64(len(doc.Links))*int64(len(c.URL.String())+512)
	}
	if err := p.node.awaitSpace(ctx, bytes); err != nil {
		return err
	}
	return p.Outputs.Page(ctx, c, o, depth, doc)
}

// Skipped waits for space, then logs skipped URLs.
func (p patientOutputs) Skipped(ctx context.Context, skips []crawl.Skip) error {
	if err := p.node.awaitSpace(ctx, int64(len(skips))<<10); err != nil {
		return err
	}
	return p.Outputs.Skipped(ctx, skips)
}
