package archive

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"crawlnode/crawl"
	"crawlnode/local/files"
)

// Options set the names and contents of the files. Node is required.
type Options struct {
	// Node is the node's id, for ArchiveRef.
	Node crawl.NodeID
	// Name distinguishes this node's files from those of other nodes. Default: Node.
	Name string
	// Prefix starts every file name. Default "crawlnode".
	Prefix string
	// MaxFileBytes is the size at which a new file is started. Default 1 GiB. A larger capture has
	// a file of its own.
	MaxFileBytes int64
	// Compression is that of new files. Default: Gzip.
	Compression Compression
	// Software goes into the warcinfo records: the program with its version.
	Software string
	// Info, when set, describes how the crawl is run. It is called whenever a file is started, so
	// that the file names the settings of that moment. It must not block or call the Archive.
	Info func() Info
	// NoIndex disables the indexes. To create them later, delete the empty files; the next Open
	// rebuilds them.
	NoIndex bool
	// SyncEach makes Put return only when the record has reached the disk.
	SyncEach bool
	// Gather is how many bytes of records may wait in memory for Flush, Sync or more records, so that
	// they share a write. 0: each Put and PutFailure writes.
	Gather int
	// Encoders bounds the captures that are compressed or written at once; each needs some 1.2 MB,
	// with Zstd about 3. Default: one per processor.
	Encoders int
	// OpenFile opens the files that are written. Default: files.OpenFile.
	OpenFile files.Opener
	// Rand is the source of the record ids. Default: crypto/rand.
	Rand io.Reader
	// OnError is called once, with the error that stopped the archive.
	OnError func(error)
	// OnRepair is called by Open for each file that a crash left open.
	OnRepair func(Repair)
	// OnUnsorted is called when the index of a finished file could not be made or sorted, for
	// example because the disk is full. The next Open tries again.
	OnUnsorted func(file string, err error)
}

// Stats counts the contents of the folder and the work since Open.
type Stats struct {
	Files             int64 // files in the folder, including the open one
	Bytes             int64 // their size, without indexes
	IndexBytes        int64 // size of their indexes
	Written           int64 // part of Bytes that was written since Open
	Records           int64 // response and revisit records written since Open
	ContentDuplicates int64 // captures since Open whose payload is stored elsewhere
}

// indexLimit bounds the index lines that wait for a Sync, in bytes.
const indexLimit = 1 << 20

// Archive is a folder of WARC files. Its methods may be called from any number
// of goroutines.
type Archive struct {
	dir  string
	opts Options
	// slots holds one token per encoder in use, until the record is written. Otherwise every worker
	// that waits for the file would keep an encoder.
	slots    chan struct{}
	encoders sync.Pool // of *encoder

	files, bytes, indexBytes, written, records, duplicates atomic.Int64

	// Two tokens serve as locks that may be held across I/O: waiting for them is a channel receive,
	// which ends with the caller's context. syncing is taken before writing.

	// writing guards file, its size and its pending lines, serial and closed.
	writing chan struct{}
	file    *file // nil: none is open
	serial  int   // of the next file
	closed  bool
	// syncing guards the index files and the order of their lines.
	syncing chan struct{}

	sortSlots chan struct{}  // one token per index that waits or is being sorted
	sorts     sync.WaitGroup // Close waits for them
	sorting   sync.Mutex     // held while an index is sorted

	broken atomic.Pointer[error] // the error that stopped the archive
}

// ErrClosed is returned by Put and Sync after Close.
var ErrClosed = errors.New("archive is closed")

// Open opens the archive in dir, creates the folder if it is missing, and repairs files that a
// crash left open.
func Open(dir string, o Options) (*Archive, error) {
	if o.Node == "" {
		return nil, errors.New("open archive: the node's id is missing")
	}
	o.Name = cmp.Or(o.Name, string(o.Node))
	o.Prefix = cmp.Or(o.Prefix, "crawlnode")
	o.MaxFileBytes = cmp.Or(o.MaxFileBytes, 1<<30)
	if o.Compression = cmp.Or(o.Compression, Gzip); suffixes[o.Compression] == "" {
		return nil, fmt.Errorf("open archive: compression %q must be %s or %s", o.Compression, Gzip, Zstd)
	}
	o.Encoders = cmp.Or(o.Encoders, runtime.GOMAXPROCS(0))
	if o.OpenFile == nil {
		o.OpenFile = files.OpenFile
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	a := &Archive{
		dir: dir, opts: o, slots: make(chan struct{}, o.Encoders),
		writing: make(chan struct{}, 1), syncing: make(chan struct{}, 1),
		sortSlots: make(chan struct{}, maxSorts),
	}
	a.encoders.New = func() any { return newEncoder(o.Rand, o.Compression) }
	if err := a.repairAll(); err != nil {
		return nil, fmt.Errorf("open archive %s: %w", dir, err)
	}
	if err := a.finishIndexes(); err != nil {
		return nil, fmt.Errorf("open archive %s: %w", dir, err)
	}
	if err := a.takeStock(); err != nil {
		return nil, fmt.Errorf("open archive %s: %w", dir, err)
	}
	return a, nil
}

// Put appends a capture and returns the position of its response record. It reads the capture's
// slices until it returns. The record survives a crash of the process at once, with Gather after
// the next Flush, and a crash of the machine after the next Sync. An error is that of ctx or of a
// full disk (files.NoRoom), which change nothing, or it is final.
func (a *Archive) Put(ctx context.Context, c crawl.Capture) (crawl.ArchiveRef, error) {
	if err := a.failure(); err != nil {
		return crawl.ArchiveRef{}, err
	}
	if err := take(ctx, a.slots); err != nil {
		return crawl.ArchiveRef{}, fmt.Errorf("archive %s: %w", c.URL, err)
	}
	ref, flush, err := a.encode(ctx, &c)
	<-a.slots
	if err == nil && (flush || a.opts.SyncEach) {
		// On a full disk only the index can fail here: the record is written.
		if err = a.Sync(); isFull(err) {
			err = nil
		}
	}
	return ref, err
}

// encode compresses a capture and appends it. The caller holds a slot. flush says that many index
// lines wait.
func (a *Archive) encode(
	ctx context.Context,
	c *crawl.Capture,
) (ref crawl.ArchiveRef, flush bool, err error) {
	e := a.encoders.Get().(*encoder)
	defer a.recycle(e)
	if err := e.capture(c); err != nil {
		return ref, false, fmt.Errorf("archive %s: %w", c.URL, err)
	}
	ref, flush, err = a.append(ctx, e, c)
	if err != nil {
		return ref, false, fmt.Errorf("archive %s: %w", c.URL, err)
	}
	a.records.Add(1)
	if c.Original != nil && c.Status != http.StatusNotModified {
		a.duplicates.Add(1)
	}
	return ref, flush, nil
}

// append writes the encoded capture. flush says that many index lines wait.
func (a *Archive) append(
	ctx context.Context,
	e *encoder,
	c *crawl.Capture,
) (ref crawl.ArchiveRef, flush bool, err error) {
	if err := a.room(ctx, len(e.out)); err != nil {
		return ref, false, err
	}
	defer func() { <-a.writing }()
	if err := a.write(e.out); err != nil {
		return ref, false, err
	}
	ref = crawl.ArchiveRef{
		Node:   a.opts.Node,
		File:   a.file.name,
		Offset: a.file.size - int64(len(e.out)),
		Length: int64(e.responseLen),
		Record: e.responseID,
	}
	if !a.opts.NoIndex {
		a.file.pending = appendIndexLine(a.file.pending, e.line(c, ref))
	}
	return ref, len(a.file.pending) > indexLimit, nil
}

// room takes the writing token once the open file has room for n bytes, and starts a new file if
// necessary.
func (a *Archive) room(ctx context.Context, n int) error {
	for {
		if err := take(ctx, a.writing); err != nil {
			return err
		}
		full := a.file
		if full == nil || !full.isFullFor(n, a.opts.MaxFileBytes) {
			return nil
		}
		<-a.writing
		if err := a.turn(ctx, full); err != nil {
			return err
		}
	}
}

// write appends b to the open file, or to a new one. The caller holds writing.
func (a *Archive) write(b []byte) error {
	if err := a.ready(); err != nil {
		return err
	}
	if err := a.file.append(b); err != nil {
		return a.fail(err)
	}
	a.bytes.Add(int64(len(b)))
	a.written.Add(int64(len(b)))
	return nil
}

// ready makes sure that there is a file to write to. The caller holds writing.
func (a *Archive) ready() error {
	if err := a.failure(); err != nil {
		return err
	}
	if a.closed {
		return ErrClosed
	}
	if a.file != nil {
		return nil
	}
	f, err := a.create()
	if err != nil {
		return a.fail(err)
	}
	a.file = f
	a.files.Add(1)
	a.bytes.Add(f.size)
	a.written.Add(f.size)
	return nil
}

// turn closes full, unless another caller has done so.
func (a *Archive) turn(ctx context.Context, full *file) error {
	if err := take(ctx, a.syncing); err != nil {
		return err
	}
	defer func() { <-a.syncing }()
	if err := take(ctx, a.writing); err != nil {
		return err
	}
	defer func() { <-a.writing }()
	if a.file != full {
		return nil
	}
	return a.finish()
}

// finish closes the open file under its final name. The caller holds both
// tokens.
func (a *Archive) finish() error {
	f := a.file
	if f == nil {
		return nil
	}
	lines := len(f.pending)
	err := f.finish()
	if isFull(err) {
		return err // this file stays open
	}
	a.file = nil
	if err != nil {
		return a.fail(err)
	}
	a.indexBytes.Add(int64(lines))
	a.sortLater(f.name)
	return nil
}

// Flush writes the records that wait in memory. When the disk is full (files.NoRoom) they wait on.
func (a *Archive) Flush() error {
	a.writing <- struct{}{}
	defer func() { <-a.writing }()
	return a.flush()
}

// flush is Flush. The caller holds writing.
func (a *Archive) flush() error {
	if err := a.failure(); err != nil || a.file == nil {
		return err
	}
	if err := a.file.flush(); err != nil {
		return a.fail(err)
	}
	return nil
}

// Sync makes every earlier Put durable. Other Puts may run meanwhile. When the disk is full
// (files.NoRoom) it may be called again.
func (a *Archive) Sync() error {
	a.syncing <- struct{}{}
	defer func() { <-a.syncing }()
	a.writing <- struct{}{}
	f, closed := a.file, a.closed
	var lines []byte
	unsynced, err := false, a.flush()
	if f != nil && err == nil {
		lines, unsynced = f.pending, f.unsynced
		f.pending, f.unsynced = nil, false
	}
	<-a.writing
	if err != nil {
		return err
	}
	if closed {
		return ErrClosed
	}
	if !unsynced {
		return nil // nothing was written since the last Sync
	}
	rest, err := f.sync(lines)
	if isFull(err) {
		a.writing <- struct{}{}
		f.pending, f.unsynced = append(rest, f.pending...), true
		<-a.writing
		return err
	}
	if err != nil {
		return a.fail(err)
	}
	a.indexBytes.Add(int64(len(lines)))
	return nil
}

// Close makes everything durable, gives the open file its final name and waits until all indexes
// are sorted. Concurrent Puts may fail with ErrClosed.
func (a *Archive) Close() error {
	defer a.sorts.Wait()
	return a.close()
}

func (a *Archive) close() error {
	a.syncing <- struct{}{}
	defer func() { <-a.syncing }()
	a.writing <- struct{}{}
	defer func() { <-a.writing }()
	if a.closed {
		return nil
	}
	a.closed = true
	if err := a.failure(); err != nil {
		if a.file != nil {
			a.file.abandon() // keeps the name of an open file; the next Open repairs it
		}
		return err
	}
	err := a.finish()
	if isFull(err) {
		// as above: index lines are missing, which the repair adds, and records that no Flush has written
		a.file.abandon()
	}
	return err
}

// Stats returns the counters.
func (a *Archive) Stats() Stats {
	return Stats{
		Files: a.files.Load(), Bytes: a.bytes.Load(), IndexBytes: a.indexBytes.Load(),
		Written: a.written.Load(),
		Records: a.records.Load(), ContentDuplicates: a.duplicates.Load(),
	}
}

// fail records the first error that stops the archive and returns it. A full disk does not stop it:
// the call can be repeated.
func (a *Archive) fail(err error) error {
	if isFull(err) {
		return err
	}
	err = fmt.Errorf("archive has stopped: %w", err)
	if a.broken.CompareAndSwap(nil, &err) && a.opts.OnError != nil {
		a.opts.OnError(err)
	}
	return a.failure()
}

// failure returns the error that stopped the archive, or nil.
func (a *Archive) failure() error {
	if err := a.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// keepBytes is the largest output buffer of an encoder that is reused.
const keepBytes = 1 << 20

// recycle keeps an encoder for later, unless a large capture has made its buffer too large.
func (a *Archive) recycle(e *encoder) {
	if cap(e.out) <= keepBytes {
		a.encoders.Put(e)
	}
}

// take takes a token, or returns when ctx ends.
func take(ctx context.Context, tokens chan struct{}) error {
	select {
	case tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// None is an archive that stores nothing.
type None struct{}

// Put stores nothing and returns the zero ArchiveRef.
func (None) Put(context.Context, crawl.Capture) (crawl.ArchiveRef, error) {
	return crawl.ArchiveRef{}, nil
}

// PutFailure stores nothing.
func (None) PutFailure(context.Context, crawl.Failure) error { return nil }

// Flush does nothing.
func (None) Flush() error { return nil }

// Sync does nothing.
func (None) Sync() error { return nil }

// Close does nothing.
func (None) Close() error { return nil }

// WriteRange writes nothing.
func (None) WriteRange(io.Writer, crawl.IndexRange) error { return nil }

// OpenMember finds nothing.
func (None) OpenMember(string, int64) (*Member, error) {
	return nil, fmt.Errorf("%w: nothing is stored", ErrNoCapture)
}

// Stats are zero.
func (None) Stats() Stats { return Stats{} }
