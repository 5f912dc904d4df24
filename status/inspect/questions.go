package inspect

import (
	"context"
	"io"

	"crawlnode/crawl"
)

// Questions are what the API asks of a node. They are refused until the node can answer them.
type Questions struct {
	inspector *Inspector
	ready     func() error
	listed    func() error
}

// Questions returns what the API asks. ready says why the node cannot answer yet; nil: it can. listed says why it cannot even
// compare the members' tables.
func (in *Inspector) Questions(ready, listed func() error) *Questions {
	return &Questions{inspector: in, ready: ready, listed: listed}
}

// Ring puts what every member has beside the table: Inspector.Ring.
func (q *Questions) Ring(ctx context.Context) (*crawl.RingReport, error) {
	if err := q.listed(); err != nil {
		return nil, err
	}
	return q.inspector.Ring(ctx)
}

// ExplainURL tells what the cluster knows of a URL and what the rules say of it: Inspector.URL.
func (q *Questions) ExplainURL(ctx context.Context, raw string, depth int) (*crawl.URLReport, error) {
	if err := q.ready(); err != nil {
		return nil, err
	}
	return q.inspector.URL(ctx, raw, depth)
}

// DescribeHost tells what politeness knows of a host, and what waits for it: Inspector.Host.
func (q *Questions) DescribeHost(ctx context.Context, name string) (*crawl.HostReport, error) {
	if err := q.ready(); err != nil {
		return nil, err
	}
	return q.inspector.Host(ctx, name)
}

// Hosts lists the first hosts in an order: Inspector.Hosts.
func (q *Questions) Hosts(ctx context.Context, sort string, limit int) (*crawl.HostsReport, error) {
	if err := q.ready(); err != nil {
		return nil, err
	}
	return q.inspector.Hosts(ctx, sort, limit)
}

// ListURLs reads a page of the URLs that a query wants: Inspector.List.
func (q *Questions) ListURLs(ctx context.Context, query crawl.URLQuery) (*crawl.URLPage, error) {
	if err := q.ready(); err != nil {
		return nil, err
	}
	return q.inspector.List(ctx, query)
}

// Audit lists what all members were asked to change, newest first: Inspector.Audit. It is answered at any time.
func (q *Questions) Audit(ctx context.Context, limit int) (crawl.AuditReport, error) {
	return q.inspector.Audit(ctx, limit)
}

// WriteIndex writes the index of all members' archives: Inspector.WriteIndex.
func (q *Questions) WriteIndex(ctx context.Context, out io.Writer) error {
	if err := q.ready(); err != nil {
		return err
	}
	return q.inspector.WriteIndex(ctx, out)
}

// Captures lists what is stored of a URL: Inspector.Captures.
func (q *Questions) Captures(ctx context.Context, url string) (*crawl.CapturesReport, error) {
	if err := q.ready(); err != nil {
		return nil, err
	}
	return q.inspector.Captures(ctx, url)
}

// EachCapture walks the index of all members' archives: Inspector.EachCapture.
func (q *Questions) EachCapture(ctx context.Context, r crawl.IndexRange, fn func(crawl.NodeRef, []byte) error) error {
	if err := q.ready(); err != nil {
		return err
	}
	return q.inspector.EachCapture(ctx, r, fn)
}

// OpenCapture opens a record of any member's archive: Inspector.OpenCapture.
func (q *Questions) OpenCapture(ctx context.Context, file string, offset int64) (io.ReadCloser, error) {
	if err := q.ready(); err != nil {
		return nil, err
	}
	return q.inspector.OpenCapture(ctx, file, offset)
}
