package archive

import (
	"context"
	"fmt"
	"strconv"

	"crawlnode/crawl"
)

// PutFailure appends a metadata record with the reason why a URL was given up. It is not a capture:
// no index names it, and Stats does not count it. Durability and errors are as for Put, except that
// a failure does not make a Sync due.
func (a *Archive) PutFailure(ctx context.Context, f crawl.Failure) error {
	err := a.putFailure(ctx, &f)
	if err == nil && a.opts.SyncEach {
		err = a.Sync()
	}
	if err != nil {
		return fmt.Errorf("archive the failure of %s: %w", f.URL, err)
	}
	return nil
}

func (a *Archive) putFailure(ctx context.Context, f *crawl.Failure) error {
	if err := a.failure(); err != nil {
		return err
	}
	if err := take(ctx, a.slots); err != nil {
		return err
	}
	defer func() { <-a.slots }()
	e := a.encoders.Get().(*encoder)
	defer a.recycle(e)
	if err := e.metadata(f); err != nil {
		return err
	}
	if err := a.room(ctx, len(e.out)); err != nil {
		return err
	}
	defer func() { <-a.writing }()
	return a.write(e.out)
}

// metadata makes the record of a failure.
func (e *encoder) metadata(f *crawl.Failure) error {
	e.out = e.out[:0]
	id, err := newRecordID(e.random)
	if err != nil {
		return err
	}
	e.begin("metadata", id, f.At)
	e.field("WARC-Target-URI", f.URL.String())
	e.address(f.Addr)
	e.field("Content-Type", warcFields)
	scope, status := "url", ""
	if f.Host {
		scope = "host"
	}
	if f.Status != 0 {
		status = strconv.Itoa(f.Status)
	}
	return e.end(appendFields(nil, [][2]string{
		{"fetchError", f.Error}, {"httpStatus", status}, {"reason", f.Reason}, {"givenUp", scope},
		{"attempts", strconv.Itoa(f.Attempts)}, {"fetchTimeMs", strconv.FormatInt(f.Took.Milliseconds(), 10)},
	}), nil)
}
