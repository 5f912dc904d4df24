package export

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cenkalti/backoff/v5"

	"crawlnode/crawl"
	upload "crawlnode/output/upload/s3"
)

// toStore copies what was written to an object store.
type toStore struct {
	To         string `name:"to" sep:"none" group:"output" placeholder:"s3://BUCKET/PREFIX" help:"Also copy what was written there, verified; an object of that name is replaced. Credentials and options as for --upload of a node."`
	ToEndpoint string `name:"to-endpoint" sep:"none" group:"output" placeholder:"URL" help:"The object store of --to, when it is not Amazon S3, as http://HOST:PORT or https://HOST:PORT."`
}

// copyTries is how often a file is tried.
const copyTries = 6

// objectStore is where a verb copies to; nil: nowhere.
type objectStore struct {
	s3     *upload.S3
	target upload.Target
	pauses backoff.BackOff // after failures
}

// openStore makes the client of --to. An error is a wrong use. Nothing is sent yet.
func (t *toStore) openStore(output string) (*objectStore, error) {
	switch {
	case t.To == "" && t.ToEndpoint != "":
		return nil, errors.New("--to-endpoint needs --to")
	case t.To == "":
		return nil, nil
	case output == "" || output == "-":
		return nil, errors.New("--to needs --output: what stands there is copied")
	}
	target, err := upload.ParseTarget(t.To, t.ToEndpoint)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	s3, err := upload.NewS3(target, nil)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	return &objectStore{s3, target, upload.Pauses()}, nil
}

// copy copies a file, or the files of a folder under its name.
func (o *objectStore) copy(ctx context.Context, path string) error {
	if o == nil {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	base := filepath.Base(filepath.Clean(path))
	if !info.IsDir() {
		return o.file(ctx, path, base)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := o.file(ctx, filepath.Join(path, e.Name()), base+"/"+e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (o *objectStore) file(ctx context.Context, path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	o.pauses.Reset()
	for failures := 1; ; failures++ {
		if _, err = o.s3.Put(ctx, o.target.Object(name), f, info.Size()); err == nil {
			return nil
		}
		if failures == copyTries || !crawl.Wait(ctx, o.pauses.NextBackOff()) {
			return fmt.Errorf(
				"%s is written, and could not be copied to the bucket %s after %d attempts: %w",
				path, o.target.Bucket, failures, err)
		}
	}
}
