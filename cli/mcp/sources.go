package mcp

import (
	"context"
	"errors"

	"crawlnode/api/client"
	"crawlnode/cli/command"
	"crawlnode/cli/remote"
	"crawlnode/cli/searchverb"
	"crawlnode/crawl"
	"crawlnode/output/readback"
)

// running is a cluster of which a node runs.
type running struct{ *client.Client }

// Page implements cluster.
func (r running) Page(ctx context.Context, url string) (*readback.Page, error) {
	return readback.Load(ctx, readback.Cluster{Node: r.Client}, url, readback.MaxContent)
}

// directories are what the nodes of a cluster have left. Each call opens them and closes them
// again: a node may be started on them meanwhile, and is asked then. Calls take turns, since the
// directories are locked.
type directories struct {
	source *remote.Source
	env    *command.Env
	turn   chan struct{} // a place for the call whose turn it is
}

func newDirectories(s *remote.Source, env *command.Env) *directories {
	return &directories{s, env, make(chan struct{}, 1)}
}

// with lets a call use the directories, or the node that runs on them.
func (d *directories) with(ctx context.Context, use func(o *remote.Opened) error) error {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	o, _, err := d.source.Reach(d.env)
	if err != nil {
		return err
	}
	return errors.Join(use(o), o.Close())
}

// Page implements cluster.
func (d *directories) Page(ctx context.Context, url string) (page *readback.Page, err error) {
	err = d.with(ctx, func(o *remote.Opened) error {
		if o.Client != nil {
			page, err = running{o.Client}.Page(ctx, url)
			return err
		}
		dirs, err := readback.Open(d.source.DataDir...)
		if err != nil {
			return err
		}
		defer func() { _ = dirs.Close() }() // it is in the system's folder of temporary files
		page, err = readback.Load(ctx, dirs, url, readback.MaxContent)
		return err
	})
	return page, err
}

// Search implements cluster.
func (d *directories) Search(ctx context.Context, q crawl.SearchQuery) (
	r *crawl.SearchReport, err error,
) {
	offline := false
	err = d.with(ctx, func(o *remote.Opened) error {
		if offline = o.Client == nil; offline {
			return nil // the index is opened by itself
		}
		r, err = o.Client.Search(ctx, q)
		return err
	})
	if err != nil || !offline {
		return r, err
	}
	if len(d.source.DataDir) > 1 {
		return nil, errors.New("without a node one index is searched at a time: start crawlnode mcp" +
			" with one --data-dir, or a node")
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return searchverb.Offline(ctx, d.source.DataDir[0], q)
}

// DescribeURL implements cluster.
func (d *directories) DescribeURL(ctx context.Context, url string, depth int) (
	r *crawl.URLReport, err error,
) {
	err = d.with(ctx, func(o *remote.Opened) error {
		r, err = o.DescribeURL(ctx, url, depth)
		return err
	})
	return r, err
}

// CrawlConfig implements cluster.
func (d *directories) CrawlConfig(ctx context.Context) (r crawl.CrawlReport, err error) {
	err = d.with(ctx, func(o *remote.Opened) error {
		r, err = o.CrawlConfig(ctx)
		return err
	})
	return r, err
}

// Status implements cluster.
func (d *directories) Status(ctx context.Context, nodeOnly bool) (r *crawl.Status, err error) {
	err = d.with(ctx, func(o *remote.Opened) error {
		r, err = o.Status(ctx, nodeOnly)
		return err
	})
	return r, err
}

// AddSeeds implements cluster.
func (d *directories) AddSeeds(ctx context.Context, seeds []crawl.Seed) (
	r crawl.SeedReport, err error,
) {
	err = d.with(ctx, func(o *remote.Opened) error {
		if o.Client == nil {
			return errors.New("no node runs on the data directory, so nobody takes seeds: start one")
		}
		r, err = o.Client.AddSeeds(ctx, seeds)
		return err
	})
	return r, err
}
