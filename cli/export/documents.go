package export

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/output/archive"
	"crawlnode/output/readback"
	"crawlnode/web/htmlparse"
)

// document is a page as a search engine takes it.
type document struct {
	ID          string    `json:"id"` // of the URL, in letters and digits
	URL         string    `json:"url"`
	Host        string    `json:"host"`
	Title       string    `json:"title"`
	Description string    `json:"description,omitempty"`
	Headings    []string  `json:"headings,omitempty"`
	Text        string    `json:"text"`               // the main text
	Language    string    `json:"language,omitempty"` // ISO 639-1, declared or detected
	FetchedAt   time.Time `json:"fetched_at"`
	// the same in seconds since 1970, for engines without times
	Timestamp int64  `json:"timestamp"`
	Digest    string `json:"digest,omitempty"`

	// Only for --fields.
	markdown *string
	metadata json.RawMessage

	doc     *htmlparse.Document
	noIndex bool
	bytes   int64
}

// mainDocument reads a page and keeps its main text, without menus and footers.
func mainDocument(e *archive.Entry, p *readback.Page) (*document, error) {
	d, err := documentOf(e, p)
	if err != nil {
		return nil, err
	}
	main, err := p.Main()
	if err != nil {
		return nil, err
	}
	d.Title, d.Description = cmp.Or(main.Title, d.Title), cmp.Or(main.Description, d.Description)
	d.Headings, d.Text, d.Language = main.Headings, main.Text, main.Language
	return d, nil
}

// documentOf reads a page, with all of its visible text.
func documentOf(e *archive.Entry, p *readback.Page) (*document, error) {
	doc, err := p.Document(htmlparse.Options{})
	if err != nil {
		return nil, err
	}
	text, err := p.Text()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(e.URL))
	d := &document{
		ID:          hex.EncodeToString(sum[:16]),
		URL:         e.URL,
		Host:        hostOf(e.URL),
		Title:       doc.Title,
		Description: doc.Description,
		Text:        text,
		Language:    doc.Lang,
		FetchedAt:   e.At,
		Timestamp:   e.At.Unix(),
		doc:         doc,
		noIndex:     p.NoIndex(doc),
		bytes:       p.Size(),
	}
	if e.Digest != "-" {
		d.Digest = e.Digest
	}
	return d, nil
}

// documents are the pages for a search engine.
type documents struct {
	from              `embed:""`
	toStore           `embed:""`
	command.Unpacking `embed:""`
	Output            string `short:"o" group:"output" placeholder:"FILE" help:"The file to write, which stands there only when it is whole. Default: standard output."`
	NoIndex           bool   `name:"with-noindex" group:"output" help:"Also the pages that ask search engines to leave them out."`

	markdown, metadata bool // are wanted
}

// more reads what only some exports want.
func (v *documents) more(d *document, p *readback.Page) error {
	if v.markdown {
		text, _, err := p.Markdown()
		if err != nil {
			return err
		}
		d.markdown = &text
	}
	if v.metadata {
		m, err := p.Metadata()
		if err != nil {
			return err
		}
		d.metadata = m.JSON()
	}
	return nil
}

// write writes the newest version of each page by calling line, and returns the exit code.
func (v *documents) write(
	ctx context.Context,
	env *command.Env,
	line func(out *json.Encoder, d *document) error,
) int {
	store, err := v.openStore(v.Output)
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	written, withheld := int64(0), int64(0)
	code := v.run(ctx, env, func(ctx context.Context, src source) error {
		left := &unread{}
		err := write(env, v.Output, func(w io.Writer) error {
			buffered := bufio.NewWriterSize(w, 256<<10)
			out := json.NewEncoder(buffered)
			out.SetEscapeHTML(false)
			if err := eachPage(ctx, src, v.Most(), left, func(e *archive.Entry, p *readback.Page) error {
				d, err := mainDocument(e, p)
				if err != nil {
					left.note(e, err)
					return nil
				}
				if d.noIndex && !v.NoIndex {
					withheld++
					return nil
				}
				if err := v.more(d, p); err != nil {
					left.note(e, err)
					return nil
				}
				written++
				return line(out, d)
			}); err != nil {
				return err
			}
			return buffered.Flush()
		})
		left.warn(env)
		if err := errors.Join(err, left.err()); err != nil {
			return err
		}
		return store.copy(ctx, v.Output)
	})
	if code == command.ExitOK && v.Output != "" && v.Output != "-" {
		fmt.Fprintln(env.Stdout, plaintext.Escape(fmt.Sprintf(
			"%s pages in %s; %s ask search engines to leave them out", plaintext.Count(written), v.Output,
			plaintext.Count(withheld))))
	}
	return code
}

// BulkVerb writes pages in the form of the _bulk API.
type BulkVerb struct {
	documents `embed:""`
	Index     string `default:"pages" group:"output" help:"The name of the index."`
}

// Help gives the examples of the verb and says what it writes.
func (*BulkVerb) Help() string {
	return command.Examples("crawlnode export bulk -o pages.ndjson",
		"crawlnode export bulk | split -l 2000 --filter 'curl -s -H content-type:application/x-ndjson "+
			"--data-binary @- localhost:9200/_bulk'") + `

Two lines for each page: the action, and the document with title, text, language
and time. The id is made of the URL, so a later export replaces older versions.`
}

// bulkAction is the line before a document.
type bulkAction struct {
	Index struct {
		Index string `json:"_index"`
		ID    string `json:"_id"`
	} `json:"index"`
}

// Run writes the pages.
func (v *BulkVerb) Run(ctx context.Context, env *command.Env) int {
	return v.write(ctx, env, func(out *json.Encoder, d *document) error {
		var action bulkAction
		action.Index.Index, action.Index.ID = v.Index, d.ID
		return errors.Join(out.Encode(action), out.Encode(d))
	})
}

// JSONLVerb writes pages as JSON lines.
type JSONLVerb struct {
	documents `embed:""`
	Fields    []string `group:"output" placeholder:"LIST" help:"What each line has, in this order, such as url,markdown,metadata (default: all but markdown and metadata). Of id, url, host, title, description, headings, text, markdown, metadata, language, fetched_at, timestamp, digest."`
}

// Help gives the examples of the verb and says what it writes.
func (*JSONLVerb) Help() string {
	return command.Examples("crawlnode export jsonl -o pages.jsonl",
		"crawlnode export jsonl --fields url,fetched_at,metadata,markdown -o corpus.jsonl",
		"curl -H content-type:application/x-ndjson --data-binary @pages.jsonl "+
			"localhost:7700/indexes/pages/documents") + `

A line for each page and each document that was read: id, url, host, title,
description, text, language and time, or what --fields names. The id is made of
the URL, so a later export replaces older versions.`
}

// Run writes the pages.
func (v *JSONLVerb) Run(ctx context.Context, env *command.Env) int {
	for _, name := range v.Fields {
		if !slices.Contains(documentFields, name) {
			return env.Fail(command.ExitUsage, "--fields: %q is none of %s", name,
				strings.Join(documentFields, ", "))
		}
	}
	v.markdown = slices.Contains(v.Fields, "markdown")
	v.metadata = slices.Contains(v.Fields, "metadata")
	return v.write(ctx, env, func(out *json.Encoder, d *document) error {
		if len(v.Fields) == 0 {
			return out.Encode(d)
		}
		line, err := d.only(v.Fields)
		return errors.Join(err, out.Encode(line))
	})
}

// documentFields are the names that --fields takes.
var documentFields = []string{"id", "url", "host", "title", "description", "headings", "text",
	"markdown", "metadata", "language", "fetched_at", "timestamp", "digest"}

// only is the line that has the fields of those names, in their order. What is unknown is left out,
// as without --fields.
func (d *document) only(names []string) (json.RawMessage, error) {
	whole, err := marshal(d)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(whole, &all); err != nil {
		return nil, err
	}
	if d.markdown != nil {
		if all["markdown"], err = marshal(*d.markdown); err != nil {
			return nil, err
		}
	}
	if d.metadata != nil {
		all["metadata"] = d.metadata
	}
	line := []byte{'{'}
	for _, name := range names {
		value, ok := all[name]
		if !ok {
			continue
		}
		if len(line) > 1 {
			line = append(line, ',')
		}
		line = append(line, '"')
		line = append(line, name...)
		line = append(line, '"', ':')
		line = append(line, value...)
	}
	return append(line, '}'), nil
}

// marshal is JSON in which text stays as it is, without escapes for HTML.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
