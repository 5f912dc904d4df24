package linkgraph

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"net/textproto"
	"strings"

	"crawlnode/store/archive"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// maxPage bounds the content of a page, in bytes; what is behind it is not read.
const maxPage = 64 << 20

// readWARC adds the links of the pages in a WARC file, and its redirects.
func (b *Builder) readWARC(path string) error {
	told := int64(0)
	_, err := archive.Scan(path, func(r archive.Record) error {
		b.counts.Lines++
		if r.Type == "response" {
			if err := b.addCapture(&r); err != nil {
				return fmt.Errorf("%s: record at %d: %w", path, r.Offset, err)
			}
		}
		if b.opts.Progress == nil {
			return nil
		}
		read := r.Offset + r.Length - told
		told += read
		return b.opts.Progress(read)
	})
	return err
}

// isPage reports whether a media type, with or without parameters, is that of a page.
func isPage(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	kind = strings.TrimSpace(kind)
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// addCapture adds the links of one answer. What is no page has none, and neither has what a
// crawler would not take for a URL.
func (b *Builder) addCapture(r *archive.Record) error {
	page, err := urlnorm.ParseRouted(r.TargetURI)
	if err != nil {
		return nil //nolint:nilerr // not a page: dns: and the like
	}
	_, fields, _ := bytes.Cut(r.Head, []byte("\r\n"))
	head, _ := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader() // as far as it can be read
	switch ok := r.Status >= 200 && r.Status < 300; {
	case r.Status >= 300 && r.Status < 400:
		to, err := page.Resolve(head.Get("Location"))
		if err != nil || head.Get("Location") == "" {
			return nil
		}
		return b.Add(page.String(), to.String())
	case !ok || !isPage(cmp.Or(r.ContentType, head.Get("Content-Type"))):
		return nil
	}
	if err := b.AddNode(page.String()); err != nil {
		return err
	}
	content, _, err := fetcher.Content(r.Payload, head["Content-Encoding"], maxPage)
	if err != nil {
		return nil //nolint:nilerr // a page that no browser could show has no links
	}
	for _, l := range htmlparse.Parse(content, head.Get("Content-Type"), page).Links {
		if !b.opts.Assets && l.Asset() || b.opts.SkipNoFollow && l.NoFollow {
			continue
		}
		if err := b.Add(page.String(), l.URL.String()); err != nil {
			return err
		}
	}
	return nil
}
