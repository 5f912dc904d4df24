package export

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/output/archive"
	"crawlnode/output/readback"
	"crawlnode/output/table"
	"crawlnode/web/htmlparse"
	"crawlnode/web/preferences"
	"crawlnode/web/urlnorm"
)

// ParquetVerb writes tables.
type ParquetVerb struct {
	from              `embed:""`
	command.Unpacking `embed:""`
	toStore           `embed:""`
	Output            string `short:"o" required:"" group:"output" placeholder:"PATH" help:"A file that ends in .parquet, or a folder for parts, new or empty."`
	Table             string `enum:"captures,pages,links" default:"captures" group:"output" help:"captures: a row for each visit, with Common Crawl's columns; pages: the newest version of each page, with its text; links: the links of those."`
	Details           bool   `group:"output" help:"captures: read each record for redirect, charset, record id and what the server called the content; otherwise those come from the index, or are null."`
	Rows              int64  `default:"10000000" group:"output" help:"How many rows a part has at most."`
	Crawl             string `group:"output" placeholder:"NAME" help:"What the column crawl says. Default: the cluster's name, or crawlnode."`
}

// Help gives the examples of the verb and says what it writes.
func (*ParquetVerb) Help() string {
	return command.Examples("crawlnode export parquet -o captures.parquet",
		"crawlnode export parquet --table pages --data-dir crawlnode-data/n1 -o pages/",
		`duckdb -c "SELECT url_host_name, count(*) FROM 'captures.parquet' GROUP BY ALL ORDER BY 2 DESC"`) + `

captures has the columns and types of Common Crawl's index, so queries that were
written for that work. docs/outputs.md has the tables, and ten questions in SQL.`
}

// Run writes the table.
func (v *ParquetVerb) Run(ctx context.Context, env *command.Env) int {
	if v.Rows <= 0 {
		return env.Fail(command.ExitUsage, "--rows must be above 0, not %d", v.Rows)
	}
	store, err := v.openStore(v.Output)
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	if strings.HasSuffix(v.Output, ".parquet") { // a file, not a folder
		if _, err := command.PlaceOf(v.Output); err != nil {
			return env.Fail(command.ExitError, "%v", err)
		}
	}
	var sum table.Summary
	code := v.run(ctx, env, func(ctx context.Context, src source) (err error) {
		switch v.Table {
		case "pages":
			sum, err = v.pages(ctx, env, src)
		case "links":
			sum, err = v.links(ctx, env, src)
		default:
			sum, err = v.captures(ctx, env, src)
		}
		if err != nil {
			return err
		}
		return store.copy(ctx, v.Output)
	})
	if code == command.ExitOK {
		fmt.Fprintln(env.Stdout, plaintext.Escape(fmt.Sprintf("%s: %s rows in %s, %s, %d files", v.Table,
			plaintext.Count(sum.Rows), v.Output, plaintext.Bytes(sum.Bytes), sum.Files)))
	}
	return code
}

// crawlName is the value of the column crawl.
func (v *ParquetVerb) crawlName(ctx context.Context, src source) (string, error) {
	c, running := src.(cluster)
	if v.Crawl != "" || !running {
		return cmp.Or(v.Crawl, "crawlnode"), nil
	}
	status, err := c.client.Status(ctx, false)
	if err != nil {
		return "", err
	}
	return status.Cluster.Name, nil
}

func (v *ParquetVerb) captures(
	ctx context.Context,
	env *command.Env,
	src source,
) (sum table.Summary, err error) {
	name, err := v.crawlName(ctx, src)
	if err != nil {
		return sum, err
	}
	out, err := table.Create[table.Capture](v.Output, v.Rows, software(env))
	if err != nil {
		return sum, err
	}
	defer out.Abort()
	left := &unread{}
	if err := v.eachEntry(ctx, src, func(e *archive.Entry) error {
		row, err := table.CaptureOf(e, name)
		if err != nil {
			return err
		}
		if v.Details {
			if err := details(ctx, src, e, v.Most(), &row); err != nil {
				left.note(e, err)
			}
		}
		return out.Write(row)
	}); err != nil {
		return sum, err
	}
	sum, err = out.Close()
	left.warn(env)
	return sum, errors.Join(err, left.err())
}

// eachEntry walks the index, which is streamed if no record is read meanwhile.
func (v *ParquetVerb) eachEntry(
	ctx context.Context,
	src source,
	fn func(e *archive.Entry) error,
) error {
	checked := func(e archive.Entry) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fn(&e)
	}
	if v.Details {
		index, err := spool(ctx, src)
		if err != nil {
			return err
		}
		defer func() { _ = index.Close() }()
		return archive.ReadEntries(index, checked)
	}
	r, w := io.Pipe()
	copied := make(chan error, 1)
	go func() { // ends when the index does, or at the first write after r is closed
		lines := bufio.NewWriterSize(w, 256<<10)
		err := src.WriteIndex(ctx, lines)
		err = errors.Join(err, lines.Flush())
		copied <- err
		_ = w.CloseWithError(err)
	}()
	err := archive.ReadEntries(r, checked)
	_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	if failed := <-copied; err == nil {
		err = failed
	}
	return err
}

// details fills in what only the record says.
func details(
	ctx context.Context,
	src source,
	e *archive.Entry,
	limit int64,
	row *table.Capture,
) error {
	record, err := src.Record(ctx, e.Ref)
	if err != nil {
		return err
	}
	if id, err := hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(record.ID, "urn:uuid:"), "-",
		"")); err == nil && len(id) == 16 {
		row.RecordID = id
	}
	row.Truncated = table.OptionalText(record.Truncated)
	page, err := readback.Of(ctx, src, record, limit)
	if err != nil {
		return err
	}
	media, _, _ := strings.Cut(page.Header("Content-Type"), ";")
	if media = strings.ToLower(strings.TrimSpace(media)); media != "" && !e.Revisit {
		row.MIME = &media
	}
	if base, err := urlnorm.Parse(e.URL); err == nil && isRedirect(e.Status) {
		if to, err := base.ResolveBytes(page.Header("Location")); err == nil {
			row.Redirect = table.OptionalText(to.String())
		}
	}
	if page.IsHTML() {
		if doc, err := page.Document(htmlparse.Options{}); err == nil {
			row.Charset = table.OptionalText(strings.ToUpper(doc.Charset))
		}
	}
	return nil
}

func (v *ParquetVerb) pages(
	ctx context.Context,
	env *command.Env,
	src source,
) (sum table.Summary, err error) {
	out, err := table.Create[table.Page](v.Output, v.Rows, software(env))
	if err != nil {
		return sum, err
	}
	defer out.Abort()
	left := &unread{}
	if err := eachPage(ctx, src, v.Most(), left, func(e *archive.Entry, p *readback.Page) error {
		d, err := documentOf(e, p)
		if err != nil {
			left.note(e, err)
			return nil
		}
		row := table.Page{
			URL:         e.URL,
			Host:        d.Host,
			FetchedAt:   e.At,
			Status:      int16(e.Status),
			Title:       table.OptionalText(d.Title), //nolint:gosec // a status
			Description: table.OptionalText(d.Description),
			Language:    table.OptionalText(d.Language),
			Charset:     table.OptionalText(d.doc.Charset),
			Canonical:   table.OptionalText(d.doc.Canonical),
			NoIndex:     d.noIndex,
			Links:       int32(len(d.doc.Links)),
			Text:        table.OptionalText(d.Text),
			Bytes:       d.bytes,
			Digest:      table.OptionalText(e.Digest), //nolint:gosec // at most htmlparse.MaxLinks
			File:        e.Ref.File,
			Offset:      e.Ref.Offset,
			Length:      int32(min(e.Ref.Length, 1<<31-1)),
		} //nolint:gosec // bounded
		m, err := p.Metadata()
		if err != nil {
			left.note(e, err)
			return nil
		}
		if !m.Empty() {
			row.Metadata = table.OptionalText(string(m.JSON()))
		}
		if said := e.Preferences; said != "" { // the newest word, by which it is judged
			row.SetPreferences(preferences.ParseAnswers(said))
		} else {
			row.SetPreferences(p.Said(d.doc).Answers)
		}
		return out.Write(row)
	}); err != nil {
		return sum, err
	}
	sum, err = out.Close()
	left.warn(env)
	return sum, errors.Join(err, left.err())
}

func (v *ParquetVerb) links(
	ctx context.Context,
	env *command.Env,
	src source,
) (sum table.Summary, err error) {
	out, err := table.Create[table.Link](v.Output, v.Rows, software(env))
	if err != nil {
		return sum, err
	}
	defer out.Abort()
	left := &unread{}
	if err := eachPage(ctx, src, v.Most(), left, func(e *archive.Entry, p *readback.Page) error {
		doc, err := p.Document(htmlparse.Options{Anchors: true})
		if err != nil {
			left.note(e, err)
			return nil
		}
		host := hostOf(e.URL)
		for i := range doc.Links {
			l := &doc.Links[i]
			if err := out.Write(table.Link{
				Source:     e.URL,
				Target:     l.URL.String(),
				SourceHost: host,
				TargetHost: l.URL.Host(),
				Text:       table.OptionalText(doc.Anchor(i)),
				Rel:        table.OptionalText(l.Rel),
				NoFollow:   l.NoFollow,
				Tag:        l.Tag,
				Position:   int32(i),
			}); err != nil { //nolint:gosec // at most htmlparse.MaxLinks
				return err
			}
		}
		return nil
	}); err != nil {
		return sum, err
	}
	sum, err = out.Close()
	left.warn(env)
	return sum, errors.Join(err, left.err())
}

// hostOf is the host of a canonical URL.
func hostOf(url string) string {
	u, err := urlnorm.ParseStored(url)
	if err != nil {
		return ""
	}
	return u.Host()
}
