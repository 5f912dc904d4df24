package hints

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// logAt is a Log over a folder whose writer is the test.
func logAt(t *testing.T, dir string) *Log {
	t.Helper()
	x := New(Options{Dir: dir, Keep: time.Hour, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(x.end)
	return x
}

func logUnderTest(t *testing.T) *Log {
	t.Helper()
	x := logAt(t, filepath.Join(t.TempDir(), "hints"))
	x.Load(func(crawl.Partition) machine.Found { return machine.Found{} })
	return x
}

func (l *Log) onDisk() (n int, bytes int64) {
	es, _ := os.ReadDir(l.opts.Dir)
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

// begin has b fall behind at base, after which so many mutations were on their way.
func (l *Log) begin(p crawl.Partition, base crawl.Seq, ms ...crawl.Mutation) bool {
	return l.Begin(Behind{Node: "b", P: p, At: machine.Found{Generation: 1, Epoch: 7, Seq: base, Held: true}, Sent: base + crawl.Seq(len(ms))}, ms)
}

// errWrong means that the log gives what was never written.
var errWrong = errors.New("wrong")

// readAll reads a series to its end, in pieces, and checks each mutation.
func (l *Log) readAll(p crawl.Partition, from, last crawl.Seq, size int) error {
	var at Cursor
	for seq := from; seq < last; {
		ms, err := l.Read(&at, p, seq, last, 3*size)
		if err != nil {
			return err
		}
		if len(ms) == 0 || len(ms) > 4 {
			return fmt.Errorf("%d mutations at once", len(ms))
		}
		for _, m := range ms {
			if seq++; fmt.Sprint(m) != fmt.Sprint(mutationOf(seq, size)) {
				return fmt.Errorf("%w: mutation %d is %v", errWrong, seq, m)
			}
		}
	}
	return nil
}

// covers reports whether a node's copy goes on by what is here.
func (l *Log) covers(id crawl.NodeID, p crawl.Partition, seq crawl.Seq) bool {
	return l.Continues(id, p, 7, machine.Found{Epoch: 7, Seq: seq}) == machine.ByTail
}

func TestLog(t *testing.T) {
	x := logUnderTest(t)
	x.files.each = 1000
	const p = crawl.Partition(3)
	if !x.begin(p, 10, mutationOf(11, 40), mutationOf(12, 40)) {
		t.Fatal("the caller is not to add to it")
	}
	if x.Begin(Behind{Node: "c", P: p, At: machine.Found{Generation: 1, Epoch: 7, Seq: 12}, Sent: 12}, nil) {
		t.Error("two callers are to add to it")
	}
	for seq := crawl.Seq(12); seq <= 60; seq++ { // 12 comes twice
		if !x.Add(p, mutationOf(seq, 40)) {
			t.Fatal("it ended")
		}
		if seq%3 == 0 && seq < 50 {
			x.saveAll()
		}
	}
	if n, _ := x.onDisk(); n < 3 {
		t.Errorf("all is in %d files", n)
	}
	for from := crawl.Seq(10); from <= 60; from++ { // from the files, from memory, from both
		if err := x.readAll(p, from, 60, 40); err != nil || !x.covers("x", p, from) || x.covers("b", p, from) != (from <= 12) {
			t.Errorf("from %d: %v", from, err)
		}
	}
	if x.covers("x", p, 9) || x.covers("x", p, 61) || x.covers("b", 4, 20) {
		t.Error("it covers what it has not")
	}
	if _, err := x.Read(&Cursor{}, p, 9, 60, 100); !errors.Is(err, ErrGone) {
		t.Errorf("mutations before it: %v", err)
	}
	x.CaughtUp("c", p)
	if !x.covers("x", p, 60) {
		t.Error("it ended with c, and b has not come back")
	}
	x.CaughtUp("b", p)
	x.saveAll()
	if n, _ := x.onDisk(); n != 0 || x.covers("b", p, 60) || x.Add(p, mutationOf(61, 40)) || x.spans != 0 || x.buffered != 0 || x.Bytes() != 0 {
		t.Errorf("after all have caught up: %d files, %d spans, %d bytes in memory, %d on the disk", n, x.spans, x.buffered, x.Bytes())
	}
	x.saveAll()
	if n, _ := x.onDisk(); n != 0 {
		t.Errorf("%d files after nothing was written", n)
	}
}

// A gap, another tenure, a damaged file and a full disk end a series.
func TestSeriesEnds(t *testing.T) {
	const p = crawl.Partition(3)
	for name, c := range map[string]func(x *Log) error{
		"gap": func(x *Log) error { x.Add(p, mutationOf(13, 9)); return nil },
		"another tenure": func(x *Log) error {
			m := mutationOf(12, 9)
			m.Epoch = 8
			x.Add(p, m)
			return nil
		},
		"no memory":         func(x *Log) error { x.Add(p, mutationOf(12, maxBuffered)); return nil },
		"replaced":          func(x *Log) error { x.Drop(p); return nil },
		"adopted elsewhere": func(x *Log) error { x.Adopt(p, 7, 10, 8); return nil },
		"promoted elsewhere": func(x *Log) error {
			x.Promote(nil, Promoted{P: p, Generation: 1, Epoch: 8, From: 7, Seq: 12})
			return nil
		},
		"promoted after a copy": func(x *Log) error {
			x.Promote(nil, Promoted{P: p, Generation: 2, Epoch: 8, From: 7, Seq: 11})
			return nil
		},
		"nobody came back": func(x *Log) error { x.expire(time.Now().Add(x.opts.Keep + time.Second)); return nil },
		"full disk": func(x *Log) error {
			x.opts.Free = func() int64 { return share*maxFileBytes - 1 }
			x.saveAll()
			return nil
		},
		"the disk fails": func(x *Log) error {
			x.saveAll()
			_ = x.files.list[0].f.Close()
			x.Add(p, mutationOf(12, 9))
			x.saveAll()
			return nil
		},
		"damaged": func(x *Log) error {
			x.saveAll()
			_, err := x.files.list[0].f.WriteAt([]byte{0x55}, x.files.list[0].size-4)
			return err
		},
	} {
		x := logUnderTest(t)
		x.begin(p, 10, mutationOf(11, 9))
		if err := c(x); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Read(&Cursor{}, p, 10, 11, 100); err == nil {
			t.Errorf("%s: it goes on", name)
		}
		x.saveAll()
		if n, _ := x.onDisk(); n != 0 && name != "damaged" {
			t.Errorf("%s: %d files are left", name, n)
		}
	}
}

// TestNothingIsKept: with a time of 0 there are no hints, and those of the last run are deleted.
func TestNothingIsKept(t *testing.T) {
	first := logUnderTest(t)
	first.begin(3, 10, mutationOf(11, 9))
	first.end()
	if n, _ := first.onDisk(); n == 0 {
		t.Fatal("nothing was kept for the next run")
	}
	x := New(Options{Dir: first.opts.Dir, Logger: slog.New(slog.DiscardHandler)})
	if on := x.Load(func(crawl.Partition) machine.Found { return machine.Found{Generation: 1, Epoch: 7, Seq: 11} }); len(on) > 0 || x.begin(3, 10) {
		t.Errorf("%v go on", on)
	}
	if n, _ := x.onDisk(); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

// The files are bounded: the oldest is deleted, and every series begins behind it.
func TestBound(t *testing.T) {
	x := logUnderTest(t)
	const size = 1000
	x.files.most, x.files.each = 256*size, 16*size
	if !x.begin(1, 0) || !x.begin(2, 0, mutationOf(1, 20)) {
		t.Fatal("nothing is kept")
	}
	last := crawl.Seq(300)
	for seq := crawl.Seq(1); seq <= last; seq++ {
		x.Add(1, mutationOf(seq, size))
		x.Resumes("b", 1, 7, seq)
		x.saveAll()
	}
	if n, bytes := x.onDisk(); bytes > x.files.most+x.files.each || n > 17 || bytes != x.Bytes() {
		t.Errorf("%d bytes in %d files, the bound is %d; it says %d", bytes, n, x.files.most, x.Bytes())
	}
	if x.covers("b", 2, 0) || x.covers("b", 1, 1) {
		t.Error("what the oldest file had is still there")
	}
	x.mu.Lock()
	base := x.parts[1].Base
	x.mu.Unlock()
	if base > last-150 {
		t.Errorf("of %d mutations those up to %d are gone", last, base)
	}
	if err := x.readAll(1, base, last, size); err != nil {
		t.Error(err)
	}
}

// TestShareOfTheDisk: hints take a share of what is free, and leave the rest.
func TestShareOfTheDisk(t *testing.T) {
	x := logUnderTest(t)
	const size = 1000
	x.files.each = 16 * size
	free := int64(100*size) * share
	x.opts.Free = func() int64 { return free - x.files.bytes }
	x.begin(1, 0)
	for seq := crawl.Seq(1); seq <= 300; seq++ {
		x.Add(1, mutationOf(seq, size))
		x.Resumes("b", 1, 7, seq)
		x.saveAll()
	}
	if _, bytes := x.onDisk(); bytes > 100*size || bytes < 50*size {
		t.Errorf("%d bytes of %d that are free", bytes, free)
	}
}

func FuzzRecord(f *testing.F) {
	m := mutationOf(5, 30)
	f.Add(appendMutation(nil, 0, 9, 3, &m))
	f.Add(appendMutation([]byte{}, 4, 0, 0, &crawl.Mutation{}))
	f.Add(recordJSON(kindState, state{Partition: 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRecord(b)
		if err != nil {
			return
		}
		id, got, err := r.mutation()
		if err != nil {
			return
		}
		r, err = parseRecord(appendMutation(nil, r.previous, id, got.Partition, &got.Mutation))
		if err != nil {
			t.Fatal(err)
		}
		if sameID, again, err := r.mutation(); err != nil || sameID != id || fmt.Sprint(again) != fmt.Sprint(got) {
			t.Errorf("%v is read again as %v, %v", got, again, err)
		}
	})
}
