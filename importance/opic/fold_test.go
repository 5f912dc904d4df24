package opic

import (
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
)

// row folds deltas into a row of blocks, as a store does.
func row(
	t testing.TB,
	blocks []Block,
	deltas []Delta,
	changed func(URL, Account, *Account),
) (out []Block) {
	t.Helper()
	if len(blocks) == 0 {
		blocks = []Block{{}}
	}
	for i := range blocks {
		n := len(deltas)
		if i+1 < len(blocks) {
			n, _ = slices.BinarySearchFunc(deltas, blocks[i+1].First, func(d Delta, u URL) int {
				if d.URL < u {
					return -1
				}
				return 1
			})
		}
		if n == 0 {
			out = append(out, blocks[i])
			continue
		}
		folded, err := blocks[i].Fold(deltas[:n], changed)
		if err != nil {
			t.Fatal(err)
		}
		out, deltas = append(out, folded...), deltas[n:]
	}
	return out
}

// Blocks that are folded hold what a Book holds that was given the same credits.
func TestFoldEqualsTheBook(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		book := NewBook(0)
		var blocks []Block
		for range 6 {
			var log []Entry
			for range 1 + r.IntN(60) {
				e := Entry{Site: SiteOf(r.Uint64())}
				for range r.IntN(30) {
					c := Credit{URLOf(r.Uint64N(4)<<62, r.Uint64N(300)*0x9e3779b97f4a7c15),
						Cash(r.Int64N(1<<30)) - 1<<20, int32(r.IntN(3)) - 1}
					e.Credits = append(e.Credits, c)
					book.credit(c, e.Site)
				}
				log = append(log, e)
			}
			calls := 0
			blocks = row(t, blocks, SumCredits(log), func(u URL, before Account, now *Account) {
				calls++
				if now.Sites == (Sites{}) || before.Fetched {
					t.Errorf("%d became %+v", u, now)
				}
			})
			if calls == 0 {
				continue
			}
			var last URL
			n := 0
			for i := range blocks {
				if len(blocks[i].Bytes) > blockBytes+64 {
					t.Errorf("a block of %d bytes", len(blocks[i].Bytes))
				}
				err := blocks[i].Accounts(func(u URL, a Account) {
					if n > 0 && u <= last || u < blocks[i].First {
						t.Fatalf("%d stands behind %d, in the block of %d", u, last, blocks[i].First)
					}
					last = u
					n++
					if a != *book.Accounts[u] {
						t.Fatalf("%d has %+v, the book %+v", u, a, *book.Accounts[u])
					}
					if found, ok, err := blocks[i].Find(u); found != a || !ok || err != nil {
						t.Fatalf("%d has %+v, and %+v is found, %v, %v", u, a, found, ok, err)
					}
					if found, ok, err := blocks[i].Find(u + 1); ok && found != *book.Accounts[u+1] || err != nil {
						t.Fatalf("%+v is found for %d, %v", found, u+1, err)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if n != len(book.Accounts) {
				t.Fatalf("%d accounts, the book has %d", n, len(book.Accounts))
			}
		}
	}
}

func TestDamagedBlocks(t *testing.T) {
	t.Parallel()
	whole := row(t, nil, []Delta{{URL: 5, Amount: Unit, Sites: Sites{1}}, {URL: 9, Amount: 1}},
		func(URL, Account, *Account) {})[0]
	for n := 1; n < len(whole.Bytes); n++ {
		cut := Block{Bytes: whole.Bytes[:n]}
		accounts := 0
		err := cut.Accounts(func(URL, Account) { accounts++ })
		_, foldErr := cut.Fold([]Delta{{URL: 7, Amount: 1}}, func(URL, Account, *Account) {})
		if err == nil && accounts >= 2 || (err == nil) != (foldErr == nil) {
			t.Errorf("%d of %d bytes: %d accounts, %v, %v", n, len(whole.Bytes), accounts, err, foldErr)
		}
		if _, ok, findErr := cut.Find(9); ok || (err == nil) != (findErr == nil) {
			t.Errorf("%d of %d bytes: found %v, %v", n, len(whole.Bytes), ok, findErr)
		}
	}
}

// cpuClock returns a function that says how many microseconds of processor time the process took
// since: a figure that a busy machine does not change.
func cpuClock() func() float64 {
	taken := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			return 0
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000
	}
	begin := taken()
	return func() float64 { return taken() - begin }
}

// BenchmarkFold: the log of 4,000 pages with 32 links each within the partition is folded into
// 100,000 accounts; most links lead to few hosts.
func BenchmarkFold(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const urls, pages, links = 100_000, 4_000, 32
	url := func(i uint64) URL { return URLOf((i%100)*0x9e3779b97f4a7c15, i*0x9e3779b97f4a7c15) }
	var first []Delta
	for i := range uint64(urls) {
		first = append(first, Delta{URL: url(i), Amount: Unit / 20, Sites: Sites{1}})
	}
	slices.SortFunc(first, func(a, b Delta) int {
		if a.URL < b.URL {
			return -1
		}
		return 1
	})
	blocks := row(b, nil, first, func(URL, Account, *Account) {})
	var log []Entry
	for p := range uint64(pages) {
		e := Entry{Site: Site(p & 1023)}
		for range links {
			e.Credits = append(e.Credits, Credit{url(r.Uint64N(urls)), Unit / 40, 1})
		}
		log = append(log, e)
	}
	var ranks Histogram
	bytes := 0
	cpu := cpuClock()
	for b.Loop() {
		bytes = 0
		for _, block := range row(b, blocks, SumCredits(log),
			func(_ URL, before Account, now *Account) { ranks.Move(before.Total(), now.Total()) }) {
			bytes += len(block.Bytes)
		}
	}
	b.ReportMetric(cpu()/float64(b.N)/pages, "cpu-us/page")
	b.ReportMetric(float64(bytes)/urls, "B/URL")
}

// Counts of links end at what an account can hold, so what is written can be read.
func TestCountsOfLinksEnd(t *testing.T) {
	t.Parallel()
	for _, links := range []int32{math.MaxInt32, -math.MaxInt32} {
		credits := []Entry{{Credits: []Credit{{URL: 1, Links: links}, {URL: 1, Links: links}}}}
		deltas := MergeDeltas(SumCredits(credits), SumCredits(credits))
		if back, err := DecodeDeltas(AppendDeltas(nil, deltas)); err != nil ||
			back[0].Links != int(links) {
			t.Errorf("%+v, %v", back, err)
		}
		blocks := row(t, nil, deltas, func(URL, Account, *Account) {})
		blocks = row(t, blocks, deltas, func(URL, Account, *Account) {})
		err := blocks[0].Accounts(func(_ URL, a Account) {
			if a.In != int(links) {
				t.Errorf("%+v", a)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
	if AddLinks[int32](-math.MaxInt32, math.MinInt32) != -math.MaxInt32 || AddLinks(7, -9) != -2 {
		t.Error("sums are wrong")
	}
}
