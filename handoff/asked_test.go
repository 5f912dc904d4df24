package handoff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/replication"
	"crawlnode/handoff/wire"
)

// plant puts a copy on a node's disk.
func (n *memNode) plant(p crawl.Partition, epoch crawl.Epoch, set Set, keys ...string) {
	_ = n.store.part(p, func(x *memPart) error {
		*x = memPart{copy: true, epoch: epoch, seq: crawl.Seq(len(keys)), set: set, content: map[string]string{}}
		for _, k := range keys {
			x.content[k] = "x"
		}
		return nil
	})
}

// TestLowerEpochCounts: the owner has a copy of a later tenure that no recorded
// set counts: its holder died before it had recorded one. The counted copy, of an
// earlier tenure, takes its place and is promoted.
func TestLowerEpochCounts(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		v := memView(t, 9, three...)
		for p := range crawl.Partition(memPartitions) {
			owner := v.Table.Owner(p)
			good := three[(slices.Index(three, owner)+1)%3]
			set := Set{Epoch: 5, Version: 1, Members: []crawl.NodeID{good}}
			for _, id := range three {
				_ = w.nodes[id].store.part(p, func(x *memPart) error {
					*x = memPart{set: set, content: map[string]string{}}
					return nil
				})
			}
			w.nodes[owner].plant(p, 6, set, "1", "2", "not acknowledged")
			w.nodes[good].plant(p, 5, set, "1", "2")
			w.acked[p]["1"], w.acked[p]["2"] = true, true
		}
		for _, n := range w.nodes { // the machines were told of other disks
			if err := n.stop(); err != nil {
				t.Fatal(err)
			}
			n.start()
		}
		w.install(9, three...)
		w.awaitRest(v)
		for p := range crawl.Partition(memPartitions) {
			_ = w.nodes[v.Table.Owner(p)].store.part(p, func(x *memPart) error {
				if _, ok := x.content["not acknowledged"]; ok {
					t.Errorf("partition %d: the copy that does not count was promoted", p)
				}
				return nil
			})
		}
	})
}

// TestWanted: what was asked for replaces what it was compared with, and nothing
// else.
func TestWanted(t *testing.T) {
	here := Kept{Copy: true, Epoch: 1, MaxEpoch: 1, Seq: 7} // as on fuzzDriver's disk
	begin := func(d *Driver, from crawl.NodeID, kind byte, epoch crawl.Epoch) error {
		return d.HandleStream(t.Context(), from, script(wire.Hello(1), wire.Begin(kind, 1, epoch)))
	}
	for name, c := range map[string]struct {
		asked *machine.RequestCopy
		from  crawl.NodeID
		epoch crawl.Epoch
		ok    bool
	}{
		"an earlier tenure":        {&machine.RequestCopy{P: 1, From: "b", Epoch: 0, Here: here}, "b", 0, true},
		"not asked for":            {nil, "b", 2, false},
		"of another node":          {&machine.RequestCopy{P: 1, From: "b", Epoch: 2, Here: here}, "a", 2, false},
		"of another tenure":        {&machine.RequestCopy{P: 1, From: "b", Epoch: 2, Here: here}, "b", 3, false},
		"more is here by now":      {&machine.RequestCopy{P: 1, From: "b", Epoch: 2, Here: Kept{Copy: true, Epoch: 1, MaxEpoch: 1, Seq: 6}}, "b", 2, false},
		"it was adopted meanwhile": {&machine.RequestCopy{P: 1, From: "b", Epoch: 0, Here: Kept{Copy: true, Epoch: 0, MaxEpoch: 1, Seq: 7}}, "b", 0, false},
	} {
		d := fuzzDriver(t)
		if c.asked != nil {
			d.copies.Want(*c.asked)
		}
		if err := begin(d, c.from, wire.FrameAsked, c.epoch); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err := begin(d, "b", wire.FrameBegin, 0); err == nil {
			t.Errorf("%s: a holder's copy of an earlier tenure was let in", name)
		}
		d.copies.ViewChanges()
		if err := begin(d, c.from, wire.FrameAsked, c.epoch); err == nil {
			t.Errorf("%s: what was asked for in another view was let in", name)
		}
	}
}

// TestTenure: what was stored in one tenure is not acknowledged by the replicas
// of another.
func TestTenure(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		w.awaitRest(w.install(1, "a"))
		a := w.nodes["a"]
		old := a.tenures(0, 1)
		if err := errors.Join(a.await(t.Context(), old, true)...); err != nil {
			t.Errorf("in its own tenure: %v", err)
		}
		w.awaitRest(w.install(2, "a", "b"))
		w.awaitRest(w.install(3, "b"))
		w.awaitRest(w.install(4, "a", "b"))
		w.awaitRest(w.install(5, "a"))
		for i, err := range a.await(t.Context(), old, false) {
			if !errors.Is(err, ErrNotAcknowledged) {
				t.Errorf("partition %d: a later tenure answers for an earlier one: %v", i, err)
			}
		}
		if err := a.wait(t.Context(), true, 0, 1); err != nil {
			t.Errorf("the new tenure: %v", err)
		}
	})
}

// TestSilent: while a replica that is needed does not answer, callers are told at
// once, and those of other partitions are not held up.
func TestSilent(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		v := w.install(1, three...)
		w.awaitRest(v)
		a := w.nodes["a"]
		mine := map[crawl.NodeID]crawl.Partition{}
		for p := range crawl.Partition(memPartitions) {
			if v.Table.Owner(p) == "a" {
				mine[v.Table.Replicas(p)[0]] = p
			}
		}
		if len(mine) == 0 {
			t.Fatal("a holds nothing")
		}
		// No replica answers any more: the set cannot shrink.
		w.mu.Lock()
		w.nodes["b"].stopped, w.nodes["c"].stopped = true, true
		w.mu.Unlock()
		for id, p := range mine {
			a.store.write(p, "k", "x")
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			if err := a.wait(ctx, false, p); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s has just fallen silent: %v", id, err)
			}
			cancel()
		}
		time.Sleep(2 * replication.StallTimeout)
		synctest.Wait()
		begun := time.Now()
		for id, p := range mine {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			if err := a.wait(ctx, false, p); !errors.Is(err, ErrSilent) {
				t.Errorf("%s is silent: %v", id, err)
			}
			cancel()
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("it took %v to say so", took)
		}
		w.mu.Lock()
		w.nodes["b"].stopped, w.nodes["c"].stopped = false, false
		w.mu.Unlock()
		w.awaitRest(v)
		for id, p := range mine {
			if err := a.wait(t.Context(), false, p); err != nil {
				t.Errorf("%s answers again: %v", id, err)
			}
		}
	})
}

// TestOvertaken: a set that a newer one has overtaken is not sent for ever.
func TestOvertaken(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		v := w.install(1, three...)
		w.awaitRest(v)
		a := w.nodes["a"]
		a.driver.sets.add(machine.Record{P: 0, Set: Set{Epoch: 0, Version: 7, Members: []crawl.NodeID{"a"}}})
		time.Sleep(2 * recordLate)
		w.mu.Lock()
		before := w.messages
		w.mu.Unlock()
		time.Sleep(10 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		if n := w.messages - before; n > 20 { // sweeps
			t.Errorf("%d messages in 10 s of peace", n)
		}
		s := a.driver.sets
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.pending)+len(s.late) > 0 {
			t.Errorf("%d sets wait to be recorded, %d to be told", len(s.pending), len(s.late))
		}
	})
}

// TestList lists what is held, what is about to come, and the nodes that are missing.
func TestList(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		v := w.install(1, three...)
		w.awaitRest(v)
		line := func(x PartStatus) string {
			return fmt.Sprint(x.State, " ", x.Epoch, " ", x.InSync, " ", x.Away)
		}
		list := func(id crawl.NodeID) map[crawl.Partition]string {
			ps, err := w.nodes[id].driver.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out := map[crawl.Partition]string{}
			for _, x := range ps {
				out[x.P] = line(x)
			}
			return out
		}
		for _, id := range three {
			got := list(id)
			for p := range crawl.Partition(memPartitions) {
				want := ""
				if v.Table.Owner(p) == id {
					set := []crawl.NodeID{id, v.Table.Replicas(p)[0]}
					slices.Sort(set)
					want = fmt.Sprint(Holding, " 1 ", set, " false")
				}
				if got[p] != want {
					t.Errorf("%s lists partition %d as %q, want %q", id, p, got[p], want)
				}
			}
		}
		// Two are gone, with all that only they had.
		for _, id := range []crawl.NodeID{"b", "c"} {
			if err := w.nodes[id].stop(); err != nil {
				t.Fatal(err)
			}
		}
		w.install(2, "a")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		got := list("a")
		for p := range crawl.Partition(memPartitions) {
			set := []crawl.NodeID{v.Table.Owner(p), v.Table.Replicas(p)[0]}
			slices.Sort(set)
			want := fmt.Sprint(Holding, " 2 [a] false")
			switch {
			case v.Table.Owner(p) == "a":
				want = fmt.Sprint(Holding, " 1 [a] false")
			case !slices.Contains(set, "a"):
				want = fmt.Sprint(Absent, " 0 ", set, " true")
			}
			if got[p] != want {
				t.Errorf("alone, a lists partition %d as %q, want %q", p, got[p], want)
			}
		}
	})
}

// TestPowerLoss: a holder has lost the end of what was acknowledged, and its replica
// has not. New mutations, under the numbers of the lost ones, do not hide that.
func TestPowerLoss(t *testing.T) {
	for _, c := range []struct{ lost, fresh int }{{3, 0}, {3, 1}, {3, 3}, {3, 9}, {0, 9}} { // fresh ones come before the replica is asked
		bubble(t, []crawl.NodeID{"a", "b"}, func(t *testing.T, w *memNet) {
			v := w.install(1, "a", "b")
			w.awaitRest(v)
			var p crawl.Partition
			for v.Table.Owner(p) != "a" {
				p++
			}
			for i := range 10 {
				w.write(t.Context(), p, fmt.Sprint(i))
			}
			if len(w.acked[p]) != 10 {
				t.Fatalf("%d of 10 were acknowledged", len(w.acked[p]))
			}
			a := w.nodes["a"]
			if err := a.stop(); err != nil {
				t.Fatal(err)
			}
			_ = a.store.part(p, func(x *memPart) error {
				for i := range c.lost {
					delete(x.content, fmt.Sprint(9-i))
				}
				x.seq -= crawl.Seq(c.lost)
				return nil
			})
			a.start()
			for i := range c.fresh {
				if !a.store.write(p, fmt.Sprint("new ", i), "x") {
					t.Fatal("not held")
				}
			}
			v = w.install(2, "a", "b")
			time.Sleep(5 * time.Second)
			w.awaitRest(v)
			// A replica that is asked again later is not ahead: this process wrote it.
			w.write(t.Context(), p, "later")
			for _, silent := range []bool{true, false} {
				w.mu.Lock()
				w.nodes["b"].stopped = silent
				w.mu.Unlock()
				a.store.write(p, fmt.Sprint("silent ", silent), "x")
				time.Sleep(3 * replication.StallTimeout)
			}
			w.awaitRest(v)
			want := crawl.Epoch(1)
			if c.lost > 0 {
				want = 2 // the replica's copy was promoted
			}
			if k := a.store.Kept(p); k.State != Holding || k.Epoch != want {
				t.Errorf("%+v: the partition is %+v in the end", c, k)
			}
		})
	}
}
