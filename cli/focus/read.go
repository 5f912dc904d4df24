package focus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	model "crawlnode/focus"
	"crawlnode/output/readback"
	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// maxFile bounds the bytes of one page that are read.
const maxFile = 10 << 20

// The kinds of files.
const (
	htmlFile = "HTML"
	textFile = "text"
	warcFile = "WARC"
)

// kinds are the kinds of files by the ends of their names.
var kinds = []struct{ suffix, kind string }{
	{".html", htmlFile}, {".htm", htmlFile}, {".xhtml", htmlFile}, {".shtml", htmlFile},
	{".txt", textFile}, {".text", textFile}, {".md", textFile},
	{".warc", warcFile}, {".warc.gz", warcFile}, {".warc.zst", warcFile}, {".warc.gz.open", warcFile}, {".warc.zst.open", warcFile},
}

func kindOf(path string) string {
	path = strings.ToLower(path)
	for _, k := range kinds {
		if strings.HasSuffix(path, k.suffix) {
			return k.kind
		}
	}
	return ""
}

// errUse is inside the error for a file that cannot have pages.
var errUse = errors.New("is neither a page (.html, .htm, .xhtml, .txt, " +
	".md) nor an archive (.warc, .warc.gz, .warc.zst), by its name")

// pages calls fn with each page of a source, until it returns an error. name is what a person knows
// the page by.
func pages(source string, fn func(name string, p model.Page) error) error {
	info, err := os.Stat(source)
	if err != nil {
		return fmt.Errorf("%w: name a folder, a page or an archive that this user can read", err)
	}
	if !info.IsDir() {
		if kindOf(source) == "" {
			return fmt.Errorf("%s %w", source, errUse)
		}
		return read(source, filepath.Base(source), fn)
	}
	root, err := filepath.EvalSymlinks(source)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || kindOf(path) == "" {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 { // to a file; folders are not followed
			if to, err := os.Stat(path); err != nil || !to.Mode().IsRegular() {
				return nil //nolint:nilerr // a link to nothing is no page
			}
		} else if !d.Type().IsRegular() {
			return nil
		}
		return read(path, strings.TrimPrefix(path[len(root):], string(filepath.Separator)), fn)
	})
}

// read calls fn with the pages of one file. Its path below the source stands for its address.
func read(path, below string, fn func(string, model.Page) error) error {
	kind := kindOf(path)
	if kind == warcFile {
		return readWARC(path, fn)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return err
	}
	p := model.Page{URL: filepath.ToSlash(below), Text: b}
	if kind == htmlFile {
		base, err := urlnorm.Parse("http://files.invalid/")
		if err != nil {
			panic("BUG: " + err.Error())
		}
		p = pageOf(p.URL, b, "text/html", base)
	}
	return fn(path, p)
}

// pageOf is the page in a text of HTML.
func pageOf(url string, content []byte, contentType string, base urlnorm.URL) model.Page {
	doc := htmlparse.Parse(content, contentType, base)
	return model.Page{URL: url, Title: doc.Title, Text: doc.Text}
}

// readWARC calls fn with the pages of a WARC file that were answered with 2xx, as the crawl saw
// them.
func readWARC(path string, fn func(string, model.Page) error) (err error) {
	files := readback.NewScanner(context.Background(), maxFile)
	defer func() { err = errors.Join(err, files.Close()) }()
	take := func(p *readback.Page) error {
		url := p.Record.TargetURI
		if _, err := urlnorm.Parse(url); err != nil || !p.Delivered() {
			return nil //nolint:nilerr // dns: and the like
		}
		if p.IsPage() {
			document, err := p.Document(htmlparse.Options{})
			if err != nil {
				return nil //nolint:nilerr // a page that no browser could show
			}
			return fn(url, model.Page{URL: url, Title: document.Title, Text: document.Text})
		}
		return nil
	}
	if err := files.Scan(path, nil, take); err != nil {
		return err
	}
	return files.Finish(take)
}
