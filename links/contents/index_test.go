package contents

import (
	"context"
	"crypto/sha1"
	"fmt"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/web/urlnorm"
)

// heldBy finds a body whose questions go to a member.
func heldBy(t *testing.T, m *member) string {
	t.Helper()
	for i := range 1000 {
		body := fmt.Sprintf("body %d", i)
		if _, p := digestOf(body); m.o.Cluster.Holder(crawl.Partition(p)) == m.id {
			return body
		}
	}
	t.Fatal("no body is this member's")
	return ""
}

// page is a fetched page without text.
func page(t *testing.T, path, body string) pipeline.ContentQuestion {
	t.Helper()
	u, err := urlnorm.Parse("http://a.test/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.ContentQuestion{URL: u, Digest: sha1.Sum([]byte(body)), Countable: true}
}

// outcome is that of a page that was stored first.
func outcome(q pipeline.ContentQuestion) crawl.Outcome {
	return crawl.Outcome{
		First:     true,
		Digest:    q.Digest,
		Archive:   crawl.ArchiveRef{Record: [16]byte{1}},
		FetchedAt: time.Unix(1, 0),
	}
}

// Two pages with one payload, on two members: the second waits until the first is stored, and then
// refers to it, whichever node holds the partition of the payload.
func TestSeenTogether(t *testing.T) {
	for _, holder := range []int{0, 1} {
		t.Run(fmt.Sprintf("held by member %d", holder), func(t *testing.T) {
			cluster(t, []crawl.NodeID{"n0", "n1"}, func(t *testing.T, ms []*member) {
				body := heldBy(t, ms[holder])
				first, second := page(t, "1", body), page(t, "2", body)
				if a := ms[0].Seen(t.Context(), first); !a.First || a.Original != nil {
					t.Fatalf("the first page: %+v", a)
				}
				answer := make(chan pipeline.ContentAnswer, 1)
				go func() { answer <- ms[1].Seen(t.Context(), second) }()
				time.Sleep(2 * gatherFor) // the question has arrived, and waits
				o := outcome(first)
				if holder == 0 { // its transaction brings it into the frontier
					here := ms[0].FirstHere(&crawl.Visit{Lease: crawl.Lease{Item: crawl.Item{URL: first.URL}}}, &o)
					if err := ms[0].o.Store.NoteContents(t.Context(), here); err != nil {
						t.Fatal(err)
					}
				} else if here := ms[0].FirstHere(&crawl.Visit{
					Lease: crawl.Lease{Item: crawl.Item{URL: first.URL}},
				}, &o); here != nil {
					t.Errorf("a partition that is not held gets %+v", here)
				}
				ms[0].Completed(first.URL, &o, true)
				if a := <-answer; a.First || a.Original == nil || a.Original.URL != first.URL.String() ||
					a.Original.Record != o.Archive.Record {
					t.Errorf("the second page: %+v", a)
				}
				if ms[0].Unanswered()+ms[1].Unanswered() != 0 {
					t.Error("a payload was counted as unanswered")
				}
			})
		})
	}
}

// TestNotStored: a page that was not stored ends its claim, and no other refers to its record,
// which may never have reached the disk.
func TestNotStored(t *testing.T) {
	for _, holder := range []int{0, 1} {
		t.Run(fmt.Sprintf("held by member %d", holder), func(t *testing.T) {
			cluster(t, []crawl.NodeID{"n0", "n1"}, func(t *testing.T, ms []*member) {
				body := heldBy(t, ms[holder])
				first, second := page(t, "1", body), page(t, "2", body)
				if a := ms[0].Seen(t.Context(), first); !a.First {
					t.Fatalf("the first page: %+v", a)
				}
				o := outcome(first)
				ms[0].Completed(first.URL, &o, false)
				time.Sleep(2 * gatherFor) // the note has arrived
				if a := ms[1].Seen(t.Context(), second); !a.First || a.Original != nil {
					t.Errorf("after a page that was not stored the next one gets %+v", a)
				}
				if ms[0].Unanswered()+ms[1].Unanswered() != 0 {
					t.Error("a payload was counted as unanswered")
				}
			})
		})
	}
}

// A member that fails a call is not called for a while. Meanwhile, pages are stored whole and
// counted.
func TestSilentMember(t *testing.T) {
	cluster(t, []crawl.NodeID{"n0", "n1"}, func(t *testing.T, ms []*member) {
		ms[1].cut = true
		q := page(t, "1", heldBy(t, ms[1]))
		for i := range 3 {
			if a := ms[0].Seen(t.Context(), q); a.First || a.Original != nil {
				t.Fatalf("question %d without an answer: %+v", i, a)
			}
		}
		if ms[1].calls != 1 || ms[0].Unanswered() != 3 {
			t.Errorf("%d calls and %d unanswered, want 1 and 3", ms[1].calls, ms[0].Unanswered())
		}
		ms[1].cut = false
		time.Sleep(restAfter)
		if a := ms[0].Seen(t.Context(), q); !a.First {
			t.Errorf("once the member answers again: %+v", a)
		}
	})
}

// The queue to one member is bounded, and questions of many pages share a call.
func TestBatches(t *testing.T) {
	cluster(t, []crawl.NodeID{"n0", "n1"}, func(t *testing.T, ms []*member) {
		q := page(t, "1", heldBy(t, ms[1]))
		ask := func() *query {
			all := ms[0].questions(&q, nil)
			if len(all) != 1 || all[0].to != "n1" {
				t.Fatalf("asked: %+v", all)
			}
			ms[0].batches.ask(all[0])
			return all[0]
		}
		var asked []*query
		for range maxWaiting + 1 {
			asked = append(asked, ask())
		}
		if a := <-asked[maxWaiting].answer; a != nil {
			t.Errorf("beyond the bound: %v", a)
		}
		for i, one := range asked[:maxWaiting] {
			if a := <-one.answer; a == nil {
				t.Fatalf("question %d has no answer", i)
			}
		}
		if want := (maxWaiting + maxItems - 1) / maxItems; ms[1].calls != want {
			t.Errorf("%d calls, want %d", ms[1].calls, want)
		}
		ms[0].Close()
		if a := <-ask().answer; a != nil {
			t.Errorf("after Close: %v", a)
		}
	})
}

// A page whose answer comes too late leaves its question behind: the late answer is not taken for
// that of a later page.
func TestLateAnswers(t *testing.T) {
	cluster(t, []crawl.NodeID{"n0", "n1"}, func(t *testing.T, ms []*member) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		n := 0
		body := func() string { // another one of that member's at each call
			for {
				n++
				b := fmt.Sprintf("late %d", n)
				if _, p := digestOf(b); ms[0].o.Cluster.Holder(crawl.Partition(p)) == "n1" {
					return b
				}
			}
		}
		for i := range 20 {
			if a := ms[0].Seen(ctx, page(t, "late", body())); a.First || a.Original != nil {
				t.Fatalf("page %d, whose time is over: %+v", i, a)
			}
			known := page(t, fmt.Sprint("known ", i), body())
			ms[1].note(known.URL.String(), fmt.Sprintf("late %d", n), make([]byte, 16))
			if a := ms[0].Seen(t.Context(), page(t, "copy", fmt.Sprintf("late %d", n))); a.Original == nil ||
				a.Original.URL != known.URL.String() {
				t.Errorf("page %d: %+v, want the original %v", i, a, known.URL)
			}
		}
	})
}
