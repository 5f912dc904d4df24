package frontier

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/listing"
)

// List reads a page of the URLs of a held partition, in the order of package listing. It keeps a
// snapshot for as long as the page takes. It fails with ErrNotHolder when the partition is not held
// here.
func (f *Frontier) List(
	ctx context.Context,
	p crawl.Partition,
	wanted *listing.Filter,
	after listing.Position,
	b listing.Budget,
) (listing.Page, error) {
	if m, _ := f.w.Meta(p); m.State != layout.Holder {
		return listing.Page{}, fmt.Errorf("%w: partition %d", commit.ErrNotHolder, p)
	}
	v, err := f.w.Read(p)
	if err != nil {
		return listing.Page{}, err
	}
	defer v.Close()
	page, err := wanted.Page(ctx, v, after, b)
	if err != nil {
		return page, fmt.Errorf("frontier: listing partition %d: %w", p, err)
	}
	return page, nil
}
