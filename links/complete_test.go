package links

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/web/urlnorm"
)

// ending records the calls of a visit's end besides links.
type ending struct{ *around }

func (e ending) HostState(crawl.Visit) crawl.HostState {
	e.did = append(e.did, "host")
	return crawl.HostState{Failures: 7}
}
func (e ending) RetryAt(crawl.Visit, crawl.Kind) time.Time { return time.Time{} }
func (e ending) Unreachable(_ crawl.Visit, why crawl.HostFailure) {
	e.did = append(e.did, "unreachable: "+why.Reason)
}
func (e ending) Completed(crawl.Visit)                       { e.did = append(e.did, "completed") }
func (e ending) ErrandCompleted(crawl.Visit, *crawl.Outcome) { e.did = append(e.did, "robots") }
func (e ending) Observe(*crawl.Outcome)                      {}

func (e ending) Failed(context.Context, crawl.Visit, *frontier.Completion) error {
	e.did = append(e.did, "archive")
	return nil
}

// payloads records the calls about payloads.
type payloads struct{ *around }

func (e payloads) FirstHere(*crawl.Visit, *crawl.Outcome) []frontier.Content { return nil }
func (e payloads) Completed(_ urlnorm.URL, _ *crawl.Outcome, stored bool) {
	e.did = append(e.did, map[bool]string{false: "no payload", true: "payload"}[stored])
}

// completer makes a Completer over its surroundings; woken reports whether it has woken the sender.
func completer(a *around) (k *Completer, woken func() bool) {
	r := a.router()
	s := NewSender(r)
	return NewCompleter(r, s, ending{a}, Results{ending{a}, ending{a},
		payloads{a}}), func() bool { return len(s.look) == 1 }
}

// visitOf is a visit of a page of a link's host.
func visitOf(l crawl.Routed) crawl.Visit {
	return crawl.Visit{Lease: crawl.Lease{
		Partition: l.Partition,
		Host:      crawl.Host(l.Target.URL.Host()),
		Item:      crawl.Item{URL: l.Target.URL},
	}}
}

// TestCompleteSharesLinksOut checks invariant I3: each link of a completed page is in its own
// transaction, acknowledged before, or in its outbox.
func TestCompleteSharesLinksOut(t *testing.T) {
	t.Parallel()
	page, aside, late := linkTo(t, "http://page.test/"), linkTo(t, "http://aside.test/"), linkTo(t,
		"http://late.test/")
	foreign, silent, unjudged := linkTo(t, "http://foreign.test/"), linkTo(t, "http://silent.test/"),
		linkTo(t, "http://unjudged.test/")
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprint("alone=", alone), func(t *testing.T) {
			a := &around{
				alone: alone,
				held: map[crawl.Partition]bool{
					page.Partition:  true,
					aside.Partition: true,
					late.Partition:  true,
				},
				late:   map[crawl.Partition]bool{late.Partition: true},
				says:   map[crawl.Partition]crawl.NodeID{foreign.Partition: "b", silent.Partition: "s"},
				silent: map[crawl.NodeID]bool{"s": true},
			}
			k, woken := completer(a)
			o := crawl.Outcome{Kind: crawl.Fetched, Unjudged: []crawl.Target{unjudged.Target}}
			for _, l := range []crawl.Routed{page, aside, late, foreign, silent} {
				l.Target.Again, l.Target.Claimed = false, time.Time{}
				o.Targets = append(o.Targets, l.Target)
			}
			if err := k.Complete(t.Context(), visitOf(page), o); err != nil {
				t.Fatal(err)
			}
			own, outbox := []string{"page.test"}, []string{"late.test", "silent.test", "unjudged.test"}
			did := []string{"archive", "add", "wait", "forward to b", "host", "complete", "payload",
				"completed"}
			if alone { // no replicas: links to held partitions are safe with the page
				own, outbox = []string{"aside.test", "late.test", "page.test"}, outbox[1:]
				did = []string{"archive", "forward to b", "host", "complete", "payload", "completed"}
			}
			if !slices.Equal(hosts(a.done.Own), own) || !slices.Equal(hosts(a.done.Outbox), outbox) {
				t.Errorf("own %v, want %v; outbox %v, want %v", hosts(a.done.Own), own, hosts(a.done.Outbox),
					outbox)
			}
			if !slices.Equal(a.did, did) {
				t.Errorf("%v, want %v", a.did, did)
			}
			if !woken() || a.done.Host.Failures != 7 {
				t.Errorf("the sender was woken: %v; host %+v", woken(), a.done.Host)
			}
			// A page whose links are all held here.
			a.did = nil
			if err := k.Complete(t.Context(), visitOf(page), crawl.Outcome{
				Kind:    crawl.Fetched,
				Targets: o.Targets[:2],
			}); err != nil || slices.Contains(a.did, "wait") == alone {
				t.Errorf("%v; the replicas were waited for: %v", err, a.did)
			}
			// Acknowledged links are not sent again with the next page.
			a.did = nil
			if err := k.Complete(t.Context(), visitOf(page), crawl.Outcome{
				Kind:    crawl.Fetched,
				Targets: []crawl.Target{o.Targets[3]},
			}); err != nil {
				t.Fatal(err)
			}
			if slices.Contains(a.did, "forward to b") || k.router.Counts().Suppressed != 1 ||
				len(a.done.Outbox) != 0 {
				t.Errorf("%v; %+v", a.did, k.router.Counts())
			}
			k.router.ForgetSent()
			if err := k.Complete(t.Context(), visitOf(page), crawl.Outcome{
				Kind:    crawl.Fetched,
				Targets: []crawl.Target{o.Targets[3]},
			}); err != nil || !slices.Contains(a.did, "forward to b") {
				t.Errorf("%v after the cache was emptied: %v", a.did, err)
			}
		})
	}
}

// TestCompleteStoresNothing checks which visits are not stored, or whose results are ignored. One
// that no proxy took is stored, to be counted.
func TestCompleteStoresNothing(t *testing.T) {
	t.Parallel()
	page := linkTo(t, "http://page.test/")
	for name, c := range map[string]struct {
		via     crawl.Via
		outcome crawl.Outcome
		refusal error
		did     []string
	}{
		"aborted": {crawl.ViaLink, crawl.Outcome{Kind: crawl.Aborted}, nil,
			[]string{"no payload", "completed"}},
		"no proxy": {crawl.ViaLink, crawl.Outcome{Kind: crawl.Aborted, Category: crawl.ErrProxy}, nil,
			[]string{"archive", "host", "complete", "payload", "completed"}},
		"robots.txt": {crawl.ViaRobots, crawl.Outcome{Kind: crawl.Fetched}, nil,
			[]string{"robots", "completed"}},
		"a lease past": {crawl.ViaLink, crawl.Outcome{Kind: crawl.Fetched}, frontier.ErrStaleLease,
			[]string{"archive", "host", "complete", "no payload", "completed"}},
		"moved away": {crawl.ViaLink, crawl.Outcome{Kind: crawl.HostFailed, Reason: "silent"},
			frontier.ErrNotHolder,
			[]string{"unreachable: silent", "archive", "host", "complete", "no payload", "completed"}},
	} {
		a := &around{
			alone:   true,
			held:    map[crawl.Partition]bool{page.Partition: true},
			refusal: c.refusal,
		}
		k, woken := completer(a)
		v := visitOf(page)
		v.Item.Via = c.via
		if err := k.Complete(t.Context(), v, c.outcome); err != nil || woken() {
			t.Errorf("%s: %v, the sender was woken: %v", name, err, woken())
		}
		if !slices.Equal(a.did, c.did) {
			t.Errorf("%s: %v, want %v", name, a.did, c.did)
		}
	}
}

// TestCompleteFails: the payload of a page that could not be stored is not announced.
func TestCompleteFails(t *testing.T) {
	t.Parallel()
	page, full := linkTo(t, "http://page.test/"), errors.New("no space is left")
	a := &around{alone: true, held: map[crawl.Partition]bool{page.Partition: true}, refusal: full}
	k, _ := completer(a)
	if err := k.Complete(t.Context(), visitOf(page), crawl.Outcome{Kind: crawl.Fetched}); !errors.Is(
		err, full) {
		t.Errorf("%v, want %v", err, full)
	}
	if want := []string{"archive", "host", "complete", "no payload",
		"completed"}; !slices.Equal(a.did, want) {
		t.Errorf("%v, want %v", a.did, want)
	}
}

// TestCompleteManyKindsInTheSameMemory completes pages whose links go to other partitions, here and
// away, one after the other.
func TestCompleteManyKindsInTheSameMemory(t *testing.T) {
	t.Parallel()
	page, beside, away := linkTo(t, "http://page.test/"), linkTo(t, "http://aside.test/"), linkTo(t,
		"http://foreign.test/")
	a := &around{
		held: map[crawl.Partition]bool{page.Partition: true, beside.Partition: true},
		says: map[crawl.Partition]crawl.NodeID{away.Partition: "b"},
	}
	k, _ := completer(a)
	for i, n := range []int{5, 2, 9, 1} {
		o, want := crawl.Outcome{Kind: crawl.Fetched}, [3][]string{}
		for j := range 3 * n {
			l := linkTo(t,
				fmt.Sprintf("http://%s.test/%d/%d", []string{"foreign", "page", "aside"}[j%3], i, j))
			l.Target.Again, l.Target.Claimed = false, time.Time{}
			o.Targets, want[j%3] = append(o.Targets, l.Target), append(want[j%3], l.Target.URL.String())
		}
		a.stored = nil
		if err := k.Complete(t.Context(), visitOf(page), o); err != nil {
			t.Fatal(err)
		}
		var own []string
		for _, l := range a.done.Own {
			own = append(own, l.Target.URL.String())
		}
		if !slices.Equal(own, want[1]) || !slices.Equal(a.stored, want[2]) || len(a.done.Outbox) > 0 {
			t.Errorf("page %d: own %q, want %q; stored %q, want %q; outbox %d", i, own, want[1], a.stored,
				want[2], len(a.done.Outbox))
		}
		if c := k.router.Counts(); c.Forwarded != int64([]int{5, 7, 16, 17}[i]) {
			t.Errorf("page %d: %+v", i, c)
		}
	}
}

// TestCompletePagesInTheSameMemory completes pages with more and fewer links one after the other:
// each has its own.
func TestCompletePagesInTheSameMemory(t *testing.T) {
	t.Parallel()
	page := linkTo(t, "http://page.test/")
	a := &around{alone: true, held: map[crawl.Partition]bool{page.Partition: true}}
	k, _ := completer(a)
	for i, n := range []int{3, 1, 5, 0, maxRouted + 1, 2} {
		o := crawl.Outcome{Kind: crawl.Fetched}
		var want []string
		for j := range n {
			l := linkTo(t, fmt.Sprintf("http://page.test/%d/%d", i, j))
			l.Target.Again, l.Target.Claimed = false, time.Time{}
			o.Targets, want = append(o.Targets, l.Target), append(want, l.Target.URL.String())
		}
		if err := k.Complete(t.Context(), visitOf(page), o); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range slices.Concat(a.done.Own, a.done.Outbox) {
			got = append(got, l.Target.URL.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("page %d has the links %q, want %q", i, got, want)
		}
	}
}
