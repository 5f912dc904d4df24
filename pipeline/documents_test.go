package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/scope"
)

// library is a DocumentReader. It reads what begins with "doc", at once with "doc quick", and not
// at all with "doc broken". It counts how many are read at the same time.
type library struct {
	mu       sync.Mutex
	now, max int
	read     []string
	hold     chan struct{} // nil: nobody waits
	made     DocumentPage  // beside HTML
}

const documentPage = `<title>A report</title><h1>A report</h1><p>Words of a report.</p>` +
	`<a href="/next">next</a><a href="http://b.test/">other</a>`

func (l *library) Reads(body []byte, _ string) (reads, quick bool) {
	text := string(body)
	return strings.HasPrefix(text, "doc"), strings.HasPrefix(text, "doc quick")
}

func (l *library) Read(ctx context.Context, f *DocumentFile) (*DocumentPage, error) {
	l.mu.Lock()
	l.read = append(l.read, fmt.Sprint(f.URL, " ", f.MediaType, " ", len(f.Body)))
	l.now++
	l.max = max(l.max, l.now)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.now--
		l.mu.Unlock()
	}()
	if l.hold != nil {
		select {
		case <-l.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	switch string(f.Body) {
	case "doc broken":
		return nil, errors.New("it is encrypted")
	case "doc later":
		return nil, fmt.Errorf("nobody is there: %w", ErrUnreadNow)
	}
	made := l.made
	made.HTML = []byte(documentPage)
	return &made, nil
}

// readingBench is a bench whose documents are read.
func readingBench(t *testing.T, l *library, workers int) *bench {
	b := newBench(t, scope.Options{})
	b.rules.Settings.Archive, b.rules.Settings.Index = true, true
	b.rules.Basis = 7
	b.p = New(Options{Workers: workers, Source: b, Sink: b, Archive: b, Contents: b, Fetcher: b,
		Elsewhere: b, DocumentReader: l, Documents: &texts{}, Rules: func() *Rules { return &b.rules }})
	return b
}

const pdfType = "Content-Type: application/pdf"

func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, header, body string
		status             int
		change             func(*bench, *library)
		reads              int
		indexed, stored    bool
		reason             string
		targets            []string
	}{
		{name: "a PDF", header: pdfType, body: "doc", status: 200, reads: 1, indexed: true, stored: true,
			change:  func(_ *bench, l *library) { l.made.Stored = true },
			targets: []string{"http://a.test/next link d1 h0 b1"}},
		{name: "a text", header: "Content-Type: text/plain", body: "doc quick", status: 200, reads: 1,
			indexed: true, targets: []string{"http://a.test/next link d1 h0 b1"}},
		{name: "a broken one", header: pdfType, body: "doc broken", status: 200, reads: 1,
			reason: "its text could not be read: it is encrypted"},
		{name: "a long one", header: pdfType, body: "doc", status: 200, reads: 1, indexed: true,
			change:  func(_ *bench, l *library) { l.made.Truncated = true },
			reason:  "the document has more text than is read of one",
			targets: []string{"http://a.test/next link d1 h0 b1"}},
		{name: "a damaged one", header: pdfType, body: "doc", status: 200, reads: 1, indexed: true,
			change:  func(_ *bench, l *library) { l.made.Problem = errors.New("page 7 is damaged") },
			reason:  "its text could not be read whole: page 7 is damaged",
			targets: []string{"http://a.test/next link d1 h0 b1"}},
		{name: "of a header that forbids", header: pdfType + "\nX-Robots-Tag: noindex, nofollow",
			body: "doc", status: 200, reads: 1, reason: "it asks not to be indexed (noindex)"},
		{name: "of an error", header: pdfType, body: "doc", status: 404},
		{name: "with documents off", header: pdfType, body: "doc", status: 200,
			change: func(b *bench, _ *library) { b.rules.Settings.Documents = crawl.DocumentsOff }},
		{name: "an empty answer", header: pdfType, body: "", status: 200},
		{name: "what it does not read", header: "Content-Type: image/png", body: "png", status: 200},
		{name: "a page that looks like one", header: "", body: "doc", status: 200, indexed: true},
	} {
		l := &library{}
		b := readingBench(t, l, 1)
		if c.change != nil {
			c.change(b, l)
		}
		b.serve("http://a.test/x", c.status, c.header, c.body)
		b.visit("http://a.test/x")
		r, o := b.one()
		if r.Kind != crawl.Fetched || o.Kind != crawl.Fetched || o.Reason != c.reason {
			t.Errorf("%s: %v, %v %q", c.name, r.Kind, o.Kind, o.Reason)
		}
		if len(l.read) != c.reads || (o.Document != nil) != c.indexed {
			t.Errorf("%s: read %q, indexed %v", c.name, l.read, o.Document != nil)
		}
		wantTargets(t, o.Targets, c.targets...)
		made := b.captures[0].Resources
		if len(made) > 0 != c.stored || c.stored && (!made[0].Conversion ||
			string(made[0].Body) != documentPage || made[0].ContentType != shownType) {
			t.Errorf("%s: beside the answer stands %+v", c.name, made)
		}
		if string(b.captures[0].Body) != c.body {
			t.Errorf("%s: %q is archived", c.name, b.captures[0].Body)
		}
	}
}

// TestDocumentsSentAgain: a document that has not changed is not read again, and a reason why it
// has no text stays. One that could not be read for no fault of its own is asked for whole, and
// read.
func TestDocumentsSentAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, etag string // kept
		reads      int
		reason     string
	}{
		{"doc", `"1"`, 1, ""},
		{"doc quick", `"1"`, 1, ""},
		{"doc broken", `"1"`, 1, "its text could not be read: it is encrypted"},
		{"doc later", "", 3, "its text could not be read: nobody is there: " + ErrUnreadNow.Error()},
	} {
		l := &library{}
		b := readingBench(t, l, 1)
		b.read = map[string]crawl.Outcome{}
		b.serve("http://a.test/x", 200, pdfType+"\nETag: \"1\"", c.body)
		for range 3 {
			b.visit("http://a.test/x", func(v *crawl.Visit) { v.Item.Refetch = len(b.outcomes) > 0 })
			if err := b.run(); err != nil {
				t.Fatal(err)
			}
			b.read["http://a.test/x"] = b.outcomes[len(b.outcomes)-1]
		}
		last := b.outcomes[2]
		if len(l.read) != c.reads || last.Unchanged != (c.reads == 1) {
			t.Errorf("%s: read %q, then %+v", c.body, l.read, last)
		}
		if last.ETag != c.etag || last.Reason != c.reason {
			t.Errorf("%s: %q %q", c.body, last.ETag, last.Reason)
		}
		b.serveConditional("http://a.test/x", "")
		b.visit("http://a.test/x", func(v *crawl.Visit) { v.Item.Refetch, v.Item.ETag = true, `"1"` })
		if err := b.run(); err != nil {
			t.Fatal(err)
		}
		if last = b.outcomes[3]; last.Status != 304 || last.Reason != c.reason {
			t.Errorf("%s: after a 304: %d %q", c.body, last.Status, last.Reason)
		}
	}
}

// TestDocumentsAtTheEnd: when the pipeline ends, the documents that are read and those that wait
// stay queued, at once.
func TestDocumentsAtTheEnd(t *testing.T) {
	t.Parallel()
	l := &library{hold: make(chan struct{})} // for ever
	b := readingBench(t, l, 2)
	const visits = maxDocuments + 1
	for i := range visits {
		u := fmt.Sprintf("http://a.test/%d", i)
		b.serve(u, 200, pdfType, "doc")
		b.visit(u)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- b.runWith(ctx, b) }()
	for reading := 0; reading < maxDocuments; {
		select {
		case err := <-ended:
			t.Fatalf("it has ended: %v", err)
		case <-time.After(time.Millisecond): // nothing tells
		}
		l.mu.Lock()
		reading = l.now
		l.mu.Unlock()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for _, o := range b.outcomes {
		if o.Kind != crawl.Aborted {
			t.Errorf("%v %q", o.Kind, o.Reason)
		}
	}
	if len(b.outcomes) < maxDocuments || len(b.captures) > 0 {
		t.Errorf("%d outcomes, %d archived", len(b.outcomes), len(b.captures))
	}
}

// TestDocumentsOfOneDomain: a slow document counts against its domain's share of the fetchers,
// unless the domain is alone.
func TestDocumentsOfOneDomain(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := &library{hold: make(chan struct{})}
			b := readingBench(t, l, 1)
			b.serve("http://a.test/x", 200, pdfType, "doc")
			var kept atomic.Int64
			if !alone {
				b.serve("http://b.test/", 200, "", "<p>a page")
				b.visit("http://b.test/", func(v *crawl.Visit) { v.Domain = "b.test" })
			}
			b.visit("http://a.test/x", func(v *crawl.Visit) { v.Domain, v.Kept = "a.test", &kept })
			go func() {
				time.Sleep(3 * time.Second)
				close(l.hold)
			}()
			if err := b.run(); err != nil {
				t.Fatal(err)
			}
			if got := b.kept; alone && got != 0 || !alone && got != 3*time.Second {
				t.Errorf("alone %v: it kept others waiting for %v", alone, got)
			}
		})
	}
}

// TestDocumentsAreBounded: no more documents than maxDocuments wait or are read, and the workers
// fetch on meanwhile; each is completed, also when the pipeline ends.
func TestDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	l := &library{hold: make(chan struct{})}
	b := readingBench(t, l, 4)
	const visits = 3 * maxDocuments
	for i := range visits {
		u := fmt.Sprintf("http://a.test/%d", i)
		b.serve(u, 200, pdfType, "doc")
		b.visit(u)
	}
	b.serve("http://a.test/page", 200, "", "<p>a page")
	b.visits = slices.Insert(b.visits, maxDocuments, b.visits[0])
	b.visits[maxDocuments].Item.URL = url(t, "http://a.test/page")
	ended := make(chan error)
	go func() { ended <- b.runWith(t.Context(), b) }()
	for { // the page behind as many documents as may wait is completed
		b.mu.Lock()
		done := len(b.outcomes)
		b.mu.Unlock()
		if done > 0 {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("it has ended: %v", err)
		case <-time.After(time.Millisecond): // nothing tells
		}
	}
	close(l.hold)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if l.max > maxDocuments || len(b.outcomes) != visits+1 || len(l.read) != visits {
		t.Errorf("%d at once, %d outcomes, %d read", l.max, len(b.outcomes), len(l.read))
	}
}
