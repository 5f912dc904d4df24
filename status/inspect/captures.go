package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/web/preferences"
	"crawlnode/web/urlnorm"
)

// Captures lists what the members have stored of a URL in any spelling. A URL for which another one
// stands (--normalize) has the captures of that one. crawl.ErrBadQuery: it is no URL.
func (i *Inspector) Captures(ctx context.Context, raw string) (*crawl.CapturesReport, error) {
	u, err := urlnorm.ParseRouted(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %.200q is not a URL to crawl: %w", crawl.ErrBadQuery, raw, err)
	}
	r, err := i.capturesOf(ctx, u)
	if same := i.o.Documents.Current().Pipeline.Normalize.Apply(u); err == nil && len(r.Captures) == 0 && same != u {
		r, err = i.capturesOf(ctx, same)
	}
	if err == nil && len(r.Captures) == 0 && u.Route() != "" {
		return i.capturesOf(ctx, u.WithoutRoute())
	}
	return r, err
}

func (i *Inspector) capturesOf(ctx context.Context, u urlnorm.URL) (*crawl.CapturesReport, error) {
	r := &crawl.CapturesReport{URL: u.String(), Captures: []crawl.CaptureReport{}}
	// The lines come by time. Other URLs may share the key, and a member of an earlier release sends
	// them too.
	err := i.EachCapture(ctx, archive.OfURL(r.URL), func(node crawl.NodeRef, line []byte) error {
		e, err := archive.ParseEntry(line)
		if err != nil || e.URL != r.URL {
			return err
		}
		if len(r.Captures) >= 2*crawl.MaxCaptures {
			r.Captures = slices.Delete(r.Captures, 0, crawl.MaxCaptures)
		}
		r.Captures = append(r.Captures, captureOf(&e, node))
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.Captures, func(a, b crawl.CaptureReport) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
	})
	r.Captures = r.Captures[max(0, len(r.Captures)-crawl.MaxCaptures):]
	return r, nil
}

func captureOf(e *archive.Entry, node crawl.NodeRef) crawl.CaptureReport {
	c := crawl.CaptureReport{At: e.At, Status: e.Status, Revisit: e.Revisit, File: e.Ref.File, Offset: e.Ref.Offset, Length: e.Ref.Length, Node: node.Name}
	if e.MIME != "" {
		c.MIME = &e.MIME
	}
	if e.Digest != "-" {
		c.Digest = &e.Digest
	}
	if e.Preferences != "" && e.Preferences != preferences.NothingSaid {
		c.Preferences = &e.Preferences
	}
	return c
}
