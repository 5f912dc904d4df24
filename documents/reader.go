package documents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"crawlnode/documents/office"
	"crawlnode/documents/pdf"
	"crawlnode/documents/tika"
	"crawlnode/pipeline"
)

// The limits of one document.
const (
	MaxTime     = 10 * time.Second
	MaxMemory   = 256 << 20 // bytes, of the sandbox that reads PDF
	MaxUnpacked = 64 << 20  // bytes, of the parts of an office file or a book in all
)

// Options are the parts of a Reader. All may be left out.
type Options struct {
	// Cache is a folder for the compiled sandbox, made when the first PDF comes. "": there is none,
	// and the first PDF of each process takes some seconds more.
	Cache string
	// Tika reads what nothing else does. Nil: nothing does.
	Tika *tika.Client
	// Log reports what is wrong with the reader itself. Nil: no reports.
	Log *slog.Logger
}

// Reader makes pages of documents. It is a pipeline.DocumentReader; any goroutine may use it.
type Reader struct {
	o     Options
	pdf   *pdf.Engine
	turns chan struct{} // as full as there are documents that use a processor
	asked chan struct{} // as full as there are documents at the Tika server
}

// MaxAsked is how many documents are at the Tika server at a time.
const MaxAsked = 2

// NewReader makes a reader. It starts nothing before the first PDF. The caller must call Close.
func NewReader(o Options) *Reader {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	turns := max(runtime.GOMAXPROCS(0)-1, 1)
	return &Reader{o: o, turns: make(chan struct{}, turns), asked: make(chan struct{}, MaxAsked),
		pdf: pdf.New(pdf.Options{CacheDir: o.Cache, Memory: MaxMemory, Workers: turns, Log: o.Log})}
}

// Close ends what was started, and waits for it.
func (r *Reader) Close() error { return r.pdf.Close() }

// Reads is that of pipeline.DocumentReader.
func (r *Reader) Reads(body []byte, mediaType string) (reads, quick bool) {
	switch {
	case mediaType == PlainText:
		return IsText(body), true
	case pdf.IsPDF(body, mediaType), office.KindOf(body, mediaType) != office.None:
		return true, false
	}
	return r.o.Tika != nil && MayBe(mediaType) || isCalledDocument(mediaType), false
}

// isCalledDocument reports whether a media type is one of documents, whatever the content is.
func isCalledDocument(mediaType string) bool {
	switch mediaType {
	case "application/pdf", "application/x-pdf", "application/epub+zip", "application/rtf", "text/rtf",
		"application/msword":
		return true
	}
	for _, family := range [...]string{"application/vnd.ms-",
		"application/vnd.openxmlformats-officedocument.",
		"application/vnd.oasis.opendocument."} {
		if strings.HasPrefix(mediaType, family) {
			return true
		}
	}
	return false
}

// Read is that of pipeline.DocumentReader.
func (r *Reader) Read(
	ctx context.Context,
	f *pipeline.DocumentFile,
) (*pipeline.DocumentPage, error) {
	if f.MediaType == PlainText {
		html, cut := PageOfText(f.Body, f.ContentType)
		return &pipeline.DocumentPage{HTML: html, Truncated: cut}, nil
	}
	html, cut, err := r.read(ctx, f)
	switch {
	case err != nil && len(html) == 0:
		return nil, err
	case err != nil:
		return &pipeline.DocumentPage{HTML: html, Truncated: cut, Problem: err, Stored: true}, nil
	}
	return &pipeline.DocumentPage{HTML: html, Truncated: cut, Stored: true}, nil
}

// read makes the page of a file by the reader of its kind. Waiting for a turn does not count
// against the file's time.
func (r *Reader) read(
	ctx context.Context,
	f *pipeline.DocumentFile,
) (html []byte, cut bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			r.o.Log.Error("a reader of documents panicked; the document has no text", "url", f.URL,
				"cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			html, err = nil, fmt.Errorf("its reader failed: %v", cause)
		}
	}()
	isPDF, kind := pdf.IsPDF(f.Body, f.MediaType), office.KindOf(f.Body, f.MediaType)
	turns := r.turns
	switch {
	case isPDF || kind != office.None:
	case r.o.Tika != nil: // its server works, and no processor of this machine
		turns = r.asked
	default:
		return nil, false, fmt.Errorf("it is called %s, and is of no form of it that is read here: "+
			"--extract-with names a Tika server, which may read it", f.MediaType)
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	if isPDF { // the first of a process waits for the start
		if err := r.pdf.Start(ctx); err != nil {
			return nil, false, fmt.Errorf("%w: %w", err, pipeline.ErrUnreadNow)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, MaxTime, errTime)
	defer cancel()
	switch {
	case isPDF:
		html, cut, err = r.pdf.Read(ctx, f.Body, pdf.Limits{HTML: MaxHTML})
	case kind != office.None:
		limits := office.Limits{HTML: MaxHTML, Unpacked: MaxUnpacked}
		html, cut, err = office.Read(ctx, f.Body, kind, limits)
	default:
		html, cut, err = r.o.Tika.Read(ctx, f.Body, f.MediaType, f.URL, tika.Limits{HTML: MaxHTML})
	}
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errTime) && len(html) > 0: // it is long
		err = errTime
	case errors.Is(context.Cause(ctx), errTime): // perhaps the machine was busy
		err = fmt.Errorf("%w: %w", errTime, pipeline.ErrUnreadNow)
	case errors.Is(err, tika.ErrAway):
		err = fmt.Errorf("%w: %w", err, pipeline.ErrUnreadNow)
	}
	return html, cut, err
}

var errTime = fmt.Errorf("it took more than %v", MaxTime)
