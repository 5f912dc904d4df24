package pagefiles

import (
	"context"
	"errors"
	"io"

	"crawlnode/api/client"
	"crawlnode/crawl"
	"crawlnode/store/archive"
)

// Cluster is a mirror.Source: the archives of a running cluster, asked of any node.
type Cluster struct{ Client *client.Client }

// Normalize implements Source.
func (c Cluster) Normalize(ctx context.Context) ([]string, error) {
	report, err := c.Client.CrawlConfig(ctx)
	return report.Settings.Normalize, err
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

// Record implements mirror.Source.
func (c Cluster) Record(ctx context.Context, ref crawl.ArchiveRef) (*archive.Record, error) {
	member, err := c.Client.OpenCapture(ctx, ref.File, ref.Offset)
	if err != nil {
		return nil, err
	}
	record, err := archive.ReadRecord(member)
	return &record, errors.Join(err, member.Close())
}
