package frontier

import (
	"errors"
	"maps"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/texts"
)

// documents reads the documents of a partition from its start, as an index does.
func documents(t *testing.T, f *Frontier, p crawl.Partition) (map[string]string, texts.Position) {
	t.Helper()
	m, _ := f.Meta(p)
	found := map[string]string{}
	at := texts.Position{Generation: m.Generation}
	for whole := false; !whole; {
		var err error
		n := 0
		at, whole, err = f.TextChanges(p, at, func(c texts.Change) bool {
			if len(c.Document) > 0 {
				found[c.URL] = string(c.Document)
			} else {
				delete(found, c.URL)
			}
			n++
			return n < 2 // in pieces
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found, at
}

// TestDocumentsOfPages: a page has its newest document, one that is gone has none, and the counters tell.
func TestDocumentsOfPages(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, Options{})
	const page, other = "http://h1.p0.test/a", "http://h1.p0.test/b"
	visit := func(raw string, status int, document string) {
		t.Helper()
		l := link(raw)
		l.Target.Again = true
		l.Target.Via = crawl.ViaSeed
		r.add(l)
		o := crawl.Outcome{Kind: crawl.Fetched, Status: status, Document: []byte(document)}
		r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: o}))
	}
	expect := func(want map[string]string, changes int64) texts.Position {
		t.Helper()
		got, at := documents(t, r.Frontier, 0)
		var bytes int64
		for _, d := range want {
			bytes += int64(len(d))
		}
		c := r.Totals()
		if !maps.Equal(got, want) || c.Texts != int64(len(want)) || c.TextBytes != bytes || c.TextChanges != changes {
			t.Fatalf("%v, counted %d, %d bytes, %d changes; want %v, %d bytes, %d changes", got, c.Texts, c.TextBytes, c.TextChanges, want, bytes, changes)
		}
		return at
	}
	expect(map[string]string{}, 0)
	visit(page, 200, "first")
	visit(other, 200, "")
	expect(map[string]string{page: "first"}, 1)
	visit(other, 200, "other")
	visit(page, 200, "second!")
	at := expect(map[string]string{page: "second!", other: "other"}, 3)
	for _, keeps := range []int{304, 500} {
		visit(page, keeps, "")
	}
	expect(map[string]string{page: "second!", other: "other"}, 3)
	visit(page, 404, "")
	expect(map[string]string{other: "other"}, 4)
	var changed []string
	if _, whole, err := r.TextChanges(0, at, func(c texts.Change) bool {
		changed = append(changed, c.URL+string(c.Document))
		return true
	}); err != nil || !whole || len(changed) != 1 || changed[0] != page {
		t.Errorf("behind the position: %v, %v, %v", changed, whole, err)
	}
	visit(page, 410, "")
	expect(map[string]string{other: "other"}, 4)
	visit(page, 200, "back")
	expect(map[string]string{page: "back", other: "other"}, 5)
	if _, _, err := r.TextChanges(0, texts.Position{Generation: 99}, nil); !errors.Is(err, texts.ErrOtherCopy) {
		t.Errorf("a position of another copy: %v", err)
	}
}
