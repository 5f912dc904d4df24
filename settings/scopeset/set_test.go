package scopeset

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"crawlnode/web/scope"
)

func open(t testing.TB, dir string) *Set {
	t.Helper()
	s, err := Open(filepath.Join(dir, "scope"), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func add(t testing.TB, s *Set, origin string, entries ...string) {
	t.Helper()
	if err := s.Add(origin, entries); err != nil {
		t.Fatal(err)
	}
}

func has(s *Set, entry string) bool { return s.Has(scope.KeyOf(entry)) }

func entry(i int) string { return fmt.Sprintf("host:h%d.example.org", i) }

func many(from, to int) (entries []string) {
	for i := from; i < to; i++ {
		entries = append(entries, entry(i))
	}
	return entries
}

func TestEntriesSurvive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, "a1", "host:x.test", "page:http://y.test/z", "host:x.test", "from the future:1")
	add(t, s, "a1", "host:x.test")
	if s.Len() != 3 ||
		s.Lengths()["a1"] != int64(len("host:x.test\npage:http://y.test/z\nfrom the future:1\n")) {
		t.Errorf("%d entries, lengths %v", s.Len(), s.Lengths())
	}
	digest := s.Digest()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	for e, want := range map[string]bool{
		"host:x.test":          true,
		"page:http://y.test/z": true,
		"from the future:1":    true,
		"host:y.test":          false,
		"host:z.test":          false,
	} {
		if has(s, e) != want {
			t.Errorf("has %s: %v", e, !want)
		}
	}
	if s.Len() != 3 || s.Digest() != digest || digest == 0 {
		t.Errorf("after a restart: %d entries, digest %x, was %x", s.Len(), s.Digest(), digest)
	}
	if !s.Has(scope.Key{Kind: scope.SeedDomain, Text: "y.test"}) ||
		s.Has(scope.Key{Kind: scope.SeedDomain, Text: "z.test"}) {
		t.Error("the domains that are open are wrong")
	}
}

// A crash may cut the last append at any byte, or leave zeros. Whole lines stay, a partial line was
// never acknowledged, and the next entry is not joined to it.
func TestLogCutAnywhere(t *testing.T) {
	t.Parallel()
	const text = "host:a.test\nhost:b.test\n"
	for cut := range len(text) + 1 {
		for _, tail := range []string{"", "\x00\x00\x00", "\x00\x00\n\n", "host:c\rx\n",
			strings.Repeat("y", MaxEntry+9) + "\n"} {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "scope"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "scope", "a.log"), []byte(text[:cut]+
				tail), 0o644); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir)
			whole := int64(strings.Count(text[:cut], "\n"))
			if s.Len() != whole {
				t.Fatalf("cut at %d, then %.10q: %d entries", cut, tail, s.Len())
			}
			add(t, s, "a", "host:d.test")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir)
			if s.Len() != whole+1 || !has(s, "host:d.test") || has(s, "host:b.test") != (whole == 2) {
				t.Fatalf("cut at %d, then %.10q and one more: %d entries", cut, tail, s.Len())
			}
		}
	}
}

func TestWhatIsNoEntry(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for _, e := range []string{"", "a\nb", "a\rb", "\n", "a\x00", "\xff",
		strings.Repeat("x", MaxEntry+1)} {
		if err := s.Add("a", []string{"host:ok.test", e}); !errors.Is(err, ErrEntry) {
			t.Errorf("%.20q: %v", e, err)
		}
		if err := s.Take([]Piece{{Origin: "a", Lines: "host:ok.test\n" + e + "\n\n"}}); !errors.Is(err,
			ErrEntry) {
			t.Errorf("a piece with %.20q: %v", e, err)
		}
	}
	for _, origin := range []string{"", "../a", "A", "a.b", strings.Repeat("a", 65)} {
		if err := s.Take([]Piece{{Origin: origin, Lines: "host:ok.test\n"}}); !errors.Is(err, ErrOrigin) {
			t.Errorf("origin %q: %v", origin, err)
		}
	}
	if err := s.Take([]Piece{{Origin: "a", Lines: "host:half.test"}}); !errors.Is(err, ErrEntry) {
		t.Errorf("half a line: %v", err)
	}
	if s.Len() != 0 || len(s.Lengths()) != 0 {
		t.Errorf("entries beside a bad one were taken: %d", s.Len())
	}
}

// Whatever pieces come, in any order, twice or never: nodes that have sent each other everything
// have the same set.
func TestPiecesMakeSetsEqual(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var sets []*Set
	for range 3 {
		sets = append(sets, open(t, t.TempDir()))
	}
	var kept []Piece
	for round := range 60 {
		i := random.IntN(3)
		from := random.IntN(500)
		add(t, sets[i], fmt.Sprint("n", i), many(from, from+random.IntN(300))...)
		pieces, _, err := sets[i].Missing(sets[random.IntN(3)].Lengths(), MaxEntry+1+random.IntN(3000))
		if err != nil {
			t.Fatal(err)
		}
		if kept = append(kept, pieces...); round%3 > 0 { // late, twice, or with a gap
			if err := sets[random.IntN(3)].Take([]Piece{kept[random.IntN(len(kept))]}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, to := range sets {
		for _, from := range sets {
			for more := true; more; {
				var pieces []Piece
				var err error
				if pieces, more, err = from.Missing(to.Lengths(), 5000); err != nil {
					t.Fatal(err)
				}
				if err := to.Take(pieces); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := sets[0].Take(kept); err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		if s.Digest() != sets[0].Digest() || !Covers(s.Lengths(), sets[0].Lengths()) {
			t.Errorf("lengths %v, of the first %v", s.Lengths(), sets[0].Lengths())
		}
		for i := range 800 {
			if has(s, entry(i)) != has(sets[0], entry(i)) {
				t.Errorf("%s is in one set only", entry(i))
			}
		}
	}
	if Covers(map[string]int64{"n0": 1}, sets[0].Lengths()) || !Covers(sets[0].Lengths(), nil) {
		t.Error("covers")
	}
}

// A node whose own log has lost its end gets it back from a node with a copy, before it may add
// anything.
func TestOwnLogIsFilledAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, other := open(t, dir), open(t, t.TempDir())
	add(t, s, "a", "host:x.test", "host:y.test")
	pieces, _, err := s.Missing(other.Lengths(), 1<<20)
	if err == nil {
		err = other.Take(pieces)
	}
	if err == nil {
		err = s.Close()
	}
	if err == nil {
		err = os.Truncate(filepath.Join(dir, "scope", "a.log"), int64(len("host:x.test\nho")))
	}
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if s.Len() != 1 || Covers(s.Lengths(), other.Lengths()) {
		t.Fatalf("%d entries", s.Len())
	}
	if pieces, _, err = other.Missing(s.Lengths(), 1<<20); err == nil {
		err = s.Take(pieces)
	}
	if err != nil || !has(s, "host:y.test") || s.Digest() != other.Digest() {
		t.Errorf("%v, %v", s.Lengths(), err)
	}
}

// Some hundred thousand entries: all are found, others are not, and the memory besides the filter
// is bounded.
func TestManyEntries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	const n = 3*freshLimit + 77
	for from := 0; from < n; from += 5000 {
		add(t, s, "a", many(from, min(from+5000, n))...)
	}
	for i := range n {
		if !has(s, entry(i)) {
			t.Fatalf("%s is not in the set", entry(i))
		}
	}
	for i := n; i < 2*n; i++ {
		if has(s, entry(i)) {
			t.Fatalf("%s is in the set", entry(i))
		}
	}
	x := s.index
	if s.Len() != n || len(x.fresh) >= freshLimit || len(x.runs) == 0 || len(x.runs) > 4 ||
		x.count > x.capacity {
		t.Errorf("%d entries, %d fresh keys, %d runs, %d keys in a filter for %d", s.Len(), len(x.fresh),
			len(x.runs), x.count, x.capacity)
	}
	left, err := filepath.Glob(filepath.Join(dir, "scope-index-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files with names: %v, %v", left, err)
	}
}

// Readers see no entry vanish while runs are written, merged and closed.
func TestReadersBesideAWriter(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	add(t, s, "a", many(0, 1000)...)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for g := range 2 {
		wg.Go(func() {
			for i := g; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if !has(s, entry(i%1000)) {
					t.Errorf("%s vanished", entry(i%1000))
					return
				}
				_, _, _ = s.Missing(nil, 9000)
			}
		})
	}
	for from := 1000; from < 2*freshLimit; from += 4000 {
		add(t, s, "a", many(from, from+4000)...)
	}
	close(stop)
	wg.Wait()
}

// When no run can be written, no entry is added, and none is lost.
func TestNoRoomForTheIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, "scope"), filepath.Join(dir, "missing"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	from := 0
	for ; err == nil && from < 5*freshLimit; from += 4000 {
		err = s.Add("a", many(from, from+4000))
	}
	if err == nil || len(s.index.fresh) > 3*freshLimit {
		t.Fatalf("%d keys in memory, %v", len(s.index.fresh), err)
	}
	if err := os.Mkdir(filepath.Join(dir, "missing"), 0o755); err != nil {
		t.Fatal(err)
	}
	add(t, s, "a", "host:later.test")
	if !has(s, entry(0)) || !has(s, entry(from-8001)) || !has(s, "host:later.test") ||
		len(s.index.fresh) > freshLimit {
		t.Errorf("%d keys in memory, %d entries", len(s.index.fresh), s.Len())
	}
}

func BenchmarkHas(b *testing.B) {
	s := open(b, b.TempDir())
	const n = 300_000
	for from := 0; from < n; from += 10_000 {
		add(b, s, "a", many(from, from+10_000)...)
	}
	for name, next := range map[string]func(i int) int{
		"known":   func(int) int { return 7 },
		"spread":  func(i int) int { return i * 7919 % n },
		"unknown": func(i int) int { return n + i%n },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			keys := make([]scope.Key, 100_000)
			for i := range keys {
				keys[i] = scope.KeyOf(entry(next(i)))
			}
			i := 0
			for b.Loop() {
				s.Has(keys[i%len(keys)])
				i++
			}
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	s := open(b, b.TempDir())
	i := 0
	for b.Loop() {
		add(b, s, "a", many(i, i+1000)...)
		i += 1000
	}
	b.ReportMetric(float64(i)/b.Elapsed().Seconds(), "entries/s")
}
