package output

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/disk"
	"crawlnode/output/lists"
	"crawlnode/web/htmlparse"
	"crawlnode/web/metadata"
)

// LogRefused logs a URL that is not fetched for reason, if the log shows it.
func (o *Outputs) LogRefused(
	ctx context.Context,
	v *crawl.Visit,
	reason crawl.SkipReason,
	at time.Time,
) error {
	d := o.Deriver()
	if d == nil || !d.Sampled(v.Item.URL) {
		return nil
	}
	return d.Skipped(ctx, []crawl.Skip{{URL: v.Item.URL, Reason: reason, Via: v.Item.Via, At: at}})
}

// patientDerived waits for room on the disk, as patientArchive does.
type patientDerived struct {
	*lists.Outputs
	space   *disk.Space
	running func() context.Context
}

// Page waits for room, then writes what is derived of an answer.
func (p patientDerived) Page(
	ctx context.Context,
	c *crawl.Capture,
	o *crawl.Outcome,
	depth int,
	doc *htmlparse.Document,
	said *metadata.Record,
) error {
	if !p.OfPages() {
		return nil
	}
	bytes := int64(1 << 10) // what is written at most, more or less
	if doc != nil {
		bytes += metadata.MaxBytes + int64(len(doc.Text)) +
			int64(len(doc.Links))*int64(len(c.URL.String())+512)
	}
	if err := p.space.Wait(ctx, p.running(), bytes); err != nil {
		return err
	}
	return p.Outputs.Page(ctx, c, o, depth, doc, said)
}

// Skipped waits for room, then logs skipped URLs.
func (p patientDerived) Skipped(ctx context.Context, skips []crawl.Skip) error {
	if err := p.space.Wait(ctx, p.running(), int64(len(skips))<<10); err != nil {
		return err
	}
	return p.Outputs.Skipped(ctx, skips)
}
