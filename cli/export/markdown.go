package export

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"crawlnode/cli/command"
	"crawlnode/output/mirror"
	"crawlnode/output/readback"
	"crawlnode/web/metadata"
)

// MarkdownVerb writes each page as a file of Markdown.
type MarkdownVerb struct {
	tree    `embed:""`
	Dir     string `arg:"" name:"dir" help:"The folder to write to: a new or an empty one, or that of an earlier run, which goes on."`
	NoIndex bool   `name:"with-noindex" group:"output" help:"Also the pages that ask search engines to leave them out."`
}

// Help gives the examples of the verb and says what it writes.
func (*MarkdownVerb) Help() string {
	return command.Examples("crawlnode export markdown corpus --data-dir crawlnode-data/n1",
		"crawlnode export markdown corpus --addr 127.0.0.1:27305") + `

The main content of each page, and the whole of each document such as a PDF,
becomes a file by host and path: headings, lists, tables, code and links. Before
it stands what is known of the page, as YAML between two lines of ---: url,
fetched_at, title, author, published_at, modified_at, type, site, image, licence,
language. DIR/manifest.jsonl has a line for each URL. The same command again
writes what is new, or goes on where it was stopped.`
}

// Run writes the files.
func (v *MarkdownVerb) Run(ctx context.Context, env *command.Env) int {
	return v.write(ctx, env, v.Dir, &mirror.Form{Media: "text/markdown", Content: v.file})
}

// frontMatter stands before the text of a page.
type frontMatter struct {
	URL         string `yaml:"url"`
	FetchedAt   string `yaml:"fetched_at"`
	Title       string `yaml:"title,omitempty"`
	Author      any    `yaml:"author,omitempty,flow"` // a name, or a list of several
	PublishedAt string `yaml:"published_at,omitempty"`
	ModifiedAt  string `yaml:"modified_at,omitempty"`
	Type        string `yaml:"type,omitempty"`
	Site        string `yaml:"site,omitempty"`
	Image       string `yaml:"image,omitempty"`
	Licence     string `yaml:"licence,omitempty"`
	Language    string `yaml:"language,omitempty"`
}

// file is the file of a page.
func (v *MarkdownVerb) file(p *readback.Page) (file []byte, cut bool, err error) {
	if !p.Delivered() || !p.IsPage() || p.Wall() {
		return nil, false, mirror.ErrNoForm
	}
	noIndex, err := p.AsksNoIndex()
	if err != nil {
		return nil, false, err
	}
	if noIndex && !v.NoIndex {
		return nil, false, mirror.ErrNoForm
	}
	text, cut, err := p.Markdown()
	if err != nil {
		return nil, false, err
	}
	m, err := p.Metadata()
	if err != nil {
		return nil, false, err
	}
	head, err := yaml.Marshal(frontMatter{URL: p.Record.TargetURI,
		FetchedAt: p.Record.Date.UTC().Format(time.RFC3339), Title: m.Title, Author: authors(m.Author),
		PublishedAt: m.PublishedAt, ModifiedAt: m.ModifiedAt, Type: m.Type, Site: m.Site,
		Image: m.Image, Licence: m.Licence, Language: m.Language})
	if err != nil {
		return nil, false, fmt.Errorf("front matter: %w", err)
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	b.Write(head)
	b.WriteString("---\n\n")
	b.WriteString(strings.TrimSpace(text))
	b.WriteByte('\n')
	return b.Bytes(), cut, nil
}

// authors are one name, or a list of several, as in JSON; nil: none.
func authors(all metadata.Authors) any {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return []string(all)
}
