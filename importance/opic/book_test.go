//race:none

package opic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"crawlnode/crawl"
)

// world is some partitions whose parcels a network loses, repeats, delays and reorders, and whose
// holders crash back to what was durable.
type world struct {
	r       *rand.Rand
	books   []*Book // as they are
	durable []*Book // as their replicas have them
	pages   [][]Target
	at      []Target // the URL of each page
	wire    [][]byte // parcels on their way
	visited map[int]bool
}

func newWorld(r *rand.Rand, partitions, pages int) *world {
	w := &world{r: r, visited: map[int]bool{}}
	for i := range partitions {
		w.books = append(w.books, NewBook(crawl.Partition(i)))
		w.durable = append(w.durable, w.books[i].Clone())
	}
	for i := range pages {
		w.at = append(w.at, Target{crawl.Partition(r.IntN(partitions)),
			URLOf(uint64(i%7)<<60, uint64(i+1)*0x9e3779b97f4a7c15)})
	}
	for range pages {
		w.pages = append(w.pages, w.drawLinks())
	}
	return w
}

func (w *world) drawLinks() []Target {
	links := make([]Target, 0, 9)
	for range w.r.IntN(9) {
		links = append(links, w.at[w.r.IntN(1+w.r.IntN(len(w.at)))])
	}
	return links
}

// visit fetches a page, for the first time or again, and sometimes finds other links.
func (w *world) visit(page int) {
	if w.r.IntN(3) == 0 {
		w.pages[page] = w.drawLinks()
	}
	at := w.at[page]
	links := slices.DeleteFunc(slices.Clone(w.pages[page]), func(t Target) bool { return t == at })
	w.books[at.Partition].Visit(at.URL, SiteOf(uint64(page)*0x9e3779b97f4a7c15), links)
	w.visited[page] = true
}

// send puts parcels of durable entries on the wire: only those may be sent.
func (w *world) send(b *Book) {
	for to := range w.books {
		if p, ok := b.Outbox.Parcel(b.ID, crawl.Partition(to), 1+w.r.IntN(5)); ok {
			w.wire = append(w.wire, AppendParcel(nil, &p))
		}
	}
}

// deliver takes any parcel off the wire, or leaves a copy on it. The receiver acknowledges after
// its write is durable, and the acknowledgement may be lost.
func (w *world) deliver(t *testing.T) {
	if len(w.wire) == 0 {
		return
	}
	i := w.r.IntN(len(w.wire))
	p, err := DecodeParcel(w.wire[i])
	if err != nil {
		t.Fatal(err)
	}
	switch w.r.IntN(4) {
	case 0: // repeated: it stays
	case 1: // lost
		w.wire = slices.Delete(w.wire, i, i+1)
		return
	default:
		w.wire = slices.Delete(w.wire, i, i+1)
	}
	to := w.books[p.To]
	seq, err := to.Apply(&p)
	if err != nil {
		t.Fatal(err)
	}
	if w.r.IntN(3) == 0 {
		return // the receiver crashes before its write is durable, or the answer is lost
	}
	w.durable[p.To] = to.Clone()
	w.books[p.From].Outbox.Acknowledge(p.To, seq)
	w.durable[p.From].Outbox.Acknowledge(p.To, seq)
}

// step does one thing.
func (w *world) step(t *testing.T) {
	i := w.r.IntN(len(w.books))
	switch w.r.IntN(8) {
	case 0, 1:
		w.visit(w.r.IntN(len(w.pages)))
	case 2:
		for u, a := range w.books[i].Accounts {
			if a.Due(Unit / 16) {
				w.books[i].Settle(u)
				break
			}
		}
	case 3: // a crash: the next holder begins with what was durable; a move is one without loss
		if w.r.IntN(2) == 0 {
			w.durable[i] = w.books[i].Clone()
		}
		w.books[i] = w.durable[i].Clone()
	case 4:
		w.durable[i] = w.books[i].Clone()
	case 5:
		w.send(w.durable[i])
	default:
		w.deliver(t)
	}
}

// conserved checks the sum of cash, of what is held now or of what is durable.
func (w *world) conserved(t *testing.T, books []*Book) {
	t.Helper()
	var sum Ledger
	for _, b := range books {
		if got, want := b.Pending(), b.Ledger.Held(); got != want {
			t.Fatalf("partition %d holds %d, its ledger says %d: %+v", b.ID, got, want, b.Ledger)
		}
		sum.Plus(b.Ledger)
		var ranks Histogram
		for _, a := range b.Accounts {
			ranks.Add(a.Total(), 1)
		}
		if ranks != b.Ranks {
			t.Fatalf("partition %d: the histogram of its accounts is wrong", b.ID)
		}
	}
	if sum.Sent < 0 || sum.Minted%Unit != 0 {
		t.Fatalf("%+v", sum)
	}
}

// drained delivers everything, without loss.
func (w *world) drained(t *testing.T) {
	t.Helper()
	w.wire = nil
	for i, b := range w.books {
		for to := range w.books {
			p, ok := b.Outbox.Parcel(b.ID, crawl.Partition(to), 1<<20)
			if !ok {
				continue
			}
			seq, err := w.books[to].Apply(&p)
			if err != nil {
				t.Fatal(err)
			}
			b.Outbox.Acknowledge(crawl.Partition(to), seq)
		}
		if cash, n := b.Outbox.Waiting(); n != 0 || cash != 0 {
			t.Fatalf("partition %d still has %d entries", i, n)
		}
	}
}

// settleAll lets every page settle until all that is pending is tiny.
func (w *world) settleAll(t *testing.T) {
	t.Helper()
	for range 400 {
		quiet := true
		for _, b := range w.books {
			for u, a := range b.Accounts {
				if a.Fetched && (a.Pending > 1<<8 || a.Pending < -1<<8) {
					b.Settle(u)
					quiet = quiet && a.Links == 0
				}
			}
		}
		w.drained(t)
		if quiet {
			return
		}
	}
	t.Fatal("it does not come to rest")
}

// The cash is conserved exactly, whatever is lost, repeated, reordered or moved; and when all is
// delivered and settled, every account has what the final links give it, in whatever order pages
// were fetched, fetched again, and their links changed.
func TestCashIsConserved(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		w := newWorld(r, 1+r.IntN(5), 2+r.IntN(40))
		for i := range 800 {
			w.step(t)
			if i%50 == 0 {
				w.conserved(t, w.books)
				w.conserved(t, w.durable)
			}
		}
		for page := range w.pages { // every page is fetched in the end: crashes have undone visits
			w.visit(page)
		}
		w.drained(t)
		w.conserved(t, w.books)
		var sum Ledger
		for _, b := range w.books {
			sum.Plus(b.Ledger)
		}
		if want := Unit * Cash(len(w.pages)); sum.Minted != want || sum.Sent != sum.Received {
			t.Fatalf("seed %d: %+v, minted should be %d", seed, sum, want)
		}
		w.settleAll(t)
		w.compare(t, fmt.Sprint("seed ", seed))
	}
}

// compare holds the accounts against the solution of the linear system.
func (w *world) compare(t *testing.T, name string) {
	t.Helper()
	x := make([]float64, len(w.pages))
	index := map[Target]int{}
	for i, at := range w.at {
		index[at] = i
	}
	in := make([]int, len(x))
	for round := range 300 {
		next := make([]float64, len(x))
		for i := range next {
			next[i] += float64(Unit)
		}
		for i, links := range w.pages {
			distinct := map[Target]bool{}
			for _, l := range links {
				distinct[l] = l != w.at[i]
			}
			delete(distinct, w.at[i])
			for l := range distinct {
				next[index[l]] += 0.85 * x[i] / float64(len(distinct))
				if round == 0 {
					in[index[l]]++
				}
			}
		}
		x = next
	}
	for i, at := range w.at {
		if got := w.books[at.Partition].Accounts[at.URL].In; got != in[i] {
			t.Errorf("%s: %d links to page %d, want %d", name, got, i, in[i])
		}
		got := float64(w.books[at.Partition].Accounts[at.URL].Total())
		if d := (got - x[i]) / x[i]; d > 1e-3 || d < -1e-3 {
			t.Errorf("%s: page %d of %d has %v units, want %v", name, i, len(x), got/float64(Unit),
				x[i]/float64(Unit))
		}
	}
}

// A receiver that has lost what it acknowledged refuses, rather than losing cash in silence.
func TestGapIsRefused(t *testing.T) {
	t.Parallel()
	p := Parcel{From: 1, To: 2, After: 5, Entries: []Entry{{Seq: 6}}}
	if _, err := NewBook(2).Apply(&p); err == nil {
		t.Error("a parcel behind a gap was applied")
	}
}

func TestSettleHasAThreshold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    Account
		want bool
	}{
		{Account{Pending: Unit, Fetched: true, Links: 2}, true},
		{Account{Pending: -Unit, Fetched: true, Links: 2}, true},
		{Account{Pending: Unit, Links: 2}, false},
		{Account{Pending: Unit, Fetched: true}, false},
		{Account{Pending: Unit / 32, Fetched: true, Links: 2}, false},
		{Account{Pending: Unit, Settled: 1000 * Unit, Fetched: true, Links: 2}, false},
	} {
		if got := c.a.Due(Unit / 16); got != c.want {
			t.Errorf("%+v: %v", c.a, got)
		}
	}
}

// BenchmarkVisit: a page with 40 links, 8 of them to other partitions, and one page that settles
// again: what importance adds to a page. The store's part is not in it.
func BenchmarkVisit(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	book := NewBook(0)
	const urls = 100_000
	url := func(i uint64) URL { return URLOf((i%100)*0x9e3779b97f4a7c15, i*0x9e3779b97f4a7c15) }
	draw := func() Target {
		t := Target{URL: url(r.Uint64N(urls))}
		if r.IntN(5) == 0 {
			t.Partition = crawl.Partition(1 + r.IntN(1023))
		}
		return t
	}
	var pages [1024][]Target
	for i := range pages {
		for range 40 {
			pages[i] = append(pages[i], draw())
		}
	}
	i := 0
	cpu := cpuClock()
	for b.Loop() {
		at := url(uint64(i % urls))
		book.Visit(at, Site(i&1023), pages[i%1024])
		if old := url(uint64(i / 2)); i > 2 {
			book.Settle(old)
		}
		for to := range crawl.Partition(1024) {
			if i%64 == 0 { // acknowledged now and then
				book.Outbox.Acknowledge(to, book.Outbox.Next)
			}
		}
		i++
	}
	b.ReportMetric(cpu()/float64(b.N), "cpu-us/page")
}
