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
)

// logUnderTest is a Log whose writer is the test.
func logUnderTest(t *testing.T) *Log {
	t.Helper()
	x := New(filepath.Join(t.TempDir(), "hints"), nil, slog.New(slog.DiscardHandler))
	if err := x.files.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.end)
	return x
}

func (l *Log) saveAll() {
	for l.save() {
	}
	l.clean()
}

func (l *Log) onDisk() (n int, bytes int64) {
	es, _ := os.ReadDir(l.files.dir)
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

// readAll reads a series to its end, in pieces, and checks each mutation.
func (l *Log) readAll(p crawl.Partition, from, last crawl.Seq, size int) error {
	for seq := from; seq < last; {
		ms, err := l.Read(p, 7, seq, last, 3*size)
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

func TestLog(t *testing.T) {
	x := logUnderTest(t)
	const p = crawl.Partition(3)
	if !x.Begin("b", p, 7, 10, []crawl.Mutation{mutationOf(11, 40), mutationOf(12, 40)}) {
		t.Fatal("the caller is not to add to it")
	}
	if x.Begin("c", p, 7, 12, nil) {
		t.Error("two callers are to add to it")
	}
	for seq := crawl.Seq(12); seq <= 40; seq++ { // 12 comes twice
		if !x.Add(p, mutationOf(seq, 40)) {
			t.Fatal("it ended")
		}
		if seq == 30 {
			x.saveAll()
		}
	}
	for from := crawl.Seq(10); from <= 40; from++ { // from the file, from memory, from both
		if err := x.readAll(p, from, 40, 40); err != nil || !x.Covers(p, 7, from) {
			t.Errorf("from %d: %v", from, err)
		}
	}
	if x.Covers(p, 7, 9) || x.Covers(p, 7, 41) || x.Covers(p, 8, 20) || x.Covers(4, 7, 20) {
		t.Error("it covers what it has not")
	}
	if _, err := x.Read(p, 7, 9, 40, 100); !errors.Is(err, ErrGone) {
		t.Errorf("mutations before it: %v", err)
	}
	x.CaughtUp("c", p)
	if !x.Covers(p, 7, 40) {
		t.Error("it ended with c, and b has not come back")
	}
	x.CaughtUp("b", p)
	x.saveAll()
	if n, _ := x.onDisk(); n != 0 || x.Covers(p, 7, 40) || x.Add(p, mutationOf(41, 40)) || x.hints != 0 || x.buffered != 0 {
		t.Errorf("after all have caught up: %d files, %d items, %d bytes in memory", n, x.hints, x.buffered)
	}
	x.saveAll()
	if n, _ := x.onDisk(); n != 0 {
		t.Errorf("%d files after nothing was written", n)
	}
}

// Hints from the beginning of a tenure serve the very copy that was promoted: an older
// one lacks mutations that the hints lack too, and one that goes further has others.
func TestPromoted(t *testing.T) {
	x := logUnderTest(t)
	const p = crawl.Partition(3)
	if !x.BeginTenure([]crawl.NodeID{"b"}, Promoted{P: p, Epoch: 7, From: 5, Seq: 10}) {
		t.Fatal("the caller is not to add to it")
	}
	x.Add(p, mutationOf(11, 40))
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
		if got := x.BeganAt(Promoted{P: p, Epoch: c.epoch, From: c.from, Seq: c.seq}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
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
		"end of the tenure": func(x *Log) error { x.Drop(p); return nil },
		"end":               func(x *Log) error { x.end(); return nil },
		"nobody came back":  func(x *Log) error { x.expire(time.Now().Add(keepFor + time.Second)); return nil },
		"full disk": func(x *Log) error {
			x.room = func() bool { return false }
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
			_, err := x.files.list[0].f.WriteAt([]byte{0x55}, 12)
			return err
		},
	} {
		x := logUnderTest(t)
		x.Begin("b", p, 7, 10, []crawl.Mutation{mutationOf(11, 9)})
		if err := c(x); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Read(p, 7, 10, 11, 100); err == nil {
			t.Errorf("%s: it goes on", name)
		}
		x.saveAll()
		if n, _ := x.onDisk(); n != 0 && name != "damaged" {
			t.Errorf("%s: %d files are left", name, n)
		}
	}
}

// The files are bounded: the oldest is deleted, and every series begins behind it.
func TestBound(t *testing.T) {
	x := logUnderTest(t)
	const size = 1000
	x.files.most, x.files.each = 256*size, 16*size
	if !x.Begin("b", 1, 7, 0, nil) || !x.Begin("b", 2, 7, 0, []crawl.Mutation{mutationOf(1, 20)}) {
		t.Fatal("nothing is kept")
	}
	last := crawl.Seq(300)
	for seq := crawl.Seq(1); seq <= last; seq++ {
		x.Add(1, mutationOf(seq, size))
		x.saveAll()
	}
	if n, bytes := x.onDisk(); bytes > x.files.most+x.files.each || n > 17 {
		t.Errorf("%d bytes in %d files, the bound is %d", bytes, n, x.files.most)
	}
	if x.Covers(2, 7, 0) || x.Covers(1, 7, 1) {
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

// TestStart: the files of an earlier process are deleted.
func TestStart(t *testing.T) {
	x := logUnderTest(t)
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

func FuzzRecord(f *testing.F) {
	m := mutationOf(5, 30)
	f.Add(appendRecord(nil, 3, &m))
	f.Add(appendRecord([]byte{}, 0, &crawl.Mutation{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readRecord(b)
		if err != nil {
			return
		}
		again, err := readRecord(appendRecord(nil, got.Partition, &got.Mutation))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(got) {
			t.Errorf("%v is read again as %v, %v", got, again, err)
		}
	})
}
