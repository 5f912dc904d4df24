package output

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/local/disk"
	"crawlnode/local/files"
	"crawlnode/output/archive"
	"crawlnode/output/lists"
	"crawlnode/output/upload"
	"crawlnode/pipeline"
)

// Archive is the part of package archive that a node uses.
type Archive interface {
	Put(ctx context.Context, c crawl.Capture) (crawl.ArchiveRef, error)
	PutFailure(ctx context.Context, f crawl.Failure) error
	Flush() error
	Sync() error
	Stats() archive.Stats
	WriteRange(out io.Writer, r crawl.IndexRange) error
	OpenMember(file string, offset int64) (*archive.Member, error)
	Close() error
}

// Options are what the outputs are made of.
type Options struct {
	Node     crawl.NodeID
	Version  string // of this program
	Dir      *datadir.Dir
	Config   *config.Config
	Settings func() *crawl.Settings // the crawl's, of the moment
	Space    *disk.Space
	Running  func() context.Context // no write waits beyond its end
	Stop     <-chan struct{}        // closed when the node is to end at once; nil: never
	NoIndex  bool                   // the archive keeps no index
	OpenFile files.Opener           // of the archive's files; nil: the system's
	// LastTry reports whether a visit's host is given up, after so many failures.
	LastTry func(v crawl.Visit) (failures int, last bool)
	// Cluster is the cluster's id, "" until it is known.
	Cluster func() string
	// Repaired is told of each archive file that was repaired when it was opened.
	Repaired func(archive.Repair)
	Log      *slog.Logger
}

// Outputs are what this node writes beside its frontier. Open makes them.
type Outputs struct {
	o       Options
	archive Archive
	short   shortage        // of the archive
	derived *lists.Outputs  // nil: nothing is derived
	uploads *upload.Uploads // nil: nothing is uploaded
}

// Open opens the archive and what is derived, and repairs what was not closed. Its errors are
// storage errors.
func Open(o Options) (*Outputs, error) {
	out := &Outputs{o: o, archive: archive.None{}}
	if err := out.openArchive(); err != nil {
		return nil, err
	}
	if err := out.openDerived(); err != nil {
		return nil, errors.Join(err, out.archive.Close())
	}
	if err := out.openUploads(); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

func (o *Outputs) openArchive() error {
	if !o.o.Settings().Archive && o.o.Config.Store == "none" {
		return nil
	}
	path := o.o.Dir.Join("warc")
	a, err := archive.Open(path, archive.Options{
		Node: o.o.Node, MaxFileBytes: int64(o.o.Config.WARCSize),
		Compression: archive.Compression(o.o.Config.WARCCompression),
		Software:    "crawlnode/" + o.o.Version, Info: o.info,
		NoIndex: o.o.NoIndex, OpenFile: o.o.OpenFile, Gather: o.gather(),
		OnRepair: func(r archive.Repair) {
			o.o.Log.Info("repaired an archive file that was not closed", "file", r.File, "kept_bytes",
				r.Kept,
				"cut_bytes", r.Cut, "captures_indexed", r.Captures, "removed", r.Removed, "reason", r.Reason)
			o.o.Repaired(r)
		},
		OnUnsorted: func(file string, err error) {
			o.o.Log.Warn("the index of an archive file is not sorted; the next start tries again", "file",
				file, "error", err)
		},
	})
	if err != nil {
		return datadir.Failed("open the archive in "+path, err)
	}
	o.archive = &patientArchive{
		Archive:  a,
		hasSpace: o.o.Space.Has,
		running:  o.o.Running,
		short:    &o.short,
	}
	return nil
}

// gatherBytes are the records that wait for a commit, or for more records: some twenty pages of the
// bench.
const gatherBytes = 128 << 10

// gather is how much of the archive may wait in memory until a commit needs it. Nothing may when
// lines of pages are derived: they name records, and are written at once. The log of skipped URLs
// names none.
func (o *Outputs) gather() int {
	if len(o.o.Config.Derive)+len(o.o.Config.Sinks) > 0 {
		return 0
	}
	return gatherBytes
}

// Flush writes what waits of the archive. It comes before a commit, so that no page is done without
// its record.
func (o *Outputs) Flush() error {
	err := o.archive.Flush()
	o.short.flushed(time.Now(), disk.IsFull(err))
	if err == nil || disk.IsFull(err) {
		return err
	}
	return datadir.Failed("write to the archive", err)
}

// openDerived opens what is derived, if anything is. The outputs are this node's own choice:
// other nodes may write other ones.
func (o *Outputs) openDerived() error {
	path, c := o.o.Dir.Join("derived"), o.o.Config
	asked := len(c.Derive)+len(c.Sinks) > 0 || c.LogSkipped > 0
	if _, err := os.Lstat(path); !asked && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	d, err := lists.Open(path, lists.Options{ // it also repairs what is not written any more
		Node: o.o.Node, MaxFileBytes: int64(c.WARCSize), Software: "crawlnode/" +
			o.o.Version, SkipRate: c.LogSkipped,
		Pages: c.Derives(lists.Pages), Links: c.Derives(lists.Links), Hosts: c.Derives(lists.Hosts),
		Text: c.Derives(lists.Text),
		Full: func(ctx context.Context) error { return disk.Pause(ctx, o.o.Running()) },
		OnRepair: func(r lists.Repair) {
			o.o.Log.Info("repaired a derived file that was not closed", "file", r.File, "kept_bytes", r.Kept,
				"cut_bytes", r.Cut, "lines_from_tail", r.Lines, "removed", r.Removed, "reason", r.Reason)
		},
	})
	if err != nil {
		return datadir.Failed("open the derived outputs in "+path, err)
	}
	if asked {
		o.derived = d
	}
	return nil
}

// Archive is the archive, or one that keeps nothing.
func (o *Outputs) Archive() Archive { return o.archive }

// Deriver is the pipeline's view of what is derived; nil: nothing is.
func (o *Outputs) Deriver() pipeline.Deriver {
	if o.derived == nil {
		return nil
	}
	return patientDerived{Outputs: o.derived, space: o.o.Space, running: o.o.Running}
}

// DerivedFiles counts the files and bytes that were derived.
func (o *Outputs) DerivedFiles() (files, bytes int64) {
	if o.derived == nil {
		return 0, 0
	}
	d := o.derived.Stats()
	return d.Files, d.Bytes
}

// Sync makes durable what was written. Each of its parts is passed to during, which calls it.
func (o *Outputs) Sync(during func(func() error) error) error {
	if err := during(o.archive.Sync); err != nil {
		return datadir.Failed("sync the archive", err)
	}
	o.short.flushed(time.Now(), false)
	if o.derived == nil {
		return nil
	}
	if err := during(o.derived.Sync); err != nil {
		return datadir.Failed("sync "+o.o.Dir.Join("derived"), err)
	}
	return nil
}

// Close closes the files.
func (o *Outputs) Close() error {
	err := o.archive.Close()
	if o.derived != nil {
		err = errors.Join(err, o.derived.Close())
	}
	if o.uploads != nil {
		err = errors.Join(err, o.finishUploads())
	}
	return err
}
