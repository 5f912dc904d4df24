package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"crawlnode/crawl"
	"crawlnode/store/archive"
)

// Archives is a Source: folders of WARC files with their indexes, such as those of several nodes. The
// nodes may run.
type Archives []string

// Entries implements Source.
func (a Archives) Entries(ctx context.Context, fn func(archive.Entry) error) error {
	for _, dir := range a {
		err := archive.Entries(dir, func(e archive.Entry) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fn(e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Record implements Source. The names of archive files differ between nodes.
func (a Archives) Record(_ context.Context, ref crawl.ArchiveRef) (*archive.Record, error) {
	for _, dir := range a {
		r, err := archive.ReadRef(dir, ref)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return &r, err
		}
	}
	return nil, fmt.Errorf("no folder has %s", ref.File)
}
