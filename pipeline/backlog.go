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
	// heavyPage is how long a page takes the parser from which on it is a heavy one.
	heavyPage = 100 * time.Millisecond
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
// their number is bounded by the domain's share of the fetchers.
type backlog struct {
	mu    sync.Mutex // guards the rest
	below *sync.Cond // a worker may begin
	pages int        // fetched, not archived, but those of domains whose pages are heavy
	most  int

	domains map[string]*reading // that have pages here
	parsers int                 // places that are free
	waiting int                 // pages that wait for one
	arrived uint64
	now     time.Duration // what the domain that was served last had had when its page began
}

// reading is what the backlog knows of a domain.
type reading struct {
	pages int
	heavy bool
	had   time.Duration // with the parser, or what others had had when it came
	line  []turn
}

// turn is a page that waits for the parser.
type turn struct {
	arrived uint64
	come    chan struct{} // closed when it has it
}

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
func (b *backlog) begin(domain string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.domains[domain]
	if d == nil {
		d = &reading{had: b.now}
		b.domains[domain] = d
	}
	if d.pages++; !d.heavy {
		b.pages++
	}
}

func (b *backlog) end(domain string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.domains[domain]
	if d.pages--; d.pages == 0 {
		delete(b.domains, domain)
	}
	if !d.heavy {
		b.pages--
	}
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
func (b *backlog) parse(domain string) {
	b.mu.Lock()
	d := b.domains[domain]
	if b.parsers > 0 {
		b.parsers--
		b.now = max(b.now, d.had)
		b.mu.Unlock()
		return
	}
	b.arrived++
	t := turn{b.arrived, make(chan struct{})}
	d.line = append(d.line, t)
	b.waiting++
	b.mu.Unlock()
	<-t.come
}

// parsed ends what parse began. It returns for how long pages of other domains were kept
// from the parser, 0: none waited.
func (b *backlog) parsed(domain string, took time.Duration) (kept time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.domains[domain]
	d.had += took
	if b.waiting > len(d.line) {
		kept = took
	}
	if heavy := took >= heavyPage; heavy != d.heavy {
		if d.heavy = heavy; heavy {
			b.pages -= d.pages
			b.letBegin()
		} else {
			b.pages += d.pages
		}
	}
	b.next()
	return kept
}

// next gives the parser to the domain that has had it for the least time, at equal times
// to the page that came first.
func (b *backlog) next() {
	var best *reading
	for _, d := range b.domains {
		if len(d.line) > 0 && (best == nil || d.had < best.had || d.had == best.had && d.line[0].arrived < best.line[0].arrived) {
			best = d
		}
	}
	if best == nil {
		b.parsers++
		return
	}
	close(best.line[0].come)
	best.line = best.line[1:]
	b.waiting--
	b.now = max(b.now, best.had)
}

// wakeAll lets all that wait look at their contexts.
func (b *backlog) wakeAll() {
	b.mu.Lock() // none is between its look and its wait
	defer b.mu.Unlock()
	b.below.Broadcast()
}
