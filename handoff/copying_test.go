package handoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// Several copiers make copies for one node, but never two of one partition, and
// none for a link that is over; a large one waits for its own.
func TestNextJob(t *testing.T) {
	r := &replica{making: map[crawl.Partition]bool{}, d: &Driver{}, ctx: t.Context()}
	r.d.peers = &replicas{d: r.d, ended: true} // no copiers but this test
	r.copiers[smallCopy] = 10
	f := &flow{}
	r.jobs = []copyJob{{p: 1}, {p: 1, f: f}, {p: 2, f: &flow{over: true}}, {p: 4, class: largeCopy}, {p: 3}}
	want := func(class copyClass, p crawl.Partition, asked bool) copyJob {
		t.Helper()
		j, ok := r.nextJob(class)
		if !ok || j.p != p || (j.f == nil) != asked {
			t.Fatalf("the next job is %+v, %v; want partition %d", j, ok, p)
		}
		return j
	}
	first := want(smallCopy, 1, true)
	third := want(smallCopy, 3, true)
	if j, ok := r.nextJob(smallCopy); ok {
		t.Fatalf("%+v was begun beside another copy of the partition", j)
	}
	if r.copiers[smallCopy] != 9 {
		t.Errorf("%d copiers run after one has ended, want 9", r.copiers[smallCopy])
	}
	r.jobOver(third)
	if j, ok := r.nextJob(smallCopy); ok {
		t.Fatalf("%+v was begun beside another copy of the partition", j)
	}
	r.jobOver(first)
	if want(smallCopy, 1, false); f.room != maxPendingSmall {
		t.Errorf("%d bytes may wait for a small copy, want %d", f.room, maxPendingSmall)
	}
	want(largeCopy, 4, true)
	if len(r.jobs) != 0 {
		t.Errorf("%d jobs are left", len(r.jobs))
	}
}

// TestSmallCopiesSideBySide: many small copies are under way at once, and few large
// ones, which take no place of theirs.
func TestSmallCopiesSideBySide(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := &Driver{}
	d.peers = newReplicas(d)
	for class, n := range copySlots {
		for range n {
			d.peers.slots[class] <- struct{}{} // other nodes have them all: the copiers wait
		}
	}
	r := &replica{making: map[crawl.Partition]bool{}, d: d, ctx: ctx}
	for p := range crawl.Partition(60) {
		r.jobs = append(r.jobs, copyJob{p: p, class: copyClass(p % 2)})
	}
	d.peers.spur(r)
	d.peers.spur(r)
	r.mu.Lock()
	if r.copiers != copySlots {
		t.Errorf("%v copiers work for 30 small and 30 large copies, want %v", r.copiers, copySlots)
	}
	r.mu.Unlock()
	cancel()
	d.wg.Wait()
	d.peers.spur(r) // the node is no member any more
	if r.copiers != copySlots {
		t.Errorf("copiers were started for a node that is gone")
	}
}

// TestCopiersEnd: none is left when the work is done.
func TestCopiersEnd(t *testing.T) {
	bubble(t, []crawl.NodeID{"a", "b"}, func(t *testing.T, w *memNet) {
		v := w.install(1, "a", "b")
		w.settle(v)
		r := w.nodes["a"].driver.peers.of("b")
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.copiers != [copyClasses]int{} || len(r.jobs) > 0 || len(r.making) > 0 {
			t.Errorf("copiers %v, jobs %v, under way %v after all was copied", r.copiers, r.jobs, r.making)
		}
	})
}

// A call to a replica fails for a link that is not wanted any more, and the stream to
// it goes on: nobody who adds may be told for ever that it is silent.
func TestHeardByItsStream(t *testing.T) {
	bubble(t, []crawl.NodeID{"a", "b"}, func(t *testing.T, w *memNet) {
		v := w.install(1, "a", "b")
		w.settle(v)
		a := w.nodes["a"]
		var held, other crawl.Partition
		for p := range crawl.Partition(memPartitions) {
			if v.Table.Owner(p) == "a" {
				held = p
			} else {
				other = p
			}
		}
		w.mu.Lock()
		w.cut = func(int) cutMode { return cutBefore }
		w.mu.Unlock()
		link := machine.OpenLink{P: other, Node: "b", Epoch: 1, Attempt: 1 << 40}
		a.driver.peers.open(t.Context(), link)
		synctest.Wait()
		a.driver.peers.close(machine.CloseLink{P: other, Node: "b", Attempt: link.Attempt})
		w.mu.Lock()
		w.cut = nil
		w.mu.Unlock()
		a.driver.acks.mu.Lock()
		silent := a.driver.acks.silent["b"]
		a.driver.acks.mu.Unlock()
		if !silent {
			t.Fatal("the call did not fail")
		}
		var err error
		for try := range 5 { // as those do whose links wait in an outbox
			if !a.store.write(held, "k", string(rune('0'+try))) {
				t.Fatal("not held")
			}
			if err = a.wait(t.Context(), false, held); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("b acknowledges, and it is said of it: %v", err)
	})
}
