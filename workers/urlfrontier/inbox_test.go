package urlfrontier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"crawlnode/crawl"
	"crawlnode/workers/urlfrontier/wire"
)

// TestInbox: what comes is taken once and in its order, and no more is received than there is room
// for.
func TestInbox(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ items, length, most int }{
		"none": {0, 1, 0}, "a few": {5, 1, 5}, "many": {3*maxItems + 7, 1, maxItems},
		"large": {20, 10 << 10, 4}, "one that is larger than all the room": {3, 2 * maxItemBytes, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, received := newInbox(), 0
			var fill sync.WaitGroup
			defer fill.Wait()
			fill.Go(func() {
				b.fill(t.Context(), func() (*wire.URLItem, error) {
					if received == tc.items {
						return nil, io.EOF
					}
					received++
					return &wire.URLItem{ID: fmt.Sprintf("%0*d", tc.length, received)}, nil
				})
			})
			next := 1
			for {
				items, err := b.take()
				if err != nil {
					if !errors.Is(err, io.EOF) || next != tc.items+1 {
						t.Errorf("after %d of %d items: %v", next-1, tc.items, err)
					}
					return
				}
				if len(items) > tc.most {
					t.Errorf("%d items at once, want %d at most", len(items), tc.most)
				}
				for _, item := range items {
					if want := fmt.Sprintf("%0*d", tc.length, next); item.GetID() != want {
						t.Fatalf("item %d is another one", next)
					}
					next++
				}
			}
		})
	}
}

// TestInboxIsLeft: a stream whose call has ended does not wait for room.
func TestInboxIsLeft(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b, received := newInbox(), 0
	b.fill(ctx, func() (*wire.URLItem, error) {
		if received++; received == maxItems {
			cancel()
		}
		return &wire.URLItem{ID: "x"}, nil
	})
	if items, err := b.take(); len(items) != maxItems || err != nil {
		t.Errorf("%d items, %v", len(items), err)
	}
	if _, err := b.take(); !errors.Is(err, context.Canceled) {
		t.Errorf("the end: %v", err)
	}
}

// TestItemsTogether: items that come together go to the node together, links before results, and
// each has the status that it has alone.
func TestItemsTogether(t *testing.T) {
	t.Parallel()
	n := &counted{}
	s := New(n, Options{})
	n.lease = 7
	var items []*wire.URLItem
	var want []wire.AckMessage_Status
	add := func(st wire.AckMessage_Status, item *wire.URLItem) {
		items, want = append(items, item), append(want, st)
	}
	for i := range 20 {
		page := fmt.Sprintf("http://a.example/%d", i)
		add(wire.AckMessage_OK, known(page, 0, metaLease, "l7"))
		add(wire.AckMessage_OK, discovered(page+"/link", metaSource, page))
	}
	add(wire.AckMessage_SKIPPED, known("http://a.example/no-lease", 0))
	add(wire.AckMessage_SKIPPED, known("http://a.example/ended", 0, metaLease, "gone"))
	add(wire.AckMessage_SKIPPED, &wire.URLItem{})
	if got := s.put(t.Context(), items); !slices.Equal(got, want) {
		t.Errorf("acknowledged %v, want %v", got, want)
	}
	if want := []string{"20 URLs", "20 of l7", "1 of ", "1 of gone"}; !equalButOrder(n.calls, want) ||
		n.calls[0] != want[0] {
		t.Errorf("the node was called for %q, want %q", n.calls, want)
	}
	n.calls = nil
	add(wire.AckMessage_SKIPPED, discovered("mailto:x"))
	add(wire.AckMessage_SKIPPED, known("http://a.example/over", 0, metaLease, "l7"))
	// alone it were 45
	if got := s.put(t.Context(), items); !slices.Equal(got, want) || len(n.calls) > 30 {
		t.Errorf("acknowledged %v, want %v, in %d calls", got, want, len(n.calls))
	}
	n.broken = errors.New("the disk is full")
	for i, st := range s.put(t.Context(), items[:40]) {
		if st != wire.AckMessage_FAIL {
			t.Errorf("item %d of a node that cannot store: %v", i, st)
		}
	}
}

func equalButOrder(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// counted is a node that notes what it is called for. It does not count results of URLs that end
// with "over".
type counted struct {
	node

	calls []string
}

func (n *counted) AddFound(ctx context.Context, f crawl.FoundURLs) (crawl.FoundReport, error) {
	n.calls = append(n.calls, fmt.Sprint(len(f.URLs), " URLs"))
	return n.node.AddFound(ctx, f)
}

func (n *counted) SettleLate(
	ctx context.Context,
	r crawl.WorkerResults,
) (crawl.ResultsReport, error) {
	n.calls = append(n.calls, fmt.Sprint(len(r.Results), " of ", r.LeaseID))
	rep, err := n.node.SettleLate(ctx, r)
	for _, res := range r.Results {
		if strings.HasSuffix(res.URL, "over") && rep.Processed > 0 {
			rep.Processed--
			rep.Ended++
		}
	}
	if rep.Processed == 0 && rep.Ended > 0 {
		err = crawl.ErrLeaseEnded
	}
	return rep, err
}

// BenchmarkPutURLs sends links over a stream, without waiting for each acknowledgement.
func BenchmarkPutURLs(b *testing.B) {
	n := &counted{}
	c := dial(b, n, Options{})
	s, err := c.PutURLs(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	item := discovered("http://a.example/link", metaSource, "http://a.example/")
	b.ReportAllocs()
	b.ResetTimer()
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() {
		for range b.N {
			if err := s.Send(item); err != nil {
				b.Error(err)
				return
			}
		}
	})
	for range b.N {
		if _, err := s.Recv(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(n.calls))/float64(b.N), "calls/URL")
}
