package pipeline

import (
	"context"
	"sync"
	"time"
)

const (
	// backlogPerProcessor is how many pages may have been fetched and not be archived
	// yet, for each processor, while others are still fetched: enough to keep the
	// processors busy, and the commits large.
	backlogPerProcessor = 32
	// heavyPage is how long a page takes the parser from which on it is a heavy one; a large
	// page that takes a fifth of it is one as well. A small one may just have waited for a
	// processor.
	heavyPage = 100 * time.Millisecond
	largePage = 1 << 20
	// fewPages of a domain hold fetches back until the first of them is parsed: only then is
	// it known what they take.
	fewPages = 4
	// aloneAfter is how long no page of another domain has come when a domain is alone: pages
	// that take a millisecond are seldom here when one ends that took a hundred times as long.
	aloneAfter = 10 * time.Second
)

// backlog holds fetches back while the processors are the limit. Hundreds of
// workers wait for the network; if each fetched a page whenever it could, as many
// pages would wait to be read: memory, and work that a kill -9 undoes.
//
// It opens like a window: while few pages wait, each that is done lets several
// workers begin, so that slow servers are soon asked by all; when too many wait,
// none begins. When no page is left, all begin: what is still being fetched may be
// a tarpit.
//
// It also says whose page is parsed next: one of the domain whose pages have had the parser
// for the least time, so that one whose pages take a thousand times as long as others' does
// not have it a thousand times as long (start-time fair queueing). While the last page of a
// domain was heavy, those that wait for it hold no fetch back: they are the last in line, and
// their number is bounded by the domain's share of the fetchers. While one of them is parsed,
// there is one more place for pages that are not heavy.
type backlog struct {
	mu    sync.Mutex // guards the rest
	below *sync.Cond // a worker may begin
	pages int        // fetched, not archived, that count
	most  int

	domains map[string]*reading // that have pages here
	parsers int                 // places that are free
	heavy   int                 // places that heavy pages have
	extra   bool                // the place beside those is taken
	waiting int                 // pages that wait for one
	arrived uint64
	now     time.Duration // what the domain that was served last had had when its page began

	last      string    // domain of the page that came last
	lastCame  time.Time // when
	otherCame time.Time // when the last page of another one than last came
}

// reading is what the backlog knows of a domain.
type reading struct {
	pages int
	count int           // those that count
	known bool          // one was parsed
	heavy bool          // the last one was
	had   time.Duration // with the parser, or what others had had when it came
	line  []turn
}

// turn is a page that waits for the parser.
type turn struct {
	arrived uint64
	come    chan place // its place, once it has one
}

// place is one at the parser.
type place struct{ heavy, extra bool }

func newBacklog(most, parsers int) *backlog {
	b := &backlog{most: most, parsers: parsers, domains: make(map[string]*reading)}
	b.below = sync.NewCond(&b.mu)
	return b
}

// wait blocks while too many pages wait, and until ctx is over; whoever ends ctx
// calls wakeAll.
func (b *backlog) wait(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.pages >= b.most && ctx.Err() == nil {
		b.below.Wait()
	}
}

// begin counts a domain's page that was fetched, end one that is archived.
func (b *backlog) begin(domain string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if domain != b.last {
		b.last, b.otherCame = domain, b.lastCame
	}
	b.lastCame = now
	d := b.domains[domain]
	if d == nil {
		d = &reading{had: b.now}
		b.domains[domain] = d
	}
	d.pages++
	b.recount(d)
}

// alone reports whether no page of another domain has come of late.
func (b *backlog) alone(domain string, now time.Time) bool {
	came := b.lastCame
	if domain == b.last {
		came = b.otherCame
	}
	return came.IsZero() || now.Sub(came) > aloneAfter
}

// recount counts a domain's pages anew, as far as they hold fetches back.
func (b *backlog) recount(d *reading) {
	n := d.pages
	switch {
	case d.heavy:
		n = 0
	case !d.known:
		n = min(n, fewPages)
	}
	b.pages += n - d.count
	d.count = n
}

func (b *backlog) end(domain string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.domains[domain]
	if d.pages--; d.pages == 0 {
		delete(b.domains, domain)
	}
	b.recount(d)
	b.letBegin()
}

// letBegin lets workers begin, as one page fewer waits.
func (b *backlog) letBegin() {
	switch {
	case b.pages == 0:
		b.below.Broadcast()
	case b.pages < b.most/2:
		b.below.Signal()
		b.below.Signal()
		b.below.Signal()
	case b.pages < b.most:
		b.below.Signal()
	}
}

// parse blocks until a page of the domain may be parsed, between begin and end.
func (b *backlog) parse(domain string) place {
	b.mu.Lock()
	d := b.domains[domain]
	if b.roomFor(d) {
		defer b.mu.Unlock()
		return b.take(d)
	}
	b.arrived++
	t := turn{b.arrived, make(chan place, 1)}
	d.line = append(d.line, t)
	b.waiting++
	b.mu.Unlock()
	return <-t.come
}

// roomFor reports whether there is a place for a page of d.
func (b *backlog) roomFor(d *reading) bool {
	return b.parsers > 0 || !b.extra && b.heavy > 0 && !d.heavy
}

func (b *backlog) take(d *reading) place {
	b.now = max(b.now, d.had)
	if b.parsers == 0 {
		b.extra = true
		return place{extra: true}
	}
	if b.parsers--; d.heavy {
		b.heavy++
	}
	return place{heavy: d.heavy}
}

// parsed ends what parse began with a page of so many bytes. It returns for how long pages of
// other domains were kept from the parser: a heavy one keeps them from its processor, whether
// or not one waits in line, and counts as heavyPage at the least.
func (b *backlog) parsed(domain string, p place, now time.Time, took time.Duration, size int) (kept time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.domains[domain]
	d.had += took
	before := b.pages
	heavy := took >= heavyPage || took >= heavyPage/5 && size >= largePage
	d.known, d.heavy = true, heavy && !b.alone(domain, now) // then it is in nobody's way
	switch {
	case d.heavy:
		kept = max(took, heavyPage)
	case b.waiting > len(d.line):
		kept = took
	}
	if b.recount(d); b.pages < before {
		b.letBegin()
	}
	if p.extra {
		b.extra = false
	} else if b.parsers++; p.heavy {
		b.heavy--
	}
	for d := b.next(); d != nil; d = b.next() {
		d.line[0].come <- b.take(d)
		d.line = d.line[1:]
		b.waiting--
	}
	return kept
}

// next is the domain whose page is parsed next: of those that have had the parser for the
// least time, that whose page came first. Nil: there is none, or no place for it.
func (b *backlog) next() (best *reading) {
	for _, d := range b.domains {
		if len(d.line) > 0 && b.roomFor(d) && (best == nil || d.had < best.had || d.had == best.had && d.line[0].arrived < best.line[0].arrived) {
			best = d
		}
	}
	return best
}

// wakeAll lets all that wait look at their contexts.
func (b *backlog) wakeAll() {
	b.mu.Lock() // none is between its look and its wait
	defer b.mu.Unlock()
	b.below.Broadcast()
}
