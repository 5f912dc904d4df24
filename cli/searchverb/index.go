package searchverb

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"time"

	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/node/datadir"
	"crawlnode/node/indexer"
	"crawlnode/store/archive"
	"crawlnode/store/search"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/maintext"
	"crawlnode/web/urlnorm"
)

// IndexVerb makes an index of archives that any crawler has written.
type IndexVerb struct {
	DataDir string   `name:"data-dir" group:"output" default:"crawlnode-index" placeholder:"DIR" help:"Folder of the index; one that is there is extended."`
	Files   []string `arg:"" name:"warc" help:"WARC files, .warc, .warc.gz or .warc.zst."`
}

// Help gives the examples of the verb.
func (*IndexVerb) Help() string {
	return command.Examples("crawlnode index crawl.warc.gz", "crawlnode index crawl-00.warc.gz crawl-01.warc.gz --data-dir my-index && crawlnode search --data-dir my-index badger") + `

HTML pages that were delivered are indexed, of a URL the newest capture; the same
file again changes nothing. Pages that ask not to be indexed are left out.
Damaged files are told, and what stands before the damage is indexed.`
}

const (
	batchDocuments = 1000
	batchBytes     = 8 << 20
	// maxPage bounds the content of a page, in bytes.
	maxPage = 16 << 20
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
		return env.Fail(command.ExitUsage, "--data-dir: %s is the data directory of a node, which keeps its own index: name another folder", v.DataDir)
	}
	x, _, err := search.Open(filepath.Join(v.DataDir, "index"), search.Options{})
	if err != nil {
		return env.Fail(command.ExitStorage, "%v", err)
	}
	b := &builder{x: x, ctx: ctx}
	code := command.ExitOK
	for _, path := range v.Files {
		_, err := archive.Scan(path, b.add)
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
	if err := errors.Join(b.flush(), x.Close()); err != nil {
		return env.Fail(command.ExitStorage, "%v", err)
	}
	fmt.Fprintf(env.Stdout, "%d pages read, %d documents in the index of %s\n", b.pages, b.documents, v.DataDir)
	return code
}

// builder gathers documents.
type builder struct {
	x                *search.Index
	ctx              context.Context
	batch            search.Batch
	bytes            int
	pages, documents int64
}

func (b *builder) flush() error {
	err := b.x.Apply(context.WithoutCancel(b.ctx), b.batch)
	b.batch, b.bytes = search.Batch{}, 0
	b.documents = b.x.Size().Documents
	return err
}

// add takes a record, if it is a page.
func (b *builder) add(r archive.Record) error {
	if b.ctx.Err() != nil {
		return b.ctx.Err()
	}
	d, ok := documentOf(&r)
	if !ok {
		return nil
	}
	b.pages++
	b.batch.Put = append(b.batch.Put, d)
	if b.bytes += len(d.Text); len(b.batch.Put) < batchDocuments && b.bytes < batchBytes {
		return nil
	}
	return b.flush()
}

// documentOf reads a page. What no browser could show, and what asks to be left out, has no document.
func documentOf(r *archive.Record) (d search.Document, ok bool) {
	u, err := urlnorm.ParseRouted(r.TargetURI)
	if err != nil || r.Type != "response" || r.Status < 200 || r.Status > 299 {
		return d, false
	}
	_, fields, _ := bytes.Cut(r.Head, []byte("\r\n"))
	head, _ := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader() // as far as it can be read
	contentType := cmp.Or(head.Get("Content-Type"), r.ContentType)
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	if kind = strings.TrimSpace(kind); kind != "text/html" && kind != "application/xhtml+xml" {
		return d, false
	}
	body, _, err := fetcher.Content(r.Payload, head["Content-Encoding"], maxPage)
	if err != nil || noIndex(head["X-Robots-Tag"]) || htmlparse.Parse(body, contentType, u).NoIndex {
		return d, false
	}
	at, err := time.Parse(time.RFC3339, r.Fields.Get("WARC-Date"))
	if err != nil {
		at = time.Unix(0, 0)
	}
	t := maintext.Extract(body, contentType, head.Get("Content-Language"))
	return search.Document{URL: u.String(), Host: u.Host(), Title: t.Title, Headings: strings.Join(t.Headings, "\n"), Text: t.Text, Description: t.Description,
		Language: t.Language, FetchedAt: at, Offset: r.Offset}, true
}

func noIndex(headers []string) bool {
	for _, h := range headers {
		if no, _ := htmlparse.HeaderDirectives(h, "crawlnode"); no {
			return true
		}
	}
	return false
}

// offline asks the index in a data directory that no process uses.
func offline(ctx context.Context, dir string, q crawl.SearchQuery) (*crawl.SearchReport, error) {
	release, err := datadir.Hold(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	x, _, err := search.Open(filepath.Join(dir, "index"), search.Options{})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	page, err := search.Search(ctx, x, search.Request{Text: q.Query, Page: q.Page, Size: q.Size, Now: began})
	if err = errors.Join(err, x.Close()); err != nil {
		return nil, err
	}
	return indexer.Report(q.Query, &page, 1, time.Since(began)), nil
}
