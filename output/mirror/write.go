package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/files"
	"crawlnode/output/archive"
	"crawlnode/web/rewrite"
	"crawlnode/web/urlnorm"
)

// Summary is what a run has done.
type Summary struct {
	Files     int64 // in the folder, of this run and of earlier ones
	Written   int64 // of them, new or with new content
	Bytes     int64 // that were written
	Redirects int64 // URLs that redirect
	Without   int64 // URLs without a file: errors, and answers without content
	Cut       int64 // files that Folder.MaxBody has cut
	Failed    int64 // pages that have no file though they should; the manifest says why
}

// Write writes what src has. progress, when set, is called before each URL; it must not block. The
// error is that of ctx, of src or of the disk; the manifest is right then too, and the next call
// goes on. files.NoRoom tells whether there is no room.
func (f *Folder) Write(
	ctx context.Context,
	src Source,
	progress func(done, total int64),
) (sum Summary, err error) {
	w := &writer{folder: f, progress: progress}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.open(src); err != nil {
		return sum, err
	}
	if err := src.Entries(ctx, func(e archive.Entry) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		return w.plan.take(e)
	}); err != nil {
		return sum, err
	}
	if err := w.plan.decide(ctx); err != nil {
		return sum, err
	}
	if err := w.plan.name(ctx); err != nil {
		return sum, err
	}
	if err := eachRow(ctx, w.plan.final, func(_ int64, r *row) error {
		return w.write(ctx, r)
	}); err != nil {
		return w.sum, err
	}
	return w.sum, w.manifest.tidy()
}

// writer is one run.
type writer struct {
	folder   *Folder
	manifest *manifest
	plan     *plan
	progress func(done, total int64)
	done     int64
	sum      Summary
}

// open makes the files of the run and reads the manifest.
func (w *writer) open(src Source) error {
	known, err := newTable(w.folder.nameless)
	if err != nil {
		return err
	}
	w.plan = &plan{src: src, skip: w.folder.Skip, form: w.folder.Form, known: known}
	for _, j := range []**journal{&w.plan.taken, &w.plan.decided, &w.plan.final} {
		file, err := w.folder.nameless()
		if err != nil {
			return err
		}
		*j = newJournal(file)
	}
	if err := known.set(keyOf(claimed, fold(manifestName)), isFile); err != nil {
		return err
	}
	w.manifest, err = openManifest(w.folder, known, w.plan.claim)
	w.plan.manifest = w.manifest
	return err
}

// close closes what is open.
func (w *writer) close() error {
	var errs []error
	if w.manifest != nil {
		errs = append(errs, w.manifest.close())
	}
	if w.plan != nil {
		errs = append(errs, w.plan.known.close())
		for _, j := range []*journal{w.plan.taken, w.plan.decided, w.plan.final} {
			if j != nil {
				errs = append(errs, j.close())
			}
		}
	}
	return errors.Join(errs...)
}

// eachRow calls fn with each row of a journal until ctx ends.
func eachRow(ctx context.Context, j *journal, fn func(offset int64, r *row) error) error {
	return j.each(func(offset int64, line []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		return fn(offset, &r)
	})
}

// write does what is to be done for one URL.
func (w *writer) write(ctx context.Context, r *row) error {
	if w.progress != nil {
		w.progress(w.done, w.plan.rows)
	}
	w.done++
	if r.Kept {
		if r.Path != "" {
			w.sum.Files++
		}
		return nil
	}
	var old *Line
	if l, ok, err := w.manifest.of(r.URL); err != nil {
		return err
	} else if ok {
		old = &l
	}
	line := Line{URL: r.URL, Status: r.Status, Type: r.MIME, RedirectTo: r.To, Error: r.Why,
		FetchedAt: time.Unix(r.At, 0).UTC().Format(time.RFC3339),
		WARC:      &Place{File: r.Ref.File, Offset: r.Ref.Offset}}
	if r.Path != "" {
		return w.page(ctx, r, &line, old)
	}
	switch {
	case r.To != "":
		w.sum.Redirects++
	case r.Why != "":
		w.sum.Failed++
	default:
		w.sum.Without++
	}
	if old != nil && old.File == "" && old.WARC != nil && *old.WARC == *line.WARC &&
		old.RedirectTo == line.RedirectTo && old.Error == line.Error {
		return nil
	}
	return w.manifest.add(&line, old)
}

// page writes a file and its line, unless both are there.
func (w *writer) page(ctx context.Context, r *row, line, old *Line) error {
	line.File = r.Path
	hasLinks := w.folder.Form == nil && (isPage(r.MIME) || isSheet(r.MIME))
	if hasLinks {
		line.Plan = w.plan.id()
	}
	if old != nil && old.File == r.Path && old.WARC != nil && *old.WARC == *line.WARC &&
		old.Plan == line.Plan && w.isThere(old) {
		w.sum.Files++
		return nil
	}
	content, err := w.content(ctx, r, line)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		sum := sha256.Sum256(content)
		line.SHA256, line.Bytes = hex.EncodeToString(sum[:]), int64(len(content))
		if old == nil || old.File != r.Path || old.SHA256 != line.SHA256 || !w.isThere(old) {
			if err = w.folder.store(r.Path, content); files.NoRoom(err) {
				return err
			}
			if err == nil {
				w.sum.Written++
				w.sum.Bytes += line.Bytes
			}
		}
	}
	if errors.Is(err, ErrNoForm) {
		line.File = ""
		w.sum.Without++
		return w.manifest.add(line, old)
	}
	// it concerns this file alone: a damaged record, something of another's in its place
	if err != nil {
		line.File, line.SHA256, line.Bytes, line.Plan, line.Error = "", "", 0, "", err.Error()
		w.sum.Failed++
		return w.manifest.add(line, old)
	}
	w.sum.Files++
	return w.manifest.add(line, old)
}

// isThere reports whether the file of a line has the size that it was written with.
func (w *writer) isThere(l *Line) bool {
	info, err := w.folder.root.Lstat(l.File)
	return err == nil && info.Mode().IsRegular() && info.Size() == l.Bytes
}

// content makes the content of a file, and says in its line what is wrong with it.
func (w *writer) content(ctx context.Context, r *row, line *Line) ([]byte, error) {
	original := crawl.ArchiveRef{}
	if r.Revisit {
		ref, ok, err := w.plan.payloadOf(r)
		if err != nil || !ok {
			return nil, errors.Join(err, fs.ErrNotExist)
		}
		original = ref
	}
	p, err := load(ctx, w.plan.src, r.Ref, original, cmp.Or(w.folder.MaxBody, MaxContent))
	if err != nil {
		return nil, err
	}
	if !p.Record.Date.IsZero() {
		line.FetchedAt = p.Record.Date.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	if w.folder.Form != nil {
		file, cut, err := w.folder.Form.Content(p)
		if line.Truncated = p.Record.Truncated; cut {
			line.Truncated = "length"
			w.sum.Cut++
		}
		return file, err
	}
	content, contentType, cut, err := contentOf(p)
	if line.Truncated = p.Record.Truncated; cut {
		line.Truncated = "length"
		w.sum.Cut++
	}
	if err != nil {
		line.Error = fmt.Sprintf("the body could not be decoded whole: %v", err)
	}
	u, err := urlnorm.ParseStored(r.URL)
	if err != nil {
		return nil, err
	}
	var failed error
	to := func(target urlnorm.URL) (string, bool) {
		file, err := w.fileOf(target.String())
		if same := w.folder.Same; file == "" && err == nil && same != nil {
			file, err = w.fileOf(same(target).String())
		}
		if err != nil {
			failed = err
		}
		return link(r.Path, file), file != ""
	}
	switch {
	case isPage(r.MIME):
		content = rewrite.HTML(content, contentType, u, to)
	case isSheet(r.MIME):
		content = rewrite.CSS(content, u, to)
	}
	return content, failed
}

// maxHops is how many redirects in a row a link follows.
const maxHops = 10

// fileOf returns the file to which a URL leads, or "".
func (w *writer) fileOf(url string) (string, error) {
	for range maxHops + 1 {
		offset, ok, err := w.plan.known.get(keyOf(finalURL, url))
		if err != nil || !ok {
			return "", err
		}
		var r row
		if err := w.plan.final.at(offset, &r); err != nil {
			return "", err
		}
		if r.Path != "" || r.To == "" {
			return r.Path, nil
		}
		url = r.To
	}
	return "", nil
}
