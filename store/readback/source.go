package readback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"crawlnode/crawl"
	"crawlnode/store/archive"
	"crawlnode/web/urlnorm"
)

// Source finds captures.
type Source interface {
	// Capture returns the newest capture of a URL in any spelling. The error says what is
	// known of the URL when nothing is stored.
	Capture(ctx context.Context, url string) (*archive.Record, error)
	// Payload returns the record that has the payload which a revisit refers to.
	Payload(ctx context.Context, revisit *archive.Record) (*archive.Record, error)
}

// Node is a node of a running cluster: the API's client, or the node itself.
type Node interface {
	ExplainURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error)
	OpenCapture(ctx context.Context, file string, offset int64) (io.ReadCloser, error)
}

// Cluster asks a node for what any member has.
type Cluster struct{ Node Node }

// Capture implements Source.
func (c Cluster) Capture(ctx context.Context, url string) (*archive.Record, error) {
	report, err := c.Node.ExplainURL(ctx, url, -1)
	switch {
	case err != nil:
		return nil, err
	case report.Unanswered != nil:
		return nil, fmt.Errorf("%s: the node that knows it does not answer: %s", url, *report.Unanswered)
	case report.Record == nil || report.Record.Archive == nil:
		return nil, fmt.Errorf("%s: nothing is stored of it: %s", url, report.Summary)
	}
	return c.Read(ctx, report.Record.Archive)
}

// Read reads the record at a place that a report names.
func (c Cluster) Read(ctx context.Context, at *crawl.ArchiveReport) (*archive.Record, error) {
	member, err := c.Node.OpenCapture(ctx, at.File, at.Offset)
	if err != nil {
		return nil, fmt.Errorf("stored by %s in %s at %d: %w", at.Node.Name, at.File, at.Offset, err)
	}
	record, err := archive.ReadRecord(member)
	return &record, errors.Join(err, member.Close())
}

// Payload implements Source. A node knows the newest capture of a URL only that brought content.
func (c Cluster) Payload(ctx context.Context, revisit *archive.Record) (*archive.Record, error) {
	original, err := c.Capture(ctx, revisit.RefersToURI)
	if err != nil {
		return nil, err
	}
	if original.Type == "revisit" || revisit.PayloadDigest != "" && original.PayloadDigest != revisit.PayloadDigest {
		return nil, earlier(revisit)
	}
	return original, nil
}

// earlier says how to find a capture that is not the newest.
func earlier(revisit *archive.Record) error {
	return fmt.Errorf("the payload is that of an earlier capture of %s: crawlnode export cdxj names its file and offset; with --data-dir it is found when that node stored it", revisit.RefersToURI)
}

// Folder reads the archive in the data directory of a node, running or not.
type Folder struct{ Dir string }

func (f Folder) dir() string { return filepath.Join(f.Dir, "warc") }

// Capture implements Source.
func (f Folder) Capture(_ context.Context, url string) (*archive.Record, error) {
	u, err := urlnorm.Parse(url)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	ref, err := archive.Find(f.dir(), u.String(), "")
	if err != nil {
		return nil, err
	}
	return f.read(ref)
}

// Payload implements Source.
func (f Folder) Payload(_ context.Context, revisit *archive.Record) (*archive.Record, error) {
	var ref crawl.ArchiveRef
	var err error
	if revisit.PayloadDigest == "" { // a 304 whose earlier capture was not known
		ref, err = archive.FindBefore(f.dir(), revisit.RefersToURI, revisit.Date)
	} else {
		ref, err = archive.Find(f.dir(), revisit.RefersToURI, revisit.PayloadDigest)
	}
	if err != nil {
		return nil, fmt.Errorf("the payload is that of %s, which another node may have stored: %w", revisit.RefersToURI, err)
	}
	return f.read(ref)
}

func (f Folder) read(ref crawl.ArchiveRef) (*archive.Record, error) {
	r, err := archive.ReadRef(f.dir(), ref)
	return &r, err
}
