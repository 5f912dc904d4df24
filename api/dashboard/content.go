package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/readback"
)

const (
	// textShown bounds the text of an archived page that is shown, frameShown the page itself. No more
	// than frameShown is unpacked of any page.
	textShown  = 256 << 10
	frameShown = 4 << 20
	// readsAtOnce bounds the archived pages in memory, those included whose answers are being sent.
	readsAtOnce = 4
	// sendTimeout ends an answer with an archived page whose client does not read it: it has one of
	// the slots.
	sendTimeout = 20 * time.Second
)

// errReading says that all slots are taken.
var errReading = errors.New("too many archived pages are being read: try again")

// slot waits for one of the slots of archived pages until ctx ends. What it returns gives the slot
// back, and is called when the answer is written: until then the page is in memory.
func (d *Dashboard) slot(ctx context.Context, w http.ResponseWriter) (free func(), err error) {
	select {
	case d.reading <- struct{}{}:
		// a recorder in a test has none
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(sendTimeout))
		return sync.OnceFunc(func() { <-d.reading }), nil
	case <-ctx.Done():
		return nil, errReading
	}
}

// frameSecurity is the content security policy of an archived page. With the sandbox it has an
// origin of its own, runs no script, submits no form and opens no window, wherever it is opened;
// and it loads nothing.
const frameSecurity = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

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

// content reads what a report says is archived; nil when that is nothing. The caller has a slot.
func (d *Dashboard) content(ctx context.Context, report *crawl.URLReport, view string) *content {
	if !isArchived(report) {
		return nil
	}
	c := &content{View: view}
	for _, v := range []contentView{{Key: viewText, Title: "Text"},
		{Key: viewHeaders, Title: "Headers"}, {Key: viewPage, Title: "Page"}} {
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

// isArchived reports whether content has something to read.
func isArchived(report *crawl.URLReport) bool {
	return report.URL != nil && report.Record != nil && report.Record.Archive != nil
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
		if !page.IsHTML() {
			page = page.Within(textShown + 1) // a page has markup beside its text
		}
		c.Text, err = page.Text()
	}
	if len(c.Text) > textShown {
		c.Text, c.Cut = c.Text[:textShown], true
	}
	return err
}

// readPage reads a record of any member's archive. The caller has a slot.
func (d *Dashboard) readPage(ctx context.Context, at *crawl.ArchiveReport) (*readback.Page, error) {
	source := readback.Cluster{Node: d.backend}
	record, err := source.Read(ctx, at)
	if err != nil {
		return nil, err
	}
	return readback.Of(ctx, source, record, frameShown)
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
	var page []byte
	var cut bool
	free, err := d.slot(ctx, w)
	if err == nil {
		defer free()
		page, cut, err = d.passivePage(ctx, r.URL.Query().Get("url"))
	}
	if err != nil {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		code := http.StatusNotFound
		if errors.Is(err, errReading) {
			code = http.StatusServiceUnavailable
			h.Set("Retry-After", "2")
		}
		w.WriteHeader(code)
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
