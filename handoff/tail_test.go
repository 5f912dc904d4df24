package handoff

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// tailUnderTest is a tail whose writer is the test.
func tailUnderTest(t *testing.T) *tail {
	t.Helper()
	x := newTail(filepath.Join(t.TempDir(), "tail"), nil, slog.New(slog.DiscardHandler))
	if err := x.files.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.end)
	return x
}

func (t *tail) saveAll() {
	for t.save() {
	}
	t.clean()
}

func (t *tail) onDisk() (n int, bytes int64) {
	es, _ := os.ReadDir(t.files.dir)
	for _, e := range es {
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
	}
	return len(es), bytes
}

func mutationOf(seq crawl.Seq, size int) crawl.Mutation {
	return crawl.Mutation{Epoch: 7, Seq: seq, Entries: []crawl.Entry{{Key: fmt.Appendf(nil, "k%d", seq), Value: bytes.Repeat([]byte{byte(seq)}, size)}, {Key: []byte("gone")}}}
}

// readAll reads a tail to its end, in pieces, and checks each mutation.
func (t *tail) readAll(p crawl.Partition, from, last crawl.Seq, size int) error {
	for seq := from; seq < last; {
		ms, err := t.read(p, 7, seq, last, 3*size)
		if err != nil {
			return err
		}
		if len(ms) == 0 || len(ms) > 4 {
			return fmt.Errorf("%d mutations at once", len(ms))
		}
		for _, m := range ms {
			if seq++; fmt.Sprint(m) != fmt.Sprint(mutationOf(seq, size)) {
				return fmt.Errorf("mutation %d is %v", seq, m)
			}
		}
	}
	return nil
}

func TestTail(t *testing.T) {
	x := tailUnderTest(t)
	const p = crawl.Partition(3)
	if !x.begin("b", p, 7, 10, []crawl.Mutation{mutationOf(11, 40), mutationOf(12, 40)}) {
		t.Fatal("nobody feeds it")
	}
	if x.begin("c", p, 7, 12, nil) {
		t.Error("two feed it")
	}
	for seq := crawl.Seq(12); seq <= 40; seq++ { // 12 comes twice
		if !x.add(p, mutationOf(seq, 40)) {
			t.Fatal("it ended")
		}
		if seq == 30 {
			x.saveAll()
		}
	}
	for from := crawl.Seq(10); from <= 40; from++ { // from the file, from memory, from both
		if err := x.readAll(p, from, 40, 40); err != nil || !x.covers(p, 7, from) {
			t.Errorf("from %d: %v", from, err)
		}
	}
	if x.covers(p, 7, 9) || x.covers(p, 7, 41) || x.covers(p, 8, 20) || x.covers(4, 7, 20) {
		t.Error("it covers what it has not")
	}
	if _, err := x.read(p, 7, 9, 40, 100); !errors.Is(err, ErrGap) {
		t.Errorf("what lies before it: %v", err)
	}
	x.caught("c", p)
	if !x.covers(p, 7, 40) {
		t.Error("it ended with c, and b has not come back")
	}
	x.caught("b", p)
	x.saveAll()
	if n, _ := x.onDisk(); n != 0 || x.covers(p, 7, 40) || x.add(p, mutationOf(41, 40)) || x.items != 0 || x.buffered != 0 {
		t.Errorf("after all have caught up: %d files, %d items, %d bytes in memory", n, x.items, x.buffered)
	}
	x.saveAll()
	if n, _ := x.onDisk(); n != 0 {
		t.Errorf("%d files after nothing was written", n)
	}
}

// A tail from the beginning of a tenure serves the very copy that was promoted: an older
// one lacks mutations that the tail has not, and one that goes further has others.
func TestTailOfPromoted(t *testing.T) {
	x := tailUnderTest(t)
	const p = crawl.Partition(3)
	if !x.beginTenure([]crawl.NodeID{"b"}, &machine.Promote{P: p, Epoch: 7, FromEpoch: 5, Seq: 10}) {
		t.Fatal("nobody feeds it")
	}
	x.add(p, mutationOf(11, 40))
	for name, c := range map[string]struct {
		epoch, from crawl.Epoch
		seq         crawl.Seq
		want        bool
	}{
		"what was promoted": {7, 5, 10, true},
		"an older copy":     {7, 5, 9, false},
		"a copy beyond it":  {7, 5, 11, false},
		"of another tenure": {7, 4, 10, false},
		"for another one":   {8, 5, 10, false},
	} {
		if got := x.beganAt(p, c.epoch, c.from, c.seq); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A gap, another tenure, a damaged file and a full disk end a tail.
func TestTailEnds(t *testing.T) {
	const p = crawl.Partition(3)
	for name, c := range map[string]func(x *tail) error{
		"gap": func(x *tail) error { x.add(p, mutationOf(13, 9)); return nil },
		"another tenure": func(x *tail) error {
			m := mutationOf(12, 9)
			m.Epoch = 8
			x.add(p, m)
			return nil
		},
		"no memory":         func(x *tail) error { x.add(p, mutationOf(12, tailBuffer)); return nil },
		"end of the tenure": func(x *tail) error { x.drop(p); return nil },
		"end":               func(x *tail) error { x.end(); return nil },
		"nobody came back":  func(x *tail) error { x.expire(time.Now().Add(tailKeep + time.Second)); return nil },
		"full disk": func(x *tail) error {
			x.room = func() bool { return false }
			x.saveAll()
			return nil
		},
		"the disk fails": func(x *tail) error {
			x.saveAll()
			_ = x.files.list[0].f.Close()
			x.add(p, mutationOf(12, 9))
			x.saveAll()
			return nil
		},
		"damaged": func(x *tail) error {
			x.saveAll()
			_, err := x.files.list[0].f.WriteAt([]byte{0x55}, 12)
			return err
		},
	} {
		x := tailUnderTest(t)
		x.begin("b", p, 7, 10, []crawl.Mutation{mutationOf(11, 9)})
		if err := c(x); err != nil {
			t.Fatal(err)
		}
		if _, err := x.read(p, 7, 10, 11, 100); err == nil {
			t.Errorf("%s: it goes on", name)
		}
		x.saveAll()
		if n, _ := x.onDisk(); n != 0 && name != "damaged" {
			t.Errorf("%s: %d files are left", name, n)
		}
	}
}

// The files are bounded: the oldest gives way, and tails begin behind it.
func TestTailBound(t *testing.T) {
	x := tailUnderTest(t)
	const size = 1000
	x.files.most, x.files.each = 256*size, 16*size
	if !x.begin("b", 1, 7, 0, nil) || !x.begin("b", 2, 7, 0, []crawl.Mutation{mutationOf(1, 20)}) {
		t.Fatal("nothing is kept")
	}
	last := crawl.Seq(300)
	for seq := crawl.Seq(1); seq <= last; seq++ {
		x.add(1, mutationOf(seq, size))
		x.saveAll()
	}
	if n, bytes := x.onDisk(); bytes > x.files.most+x.files.each || n > 17 {
		t.Errorf("%d bytes in %d files, the bound is %d", bytes, n, x.files.most)
	}
	if x.covers(2, 7, 0) || x.covers(1, 7, 1) {
		t.Error("what the oldest file had is still there")
	}
	x.mu.Lock()
	base := x.parts[1].base
	x.mu.Unlock()
	if base > last-230 {
		t.Errorf("of %d mutations those up to %d are gone", last, base)
	}
	if err := x.readAll(1, base, last, size); err != nil {
		t.Error(err)
	}
}

// TestTailStart: what an earlier process has left is deleted.
func TestTailStart(t *testing.T) {
	x := tailUnderTest(t)
	if err := os.WriteFile(filepath.Join(x.files.dir, "00000009"), make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := x.files.open(); err != nil {
		t.Fatal(err)
	}
	if n, _ := x.onDisk(); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

func FuzzTailRecord(f *testing.F) {
	m := mutationOf(5, 30)
	f.Add(appendTailRecord(nil, 3, &m))
	f.Add(appendTailRecord([]byte{}, 0, &crawl.Mutation{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readTailRecord(b)
		if err != nil {
			return
		}
		again, err := readTailRecord(appendTailRecord(nil, got.Partition, &got.Mutation))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(got) {
			t.Errorf("%v is read again as %v, %v", got, again, err)
		}
	})
}

// TestStall: a replica that does not answer for some seconds goes on where it was, and
// nothing is copied again.
func TestStall(t *testing.T) {
	for _, stall := range []time.Duration{stallTimeout + time.Second, 10 * time.Second, time.Minute} {
		t.Run(stall.String(), func(t *testing.T) {
			bubble(t, three, func(t *testing.T, w *memNet) {
				v := w.install(1, three...)
				stop := w.load()
				w.settleUnder(v, time.Second)
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
				w.settle(v)
				synctest.Wait()
				if n := w.count((*Driver).Copied) - before; n > 0 {
					t.Errorf("%d whole copies were made", n)
				}
				if w.count((*Driver).CaughtUp) == 0 {
					t.Error("nothing was caught up from a tail")
				}
				for _, id := range three {
					if n, bytes := w.nodes[id].driver.tail.onDisk(); n > 0 {
						t.Errorf("%s keeps %d files with %d bytes", id, n, bytes)
					}
				}
			})
		})
	}
}

// TestCatchUpStops: who fills the queue for a link waits for room, and not for one that
// is over.
func TestCatchUpStops(t *testing.T) {
	for name, end := range map[string]func(r *replica, f *flow){
		"failed": func(r *replica, f *flow) { r.give([]*flow{f}) },
		"given up": func(r *replica, _ *flow) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.failAll()
		},
		"closed": func(r *replica, f *flow) {
			r.d.peers.close(machine.CloseLink{P: f.a.P, Node: r.id, Attempt: f.a.Attempt})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := fuzzDriver(t)
			d.peers.end() // nobody sends
			r := d.peers.of("b")
			f := &flow{r: r, a: machine.OpenLink{P: 1, Node: "b", Attempt: 3}}
			r.mu.Lock()
			r.flows[1], r.bytes = f, tailAhead
			r.mu.Unlock()
			got := make(chan error, 1)
			go func() { got <- r.sendTail(t.Context(), f, []crawl.Mutation{mutationOf(1, 9)}) }()
			synctest.Wait()
			if len(got) > 0 {
				t.Fatal("it did not wait for room")
			}
			end(r, f)
			synctest.Wait()
			select {
			case err := <-got:
				if !errors.Is(err, errFlowOver) {
					t.Errorf("%s: %v", name, err)
				}
			default:
				t.Fatalf("%s: it waits on", name)
			}
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
		w.settleUnder(v, time.Second)
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
		w.settleUnder(v, 20*time.Second)
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
		w.settle(v)
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
			w.settleUnder(v, time.Second)
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
			w.settle(v)
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
