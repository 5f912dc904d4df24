package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"crawlnode/api/client"
	"crawlnode/cli/command"
	"crawlnode/cli/pagefiles"
	"crawlnode/cli/remote"
	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/output/newest"
	"crawlnode/output/readback"
	"crawlnode/web/htmlparse"
	"crawlnode/web/preferences"
)

// Verbs are the verbs that write what a crawl has left behind.
type Verbs struct {
	CDXJ     CDXJVerb     `cmd:"" name:"cdxj" help:"Write the index of all captures of the cluster."`
	Files    FilesVerb    `cmd:"" name:"files" help:"Write the pages as files, with relative links."`
	Parquet  ParquetVerb  `cmd:"" name:"parquet" help:"Write captures, pages or links as Parquet files, for SQL."`
	WARC     WARCVerb     `cmd:"" name:"warc" help:"Write the archive as WARC files anew, such as without what was crawled by mistake."`
	WACZ     WACZVerb     `cmd:"" name:"wacz" help:"Write the archive as one WACZ file, for viewers."`
	Markdown MarkdownVerb `cmd:"" name:"markdown" help:"Write each page as a file of Markdown."`
	Bulk     BulkVerb     `cmd:"" name:"bulk" help:"Write the pages for OpenSearch or Elasticsearch (_bulk)."`
	JSONL    JSONLVerb    `cmd:"" name:"jsonl" help:"Write the pages for Meilisearch or Typesense (JSON lines)."`
}

// Help gives the examples of the verbs.
func (*Verbs) Help() string { return (*CDXJVerb)(nil).Help() }

// from says where captures are read.
type from struct {
	remote.Flags      `embed:""`
	command.Excluding `embed:""`
	command.Obeying   `embed:""`
	DataDir           []string `name:"data-dir" sep:"none" group:"output" placeholder:"DIR" help:"Read the archive in this node's data directory instead of asking a node; the node need not run; repeatable."`
}

// source has the captures of a crawl.
type source interface {
	readback.Source
	// WriteIndex writes the lines of the index, sorted and each once.
	WriteIndex(ctx context.Context, out io.Writer) error
}

// cluster is a source: a running cluster.
type cluster struct {
	readback.Cluster
	client *client.Client
}

func (c cluster) WriteIndex(ctx context.Context, out io.Writer) error {
	return c.client.CopyIndex(ctx, out)
}

// run calls f with the source, until a signal comes, and returns the exit code.
func (f *from) run(
	ctx context.Context,
	env *command.Env,
	fn func(ctx context.Context, src source) error,
) int {
	omit := &readback.Omit{Now: time.Now()}
	var err error
	if omit.URL, err = f.Excluded(); err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	if _, err := f.Purposes(nil); err != nil { // before anybody is asked
		return env.Fail(command.ExitUsage, "%v", err)
	}
	all := fn
	fn = func(ctx context.Context, src source) error {
		if omit.Nothing() {
			return all(ctx, src)
		}
		err := all(ctx, excluding{src, omit})
		pagefiles.TellRefused(env, omit)
		return err
	}
	if len(f.DataDir) == 0 {
		return f.Ask(ctx, env, func(ctx context.Context, c *client.Client) error {
			own, err := pagefiles.SettingsOfCluster(ctx, c)
			if err == nil {
				omit.Purposes, err = f.Purposes(own)
			}
			if err != nil {
				return remote.OrDataDir(err)
			}
			return remote.OrDataDir(fn(ctx, cluster{readback.Cluster{Node: c}, c}))
		})
	}
	own, err := pagefiles.SettingsOf(f.DataDir)
	if err == nil {
		omit.Purposes, err = f.Purposes(own)
	}
	if err != nil {
		return env.Fail(command.ExitUsage, "--data-dir: %v", err)
	}
	dirs, code := pagefiles.OpenDataDirs(env, f.DataDir)
	if dirs == nil {
		return code
	}
	defer func() { _ = dirs.Close() }() // it is in the system's folder of temporary files
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	switch err := fn(ctx, dirs); {
	case err == nil:
		return code
	case ctx.Err() != nil:
		return env.Fail(command.ExitInterrupted, "interrupted")
	default:
		return env.Fail(remote.ExitCode(err), "%v", err)
	}
}

// excluding is a source without some captures. Their payloads are still found: those of others may
// be the same.
type excluding struct {
	source
	omit *readback.Omit
}

// WriteIndex implements source.
func (x excluding) WriteIndex(ctx context.Context, out io.Writer) error {
	return readback.WriteWithout(ctx, out, x.source.WriteIndex, x.omit)
}

// standAlone returns the record at a place as a response with the payload that it refers to, when
// that was stored with a capture which is left out; nil: it refers to something else.
func (x excluding) standAlone(ctx context.Context, ref crawl.ArchiveRef) (*archive.Record, error) {
	r, err := x.Record(ctx, ref)
	if err != nil {
		return nil, err
	}
	return readback.Completed(ctx, x.source, r, x.omit)
}

// spool keeps an index in a nameless file, from its start.
func spool(ctx context.Context, src source) (*os.File, error) {
	f, err := os.CreateTemp("", "crawlnode-index-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := src.WriteIndex(ctx, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	_, err = f.Seek(0, io.SeekStart)
	return f, err
}

// unread counts the captures that could not be read, or not whole, and keeps what was wrong with
// the first.
type unread struct {
	count, damaged, elsewhere          int64
	first, firstDamage, firstElsewhere error
}

// note notes a capture that could not be read. One whose payload was never to be stored here is no
// error of the export.
func (u *unread) note(e *archive.Entry, err error) {
	if errors.Is(err, readback.ErrElsewhere) {
		if u.elsewhere++; u.firstElsewhere == nil {
			u.firstElsewhere = fmt.Errorf("%s: %w", e.URL, err)
		}
		return
	}
	if u.count++; u.first == nil {
		u.first = fmt.Errorf("%s: %w", e.URL, err)
	}
}

// damage notes a page of which something was read.
func (u *unread) damage(e *archive.Entry, err error) {
	if err == nil {
		return
	}
	if u.damaged++; u.firstDamage == nil {
		u.firstDamage = fmt.Errorf("%s: %w", e.URL, err)
	}
}

// err is an error if any could not be read: what was written is not all there is.
func (u *unread) err() error {
	if u.count == 0 {
		return nil
	}
	return fmt.Errorf("%s, the first: %w", english.Plural(int(u.count),
		"capture could not be read and is left out",
		"captures could not be read and are left out"), u.first)
}

// warn tells of pages that are not whole: what could be read of them is written, as the crawl has
// it.
func (u *unread) warn(env *command.Env) {
	if u.elsewhere > 0 {
		env.Fail(0, "%s left out, the first: %v", english.Plural(int(u.elsewhere),
			"capture has its content in another archive and is",
			"captures have their content in another archive and are"), u.firstElsewhere)
	}
	if u.damaged > 0 {
		env.Fail(0, "%s not whole, the first: %v; what could be read is written",
			english.Plural(int(u.damaged), "page is", "pages are"), u.firstDamage)
	}
}

// eachPage calls fn with the newest version of each HTML page and of each document that was read,
// unless its owner said no: then there is no older one either. A capture that cannot be read is
// noted in left.
func eachPage(
	ctx context.Context,
	src source,
	limit int64,
	left *unread,
	fn func(e *archive.Entry, p *readback.Page) error,
) error {
	omit := &readback.Omit{}
	if x, ok := src.(excluding); ok {
		omit = x.omit
		src = excluding{x.source, &readback.Omit{URL: omit.URL}}
	}
	index, err := spool(ctx, src)
	if err != nil {
		return err
	}
	defer func() { _ = index.Close() }()
	return newest.Each(index, func(e *archive.Entry) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !newest.MayHaveText(e) || omit.Said(preferences.ParseAnswers(e.Preferences)) {
			return nil
		}
		page, err := load(ctx, src, e, limit)
		if err != nil {
			left.note(e, err)
			return nil
		}
		if !page.Delivered() || !page.IsPage() || page.Wall() {
			return nil
		}
		if refuses(omit, page) {
			return nil
		}
		left.damage(e, page.Damage())
		return fn(e, page)
	})
}

// refuses reports whether a page says no by itself, of which the crawl has noted nothing: it was
// captured by another program, or an earlier release. The index may have the word of a later 304,
// which does not repeat the page's.
func refuses(omit *readback.Omit, page *readback.Page) bool {
	if omit.Purposes == 0 || page.Noted() {
		return false
	}
	doc, err := page.Document(htmlparse.Options{})
	if err != nil {
		doc = nil
	}
	return omit.Said(page.Said(doc).Answers)
}

// load reads the page of an entry, of which no more than limit bytes are unpacked.
func load(ctx context.Context, src source, e *archive.Entry, limit int64) (*readback.Page, error) {
	record, err := src.Record(ctx, e.Ref)
	if err != nil {
		return nil, err
	}
	return readback.Of(ctx, src, record, limit)
}

// isRedirect reports whether an answer has a Location that is followed.
func isRedirect(status int) bool {
	return status >= 300 && status < 400 && status != http.StatusNotModified
}

// software names this program in what is written.
func software(env *command.Env) string { return "crawlnode/" + strings.TrimSpace(env.Version) }
