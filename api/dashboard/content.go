package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"crawlnode/crawl"
	"crawlnode/store/readback"
)

const (
	// textShown bounds the text of an archived page that is shown, frameShown the page itself.
	textShown  = 256 << 10
	frameShown = 4 << 20
	// readsAtOnce bounds the archived pages in memory.
	readsAtOnce = 4
)

// frameSecurity is the content security policy of an archived page. With the sandbox it has an
// origin of its own, runs no script, submits no form and opens no window, wherever it is opened;
// and it loads nothing.
const frameSecurity = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// The views of what was archived.
const (
	viewText    = "text"
	viewHeaders = "headers"
	viewPage    = "page"
)

// content is what was archived of a URL, in one view.
type content struct {
	View    string
	Views   []contentView
	Text    string
	Cut     bool
	Frame   string // the address of the page in its frame
	Failure string
}

type contentView struct{ Key, Title, Path string }

// content reads what a report says is archived; nil when that is nothing.
func (d *Dashboard) content(ctx context.Context, report *crawl.URLReport, view string) *content {
	if report.URL == nil || report.Record == nil || report.Record.Archive == nil {
		return nil
	}
	c := &content{View: view}
	for _, v := range []contentView{{Key: viewText, Title: "Text"}, {Key: viewHeaders, Title: "Headers"}, {Key: viewPage, Title: "Page"}} {
		v.Path = "/urls?" + url.Values{"url": {*report.URL}, "view": {v.Key}}.Encode() + "#archived"
		c.Views = append(c.Views, v)
	}
	if view != viewHeaders && view != viewPage {
		c.View = viewText
	}
	page, err := d.readPage(ctx, report.Record.Archive)
	if err == nil {
		err = c.fill(page, *report.URL)
	}
	if err != nil {
		c.Failure = err.Error()
	}
	return c
}

func (c *content) fill(page *readback.Page, u string) (err error) {
	switch c.View {
	case viewPage:
		if !page.IsHTML() {
			return fmt.Errorf("only HTML is shown as a page, and this is %s", page.MediaType())
		}
		c.Frame = "/archive?" + url.Values{"url": {u}}.Encode()
	case viewHeaders:
		c.Text = string(page.Head())
	default:
		c.Text, err = page.Text()
	}
	if len(c.Text) > textShown {
		c.Text, c.Cut = c.Text[:textShown], true
	}
	return err
}

// readPage reads a record of any member's archive.
func (d *Dashboard) readPage(ctx context.Context, at *crawl.ArchiveReport) (*readback.Page, error) {
	select {
	case d.reading <- struct{}{}:
		defer func() { <-d.reading }()
	case <-ctx.Done():
		return nil, errors.New("too many archived pages are being read: try again")
	}
	source := readback.Cluster{Node: d.backend}
	record, err := source.Read(ctx, at)
	if err != nil {
		return nil, err
	}
	return readback.Of(ctx, source, record, readback.MaxContent)
}

// frame answers with an archived page for the sandboxed frame.
func (d *Dashboard) frame(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", frameSecurity)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "SAMEORIGIN") // the other answers of this node are in no frame at all
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	page, cut, err := d.passivePage(ctx, r.URL.Query().Get("url"))
	if err != nil {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintln(w, plain(err.Error())) // the client has gone
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // the client has gone
	if cut {
		_, _ = fmt.Fprintf(w, "<p>Only the first %s of this page are shown.</p>", byteSize(frameShown))
	}
}

func (d *Dashboard) passivePage(ctx context.Context, u string) (page []byte, cut bool, err error) {
	report, err := d.explain(ctx, u, "")
	switch {
	case err != nil:
		return nil, false, err
	case report.Record == nil || report.Record.Archive == nil:
		return nil, false, errors.New("nothing is archived of this URL")
	}
	p, err := d.readPage(ctx, report.Record.Archive)
	if err != nil {
		return nil, false, err
	}
	return p.Passive(frameShown)
}
