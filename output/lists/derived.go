package lists

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"crawlnode/crawl"
	"crawlnode/web/htmlparse"
	"crawlnode/web/metadata"
	"crawlnode/web/urlnorm"
)

// The outputs; each is the beginning of its files' names.
const (
	Pages   = "pages"
	Links   = "links"
	Hosts   = "hosts"
	Text    = "text"
	Skipped = "skipped"
)

// The ends of file names.
const (
	linesSuffix = ".jsonl.gz"
	textSuffix  = ".warc.wet.gz"
)

// pieceBytes is how many bytes of lines are written at a time: a hostile page has 50,000 links,
// each listed with the page's own long URL.
const pieceBytes = 256 << 10

// Options say what is written and how the files are named. Node is required.
type Options struct {
	// Node is the node's id.
	Node crawl.NodeID
	// Name distinguishes this node's files from those of other nodes. Default: Node.
	Name string
	// Pages, Links, Hosts and Text enable the outputs of those names.
	Pages, Links, Hosts, Text bool
	// SkipRate is the fraction of skipped URLs that is logged, 0 to 1. The choice depends on the
	// URL alone, the same on all nodes.
	SkipRate float64
	// MaxFileBytes is the size at which a new file is started. Default 1 GiB.
	MaxFileBytes int64
	// Software goes into the warcinfo records of text files.
	Software string
	// Rand is the source of the record ids. Default: crypto/rand.
	Rand io.Reader
	// Full is called while the disk is full, before a write is tried again; its error ends the
	// call. Nil: a full disk ends it.
	Full func(ctx context.Context) error
	// OnRepair is called by Open for each file that a crash left open.
	OnRepair func(Repair)
}

// Outputs is a folder of derived files. Its methods may be called from any number of
// goroutines.
type Outputs struct {
	opts   Options
	random io.Reader
	// Nil: not enabled.
	pages, links, hosts, text, skipped *stream

	sampled uint64 // hashes below it are in the log
	all     bool   // every URL is in the log
	// slots holds one token for each caller whose lines are being made or written. Otherwise every
	// worker that waits for a file would hold its lines in memory.
	slots        chan struct{}
	files, bytes atomic.Int64          // see Stats
	buffers      sync.Pool             // of *[]byte, for lines
	packers      sync.Pool             // of *packer, for texts
	broken       atomic.Pointer[error] // the error that stopped the outputs
}

// Stats counts the contents of the folder, without tails.
type Stats struct {
	Files int64 // the open ones included
	Bytes int64
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("derived outputs are closed")

// Open opens the outputs in dir, creates the folder if it is missing, and repairs files that a
// crash left open, also those of outputs that are no longer enabled.
func Open(dir string, o Options) (*Outputs, error) {
	if o.Node == "" {
		return nil, errors.New("open derived outputs: the node's id is missing")
	}
	o.Name = cmp.Or(o.Name, string(o.Node))
	o.MaxFileBytes = cmp.Or(o.MaxFileBytes, 1<<30)
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("open derived outputs: %w", err)
	}
	if err := repairAll(dir, o.OnRepair); err != nil {
		return nil, fmt.Errorf("open derived outputs in %s: %w", dir, err)
	}
	s := &Outputs{
		opts:   o,
		random: &lockedReader{r: o.Rand},
		all:    o.SkipRate >= 1,
		slots:  make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	serial, err := s.takeStock(dir)
	if err != nil {
		return nil, fmt.Errorf("open derived outputs in %s: %w", dir, err)
	}
	s.buffers.New = func() any { return new([]byte) }
	if o.SkipRate > 0 && !s.all {
		s.sampled = uint64(math.Ldexp(o.SkipRate, 64))
	}
	s.packers.New = func() any { return new(packer) }
	open := func(kind string, asked bool) *stream {
		if !asked {
			return nil
		}
		return newStream(dir, kind, serial, s)
	}
	s.pages, s.links, s.hosts = open(Pages, o.Pages), open(Links, o.Links), open(Hosts, o.Hosts)
	s.text, s.skipped = open(Text, o.Text), open(Skipped, o.SkipRate > 0)
	return s, nil
}

// Stats returns the counters.
func (s *Outputs) Stats() Stats { return Stats{Files: s.files.Load(), Bytes: s.bytes.Load()} }

// streams lists the enabled outputs.
func (s *Outputs) streams() []*stream {
	var all []*stream
	for _, o := range []*stream{s.pages, s.links, s.hosts, s.text, s.skipped} {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

// Anchors reports whether the texts of links are written.
func (s *Outputs) Anchors() bool { return s.links != nil }

// OfPages reports whether anything is derived from pages: if not, Page need not be called.
func (s *Outputs) OfPages() bool {
	return s.pages != nil || s.links != nil || s.hosts != nil || s.text != nil
}

// Simhashes reports whether lists of pages are written, which contain them.
func (s *Outputs) Simhashes() bool { return s.pages != nil }

// Metadata reports whether what pages say of themselves is written.
func (s *Outputs) Metadata() bool { return s.pages != nil }

// Sampled reports whether the log shows u if it is skipped.
func (s *Outputs) Sampled(u urlnorm.URL) bool {
	return s.skipped != nil && (s.all || xxhash.Sum64String(u.String()) < s.sampled)
}

// Page writes what is derived from an answer: c is the exchange, o what is known of it, doc the
// parsed page, nil when it was not a page, said what it says of itself, nil for nothing. A sitemap
// file is not a page either and gives no line. The arguments are read until Page returns. Its error
// is that of ctx, after which some outputs may have lines of the page, or final.
func (s *Outputs) Page(
	ctx context.Context,
	c *crawl.Capture,
	o *crawl.Outcome,
	depth int,
	doc *htmlparse.Document,
	said *metadata.Record,
) error {
	if o.IsSitemap {
		return s.failure()
	}
	if err := take(ctx, s.slots); err != nil {
		return fmt.Errorf("derive of %s: %w", c.URL, err)
	}
	defer func() { <-s.slots }()
	buf := s.buffers.Get().(*[]byte)
	defer s.recycle(buf)
	if s.pages != nil {
		*buf = appendPage((*buf)[:0], c, o, depth, doc, said)
		if err := s.add(ctx, s.pages, *buf); err != nil {
			return err
		}
	}
	if doc == nil {
		return s.failure()
	}
	if s.links != nil {
		if err := s.linksOf(ctx, buf, c.URL, doc); err != nil {
			return err
		}
	}
	if s.hosts != nil {
		if err := s.hostsOf(ctx, buf, c.URL, doc); err != nil {
			return err
		}
	}
	if s.text != nil {
		member, err := s.textMember(c, o, doc)
		if err != nil {
			return s.fail(err)
		}
		return s.add(ctx, s.text, member)
	}
	return nil
}

// hostsOf writes the hosts that a page links to, piece by piece.
func (s *Outputs) hostsOf(
	ctx context.Context,
	buf *[]byte,
	source urlnorm.URL,
	doc *htmlparse.Document,
) error {
	*buf = (*buf)[:0]
	for host, links := range hostsOf(source, doc) {
		if *buf = appendPair(*buf, source.Host(), host, links); len(*buf) < pieceBytes {
			continue
		}
		if err := s.add(ctx, s.hosts, *buf); err != nil {
			return err
		}
		*buf = (*buf)[:0]
	}
	return s.add(ctx, s.hosts, *buf)
}

// linksOf writes a page's links, piece by piece.
func (s *Outputs) linksOf(
	ctx context.Context,
	buf *[]byte,
	source urlnorm.URL,
	doc *htmlparse.Document,
) error {
	*buf = (*buf)[:0]
	for i := range doc.Links {
		*buf = appendLink(*buf, source, doc, i)
		if len(*buf) < pieceBytes && i+1 < len(doc.Links) {
			continue
		}
		if err := s.add(ctx, s.links, *buf); err != nil {
			return err
		}
		*buf = (*buf)[:0]
	}
	return nil
}

// Skipped logs URLs that Sampled chose. It is otherwise like Page.
func (s *Outputs) Skipped(ctx context.Context, skips []crawl.Skip) error {
	if s.skipped == nil {
		return nil
	}
	if err := take(ctx, s.slots); err != nil {
		return fmt.Errorf("log skipped URLs: %w", err)
	}
	defer func() { <-s.slots }()
	buf := s.buffers.Get().(*[]byte)
	defer s.recycle(buf)
	*buf = (*buf)[:0]
	for i := range skips {
		*buf = appendSkip(*buf, &skips[i])
		if len(*buf) < pieceBytes && i+1 < len(skips) {
			continue
		}
		if err := s.add(ctx, s.skipped, *buf); err != nil {
			return err
		}
		*buf = (*buf)[:0]
	}
	return nil
}

// add appends b to an output, when there is room for it. An error other than that of ctx, of Full
// or of a full disk stops all outputs: otherwise a page would be done without some of its lines.
func (s *Outputs) add(ctx context.Context, o *stream, b []byte) error {
	if err := s.failure(); err != nil || len(b) == 0 {
		return err
	}
	for {
		if err := take(ctx, o.token); err != nil {
			return fmt.Errorf("write %s: %w", o.kind, err)
		}
		err := o.append(b)
		<-o.token
		switch {
		case err == nil:
			return nil
		case !isFull(err):
			return s.fail(err)
		case s.opts.Full == nil:
			return err
		}
		if err := s.opts.Full(ctx); err != nil {
			return fmt.Errorf("write %s: %w", o.kind, err)
		}
	}
}

// Sync makes everything durable that was written before the call. When the disk is full
// (files.NoRoom) it may be called again.
func (s *Outputs) Sync() error {
	if err := s.failure(); err != nil {
		return err
	}
	for _, o := range s.streams() {
		switch err := o.sync(); {
		case isFull(err):
			return err
		case err != nil:
			return s.fail(err)
		}
	}
	return nil
}

// Close makes everything durable and gives the open files their final names. After a
// failure they stay as they are, and the next Open repairs them.
func (s *Outputs) Close() error {
	err := s.failure()
	var errs []error
	for _, o := range s.streams() {
		errs = append(errs, o.close(err == nil))
	}
	return errors.Join(append(errs, err)...)
}

// fail records the first error that stops the outputs and returns it.
func (s *Outputs) fail(err error) error {
	if !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("derived outputs have stopped: %w", err)
	}
	s.broken.CompareAndSwap(nil, &err)
	return s.failure()
}

// failure returns the error that stopped the outputs, or nil.
func (s *Outputs) failure() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// recycle keeps a buffer for later, unless a large page has made it too large.
func (s *Outputs) recycle(buf *[]byte) {
	if cap(*buf) <= 2*pieceBytes {
		s.buffers.Put(buf)
	}
}

// take takes a token, or returns when ctx ends.
func take(ctx context.Context, tokens chan struct{}) error {
	select {
	case tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lockedReader lets many goroutines read from one source.
type lockedReader struct {
	mu sync.Mutex // guards r
	r  io.Reader
}

func (l *lockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(p)
}
