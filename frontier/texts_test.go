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

// TestDocumentsOfPages: a page has its newest document, one that is gone has none, and the counters
// tell.
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
		if !maps.Equal(got, want) || c.Texts != int64(len(want)) || c.TextBytes != bytes ||
			c.TextChanges != changes {
			t.Fatalf("%v, counted %d, %d bytes, %d changes; want %v, %d bytes, %d changes", got, c.Texts,
				c.TextBytes, c.TextChanges, want, bytes, changes)
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
	if _, _, err := r.TextChanges(0, texts.Position{Generation: 99}, nil); !errors.Is(err,
		texts.ErrOtherCopy) {
		t.Errorf("a position of another copy: %v", err)
	}
}

// TestDocumentsStay: a visit that brings nothing new leaves the document, and writes no change; one
// that ends it says so in the record, so that the same payload is read again when it is back. A
// judge makes the record that of the last good answer.
func TestDocumentsStay(t *testing.T) {
	t.Parallel()
	basis := crawl.BasisOf(1 << 20)
	good := crawl.Outcome{
		Kind:     crawl.Fetched,
		Status:   200,
		Digest:   crawl.Digest{1},
		Basis:    basis,
		Document: []byte("text"),
	}
	same := good
	same.Document, same.Unchanged = nil, true
	hidden := same
	hidden.Basis = basis.Marked(true, false)
	answer := func(status int) crawl.Outcome {
		return crawl.Outcome{Kind: crawl.Fetched, Status: status}
	}
	asks := answer(304)
	asks.NoIndex = true
	for name, c := range map[string]struct {
		o     crawl.Outcome
		stays bool
	}{
		"unchanged":         {same, true},
		"304":               {answer(304), true},
		"304 with noindex":  {asks, false},
		"a server's error":  {answer(500), true},
		"a gateway's error": {answer(502), true},
		"no answer": {crawl.Outcome{Kind: crawl.URLFailed, Category: crawl.ErrTimeout},
			true},
		"403":        {answer(403), false},
		"404":        {answer(404), false},
		"410":        {answer(410), false},
		"a redirect": {answer(301), false},
		"other content, no page": {
			crawl.Outcome{Kind: crawl.Fetched, Status: 200, Digest: crawl.Digest{2}}, false},
		"refused by robots.txt": {crawl.Outcome{Kind: crawl.Refused}, false},
	} {
		for _, judged := range []bool{false, true} {
			r := startHolding(t, storage.NewMemory(), 1, Options{})
			if judged {
				r.SetPlanner(&testJudge{})
			}
			const page = "http://h1.p0.test/a"
			visit := func(o crawl.Outcome) crawl.Record {
				t.Helper()
				l := link(page)
				l.Target.Again, l.Target.Via = true, crawl.ViaSeed
				r.add(l)
				lease := r.lease(0, "h1.p0.test")
				r.must(r.Complete(t.Context(), Completion{Lease: lease, Outcome: o}))
				rec, _, err := r.Record(0, lease.Item.URL)
				if err != nil {
					t.Fatal(err)
				}
				return rec
			}
			if rec := visit(good); rec.Basis != basis {
				t.Fatalf("%s: read with basis %x: %+v", name, basis, rec)
			}
			changes := r.Totals().TextChanges
			rec := visit(c.o)
			got, _ := documents(t, r.Frontier, 0)
			if (got[page] == "text") != c.stays || (r.Totals().TextChanges == changes) != c.stays ||
				(rec.Basis == basis) != c.stays {
				t.Errorf("%s, judged %v: documents %v, %d changes, basis %x", name, judged, got,
					r.Totals().TextChanges-changes, rec.Basis)
			}
			if rec = visit(same); (rec.Basis == basis) != true {
				t.Errorf("%s, judged %v: unchanged, basis %x", name, judged, rec.Basis)
			}
		}
	}
	if texts.Stays(crawl.Done, &hidden) != true {
		t.Error("a page without a document that is unchanged has one to lose")
	}
}
