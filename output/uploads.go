package output

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/output/archive"
	"crawlnode/output/upload"
	"crawlnode/output/upload/s3"
)

// openUploads begins to copy finished files to an object store, if one is given.
func (o *Outputs) openUploads() error {
	target, keep, ok, err := o.o.Config.UploadTarget()
	if !ok || err != nil {
		return err
	}
	store, err := s3.NewS3(target, nil)
	if err != nil {
		return datadir.Usage(fmt.Errorf("--upload: %w", err))
	}
	if o.uploads, err = upload.Open(upload.Options{
		Dir:      o.o.Dir.Path(),
		Node:     o.o.Node,
		Cluster:  o.o.Cluster,
		Target:   target,
		Keep:     keep,
		Store:    store,
		Followed: len(o.o.Config.Sinks) > 0,
		Log:      o.o.Log,
	}); err != nil {
		return datadir.Failed("open the list of uploads", err)
	}
	o.archive = uploadedArchive{o.archive, o.uploads}
	return nil
}

// Run copies finished files until ctx ends. Without --upload there is nothing to do.
func (o *Outputs) Run(ctx context.Context) error {
	if o.uploads == nil {
		return nil
	}
	if err := o.uploads.Run(ctx); err != nil {
		return datadir.Failed("copy finished files to the object store", err)
	}
	return nil
}

// lastUploads bounds how long the end of a node waits for the store.
const lastUploads = 10 * time.Minute

// finishUploads copies the files that were finished by the end. The node's own context is over by
// then; its stop at once ends this too.
func (o *Outputs) finishUploads() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastUploads)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		select {
		case <-o.o.Stop:
			cancel()
		case <-ctx.Done():
		}
	})
	return o.uploads.Finish(ctx, crawl.Wait)
}

// Unsent says, after Close, which files the object store has not got, and why; nil: it has all, or
// there is none.
func (o *Outputs) Unsent() error {
	if o.uploads == nil {
		return nil
	}
	return o.uploads.Unsent()
}

// Uploads describes the copies.
func (o *Outputs) Uploads(now time.Time) crawl.UploadStatus {
	if o.uploads == nil {
		return crawl.UploadStatus{}
	}
	return o.uploads.Status(now)
}

// UploadFailing is the file that the object store has refused for the longest time, while it still
// does.
func (o *Outputs) UploadFailing() (upload.Failure, bool) {
	if o.uploads == nil {
		return upload.Failure{}, false
	}
	return o.uploads.Failing()
}

// Uploading reports whether there is an object store.
func (o *Outputs) Uploading() bool { return o.uploads != nil }

// Away opens a record that no running node has, in the object store.
func (o *Outputs) Away(ctx context.Context, file string, offset int64) (*archive.Member, error) {
	if o.uploads == nil {
		return nil, archive.ErrNoCapture
	}
	return o.uploads.Away(ctx, file, offset)
}

// uploadedArchive is an archive of which files may lie in the object store.
type uploadedArchive struct {
	Archive
	uploads *upload.Uploads
}

func (a uploadedArchive) WriteRange(out io.Writer, r crawl.IndexRange) error {
	return a.uploads.WriteRange(a.Archive, out, r)
}

func (a uploadedArchive) OpenMember(file string, offset int64) (*archive.Member, error) {
	return a.uploads.OpenMember(a.Archive, file, offset)
}
