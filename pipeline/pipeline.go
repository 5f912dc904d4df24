package pipeline

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"crawlnode/crawl"
	"crawlnode/settings/sites"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/normalize"
	"crawlnode/web/scope"
	"crawlnode/web/traps"
	"crawlnode/web/urlnorm"
	"crawlnode/web/wall"
)

// Source hands out visits. Its methods are called by many workers at once.
type Source interface {
	// Next blocks until a host may be requested and gives it to the caller. io.EOF means that no
	// visit will ever come; the worker ends.
	Next(ctx context.Context) (crawl.Visit, error)
	// Context is cancelled when the fetch of v is taken back, or by the function that comes with
	// it. It is used for the request only: a page that was fetched is still parsed, archived and
	// completed.
	Context(v crawl.Visit) (context.Context, context.CancelCauseFunc)
	// MayRequest is called right before a request of v is written, when its connection is open.
	// False: the request is not written, and v ends as Aborted. It must not block.
	MayRequest(v crawl.Visit) bool
	// Release ends the host's turn, exactly once per visit, as soon as the last byte was read. It
	// must not block for long.
	Release(v crawl.Visit, r crawl.Response)
}

// Sink takes outcomes.
type Sink interface {
	// Complete makes the outcome of a visit durable with its links. It is called exactly once per
	// visit, after Release, for every Kind. ctx is not cancelled when the pipeline stops, so that a
	// fetched page is kept. o's Targets and Unjudged are not kept: they are used again. An error is
	// a storage error: it ends the pipeline.
	Complete(ctx context.Context, v crawl.Visit, o crawl.Outcome) error
}

// Archive stores exchanges.
type Archive interface {
	// Put stores c and returns its place. It may block. An error is a storage error: it ends the
	// pipeline.
	Put(ctx context.Context, c crawl.Capture) (crawl.ArchiveRef, error)
}

// Contents knows what was fetched before, by any node.
type Contents interface {
	// Seen reports whether a page's payload or text was seen before. It may block for half a
	// second; without an answer everything counts as new.
	Seen(ctx context.Context, q ContentQuestion) ContentAnswer
	// Stored returns what is stored of a URL that has not changed. It may block as Seen does.
	Stored(ctx context.Context, u urlnorm.URL) Stored
	// Read returns what was read last of a URL whose partition is held here, from its record. It
	// asks no other node, and is also called without an archive.
	Read(u urlnorm.URL) Reading
}

// Reading is what a record says of the newest reading of a page. The zero value: nothing is known.
type Reading struct {
	Digest      crawl.Digest // SHA-1 of the payload
	Basis       crawl.Basis
	Preferences string // of the newest visit, an encoded preferences.Record
	Reason      string // that of the newest visit
}

// Earlier knows the payloads that other archives have (--dedupe-against).
type Earlier interface {
	// Find returns the capture of another archive that has a payload. Nil: none is known. It may
	// read from the disk.
	Find(d crawl.Digest) *crawl.Original
}

// Jars knows the cookies of hosts.
type Jars interface {
	// HostCookies returns the jar of a host that this node holds, in the form of package
	// web/cookies. It must not block for long. An error costs the request its cookies.
	HostCookies(p crawl.Partition, host crawl.Host) (string, error)
}

// Stored is the content of a URL that was fetched before. The zero value: nothing is known of it.
type Stored struct {
	Digest crawl.Digest // SHA-1 of the payload
	// Original is a capture that has the payload, or the newest one of the URL that may have it:
	// then it has no record id. Nil: none is known.
	Original *crawl.Original
}

// ContentQuestion is a page that was fetched.
type ContentQuestion struct {
	URL       urlnorm.URL
	Digest    crawl.Digest // SHA-1 of the payload
	Countable bool         // the digest stands for the content: the payload is whole, and not empty
	Simhash   uint64       // of the text; 0: it has none
}

// ContentAnswer is what is known of a page.
type ContentAnswer struct {
	// Original is the capture that has the payload. Nil: store the page.
	Original *crawl.Original
	// First says that no node has the payload yet, and that others wait until this page is stored
	// and completed.
	First bool
	// NearOf is the URL of a page with nearly the same text; "" when none is known.
	NearOf string
}

// Fetcher makes one request; *fetcher.Fetcher is one.
type Fetcher interface {
	Do(ctx context.Context, req fetcher.Request) (*fetcher.Response, error)
}

// ScopeKeeper keeps the scope entries that Rules.Seeds is built on.
type ScopeKeeper interface {
	// Prepare is called before links are judged, and before an item is judged again. It stores
	// entry, the entry that the page's own URL opens, unless that is "". It may block for two
	// seconds. complete says that this node has every entry that it may need; otherwise nothing may
	// be refused for lack of one. The error is a storage error.
	Prepare(ctx context.Context, entry string) (complete bool, err error)
}

// Rules is a snapshot of what may be crawled and how. It is immutable except for Seeds, which grows
// and is safe for concurrent use.
type Rules struct {
	Settings crawl.Settings
	Scope    *scope.Rules
	Seeds    *scope.Seeds
	// Normalize are the Settings' rules for URLs that are one page. Found URLs are stored as they
	// make them.
	Normalize normalize.Rules
	// RenderMatch admits the pages that Settings.RenderMatch names; nil without Settings.Renders.
	RenderMatch *scope.Rules
	// Focus judges pages and links by the topic of Settings.Focus. Nil: there is none, at no cost.
	Focus Focus
	// Basis is a hash of the rules and of the program that reads by them; Entries, if it is set,
	// one of the scope entries. A page whose payload was read under other ones is read again. Basis
	// 0: every page is.
	Basis   uint64
	Entries func() uint64
	// Sites are the rules for sites; nil: there are none, at no cost. site is what holds for the
	// URL that the rules are made for, and crawl the rules that they were made of (of).
	Sites *sites.Table
	site  *sites.Site
	crawl *Rules
	// Rejudge says that the scope has changed since the first URLs were admitted. A queued URL is
	// then judged again before it is fetched.
	Rejudge bool
}

// Options are the parts of a Pipeline. All but Keeper, Deriver and Log are required.
type Options struct {
	Workers int // visits under way at once
	// Limit returns how many of the workers may have a visit now. It is called before each visit,
	// and may not block. Nil: all.
	Limit    func() int
	Source   Source
	Sink     Sink
	Archive  Archive // used when Settings.Archive is set
	Contents Contents
	// Earlier knows what other archives have. It is asked before Contents, as nobody has to wait
	// for a payload that is not stored here. Nil: nothing does, at no cost.
	Earlier Earlier
	Fetcher Fetcher
	// Jars keeps the cookies of hosts; used with Settings.HostCookies.
	Jars Jars
	// Means are what rules for sites need of this node. Nil: it has nothing that they need.
	Means Means
	// Elsewhere fetches the files to which a robots.txt redirects on other hosts.
	Elsewhere Elsewhere
	// Handout takes the pages. Nil: the pipeline fetches them itself.
	Handout Handout
	// Guests takes the visits for URLs of other crawls (crawl.ViaGuest). Nil: there are none.
	Guests Handout
	// Keeper keeps the scope entries. Nil: they do not change.
	Keeper ScopeKeeper
	// Rules returns the current rules. Every worker calls it once per visit, so it should cost no
	// more than an atomic load.
	Rules func() *Rules
	// Deriver writes what is derived from pages. Nil: nothing is derived, at no cost.
	Deriver Deriver
	// Derives names what Deriver writes and DocumentReader can read: when it is another thing,
	// unchanged pages and documents are read once more.
	Derives string
	// Documents makes what the index needs of pages. Nil: no page is indexed.
	Documents Documents
	// Renderer shows pages to a browser. Nil: there is none, at no cost.
	Renderer Renderer
	// DocumentReader makes pages of files that are none. Nil: there is none, at no cost.
	DocumentReader DocumentReader
	// NoFingerprints skips the SimHash of texts when only the archive would use it.
	NoFingerprints bool
	// Traps detects endless series of pages. Nil: nothing does.
	Traps Traps
	// Walls has the marks of bot walls. Nil: those of package web/wall.
	Walls *wall.Table
	// Log reports pages that made a parser panic. Nil: no reports.
	Log *slog.Logger
}

// Traps detects endless series of pages (package web/traps).
type Traps interface {
	// Observe takes a page that was fetched for the first time.
	Observe(p *traps.Page)
	// Contains reports whether a URL belongs to a known trap. Links to it wait behind all
	// others, and count against the host's budget of URLs that look like a trap.
	Contains(u urlnorm.URL) bool
}

// Pipeline runs the workers.
type Pipeline struct {
	o            Options
	parsed       parsedRules
	robotsChains robotsChains
	// backlog bounds the pages parsed at a time to one less than the processors, and at least one.
	// Parsing uses only the processor: more of it at once would gain nothing, and the rest of the
	// process, such as /status, would wait. On two processors, two at a time give a fifth more
	// pages a second and double the latency of /status.
	backlog *backlog
	parked  *parked
	// sitemaps is as full as there are large sitemaps read and stored now: see sitemapTurn.
	sitemaps chan struct{}
	// documents is as full as there are documents that are read or wait for it, off the workers.
	documents chan struct{}
	made      uint64 // a hash of what is made of pages
	busy      atomic.Int64
	unsafe    atomic.Int64 // when tellUnsafe has spoken last, in nanoseconds since 1970
	// memories has the memory of parsed pages that were kept: no more than the garbage collector
	// finds in use.
	memories sync.Pool // of *htmlparse.Memory

	running context.Context // Run's
	showing *errgroup.Group // the workers, and the pages and documents that are read apart
}

// New makes a Pipeline.
func New(o Options) *Pipeline {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Pipeline{
		o: o, made: madeBy(&o), backlog: newBacklog(backlogPerProcessor*runtime.GOMAXPROCS(0),
			max(runtime.GOMAXPROCS(0)-1, 1)),
		memories: sync.Pool{New: func() any { return &htmlparse.Memory{} }}, parked: newParked(),
		sitemaps: make(chan struct{}, runtime.GOMAXPROCS(0)), documents: make(chan struct{},
			maxDocuments),
	}
}

// Busy counts visits under way.
func (p *Pipeline) Busy() int { return int(p.busy.Load()) }

// Run starts the workers and blocks until all have ended: because Source has no more visits,
// because ctx was cancelled (fetches are then aborted, fetched pages are still completed), or
// because storage failed. The error is nil except in the last case.
func (p *Pipeline) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	p.showing, p.running = g, ctx
	defer context.AfterFunc(ctx, p.backlog.wakeAll)()
	defer context.AfterFunc(ctx, p.parked.wake)()
	for i := range p.o.Workers {
		g.Go(func() error { return p.work(ctx, i) })
	}
	return g.Wait()
}

// work is the loop of the i-th worker.
func (p *Pipeline) work(ctx context.Context, i int) error {
	w := &worker{p: p}
	defer context.AfterFunc(ctx, w.halt.end)()
	keep := context.WithoutCancel(ctx)
	for {
		p.park(ctx, i)
		p.backlog.wait(ctx)
		v, err := p.o.Source.Next(ctx)
		switch {
		case errors.Is(err, io.EOF), err != nil && ctx.Err() != nil:
			p.parked.end()
			return nil
		case err != nil:
			return err
		}
		p.busy.Add(1)
		err = w.visit(keep, v)
		p.busy.Add(-1)
		if err != nil {
			return err
		}
	}
}

// halt cancels a worker's request when the pipeline ends. It is made once for all visits of a
// worker: a context that ends with both the visit and the pipeline took eight allocations for each
// visit.
type halt struct {
	mu     sync.Mutex // guards the rest; cancel is called without it
	ended  bool
	cancel context.CancelCauseFunc // cancels the current visit; nil: there is none
}

// begin sets how the current visit is cancelled; nil when there is none.
func (h *halt) begin(cancel context.CancelCauseFunc) {
	h.mu.Lock()
	h.cancel = cancel
	ended := h.ended
	h.mu.Unlock()
	if ended && cancel != nil {
		cancel(nil)
	}
}

// end cancels the current visit and all that follow.
func (h *halt) end() {
	h.mu.Lock()
	h.ended = true
	cancel := h.cancel
	h.mu.Unlock()
	if cancel != nil {
		cancel(nil)
	}
}
