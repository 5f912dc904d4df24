package pagefiles

import (
	"context"
	"errors"
	"io"

	"crawlnode/api/client"
	"crawlnode/output/archive"
	"crawlnode/output/readback"
)

// Cluster is a mirror.Source: the archives of a running cluster, asked of any node.
type Cluster struct {
	readback.Cluster
	Client *client.Client
}

// ClusterOf is the source of the cluster of a node.
func ClusterOf(c *client.Client) Cluster { return Cluster{readback.Cluster{Node: c}, c} }

// Normalize implements Source.
func (c Cluster) Normalize(ctx context.Context) ([]string, error) {
	report, err := c.Client.CrawlConfig(ctx)
	return report.Settings.List("normalize"), err
}

// Entries implements mirror.Source.
func (c Cluster) Entries(ctx context.Context, fn func(archive.Entry) error) error {
	r, w := io.Pipe()
	copied := make(chan error, 1)
	go func() { // ends when the index does, or at the first write after r is closed
		err := c.Client.CopyIndex(ctx, w)
		copied <- err
		_ = w.CloseWithError(err) // it never fails
	}()
	err := archive.ReadEntries(r, fn)
	_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // it never fails
	if failed := <-copied; err == nil {
		err = failed
	}
	return err
}
