package searchverb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/output/readback"
	"crawlnode/search"
	"crawlnode/search/index"
	"crawlnode/web/htmlparse"
	"crawlnode/web/preferences"
	"crawlnode/web/urlnorm"
)

// IndexVerb makes an index of archives that any crawler has written.
type IndexVerb struct {
	DataDir     string   `name:"data-dir" group:"output" default:"crawlnode-index" placeholder:"DIR" help:"Folder of the index; one that is there is extended."`
	Preferences string   `group:"output" enum:"mark,obey" default:"mark" placeholder:"mark|obey" help:"obey: also leave out the pages whose owner said no to search otherwise than by noindex."`
	Files       []string `arg:"" name:"warc" help:"WARC files, .warc, .warc.gz or .warc.zst."`
}

// Help gives the examples of the verb.
func (*IndexVerb) Help() string {
	return command.Examples("crawlnode index crawl.warc.gz", "crawlnode index crawl-00.warc.gz "+
		"crawl-01.warc.gz --data-dir my-index && crawlnode search --data-dir my-index badger") + `

HTML pages that were delivered are indexed, of a URL the newest capture; the same
file again changes nothing. Pages that ask not to be indexed are left out, and
a page that a browser has shown to the crawl is read as it was shown. A duplicate
is found under its own URL; name the file that has its content too.
Damaged files are told, and what stands before the damage is indexed.`
}

const (
	batchDocuments = 1000
	batchBytes     = 8 << 20
)

// Run reads the files.
func (v *IndexVerb) Run(ctx context.Context, env *command.Env) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	for _, path := range v.Files { // before an index is made for them
		if _, err := os.Stat(path); err != nil {
			return env.Fail(command.ExitUsage, "%v", err)
		}
	}
	dir, err := datadir.Open(v.DataDir)
	if err != nil {
		return env.Fail(command.ExitStorage, "%v", err)
	}
	defer dir.Close()
	if dir.Has("frontier") {
		return env.Fail(command.ExitUsage,
			"--data-dir: %s is the data directory of a node, which keeps its own index: name another folder",
			v.DataDir)
	}
	x, _, err := index.Open(filepath.Join(v.DataDir, "index"), index.Options{})
	if err != nil {
		return env.Fail(command.ExitStorage, "%v", err)
	}
	b := &builder{x: x, ctx: ctx, gone: map[string]time.Time{}}
	if v.Preferences == crawl.PreferencesObey {
		b.obeyed = preferences.PurposesOf(preferences.Search)
	}
	files := readback.NewScanner(ctx, readback.MaxContent)
	defer func() { _ = files.Close() }() // it is in the system's folder of temporary files
	code := command.ExitOK
	for _, path := range v.Files {
		err := files.Scan(path, nil, b.add)
		switch {
		case ctx.Err() != nil:
			code = env.Fail(command.ExitInterrupted, "interrupted; the same command goes on")
		case err != nil:
			code = env.Fail(command.ExitError, "%v", err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if ctx.Err() == nil {
		if err := files.Finish(b.add); err != nil {
			code = env.Fail(command.ExitError, "%v", err)
		}
		if files.Missing > 0 {
			code = env.Fail(command.ExitError, "%d duplicates are not indexed: the pages to which they "+
				"refer are in files that were not named", files.Missing)
		}
	}
	if err := errors.Join(b.flush(), x.Close()); err != nil {
		return env.Fail(command.ExitStorage, "%v", err)
	}
	fmt.Fprintf(env.Stdout, "%s read, %s in the index of %s\n", plaintext.CountOf(b.pages, "page"),
		plaintext.CountOf(b.documents, "document"), v.DataDir)
	return code
}

// builder gathers documents.
type builder struct {
	x                *index.Index
	ctx              context.Context
	batch            index.Batch
	bytes            int
	gone             map[string]time.Time // pages that newer captures take out of the index
	pages, documents int64
	obeyed           preferences.Purposes // what owners are obeyed about
}

func (b *builder) flush() error {
	err := b.x.Apply(context.WithoutCancel(b.ctx), b.batch)
	b.batch, b.bytes = index.Batch{}, 0
	b.documents = b.x.Size().Documents
	return err
}

// add takes a capture. A page gets its document; any other answer that says something of the page
// takes out the documents of earlier captures, as in the index of a crawl.
func (b *builder) add(p *readback.Page) error {
	if b.ctx.Err() != nil {
		return b.ctx.Err()
	}
	u, err := urlnorm.ParseRouted(p.Record.TargetURI)
	if err != nil || passing(p.Record.Status) || p.Wall() {
		return nil //nolint:nilerr // dns: and the like
	}
	fetched := p.Record.Date
	if fetched.IsZero() {
		fetched = time.Unix(0, 0)
	}
	d, ok := b.documentOf(p, u)
	if d.FetchedAt = fetched; !ok {
		if fetched.After(b.gone[u.String()]) {
			b.gone[u.String()] = fetched
			// In a batch, removals come first.
			b.batch.Put = slices.DeleteFunc(b.batch.Put, func(d index.Document) bool {
				return d.URL == u.String() && !d.FetchedAt.After(fetched)
			})
			b.batch.Remove = append(b.batch.Remove, index.Removal{URL: u.String(), At: fetched})
		}
		if len(b.batch.Remove) < batchDocuments {
			return nil
		}
		return b.flush()
	}
	b.pages++
	if !fetched.After(b.gone[u.String()]) {
		return nil
	}
	b.batch.Put = append(b.batch.Put, d)
	if b.bytes += len(d.Text); len(b.batch.Put) < batchDocuments && b.bytes < batchBytes {
		return nil
	}
	return b.flush()
}

// passing reports whether an answer says nothing of the page: it is asked for less, or it failed.
func passing(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 || status < 200
}

// documentOf reads a page. What is no page, of which nothing can be read, or what asks to be left
// out, has no document.
func (b *builder) documentOf(p *readback.Page, u urlnorm.URL) (d index.Document, ok bool) {
	if !p.Delivered() || !p.IsPage() {
		return d, false
	}
	document, err := p.Document(htmlparse.Options{})
	if err != nil || p.NoIndex(document) {
		return d, false
	}
	if b.obeyed != 0 && p.Said(document).Answers.Refused(b.obeyed, time.Now()) != 0 {
		return d, false
	}
	t, err := p.Main()
	if err != nil {
		return d, false
	}
	t.Shorten()
	return index.Document{
		URL:         u.String(),
		Host:        u.Host(),
		Title:       t.Title,
		Headings:    strings.Join(t.Headings, "\n"),
		Text:        t.Text,
		Description: t.Description,
		Language:    t.Language,
		Cut:         t.Truncated,
		Fingerprint: p.Fingerprint(document),
		Offset:      p.Record.Offset,
	}, true
}

// Offline asks the index in a data directory that no process uses. Without an index it fails, with
// datadir.ErrUsage, and makes none.
func Offline(ctx context.Context, dir string, q crawl.SearchQuery) (*crawl.SearchReport, error) {
	release, err := datadir.Hold(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	folder := filepath.Join(dir, "index")
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil, datadir.Usage(fmt.Errorf("%s has no index: crawl with --index on, or make one of its "+
			"archive: crawlnode index %s --data-dir my-index", dir, filepath.Join(dir, "warc", "*.warc.gz")))
	}
	x, _, err := index.Open(folder, index.Options{Still: true})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	page, err := index.Search(ctx, x,
		index.Request{Text: q.Query, Page: q.Page, Size: q.Size, Now: began})
	if err = errors.Join(err, x.Close()); err != nil {
		return nil, err
	}
	return search.Report(q.Query, &page, 1, time.Since(began)), nil
}
