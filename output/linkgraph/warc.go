package linkgraph

import (
	"context"
	"errors"

	"crawlnode/output/archive"
	"crawlnode/output/readback"
	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// readWARC adds the links of the pages in a WARC file, and its redirects.
func (b *Builder) readWARC(path string) error {
	if b.files == nil {
		b.files = readback.NewScanner(context.Background(), readback.MaxContent)
	}
	told := int64(0)
	return b.files.Scan(path, func(r *archive.Record) error {
		b.counts.Lines++
		if b.opts.Progress == nil || r.Length == 0 {
			return nil
		}
		read := r.Offset + r.Length - told
		told += read
		return b.opts.Progress(read)
	}, b.addCapture)
}

// addCapture adds the links of one answer, as the crawl saw it. What is no page has none, and
// neither has what a crawler would not take for a URL.
func (b *Builder) addCapture(p *readback.Page) error {
	page, err := urlnorm.ParseRouted(p.Record.TargetURI)
	if err != nil {
		return nil //nolint:nilerr // not a page: dns: and the like
	}
	switch status := p.Record.Status; {
	case status >= 300 && status < 400:
		to, err := page.ResolveBytes(p.Header("Location"))
		if err != nil || p.Header("Location") == "" {
			return nil
		}
		return b.Add(page.String(), to.String())
	case !p.Delivered() || !p.IsPage():
		return nil
	}
	if err := b.AddNode(page.String()); err != nil {
		return err
	}
	document, err := p.Document(htmlparse.Options{})
	if err != nil {
		return nil //nolint:nilerr // a page that no browser could show has no links
	}
	for _, l := range document.Links {
		if !b.opts.Assets && l.Asset() || b.opts.SkipNoFollow && l.NoFollow {
			continue
		}
		if err := b.Add(page.String(), l.URL.String()); err != nil {
			return err
		}
	}
	return nil
}

// finishFiles adds the duplicates whose content stands behind them.
func (b *Builder) finishFiles() error {
	if b.files == nil {
		return nil
	}
	err := b.files.Finish(b.addCapture)
	b.counts.Missing = b.files.Missing
	return errors.Join(err, b.files.Close())
}
