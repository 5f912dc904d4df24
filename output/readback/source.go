package readback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/web/urlnorm"
)

// Source finds captures.
type Source interface {
	// Capture returns the newest capture of a URL in any spelling. The error says what is
	// known of the URL when nothing is stored.
	Capture(ctx context.Context, url string) (*archive.Record, error)
	// Payload returns the record that has the payload which a revisit refers to.
	Payload(ctx context.Context, revisit *archive.Record) (*archive.Record, error)
	// Answer returns the answer of the URL of a 304 for which it stands. archive.ErrNoCapture: none is
	// stored.
	Answer(ctx context.Context, notModified *archive.Record) (*archive.Record, error)
	Records
}

// Records reads records by their place.
type Records interface {
	// Record reads the record at a place, of which the length may be missing. It knows its own place.
	// archive.ErrNoCapture and crawl.ErrNoCapture: there is none.
	Record(ctx context.Context, ref crawl.ArchiveRef) (*archive.Record, error)
}

// Node is a node of a running cluster: the API's client, or the node itself.
type Node interface {
	ExplainURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error)
	Captures(ctx context.Context, url string) (*crawl.CapturesReport, error)
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
	record.File, record.Offset = at.File, at.Offset
	return &record, errors.Join(err, member.Close())
}

// Record implements Source.
func (c Cluster) Record(ctx context.Context, ref crawl.ArchiveRef) (*archive.Record, error) {
	return c.Read(ctx, &crawl.ArchiveReport{File: ref.File, Offset: ref.Offset, Length: ref.Length})
}

// Answer implements Source.
func (c Cluster) Answer(ctx context.Context, notModified *archive.Record) (*archive.Record, error) {
	known, err := c.Node.Captures(ctx, notModified.TargetURI)
	if err != nil {
		return nil, err
	}
	for _, k := range slices.Backward(known.Captures) {
		if k.Status >= 200 && k.Status < 300 && !k.At.After(notModified.Date) &&
			(notModified.PayloadDigest == "" || k.Digest != nil && *k.Digest == notModified.PayloadDigest) {
			return c.Record(ctx, crawl.ArchiveRef{File: k.File, Offset: k.Offset})
		}
	}
	return nil, fmt.Errorf("%w: no running node has the answer of %s for which a 304 stands",
		archive.ErrNoCapture, notModified.TargetURI)
}

// Payload implements Source.
func (c Cluster) Payload(ctx context.Context, revisit *archive.Record) (*archive.Record, error) {
	known, err := c.Node.Captures(ctx, revisit.RefersToURI)
	if err != nil {
		return nil, err
	}
	for _, k := range slices.Backward(known.Captures) {
		switch {
		case k.Revisit, k.Status == http.StatusNotModified:
		case revisit.PayloadDigest == "" && k.At.After(revisit.Date):
		case revisit.PayloadDigest == "" || k.Digest != nil && *k.Digest == revisit.PayloadDigest:
			return c.Read(ctx, &crawl.ArchiveReport{
				Node:   crawl.NodeRef{Name: k.Node},
				File:   k.File,
				Offset: k.Offset,
				Length: k.Length,
			})
		}
	}
	return nil, missingPayload(revisit, errors.New("no running node has it"))
}

// ErrElsewhere is inside the error for a revisit whose payload another archive has: the crawl was
// told not to store it again (--dedupe-against).
var ErrElsewhere = errors.New("another archive has its payload")

// missingPayload says which payload is not there. A crawl names the record when it refers to one of
// its own, and has no name for one of another archive.
func missingPayload(revisit *archive.Record, why error) error {
	of := revisit.RefersToURI
	if date := revisit.Fields.Get("WARC-Refers-To-Date"); date != "" {
		of += " of " + date
	}
	if revisit.Status != http.StatusNotModified && revisit.Fields.Get("WARC-Refers-To") == "" {
		return fmt.Errorf("%w, that of %s (%w): name that archive too, as with another --data-dir",
			ErrElsewhere, of, why)
	}
	return fmt.Errorf("the payload is that of %s, which another node may have stored: %w", of, why)
}

// Folders reads folders of WARC files with their indexes, such as those of all nodes of a crawl.
type Folders []string

// Capture implements Source.
func (f Folders) Capture(_ context.Context, url string) (*archive.Record, error) {
	u, err := urlnorm.ParseRouted(url)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	r, err := f.newest(
		func(dir string) (crawl.ArchiveRef, error) { return archive.Find(dir, u.String(), "") })
	if errors.Is(err, archive.ErrNoCapture) && u.Route() != "" {
		return f.newest(func(dir string) (crawl.ArchiveRef, error) {
			return archive.Find(dir, u.WithoutRoute().String(), "")
		})
	}
	return r, err
}

// Payload implements Source.
func (f Folders) Payload(_ context.Context, revisit *archive.Record) (*archive.Record, error) {
	record, err := f.newest(func(dir string) (crawl.ArchiveRef, error) {
		if revisit.PayloadDigest == "" { // a 304 whose earlier capture was not known
			return archive.FindBefore(dir, revisit.RefersToURI, revisit.Date)
		}
		return archive.Find(dir, revisit.RefersToURI, revisit.PayloadDigest)
	})
	if errors.Is(err, archive.ErrNoCapture) {
		err = missingPayload(revisit, err)
	}
	return record, err
}

// Answer implements Source.
func (f Folders) Answer(_ context.Context, notModified *archive.Record) (*archive.Record, error) {
	return f.newest(func(dir string) (crawl.ArchiveRef, error) {
		r := notModified
		return archive.FindAnswer(dir, r.TargetURI, r.PayloadDigest, r.Date)
	})
}

// newest reads the newest of the records that find finds in the folders.
func (f Folders) newest(find func(dir string) (crawl.ArchiveRef, error)) (*archive.Record, error) {
	var best *archive.Record
	why := fmt.Errorf("%w: no folder is given", archive.ErrNoCapture)
	for _, dir := range f {
		ref, err := find(dir)
		if errors.Is(err, archive.ErrNoCapture) {
			why = err
			continue
		}
		if err != nil {
			return nil, err
		}
		record, err := archive.ReadRef(dir, ref)
		if err != nil {
			return nil, err
		}
		if best == nil || record.Date.After(best.Date) {
			best = &record
		}
	}
	if best == nil {
		return nil, why
	}
	return best, nil
}

// Record implements Source. The names of archive files differ between nodes.
func (f Folders) Record(_ context.Context, ref crawl.ArchiveRef) (*archive.Record, error) {
	for _, dir := range f {
		r, err := archive.ReadRef(dir, ref)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return &r, err
		}
	}
	return nil, fmt.Errorf("%w: no folder has %s", archive.ErrNoCapture, ref.File)
}

// Entries calls fn with what the indexes say of each capture, in any order, some perhaps twice,
// until ctx ends. It returns an error of fn.
func (f Folders) Entries(ctx context.Context, fn func(archive.Entry) error) error {
	for _, dir := range f {
		if err := archive.Entries(dir, func(e archive.Entry) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fn(e)
		}); err != nil {
			return err
		}
	}
	return nil
}

// Lookup lists the captures of a canonical URL, by time.
func (f Folders) Lookup(
	url string,
) ([]archive.Entry, error) {
	return f.lookup(archive.Lookup, url)
}

// LookupAlike lists the captures of all URLs that have the key of a URL, by time. They are other
// pages: see archive.LookupAlike.
func (f Folders) LookupAlike(url string) ([]archive.Entry, error) {
	return f.lookup(archive.LookupAlike, url)
}

func (f Folders) lookup(
	in func(dir, url string, fn func(*archive.Entry) error) error,
	url string,
) (list []archive.Entry, err error) {
	for _, dir := range f {
		if err := in(dir, url, func(e *archive.Entry) error {
			list = append(list, *e)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b archive.Entry) int { return a.At.Compare(b.At) })
	return list, nil
}

// OpenMember opens the bytes of a record as they stand in their file.
func (f Folders) OpenMember(ref crawl.ArchiveRef) (io.ReadCloser, error) {
	for _, dir := range f {
		r, err := archive.OpenMember(dir, ref)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return nil, fmt.Errorf("%w: no folder has %s", archive.ErrNoCapture, ref.File)
}

// WriteIndex writes the lines of all indexes, each once and sorted.
func (f Folders) WriteIndex(_ context.Context, out io.Writer) error {
	if len(f) == 1 {
		return archive.WriteRange(f[0], out, crawl.IndexRange{})
	}
	var writers sync.WaitGroup
	defer writers.Wait()
	parts := make([]io.Reader, len(f))
	for i, dir := range f {
		r, w := io.Pipe()
		defer func() { _ = r.Close() }() // ends the writer
		parts[i] = r
		writers.Go(func() { _ = w.CloseWithError(archive.WriteRange(dir, w, crawl.IndexRange{})) })
	}
	return archive.MergeLines(out, parts...)
}
