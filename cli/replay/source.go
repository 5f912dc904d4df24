package replay

import (
	"context"
	"io"
	"slices"
	"strings"

	"crawlnode/api/client"
	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/output/readback"
	"crawlnode/web/urlnorm"
)

// source finds captures.
type source interface {
	readback.Source
	// captures lists what is stored of a URL, by time; when there is nothing, what is stored of it
	// with the other scheme, and else, in folders, of the URLs that have its key.
	captures(ctx context.Context, u urlnorm.URL) ([]archive.Entry, error)
	// WriteIndex writes the lines of the index, sorted and each once.
	WriteIndex(ctx context.Context, out io.Writer) error
}

// folders are WARC files with indexes.
type folders struct{ *readback.Archives }

func (f folders) captures(_ context.Context, u urlnorm.URL) (list []archive.Entry, err error) {
	if list, err = f.Lookup(u.String()); err != nil || len(list) > 0 {
		return list, err
	}
	if list, err = f.Lookup(otherScheme(u.String())); err != nil || len(list) > 0 {
		return list, err
	}
	return f.LookupAlike(u.String())
}

// without is a source without some captures.
type without struct {
	source
	omit *readback.Omit
}

func (x without) captures(ctx context.Context, u urlnorm.URL) ([]archive.Entry, error) {
	list, err := x.source.captures(ctx, u)
	return slices.DeleteFunc(list,
		func(e archive.Entry) bool { return x.omit.Capture(e.URL, e.Preferences) }), err
}

// WriteIndex implements source.
func (x without) WriteIndex(ctx context.Context, out io.Writer) error {
	return readback.WriteWithout(ctx, out, x.source.WriteIndex, x.omit)
}

// cluster is a running cluster.
type cluster struct {
	readback.Cluster
	client *client.Client
}

// WriteIndex implements source.
func (c cluster) WriteIndex(ctx context.Context, out io.Writer) error {
	return c.client.CopyIndex(ctx, out)
}

func (c cluster) captures(ctx context.Context, u urlnorm.URL) (list []archive.Entry, err error) {
	for _, url := range []string{u.String(), otherScheme(u.String())} {
		report, err := c.client.Captures(ctx, url)
		if err != nil {
			return nil, err
		}
		for _, k := range report.Captures {
			e := archive.Entry{
				URL:     report.URL,
				At:      k.At,
				Status:  k.Status,
				Revisit: k.Revisit,
				Ref:     crawl.ArchiveRef{File: k.File, Offset: k.Offset, Length: k.Length},
			}
			if k.Preferences != nil {
				e.Preferences = *k.Preferences
			}
			if k.MIME != nil {
				e.MIME = *k.MIME
			}
			list = append(list, e)
		}
		if len(list) > 0 {
			break
		}
	}
	return list, nil
}

func otherScheme(url string) string {
	if rest, ok := strings.CutPrefix(url, "http:"); ok {
		return "https:" + rest
	}
	return "http:" + strings.TrimPrefix(url, "https:")
}
