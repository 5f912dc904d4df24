package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/upload/s3"
)

// lookEvery is how often the folders are looked through.
const lookEvery = 2 * time.Second

// lastFailures is how many failures in a row end the last round, when the node ends. The pauses
// between them are one and two seconds at most: a store that is being restarted gets the files, and
// one that is away keeps nobody.
const lastFailures = 3

// Wait pauses for so long; false: the time for it is over.
type Wait func(ctx context.Context, d time.Duration) bool

// Store is an object store: *s3.S3.
type Store interface {
	// Put stores a file and verifies it.
	Put(ctx context.Context, key string, f io.ReaderAt, size int64) (tag string, err error)
	// Open opens an object. s3.ErrMissing: there is none.
	Open(ctx context.Context, key string) (r io.ReaderAt, size int64, err error)
}

// Options are what the package needs. All but Log are required.
type Options struct {
	Dir      string // the data directory
	Node     crawl.NodeID
	Cluster  func() string // the cluster's id; "": it is not known yet
	Target   s3.Target
	Keep     s3.Keep
	Store    Store
	Followed bool // the lists of pages are read from the disk by others: they stay
	Log      *slog.Logger
}

// Uploads keeps the store up to date. Open makes it.
type Uploads struct {
	o       Options
	journal *s3.Journal
	every   time.Duration

	known          atomic.Pointer[string] // the cluster's id
	queued, failed atomic.Int64
	// when the oldest queued file was finished, in Unix nanoseconds; 0: none is queued
	oldest atomic.Int64

	mu      sync.Mutex // guards failing
	failing failures
}

// Open reads what was sent before.
func Open(o Options) (*Uploads, error) {
	j, err := s3.OpenJournal(filepath.Join(o.Dir, "uploads.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("the list of uploads: %w", err)
	}
	u := &Uploads{o: o, journal: j, every: lookEvery, failing: newFailures()}
	if _, err := u.look(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	if n, place := u.elsewhere(); n > 0 {
		o.Log.Warn("files of this node are in another store, and not on the disk: "+
			"their records are found only when --upload names that store, "+
			"or when they are copied to the new one under the same keys",
			"files", n, "store", place, "upload", u.o.Target.Place())
	}
	return u, nil
}

// cluster is the cluster's id, also when the node has ended; "" until it is known.
func (u *Uploads) cluster() string {
	if id := u.known.Load(); id != nil {
		return *id
	}
	id := u.o.Cluster()
	if id != "" {
		u.known.Store(&id)
	}
	return id
}

// Status is what a status shows.
func (u *Uploads) Status(now time.Time) crawl.UploadStatus {
	s := crawl.UploadStatus{
		QueuedFiles: u.queued.Load(),
		BytesTotal:  u.journal.Bytes(),
		FailedTotal: u.failed.Load(),
	}
	if at := u.oldest.Load(); at != 0 {
		s.BehindSeconds = max(0, now.Sub(time.Unix(0, at)).Seconds())
	}
	return s
}

// Unsent says what the store has not got, and why; nil: it has all. It is for the end of the node,
// after Finish.
func (u *Uploads) Unsent() error {
	n := u.queued.Load()
	if n == 0 {
		return nil
	}
	to := u.o.Target.Folder()
	one, failing := u.Failing()
	if !failing {
		return fmt.Errorf("%d of its files were not copied to %s in time; they are kept in %s, "+
			"and the same command copies them", n, to, u.o.Dir)
	}
	return fmt.Errorf("%d of its files could not be copied to %s (%s: %w); they are kept in %s: "+
		"mend the store or --upload, and the same command copies them", n, to, one.File, one.Err, u.o.Dir)
}

// Failing is the file that the store has refused for the longest time, while it still does.
func (u *Uploads) Failing() (Failure, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.failing.oldest()
}

// turn is the file of the next attempt: the oldest, and after failures others, so that one that the
// store refuses stops none.
func turn(queued []s3.File, failures int) *s3.File { return &queued[failures%len(queued)] }

// Run sends files until ctx ends. Its error is one of the disk.
func (u *Uploads) Run(ctx context.Context) error {
	failures, pauses := 0, s3.Pauses()
	for {
		wait := u.every
		plan, err := u.look()
		if err == nil {
			err = u.drop(plan.Drop)
		}
		if err != nil {
			return err
		}
		if len(plan.Send) > 0 && u.cluster() != "" {
			sent, err := u.send(ctx, turn(plan.Send, failures))
			switch {
			case err != nil:
				return err
			case sent:
				failures, wait = 0, 0
				pauses.Reset()
			case ctx.Err() == nil:
				failures++
				wait = pauses.NextBackOff()
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// Finish sends the files that were finished by the end of the node, unless the store is away or ctx
// ends, and closes the list. Between attempts that fail it waits.
func (u *Uploads) Finish(ctx context.Context, wait Wait) error {
	pauses := s3.Pauses()
	for failures := 0; u.cluster() != ""; {
		plan, err := u.look()
		if err == nil {
			err = u.drop(plan.Drop)
		}
		if err != nil || len(plan.Send) == 0 {
			return errors.Join(err, u.journal.Close())
		}
		if ctx.Err() != nil {
			break
		}
		sent, err := u.send(ctx, turn(plan.Send, failures))
		if err != nil {
			return errors.Join(err, u.journal.Close())
		}
		if failures++; sent {
			failures = 0
			pauses.Reset()
		} else if failures == lastFailures || !wait(ctx, pauses.NextBackOff()) {
			break
		}
	}
	if n := u.queued.Load(); n > 0 {
		u.o.Log.Warn("files were not uploaded: start the node again, which goes on", "files", n)
	}
	return u.journal.Close()
}

// look lists the finished files, and says what is to be done.
func (u *Uploads) look() (s3.Plan, error) {
	var files []s3.File
	for _, folder := range []string{"warc", "derived"} {
		entries, err := os.ReadDir(filepath.Join(u.o.Dir, folder))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return s3.Plan{}, err
		}
		for _, e := range entries {
			if !finished(folder, e.Name()) || !e.Type().IsRegular() {
				continue
			}
			info, err := e.Info()
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return s3.Plan{}, err
			}
			files = append(files,
				s3.File{Name: folder + "/" + e.Name(), Bytes: info.Size(), Finished: info.ModTime()})
		}
	}
	place := u.o.Target.Place()
	plan := s3.Make(files, func(name string) bool { return u.journal.Has(name, place) }, u.o.Keep)
	u.note(plan.Send)
	return plan, nil
}

// note keeps the figures of what is queued.
func (u *Uploads) note(queued []s3.File) {
	u.queued.Store(int64(len(queued)))
	if len(queued) == 0 {
		u.oldest.Store(0)
		return
	}
	u.oldest.Store(queued[0].Finished.UnixNano())
}

// finished reports whether a file has its final name.
func finished(folder, name string) bool {
	ends := []string{".warc.gz", ".warc.zst", ".cdxj"}
	if folder == "derived" {
		ends = []string{".jsonl.gz", ".warc.wet.gz"}
	}
	for _, end := range ends {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// send copies a file. A failure of the store is counted; the error is one of the disk.
func (u *Uploads) send(ctx context.Context, file *s3.File) (sent bool, err error) {
	f, err := os.Open(filepath.Join(u.o.Dir, filepath.FromSlash(file.Name)))
	if errors.Is(err, os.ErrNotExist) {
		u.settled(file.Name)
		return true, nil // somebody has removed it
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	key := u.o.Target.Key(u.cluster(), string(u.o.Node), file.Name)
	tag, err := u.o.Store.Put(ctx, key, f, file.Bytes)
	if err != nil {
		if ctx.Err() == nil {
			u.failed.Add(1)
			u.mu.Lock()
			u.failing.failed(file.Name, time.Now(), err)
			u.mu.Unlock()
			u.o.Log.Warn("a file could not be uploaded; it stays, and is tried again", "file", file.Name,
				"bucket", u.o.Target.Bucket, "key", key, "error", err)
		}
		return false, nil
	}
	u.settled(file.Name)
	u.o.Log.Debug("uploaded", "file", file.Name, "bytes", file.Bytes, "key", key)
	return true, u.journal.Add(s3.Entry{
		File:  file.Name,
		Place: u.o.Target.Place(),
		Key:   key,
		Bytes: file.Bytes,
		Tag:   tag,
		At:    time.Now().UTC(),
	})
}

// settled notes that a file needs no further attempt.
func (u *Uploads) settled(file string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failing.sent(file)
}

// drop removes files that the store has. One that is followed, or whose size is not what was sent,
// stays.
func (u *Uploads) drop(files []s3.File) error {
	for i := range files {
		sent, ok := u.journal.Get(files[i].Name)
		if !ok {
			panic("BUG: " + files[i].Name + " was to be removed and is not in the store")
		}
		if sent.Bytes != files[i].Bytes ||
			u.o.Followed && strings.HasPrefix(files[i].Name, "derived/pages-") {
			continue
		}
		if err := os.Remove(filepath.Join(u.o.Dir, filepath.FromSlash(files[i].Name))); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
