package handoff

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/replication"
)

// TestStall: a replica that does not answer for some seconds goes on where it was, and
// nothing is copied again.
func TestStall(t *testing.T) {
	for _, stall := range []time.Duration{replication.StallTimeout + time.Second, 10 * time.Second, time.Minute} {
		t.Run(stall.String(), func(t *testing.T) {
			bubble(t, three, func(t *testing.T, w *memNet) {
				v := w.install(1, three...)
				stop := w.load()
				w.awaitRestAfter(v, time.Second)
				before := w.count((*Driver).Copied)
				w.mu.Lock()
				w.nodes["b"].stopped = true
				w.mu.Unlock()
				time.Sleep(stall)
				w.mu.Lock()
				w.nodes["b"].stopped = false
				w.mu.Unlock()
				time.Sleep(4 * time.Second)
				if n := w.nodes["a"].driver.Status().SingleCopy + w.nodes["c"].driver.Status().SingleCopy; n > 0 {
					t.Errorf("four seconds after b has come back there is one copy of %d partitions", n)
				}
				stop()
				w.awaitRest(v)
				synctest.Wait()
				if n := w.count((*Driver).Copied) - before; n > 0 {
					t.Errorf("%d whole copies were made", n)
				}
				if w.count((*Driver).CaughtUp) == 0 {
					t.Error("nothing was caught up from hints")
				}
				for _, id := range three {
					if files, err := os.ReadDir(w.nodes[id].hints); err != nil || len(files) > 0 {
						t.Errorf("%s keeps files of hints: %v, %v", id, files, err)
					}
				}
			})
		})
	}
}

func (w *memNet) count(of func(*Driver) int64) (n int64) {
	for _, x := range w.nodes {
		n += of(x.driver)
	}
	return n
}

// TestReturn: a member that was excluded comes back. What it held had been promoted
// elsewhere; it adopts those tenures and goes on from where they began.
func TestReturn(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		v := w.install(1, three...)
		stop := w.load()
		w.awaitRestAfter(v, time.Second)
		stop()
		time.Sleep(time.Second) // b has all
		b := w.nodes["b"]
		held := 0
		for p := range crawl.Partition(memPartitions) {
			_ = b.store.part(p, func(x *memPart) error {
				if x.state == Holding {
					held++
					x.frozen = true // a process that is stopped writes nothing
				}
				return nil
			})
		}
		w.mu.Lock()
		b.stopped = true
		w.mu.Unlock()
		v = w.install(2, "a", "c")
		stop = w.load()
		w.awaitRestAfter(v, 20*time.Second)
		copied, caughtUp := w.count((*Driver).Copied), w.count((*Driver).CaughtUp)
		w.mu.Lock()
		b.stopped = false
		w.mu.Unlock()
		v = memView(t, 3, three...)
		v.Sinces = map[crawl.NodeID]crawl.Epoch{"a": 1, "b": 3, "c": 1}
		for _, id := range three {
			own := v
			own.Since = v.Sinces[id]
			w.nodes[id].driver.Installed(own)
		}
		time.Sleep(10 * time.Second)
		stop()
		w.awaitRest(v)
		copied, caughtUp = w.count((*Driver).Copied)-copied, w.count((*Driver).CaughtUp)-caughtUp
		if copied > 0 || held == 0 || caughtUp < int64(held) {
			t.Errorf("b had held %d partitions: %d whole copies were made, %d were caught up", held, copied, caughtUp)
		}
	})
}

// TestStallAgain: the link breaks at each message while a replica is being caught up.
func TestStallAgain(t *testing.T) {
	for at := range 24 {
		bubble(t, []crawl.NodeID{"a", "b"}, func(t *testing.T, w *memNet) {
			v := w.install(1, "a", "b")
			stop := w.load()
			w.awaitRestAfter(v, time.Second)
			w.mu.Lock()
			w.nodes["b"].stopped = true
			w.mu.Unlock()
			time.Sleep(5 * time.Second)
			w.mu.Lock()
			w.nodes["b"].stopped = false
			begin := w.messages
			w.cut = func(m int) cutMode {
				if m == begin+at {
					return cutMode(at%int(numCuts-1)) + 1
				}
				return whole
			}
			w.mu.Unlock()
			time.Sleep(4 * time.Second)
			stop()
			w.awaitRest(v)
			time.Sleep(time.Second) // what nobody waits for arrives, too
			for p := range crawl.Partition(memPartitions) {
				w.sameContent(p)
			}
		})
	}
}

// sameContent compares the copies of a partition.
func (w *memNet) sameContent(p crawl.Partition) {
	w.t.Helper()
	first := ""
	for id, n := range w.nodes {
		got := ""
		_ = n.store.part(p, func(x *memPart) error { got = fmt.Sprint(x.seq, x.content); return nil })
		if first == "" {
			first = got
		} else if got != first {
			w.t.Errorf("partition %d at %s is not what it is elsewhere", p, id)
		}
	}
}

// A call to a replica fails for a link that is not wanted any more, and the stream to
// it goes on: callers must not be told for ever that it is silent.
func TestAnswersOnItsStream(t *testing.T) {
	bubble(t, []crawl.NodeID{"a", "b"}, func(t *testing.T, w *memNet) {
		v := w.install(1, "a", "b")
		w.awaitRest(v)
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
		a.driver.replicas.Open(t.Context(), link)
		synctest.Wait()
		a.driver.replicas.Close(machine.CloseLink{P: other, Node: "b", Attempt: link.Attempt})
		w.mu.Lock()
		w.cut = nil
		w.mu.Unlock()
		var err error
		for try := range 5 { // as those do whose links wait in an outbox
			if !a.store.write(held, "k", string(rune('0'+try))) {
				t.Fatal("not held")
			}
			if err = a.wait(t.Context(), false, held); err == nil && try > 0 {
				return
			}
			if try == 0 && !errors.Is(err, ErrSilent) {
				t.Fatalf("the call did not fail: %v", err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("b acknowledges, and it is said of it: %v", err)
	})
}

// TestKeeperRestarts: a replica is silent, and the node that keeps what it misses is restarted
// meanwhile: no partition is copied anew. It is killed once its hints are written.
func TestKeeperRestarts(t *testing.T) {
	bubble(t, []crawl.NodeID{"a", "b"}, func(t *testing.T, w *memNet) {
		v := w.install(1, "a", "b")
		stop := w.load()
		w.awaitRestAfter(v, time.Second)
		a, b := w.nodes["a"], w.nodes["b"]
		w.mu.Lock()
		b.stopped = true
		w.mu.Unlock()
		time.Sleep(10 * time.Second) // it is given up, and hints are kept
		stop()
		time.Sleep(time.Second)
		if a.driver.HintBytes() == 0 {
			t.Fatal("there are no hints")
		}
		if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		a.start()
		v = w.install(1, "a", "b")
		stop = w.load()
		time.Sleep(time.Second)
		w.mu.Lock()
		b.stopped = false
		w.mu.Unlock()
		time.Sleep(10 * time.Second)
		stop()
		w.awaitRest(v)
		for p := range crawl.Partition(memPartitions) {
			w.sameContent(p)
		}
		// What b held goes on too: it was stopped, not a.
		if n := a.driver.Copied(); n > 0 || a.driver.CaughtUp() == 0 {
			t.Errorf("%d whole copies were made, %d replicas caught up", n, a.driver.CaughtUp())
		}
	})
}

// TestThroughTenures: a replica is away. The node that keeps what it misses ends too, a third one
// takes over, and the keeper returns and is the holder again. The replica comes back last, and gets
// what it missed in all three tenures.
func TestThroughTenures(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		v := w.install(1, three...)
		stop := w.load()
		w.awaitRestAfter(v, time.Second)
		stop()
		time.Sleep(time.Second) // all have all
		keeper, silent, third := v.Table.Owner(0), v.Table.Replicas(0)[0], crawl.NodeID("")
		for _, id := range three {
			if id != keeper && id != silent {
				third = id
			}
		}
		k, s := w.nodes[keeper], w.nodes[silent]
		followed := 0
		for p := range crawl.Partition(memPartitions) {
			if v.Table.Owner(p) == keeper && slices.Contains(v.Table.Replicas(p), silent) {
				followed++
			}
			_ = s.store.part(p, func(x *memPart) error { x.frozen = x.state == Holding; return nil })
		}
		since := func(view crawl.Epoch, since map[crawl.NodeID]crawl.Epoch, ids ...crawl.NodeID) Members {
			v := memView(t, view, ids...)
			v.Sinces = since
			for _, id := range ids {
				own := v
				own.Since = since[id]
				w.nodes[id].driver.Installed(own)
			}
			return v
		}
		loaded := func(v Members) {
			stop := w.load()
			w.awaitRestAfter(v, 10*time.Second)
			stop()
			time.Sleep(time.Second)
		}
		w.mu.Lock()
		s.stopped = true
		w.mu.Unlock()
		loaded(since(2, map[crawl.NodeID]crawl.Epoch{keeper: 1, third: 1}, keeper, third))
		if err := k.stop(); err != nil {
			t.Fatal(err)
		}
		since(3, map[crawl.NodeID]crawl.Epoch{third: 1}, third)
		stop = w.load()
		time.Sleep(10 * time.Second)
		stop()
		k.start()
		loaded(since(4, map[crawl.NodeID]crawl.Epoch{keeper: 4, third: 1}, keeper, third))
		w.mu.Lock()
		s.stopped = false
		w.mu.Unlock()
		before := k.driver.Copied()
		v = since(5, map[crawl.NodeID]crawl.Epoch{keeper: 4, silent: 5, third: 1}, three...)
		loaded(v)
		for p := range crawl.Partition(memPartitions) {
			if s.store.Kept(p).Copy {
				w.sameAs(p, s, w.nodes[v.Table.Owner(p)])
			}
		}
		if n := k.driver.Copied() - before; n > 0 || int(k.driver.CaughtUp()) < followed {
			t.Errorf("the replica had followed in %d partitions: %d whole copies were made, %d replicas caught up", followed, n, k.driver.CaughtUp())
		}
	})
}

// TestDrainedComesBack: a node hands everything over, ends, and returns with what it has on its disk:
// nothing is copied to it again.
func TestDrainedComesBack(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		v := w.install(1, three...)
		stop := w.load()
		w.awaitRestAfter(v, time.Second)
		b := w.nodes["b"]
		v = memView(t, 2, "a", "c")
		v.ViewInstalled.Members, v.Boots["b"] = three, 1 // it drains: a member, and nothing is its own
		for _, id := range three {
			w.nodes[id].driver.Installed(v)
		}
		w.awaitRestAfter(v, 10*time.Second)
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		v = w.install(3, "a", "c")
		w.awaitRestAfter(v, 10*time.Second)
		before := w.nodes["a"].driver.Copied() + w.nodes["c"].driver.Copied()
		b.start()
		v = memView(t, 4, three...)
		v.Sinces = map[crawl.NodeID]crawl.Epoch{"a": 1, "b": 4, "c": 1}
		for _, id := range three {
			own := v
			own.Since = v.Sinces[id]
			w.nodes[id].driver.Installed(own)
		}
		w.awaitRestAfter(v, 10*time.Second)
		stop()
		w.awaitRest(v)
		n := w.nodes["a"].driver.Copied() + w.nodes["c"].driver.Copied() - before
		if caughtUp := w.count((*Driver).CaughtUp); n > 0 || caughtUp == 0 {
			t.Errorf("%d whole copies were made, %d replicas caught up", n, caughtUp)
		}
	})
}

// sameAs compares the copies of two nodes.
func (w *memNet) sameAs(p crawl.Partition, nodes ...*memNode) {
	w.t.Helper()
	var got [2]string
	for i, n := range nodes {
		_ = n.store.part(p, func(x *memPart) error { got[i] = fmt.Sprint(x.seq, x.content); return nil })
	}
	if got[0] != got[1] {
		w.t.Errorf("partition %d at %s is not what it is at %s", p, nodes[0].id, nodes[1].id)
	}
}
