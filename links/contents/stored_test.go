package contents

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/pipeline"
	"crawlnode/web/urlnorm"
)

// records is a Store that knows one URL more.
type records struct {
	Store
	url urlnorm.URL

	mu  sync.Mutex // guards rec
	rec crawl.Record
}

func (r *records) Record(_ crawl.Partition, u urlnorm.URL) (crawl.Record, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rec, u == r.url, nil
}

// claimed counts the claims at a member.
func (m *member) claimed() int {
	m.Index.mu.Lock()
	defer m.Index.mu.Unlock()
	return len(m.claims)
}

// A 304 refers to the first capture of the payload that its URL has, whoever keeps it; without one
// to the URL's own, if that is the newest answer. Asking claims nothing.
func TestStored(t *testing.T) {
	for _, holder := range []int{0, 1} {
		t.Run(fmt.Sprintf("held by member %d", holder), func(t *testing.T) {
			cluster(t, []crawl.NodeID{"n0", "n1"}, func(t *testing.T, ms []*member) {
				q := page(t, "x", heldBy(t, ms[holder]))
				at := time.Unix(1e9, 0).UTC()
				store := &records{Store: ms[0].o.Store, url: q.URL}
				ms[0].o.Store = store
				known := crawl.Record{
					Status:    200,
					Digest:    q.Digest,
					FetchedAt: at,
					Archive:   crawl.ArchiveRef{Node: "n1", File: "f"},
				}
				stored := func(change func(*crawl.Record)) pipeline.Stored {
					rec := known
					change(&rec)
					store.mu.Lock()
					store.rec = rec
					store.mu.Unlock()
					return ms[0].Stored(t.Context(), q.URL)
				}
				same := func(*crawl.Record) {}

				own := crawl.Original{Node: "n1", URL: q.URL.String(), FetchedAt: at}
				if got := stored(same); got.Digest != q.Digest || got.Original == nil || *got.Original != own {
					t.Errorf("a payload that nobody knows: %+v", got)
				}
				if got := stored(func(r *crawl.Record) { r.Status = 304 }); got.Digest != q.Digest ||
					got.Original != nil {
					t.Errorf("when the newest answer is no capture of it: %+v", got)
				}
				for name, change := range map[string]func(*crawl.Record){
					"no digest":  func(r *crawl.Record) { r.Digest = crawl.Digest{} },
					"no archive": func(r *crawl.Record) { r.Archive = crawl.ArchiveRef{} },
				} {
					if got := stored(change); got != (pipeline.Stored{}) {
						t.Errorf("%s: %+v", name, got)
					}
				}
				if got := stored(func(r *crawl.Record) {
					r.Digest = emptyPayload
				}); got.Digest != emptyPayload ||
					*got.Original != own {
					t.Errorf("an empty payload: %+v", got)
				}
				time.Sleep(time.Second) // notes arrive
				if n := ms[0].claimed() + ms[1].claimed(); n != 0 || ms[0].Unanswered() != 0 {
					t.Errorf("%d claims are left, %d unanswered", n, ms[0].Unanswered())
				}

				first := crawl.Original{
					Record:    [16]byte{3},
					URL:       "http://b.test/first",
					FetchedAt: at.Add(-time.Hour),
					Node:      "n0",
				}
				content := frontier.Content{
					Partition: digestPartition(q.Digest, partitions),
					Digest:    q.Digest,
					Original:  first,
				}
				if err := ms[holder].o.Store.NoteContents(t.Context(), []frontier.Content{
					content}); err != nil {
					t.Fatal(err)
				}
				if got := stored(func(r *crawl.Record) { r.Status = 304 }); got.Digest != q.Digest ||
					got.Original == nil || got.Original.URL != first.URL || got.Original.Record != first.Record ||
					!got.Original.FetchedAt.Equal(first.FetchedAt) {
					t.Errorf("a payload whose first capture is known: %+v", got)
				}
				if got := ms[0].Stored(t.Context(), page(t, "other", "y").URL); got != (pipeline.Stored{}) {
					t.Errorf("another URL: %+v", got)
				}
			})
		})
	}
}
