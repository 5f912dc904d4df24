package pipeline

import (
	"context"
	"sync"
	"time"
)

const (
	// backlogPerProcessor is how many fetched pages may wait for the archive, for each processor,
	// before new fetches are held back. It is large enough to keep the processors busy and the
	// commits large.
	backlogPerProcessor = 32
	// heavyPage is the parse time from which a page counts as heavy. A large page counts as heavy
	// from a fifth of it. A small page that took that long may just have waited for a processor.
	heavyPage = 100 * time.Millisecond
	largePage = 1 << 20
	// fewPages of a domain hold fetches back until the first of them is parsed. Before that, the
	// cost of the domain's pages is unknown.
	fewPages = 4
	// aloneAfter: a domain is alone when no page of another domain has come for this long. A page
	// that takes a millisecond is rarely present at the moment when one that took a hundred times
	// as long ends.
	aloneAfter = 10 * time.Second
)

// backlog holds fetches back while the processors are the limit. Hundreds of workers wait for the
// network. If each fetched a page whenever it could, as many pages would wait for the parser: that
// takes memory, and a kill -9 loses that work.
//
// It opens like a window. While few pages wait, each page that is done lets several workers begin,
// so that slow servers soon have a request from every worker. When too many pages wait, no worker
// begins. When no page is left, all workers begin: what is still being fetched may be a tarpit.
//
// It also chooses the page that is parsed next: one of the domain whose pages have used the parser
// for the least time (start-time fair queueing). So a domain whose pages take a thousand times as
// long does not get a thousand times as much of the parser. When the last page of a domain was
// heavy, its waiting pages hold no fetch back: they are the last in line, and their number is
// bounded by the domain's share of the fetchers. While one of them is parsed, there is one more
// slot for pages that are not heavy.
type backlog struct {
	mu    sync.Mutex // guards the rest
	below *sync.Cond // a worker may begin
	pages int        // fetched, not archived yet, and counted
	most  int

	domains map[string]*reading // domains with pages here
	parsers int                 // free places
	heavy   int                 // places taken by heavy pages
	extra   bool                // the extra slot beside heavy pages is taken
	waiting int                 // pages that wait for a slot
	arrived uint64
	now     time.Duration // reading.had of the domain served last, when its page began

	last      string    // domain of the latest page
	lastCame  time.Time // when the latest page came
	otherCame time.Time // when the latest page of any other domain came
}

// reading is the backlog's state of one domain.
type reading struct {
	pages int
	count int           // pages of it that count
	known bool          // one of its pages was parsed
	heavy bool          // its last page was heavy
	had   time.Duration // parser time used; starts at the level of the others
	line  []parseWaiter
}

// parseWaiter is a page that waits for the parser.
type parseWaiter struct {
	arrived uint64
	come    chan parseSlot // receives its slot
}

// parseSlot is the right to use a parser.
type parseSlot struct{ heavy, extra bool }

func newBacklog(most, parsers int) *backlog {
	b := &backlog{most: most, parsers: parsers, domains: make(map[string]*reading)}
	b.below = sync.NewCond(&b.mu)
	return b
}

// wait blocks while too many pages wait, until ctx ends. A caller that cancels ctx must call
// wakeAll.
func (b *backlog) wait(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.pages >= b.most && ctx.Err() == nil {
		b.below.Wait()
	}
}

// begin counts a fetched page of a domain. end removes it once it is archived.
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

// alone reports whether no page of another domain came in the last aloneAfter.
func (b *backlog) alone(domain string, now time.Time) bool {
	came := b.lastCame
	if domain == b.last {
		came = b.otherCame
	}
	return came.IsZero() || now.Sub(came) > aloneAfter
}

// recount updates how many pages of a domain hold fetches back.
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

// letBegin lets workers begin after one page has left.
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
func (b *backlog) parse(domain string) parseSlot {
	b.mu.Lock()
	d := b.domains[domain]
	if b.roomFor(d) {
		defer b.mu.Unlock()
		return b.take(d)
	}
	b.arrived++
	t := parseWaiter{b.arrived, make(chan parseSlot, 1)}
	d.line = append(d.line, t)
	b.waiting++
	b.mu.Unlock()
	return <-t.come
}

// roomFor reports whether there is a slot for a page of d.
func (b *backlog) roomFor(d *reading) bool {
	return b.parsers > 0 || !b.extra && b.heavy > 0 && !d.heavy
}

func (b *backlog) take(d *reading) parseSlot {
	b.now = max(b.now, d.had)
	if b.parsers == 0 {
		b.extra = true
		return parseSlot{extra: true}
	}
	if b.parsers--; d.heavy {
		b.heavy++
	}
	return parseSlot{heavy: d.heavy}
}

// parsed ends what parse began, for a page of so many bytes. It returns for how long pages of other
// domains were kept from the parser. A heavy page keeps them from its processor whether or not one
// waits in line, and counts as at least heavyPage.
func (b *backlog) parsed(
	domain string,
	p parseSlot,
	now time.Time,
	took time.Duration,
	size int,
) (kept time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.domains[domain]
	d.had += took
	before := b.pages
	heavy := took >= heavyPage || took >= heavyPage/5 && size >= largePage
	// a page of a domain that is alone delays no other
	d.known, d.heavy = true, heavy && !b.alone(domain, now)
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

// document returns for how long a document of a domain, whose reading took so long, kept those of
// others from their readers: not at all when the domain is alone.
func (b *backlog) document(domain string, now time.Time, took time.Duration) (kept time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if took < heavyPage || b.alone(domain, now) {
		return 0
	}
	return took
}

// next is the domain whose page is parsed next: the one with the least parser time; among equals,
// the one whose page came first. It is nil when no page waits or no slot is free for it.
func (b *backlog) next() (best *reading) {
	for _, d := range b.domains {
		if len(d.line) > 0 && b.roomFor(d) &&
			(best == nil || d.had < best.had ||
				d.had == best.had && d.line[0].arrived < best.line[0].arrived) {
			best = d
		}
	}
	return best
}

// wakeAll makes all waiting workers check their contexts.
func (b *backlog) wakeAll() {
	b.mu.Lock() // so no worker is between its check and its wait
	defer b.mu.Unlock()
	b.below.Broadcast()
}
