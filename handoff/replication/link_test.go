package replication

import (
	"errors"
	"testing"
	"testing/synctest"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// opened is a link that the machine knows, and that no goroutine has begun with.
func (rs *Replicas) opened(p crawl.Partition) (*replica, *link) {
	r := rs.of("b")
	l := &link{r: r, a: machine.OpenLink{P: p, Node: "b", Epoch: 1, Attempt: 3}}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.links[p] = l
	return r, l
}

// TestOverrun: a copy whose mutations come faster than it is made is given up, and the
// machine is told.
func TestOverrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs, events := underTest(t)
		_, l := rs.opened(1)
		n := 0
		for l.sink(1, mutationOf(1, maxPending/4)) {
			if n++; n > 8 {
				t.Fatal("nothing bounds what waits for a copy")
			}
		}
		synctest.Wait()
		if l.pending != nil || !l.over {
			t.Error("the link goes on")
		}
		select {
		case e := <-events:
			if e != (machine.LinkDown{P: 1, Node: "b", Attempt: 3}) {
				t.Errorf("the machine was told %+v", e)
			}
		default:
			t.Error("the machine was not told")
		}
	})
}

// TestCatchUpStops: a catch-up waits for room in the queue, but not for a link that is over.
func TestCatchUpStops(t *testing.T) {
	for name, end := range map[string]func(r *replica, l *link){
		"failed": func(r *replica, l *link) { r.failLinks([]*link{l}) },
		"given up": func(r *replica, _ *link) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.failAll()
		},
		"closed": func(r *replica, l *link) {
			r.rs.Close(machine.CloseLink{P: l.a.P, Node: r.id, Attempt: l.a.Attempt})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			rs, _ := underTest(t)
			r, l := idle(rs).opened(1) // nothing is sent
			r.bytes = maxAhead
			got := make(chan error, 1)
			go func() { got <- r.sendHints(t.Context(), l, []crawl.Mutation{mutationOf(1, 9)}) }()
			synctest.Wait()
			if len(got) > 0 {
				t.Fatal("it did not wait for room")
			}
			end(r, l)
			synctest.Wait()
			select {
			case err := <-got:
				if !errors.Is(err, errLinkOver) {
					t.Errorf("%s: %v", name, err)
				}
			default:
				t.Fatalf("%s: it waits on", name)
			}
		})
	}
}
