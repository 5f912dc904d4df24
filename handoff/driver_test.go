package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/replication"
	"crawlnode/handoff/wire"
)

var three = []crawl.NodeID{"a", "b", "c"}

// TestJoinUnderLoad: copies are made and partitions move while they are written.
func TestJoinUnderLoad(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		stop := w.load()
		w.awaitRestAfter(w.install(1, "a"), time.Second)
		w.awaitRestAfter(w.install(2, "a", "b"), time.Second)
		v := w.install(3, "a", "b", "c")
		time.Sleep(2 * time.Second)
		stop()
		w.awaitRest(v)
		for p := range w.acked {
			if len(w.acked[p]) < 100 {
				t.Errorf("partition %d: %d writes were acknowledged", p, len(w.acked[p]))
			}
		}
	})
}

func (w *memNet) awaitRestAfter(v Members, d time.Duration) {
	time.Sleep(d)
	w.awaitRest(v)
}

// TestEveryMessage breaks the line at each message of a join and of a move back,
// in each way.
func TestEveryMessage(t *testing.T) {
	total := 0
	run := func(t *testing.T, cut func(int) cutMode) {
		bubble(t, []crawl.NodeID{"a", "b"}, func(t *testing.T, w *memNet) {
			w.cut = cut
			for p := range crawl.Partition(memPartitions) {
				for i := range 4 {
					w.nodes["a"].store.write(p, fmt.Sprint("first ", i), "x")
					w.acked[p][fmt.Sprint("first ", i)] = true
				}
			}
			stop := w.load()
			v := w.install(1, "a", "b")
			time.Sleep(200 * time.Millisecond)
			stop()
			w.awaitRest(v)
			w.awaitRest(w.install(2, "b"))
			w.awaitRest(w.install(3, "a", "b"))
			w.mu.Lock()
			total = w.messages
			w.mu.Unlock()
		})
	}
	run(t, nil)
	if total < 50 {
		t.Fatalf("only %d messages", total)
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for at := 0; at < total; at += step {
		for mode := cutBefore; mode < numCuts; mode++ {
			run(t, func(m int) cutMode {
				if m == at {
					return mode
				}
				return whole
			})
			if t.Failed() {
				t.Fatalf("at message %d of %d, mode %d", at, total, mode)
			}
		}
	}
}

// TestDeath: the holder's process and disk are gone; the copies take over, with
// all that was acknowledged.
func TestDeath(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		stop := w.load()
		w.awaitRestAfter(w.install(1, three...), time.Second)
		if err := w.nodes["b"].stop(); err != nil {
			t.Fatal(err)
		}
		w.nodes["b"].store.wipe()
		v := w.install(2, "a", "c")
		time.Sleep(3 * time.Second)
		stop()
		w.awaitRest(v)
		// One by one: a lone node goes on.
		if err := w.nodes["a"].stop(); err != nil {
			t.Fatal(err)
		}
		w.awaitRest(w.install(3, "c"))
	})
}

// TestStopped: a replica that is stopped delays the acknowledgements until it has
// left the set, and no longer.
func TestStopped(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		v := w.install(1, three...)
		w.awaitRest(v)
		var p crawl.Partition
		for v.Table.Owner(p) != "a" {
			p++
		}
		w.mu.Lock()
		w.nodes[v.Table.Replicas(p)[0]].stopped = true
		w.mu.Unlock()
		start := time.Now()
		w.nodes["a"].store.write(p, "late", "x")
		if err := w.nodes["a"].wait(t.Context(), false, p); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < replication.StallTimeout || took > replication.StallTimeout+callPatience+time.Second {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.nodes["a"].wait(ctx, true, p); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a set that is not full counts as full: %v", err)
		}
	})
}

// TestWaitEnds: a wait for a partition that yields or is released ends with an error.
func TestWaitEnds(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		w.awaitRest(w.install(1, "a"))
		a := w.nodes["a"]
		if err := a.wait(t.Context(), true, 0, 1); err != nil {
			t.Errorf("alone: %v", err)
		}
		if err := w.nodes["b"].wait(t.Context(), false, 0); !errors.Is(err, ErrNotAcknowledged) {
			t.Errorf("not held: %v", err)
		}
		// No replica answers, so a new set cannot be recorded, and nothing is full.
		w.mu.Lock()
		w.nodes["b"].stopped, w.nodes["c"].stopped = true, true
		w.mu.Unlock()
		w.install(2, three...)
		synctest.Wait()
		got := make(chan error, 1)
		go func() { got <- a.wait(t.Context(), true, 0) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		select {
		case err := <-got:
			t.Fatalf("it is full without another node: %v", err)
		default:
		}
		w.install(3, "b", "c")
		if err := <-got; !errors.Is(err, ErrNotAcknowledged) {
			t.Errorf("yielded: %v", err)
		}
	})
}

// TestMinority: nothing is recorded with less than half, and everything later.
func TestMinority(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		w.mu.Lock()
		w.nodes["b"].stopped, w.nodes["c"].stopped = true, true
		w.mu.Unlock()
		v := w.install(1, three...)
		a := w.nodes["a"]
		synctest.Wait()
		a.store.write(0, "k", "x")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := a.wait(ctx, false, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("acknowledged by a minority: %v", err)
		}
		w.mu.Lock()
		w.nodes["b"].stopped, w.nodes["c"].stopped = false, false
		w.mu.Unlock()
		for _, id := range []crawl.NodeID{"b", "c"} {
			w.nodes[id].driver.Installed(v)
		}
		w.awaitRest(v)
	})
}

// TestGate: a node that is not listed, by this boot, or whose tenure is over, changes nothing.
func TestGate(t *testing.T) {
	bubble(t, []crawl.NodeID{"a", "b"}, func(t *testing.T, w *memNet) {
		v := w.install(1, "a", "b")
		w.awaitRest(v)
		a := w.nodes["a"]
		var p crawl.Partition
		for a.store.Kept(p).State == Holding {
			p++
		}
		k := a.store.Kept(p)
		drop := func(from crawl.NodeID, boot crawl.Boot) error {
			body, _ := json.Marshal(wire.Drop{Parts: []wire.DropPart{{P: p, Epoch: 9, Attempt: 1 << 40}}})
			payload, _ := json.Marshal(wire.Envelope{Kind: wire.CallDrop, Boot: boot, Body: body})
			_, err := a.driver.HandleCall(t.Context(), from, payload)
			return err
		}
		if drop("x", 1) == nil || drop("b", 2) == nil || drop("b", 0) == nil {
			t.Error("a stranger was let in")
		}
		m := crawl.Mutation{Epoch: k.Epoch, Seq: k.Seq + 1, Entries: []crawl.Entry{{Key: []byte("k"), Value: []byte("v")}}}
		group := wire.AppendMutation([]byte{wire.FrameGroup, 1}, p, &m)
		send := func() error { return a.driver.HandleStream(t.Context(), "b", script(wire.Hello(1), group)) }
		again := v
		again.View, again.Sinces = 2, map[crawl.NodeID]crawl.Epoch{"a": 1, "b": k.Epoch + 1}
		a.driver.gate.install(&again)
		if err := send(); err == nil || a.store.Kept(p) != k {
			t.Errorf("a tenure that is over goes on: %v", err)
		}
		a.driver.gate.install(&v)
		if err := send(); err != nil || a.store.Kept(p).Seq != k.Seq+1 {
			t.Errorf("the holder was refused: %v", err)
		}
		if err := drop("b", 1); err != nil || a.store.Kept(p).Copy {
			t.Errorf("the holder's order did not count: %v", err)
		}
	})
}

// TestDriverRests: nodes whose partitions are where they should be give the machine seldom a turn, until a view changes.
func TestDriverRests(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		pace := func(want time.Duration) {
			t.Helper()
			synctest.Wait()
			for _, id := range three {
				if got := w.nodes[id].driver.pace(); got != want {
					t.Errorf("%s gives the machine a turn each %v, want %v", id, got, want)
				}
			}
		}
		w.awaitRest(w.install(1, three...))
		time.Sleep(2 * time.Second)
		pace(restEvery)
		v := w.install(2, "a", "b", "c")
		pace(retryEvery)
		w.awaitRest(v)
		time.Sleep(2 * time.Second)
		pace(restEvery)
	})
}

// TestSweep: a copy that no table names, and whose holder was never told to drop
// it, goes in the end; not one that is suspect.
func TestSweep(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		v := w.install(1, three...)
		w.awaitRest(v)
		left := 0
		for p := range crawl.Partition(memPartitions) {
			for _, id := range three {
				if id == v.Table.Owner(p) || id == v.Table.Replicas(p)[0] {
					continue
				}
				_ = w.nodes[id].store.part(p, func(x *memPart) error {
					x.copy, x.epoch, x.suspect = true, 1, p == 0
					return nil
				})
				left++
			}
		}
		time.Sleep(3 * machine.SweepEvery)
		for p := range crawl.Partition(memPartitions) {
			for _, id := range three {
				own := id == v.Table.Owner(p) || id == v.Table.Replicas(p)[0]
				if copied := w.nodes[id].store.Kept(p).Copy; !own && copied != (p == 0) {
					t.Errorf("partition %d at %s: copy %v", p, id, copied)
				}
			}
		}
		w.awaitRest(v)
	})
}

// TestShutdown ends a node at each message; the bubble finds what stays.
func TestShutdown(t *testing.T) {
	for at := 0; at < 60; at += 3 {
		bubble(t, []crawl.NodeID{"a", "b"}, func(t *testing.T, w *memNet) {
			hit := make(chan struct{})
			w.cut = func(m int) cutMode {
				if m == at {
					close(hit)
				}
				return whole
			}
			stop := w.load()
			w.install(1, "a", "b")
			select {
			case <-hit:
			case <-time.After(time.Minute):
			}
			stop()
		})
	}
}

// TestDiskFails: a node that cannot store a decision ends with the error.
func TestDiskFails(t *testing.T) {
	bubble(t, []crawl.NodeID{"a", "b"}, func(t *testing.T, w *memNet) {
		w.awaitRest(w.install(1, "a"))
		broken := errors.New("no space left")
		a := w.nodes["a"]
		a.store.mu.Lock()
		a.store.fail = broken
		a.store.mu.Unlock()
		w.install(2, "a", "b")
		if err := <-a.ended; !errors.Is(err, broken) {
			t.Errorf("it ended with %v", err)
		}
		a.cancel()
	})
}
