package handoff

import (
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
)

// Several loops make copies for one node, but never two of one partition, and
// none for a link that is over.
func TestNextJob(t *testing.T) {
	r := &replica{copies: make(chan struct{}, 1), making: map[crawl.Partition]bool{}}
	r.jobs = []copyJob{{p: 1}, {p: 1, f: &flow{}}, {p: 2, f: &flow{over: true}}, {p: 3}}
	want := func(p crawl.Partition, asked bool) copyJob {
		t.Helper()
		j, ok := r.nextJob()
		if !ok || j.p != p || (j.f == nil) != asked {
			t.Fatalf("the next job is %+v, %v; want partition %d", j, ok, p)
		}
		return j
	}
	first := want(1, true)
	select {
	case <-r.copies: // the other loops are told
	default:
		t.Error("nobody was told that more jobs wait")
	}
	third := want(3, true)
	if j, ok := r.nextJob(); ok {
		t.Fatalf("%+v was begun beside another copy of the partition", j)
	}
	r.jobOver(third)
	if j, ok := r.nextJob(); ok {
		t.Fatalf("%+v was begun beside another copy of the partition", j)
	}
	<-r.copies
	r.jobOver(first)
	select {
	case <-r.copies:
	default:
		t.Error("nobody was told that a job may begin now")
	}
	want(1, false)
	if len(r.jobs) != 0 {
		t.Errorf("%d jobs are left", len(r.jobs))
	}
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
		link := OpenLink{P: other, Node: "b", Epoch: 1, Attempt: 1 << 40}
		a.driver.peers.open(t.Context(), link)
		synctest.Wait()
		a.driver.peers.close(CloseLink{P: other, Node: "b", Attempt: link.Attempt})
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
