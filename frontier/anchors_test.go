package frontier

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
	"crawlnode/frontier/texts"
)

// linked is a link to a URL that a page has with a text.
func linked(to, page, text string) crawl.Routed {
	l := link(to)
	l.Target.From, l.Target.Anchor = page, text
	return l
}

// changesAfter are the changes of partition 0 behind a position: URL, document and texts of links.
func (r *running) changesAfter(at texts.Position) (out []string, to texts.Position) {
	r.t.Helper()
	m, _ := r.Meta(0)
	at.Generation = m.Generation
	to, whole, err := r.TextChanges(0, at, func(c texts.Change) bool {
		out = append(out, fmt.Sprintf("%s %s %s", c.URL, c.Document, strings.Join(c.Anchors, "|")))
		return true
	})
	if r.must(err); !whole {
		r.t.Error("there is more")
	}
	return out, to
}

// TestTextsOfLinks: a page has the first text of each host that links to it, of few hosts; a text
// that comes later is a change; the document changes beside them, and goes; a copy has the same.
func TestTextsOfLinks(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, Options{})
	replica := start(t, storage.NewMemory(), Options{})
	tail := replica.replicate(r, 0)
	const page = "http://h1.p0.test/a"
	var at texts.Position
	expect := func(want ...string) {
		t.Helper()
		replica.applyAll(tail.take())
		storagetest.Compare(t, "content", content(t, replica, 0), content(t, r, 0))
		var got []string
		if got, at = r.changesAfter(at); !slices.Equal(got, want) {
			t.Errorf("changes %q, want %q", got, want)
		}
		all, _ := r.changesAfter(texts.Position{})
		if copied, _ := replica.changesAfter(texts.Position{}); !slices.Equal(all, copied) {
			t.Errorf("the copy has %q, the holder %q", copied, all)
		}
		r.check()
	}
	visit := func(status int, document string) {
		t.Helper()
		l := link(page)
		l.Target.Again, l.Target.Via = true, crawl.ViaSeed
		r.add(l)
		r.must(r.Complete(t.Context(), Completion{
			Lease:   r.lease(0, "h1.p0.test"),
			Outcome: crawl.Outcome{Kind: crawl.Fetched, Status: status, Document: []byte(document)},
		}))
	}
	r.add(linked(page, "http://h1.p0.test/", "first"),
		linked(page, "http://h1.p0.test/b", "its own host again"),
		linked(page, "http://b.test:81/", "of b"))
	expect() // without a document nothing is found
	visit(200, "one")
	expect(page + " one first|of b")
	r.add(linked(page, "http://b.test/x", "b again"), linked(page, "https://c.test/x", "of c"))
	expect(page + " one first|of b|of c")
	r.add(linked(page, "https://c.test/y", "c again"), linked(page, "https://d.test", ""))
	expect()
	r.add(linked(page, "https://d.test/", "of d"))
	expect(page + " one first|of b|of c|of d")
	visit(200, "two")
	expect(page + " two first|of b|of c|of d")
	if all, _ := r.changesAfter(texts.Position{}); len(all) != 1 {
		t.Errorf("entries left behind: %q", all)
	}
	for i := range 2 * layout.MaxAnchors {
		r.add(linked(page, fmt.Sprintf("https://e%d.test/", i), strings.Repeat("e", 1000)))
	}
	long := strings.Repeat("|"+strings.Repeat("e", crawl.MaxAnchor), layout.MaxAnchors-4)
	expect(page + " two first|of b|of c|of d" + long)
	visit(404, "")
	expect(page + "  ")
	if all, _ := r.changesAfter(texts.Position{}); len(all) != 1 {
		t.Errorf("entries left behind: %q", all)
	}
	visit(200, "three")
	expect(page + " three first|of b|of c|of d" + long)
}

// TestTextsOfLinksInOneGroup: links and the visit of their page in one transaction, and what a
// crash leaves.
func TestTextsOfLinksInOneGroup(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 1, Options{})
		r.add(link("http://h1.p0.test/a"))
		lease := r.lease(0, "h1.p0.test")
		own := []crawl.Routed{linked("http://h1.p0.test/a", "http://h1.p0.test/a", "itself"),
			linked("http://h1.p0.test/b", "http://h1.p0.test/a", "another")}
		outbox := []crawl.Routed{linked("http://h2.p5.test/", "http://h1.p0.test/a", "far away")}
		r.must(r.Complete(t.Context(), Completion{
			Lease:   lease,
			Outcome: crawl.Outcome{Kind: crawl.Fetched, Status: 200, Document: []byte("one")},
			Own:     own,
			Outbox:  outbox,
		}))
		for range 2 {
			if got, _ := r.changesAfter(texts.Position{}); !slices.Equal(got,
				[]string{"http://h1.p0.test/a one itself"}) {
				t.Errorf("%q", got)
			}
			waiting, err := r.Outbox(0, layout.OutboxKey{}, 10)
			if r.must(err); len(waiting) != 1 || waiting[0].Routed.Target.Anchor != "far away" {
				t.Errorf("in the outbox: %+v", waiting)
			}
			r.check()
			r = r.crash(reopen, Options{})
		}
	})
}
