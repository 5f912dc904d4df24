package contents

import (
	"context"
	"crypto/sha1" //nolint:gosec // payload digests of WARC are SHA-1

	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/ring"
	"crawlnode/web/urlnorm"
)

// emptyPayload is the digest of no bytes. Nobody keeps a first capture of it.
var emptyPayload = crawl.Digest(sha1.Sum(nil))

// Stored returns what is stored of a URL of a partition that this node holds. It implements
// pipeline.Contents, and may block for half a second. It claims nothing.
func (x *Index) Stored(ctx context.Context, u urlnorm.URL) (s pipeline.Stored) {
	rec, ok, err := x.o.Store.Record(
		ring.PartitionOf(crawl.Host(u.Host()), x.o.Cluster.Partitions()), u)
	if err != nil || !ok || rec.Archive == (crawl.ArchiveRef{}) || rec.Digest == [20]byte{} {
		return s
	}
	s.Digest = rec.Digest
	if s.Digest != emptyPayload {
		a, _ := x.seen(ctx, pipeline.ContentQuestion{URL: u, Digest: s.Digest, Countable: true})
		if a.First { // nobody knows of it, and nothing will be stored: the claim ends at once
			x.Completed(u, &crawl.Outcome{First: true, Digest: s.Digest}, false)
		}
		s.Original = a.Original
	}
	if s.Original == nil && rec.Status >= 200 && rec.Status < 300 {
		s.Original = &crawl.Original{Node: rec.Archive.Node, URL: u.String(), FetchedAt: rec.FetchedAt}
	}
	return s
}

// Read returns what was read last of a URL of a partition that this node holds; zero values when
// that is not known. It implements pipeline.Contents.
func (x *Index) Read(u urlnorm.URL) pipeline.Reading {
	rec, ok, err := x.o.Store.Record(
		ring.PartitionOf(crawl.Host(u.Host()), x.o.Cluster.Partitions()), u)
	if err != nil || !ok {
		return pipeline.Reading{}
	}
	return pipeline.Reading{
		Digest:      rec.Digest,
		Basis:       rec.Basis,
		Preferences: rec.Preferences,
		Reason:      rec.Reason,
	}
}
