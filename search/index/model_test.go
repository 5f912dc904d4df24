package index

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// contents are the documents of all partitions as "URL version".
func contents(t *testing.T, x *Index) []string {
	t.Helper()
	var out []string
	for partition := range x.Partitions() {
		for d, err := range x.Documents(partition) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, d.URL+" "+d.FetchedAt.Format(time.DateOnly))
		}
	}
	slices.Sort(out)
	return out
}

// TestAgainstAModel changes an index and a map at random; the index is closed and opened again now
// and then. All documents are equal, and found, each once.
func TestAgainstAModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	x := open(t, dir)
	model := map[string]Document{}
	for range 60 {
		switch k := r.IntN(10); {
		case k < 7:
			var b Batch
			for range r.IntN(4) {
				url := fmt.Sprintf("http://h.test/%d", r.IntN(60))
				at := noon.AddDate(0, 0, r.IntN(20)-10)
				b.Remove = append(b.Remove, Removal{URL: url, At: at})
				if d, ok := model[url]; ok && !d.FetchedAt.After(at) {
					delete(model, url)
				}
			}
			for range r.IntN(12) {
				n := r.IntN(60)
				d := doc(fmt.Sprintf("h.test/%d", n), "title", "some common text")
				d.Partition, d.FetchedAt = uint32(n%5), noon.AddDate(0, 0, r.IntN(20))
				b.Put = append(b.Put, d)
				if old, ok := model[d.URL]; !ok || !old.FetchedAt.After(d.FetchedAt) {
					model[d.URL] = d
				}
			}
			apply(t, x, b)
			apply(t, x, Batch{Put: b.Put}) // changes nothing
		case k < 8:
			partition := uint32(r.IntN(5))
			if err := x.RemovePartition(context.Background(), partition); err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(model, func(_ string, d Document) bool { return d.Partition == partition })
		default:
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			x.now = nil
			x = open(t, dir)
		}
		var want []string
		for _, d := range model {
			want = append(want, d.URL+" "+d.FetchedAt.Format(time.DateOnly))
		}
		slices.Sort(want)
		if got := contents(t, x); !slices.Equal(got, want) {
			t.Fatalf("the index has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if p := find(t, x, "common"); p.Total != int64(len(model)) {
			t.Fatalf("%d found of %d", p.Total, len(model))
		}
	}
}

// TestRanksWhereverDocumentsAre: one index, and three with a third each, give the same order.
func TestRanksWhereverDocumentsAre(t *testing.T) {
	one := open(t, t.TempDir())
	var three cluster
	for range 3 {
		three = append(three, open(t, t.TempDir()))
	}
	r := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi")
	for i := range 300 {
		var text []string
		for range 5 + r.IntN(40) {
			text = append(text, words[min(r.IntN(len(words)), r.IntN(len(words)))])
		}
		d := doc(fmt.Sprintf("h%d.test/%d", i%7, i), words[r.IntN(len(words))]+" page",
			strings.Join(text, " "))
		apply(t, one, Batch{Put: []Document{d}})
		apply(t, three[i%3], Batch{Put: []Document{d}})
	}
	for range 40 {
		q := words[r.IntN(len(words))] + " " + words[r.IntN(len(words))]
		if a, b := urls(find(t, one, q)), urls(find(t, three, q)); a != b {
			t.Errorf("%q: one index finds\n%s, three\n%s", q, a, b)
		}
	}
}

// cluster asks several indexes as one.
type cluster []*Index

func (c cluster) Statistics(ctx context.Context, q Question) (Statistics, error) {
	var all Statistics
	for _, x := range c {
		s, err := x.Statistics(ctx, q)
		if err != nil {
			return all, err
		}
		all.Add(s)
	}
	return all, nil
}

func (c cluster) Ask(ctx context.Context, p Plan) (Answer, error) {
	var all []Answer
	for _, x := range c {
		a, err := x.Ask(ctx, p)
		if err != nil {
			return Answer{}, err
		}
		all = append(all, a)
	}
	return Join(p.Depth, all...), nil
}

func (c cluster) Show(ctx context.Context, p Plan, urls []string) ([]Result, error) {
	var all []Result
	for _, x := range c {
		rs, err := x.Show(ctx, p, urls)
		if err != nil {
			return nil, err
		}
		all = append(all, rs...)
	}
	return all, nil
}

// TestDamage changes one byte of each segment: the index opens, says so, and has what is left.
func TestDamage(t *testing.T) {
	for _, from := range []float64{0.02, 0.3, 0.6, 0.9, 0.999} {
		dir := t.TempDir()
		x := open(t, dir)
		apply(t, x, Batch{Put: library()})
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		x.now = nil
		segments, _ := filepath.Glob(filepath.Join(dir, "segment-*"))
		for _, path := range segments {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			raw[int(from*float64(len(raw)))] ^= 0x55
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		x, repair, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := x.Size().Documents; !repair.Damaged() || n+int64(repair.Lost) != 6 {
			t.Errorf("at %.3f: %+v, %d documents left", from, repair, n)
		}
		apply(t, x, Batch{Put: library()})
		if got := urls(find(t, x, "vacuum")); got != "a.test/vacuum" {
			t.Errorf("at %.3f: found %q", from, got)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		x = open(t, dir) // it is sound again
		if n := x.Size().Documents; n != 6 {
			t.Errorf("at %.3f: %d documents after all", from, n)
		}
	}
}

// TestHostileQuestions: no text is an error or a panic.
func TestHostileQuestions(t *testing.T) {
	x := open(t, t.TempDir())
	apply(t, x, Batch{Put: library()})
	r := rand.New(rand.NewPCG(5, 6))
	pieces := []string{"water", "vacum", "\"", "-", "title:", "site:", "b.test", "gard*", "*", "(",
		")", " ", "before:", "2024", "東京", "\xff", "the", "AND", "~2", "^", "/", ":", "“", "lang:de",
		"host:\"a b\"", strings.Repeat("x", 300)}
	for range 5000 {
		var text strings.Builder
		for range r.IntN(40) {
			text.WriteString(pieces[r.IntN(len(pieces))])
			if r.IntN(2) == 0 {
				text.WriteByte(' ')
			}
		}
		find(t, x, text.String())
	}
}
