package hints

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

const part = crawl.Partition(3)

// killed is a folder as a process leaves it that is killed after it has written the mutations 11 to
// 60 of one partition, in several files.
func killed(t *testing.T) string {
	t.Helper()
	x := logUnderTest(t)
	x.files.each = 1500
	x.begin(part, 10, mutationOf(11, 40), mutationOf(12, 40))
	x.begin(part+1, 5)
	for seq := crawl.Seq(13); seq <= 60; seq++ {
		x.Add(part, mutationOf(seq, 40))
		x.saveAll()
	}
	x.Resumes("b", part, 7, 60)
	x.saveAll()
	if n, _ := x.onDisk(); n < 4 {
		t.Fatalf("all is in %d files", n)
	}
	return copyOf(t, x.opts.Dir)
}

// copyOf is what a crash leaves of a folder at this moment.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "hints")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// after starts over a folder, with a store that has the partition at seq.
func after(t *testing.T, dir string, seq crawl.Seq) (*Log, []Resumed) {
	t.Helper()
	x := logAt(t, dir)
	return x, x.Load(func(p crawl.Partition) machine.Found {
		if p != part {
			return machine.Found{}
		}
		return machine.Found{Generation: 1, Epoch: 7, Seq: seq, Held: true}
	})
}

// TestResume: the next process goes on with what is exactly the store's, and with nothing else.
func TestResume(t *testing.T) {
	x, on := after(t, killed(t), 60)
	if want := fmt.Sprint([]Resumed{{part, 7, 60, true}}); fmt.Sprint(on) != want {
		t.Fatalf("%v go on, want %s", on, want)
	}
	for seq := crawl.Seq(61); seq <= 70; seq++ {
		if !x.Add(part, mutationOf(seq, 40)) {
			t.Fatal("nothing can be added")
		}
		x.saveAll()
	}
	for _, from := range []crawl.Seq{10, 35, 60} {
		if err := x.readAll(part, from, 70, 40); err != nil || !x.covers("b", part, from) {
			t.Errorf("from %d: %v", from, err)
		}
	}
	if x.Continues("c", part, 7, machine.Found{Epoch: 7, Seq: 30}) != machine.Anew {
		t.Error("a copy goes on of which nothing is proved")
	}
	for name, found := range map[string]machine.Found{
		"a mutation is missing here":  {Generation: 1, Epoch: 7, Seq: 71},
		"the store lost all of it":    {Generation: 1, Epoch: 7, Seq: 9},
		"the copy was replaced":       {Generation: 2, Epoch: 7, Seq: 70},
		"of another tenure":           {Generation: 1, Epoch: 8, Seq: 70},
		"the partition is not here":   {},
		"it lost what b was promised": {Generation: 1, Epoch: 7, Seq: 8},
	} {
		y := logAt(t, copyOf(t, x.opts.Dir))
		if on := y.Load(func(crawl.Partition) machine.Found { return found }); len(on) > 0 {
			t.Errorf("%s: %v go on", name, on)
		}
		if n, _ := y.onDisk(); n > 0 || y.Bytes() != 0 {
			t.Errorf("%s: %d files are left", name, n)
		}
	}
	late := logAt(t, copyOf(t, x.opts.Dir))
	late.opts.Keep = time.Nanosecond
	if on := late.Load(func(crawl.Partition) machine.Found { return machine.Found{Generation: 1, Epoch: 7, Seq: 70} }); len(on) > 0 {
		t.Errorf("after the time: %v go on", on)
	}
}

// TestCutStaysCut: a store that lost mutations writes others under their numbers. They take the
// place of those in the hints, also after one more crash, and a copy that had the lost ones is
// never continued, however many there are again.
func TestCutStaysCut(t *testing.T) {
	x, on := after(t, killed(t), 30)
	if len(on) != 1 || on[0].Seq != 30 {
		t.Fatalf("%v go on", on)
	}
	other := func(seq crawl.Seq) crawl.Mutation { return mutationOf(seq, 50) }
	for seq := crawl.Seq(31); seq <= 80; seq++ {
		x.Add(part, other(seq))
	}
	x.saveAll()
	for _, x := range []*Log{x, func() *Log { y, _ := after(t, copyOf(t, x.opts.Dir), 80); return y }()} {
		ms, err := x.Read(&Cursor{}, part, 10, 80, 1<<20)
		for seq := crawl.Seq(11); err == nil && seq <= 80; {
			for _, m := range ms {
				want := mutationOf(seq, 40)
				if seq > 30 {
					want = other(seq)
				}
				if fmt.Sprint(m) != fmt.Sprint(want) {
					t.Fatalf("mutation %d is %v", seq, m)
				}
				seq++
			}
			if seq <= 80 {
				ms, err = x.Read(&Cursor{}, part, seq-1, 80, 1<<20)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if !x.covers("b", part, 30) || x.covers("b", part, 31) || x.covers("b", part, 60) {
			t.Error("a copy with what was lost goes on, or one without does not")
		}
	}
}

// TestCrashAtEachWrite: wherever the newest file ends, and whichever part of any file is damaged,
// what goes on is what was written, or nothing does.
func TestCrashAtEachWrite(t *testing.T) {
	dir := killed(t)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	resumed, refused := 0, 0
	try := func(name string, change func(b []byte) []byte) {
		at := copyOf(t, dir)
		b, err := os.ReadFile(filepath.Join(at, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, name), change(b), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, seq := range []crawl.Seq{60, 20} {
			x, on := after(t, copyOf(t, at), seq)
			if len(on) == 0 {
				refused++
				continue
			}
			switch err := x.readAll(part, 10, seq, 40); {
			case err == nil:
				resumed++
			case errors.Is(err, errWrong) || on[0].Seq != seq:
				t.Errorf("%s: %v go on: %v", name, on, err)
			}
		}
	}
	newest := files[len(files)-1].Name()
	info, err := files[len(files)-1].Info()
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(0); n <= info.Size(); n += info.Size() / 13 {
		try(newest, func(b []byte) []byte { return b[:n] })
	}
	for _, f := range files {
		for n := 0; n < 5; n++ {
			try(f.Name(), func(b []byte) []byte { b[n*len(b)/5] ^= 0x40; return b })
		}
	}
	if resumed < 10 || refused < 10 {
		t.Errorf("%d went on, %d did not", resumed, refused)
	}
}

// TestNewestIsDeleted: what is older than this process is not written to, even when it is the newest
// file again.
func TestNewestIsDeleted(t *testing.T) {
	x, _ := after(t, killed(t), 60)
	x.files.each = 1000
	x.begin(9, 0)
	for seq := crawl.Seq(1); seq <= 20; seq++ {
		x.Add(9, mutationOf(seq, 60))
		x.saveAll()
	}
	x.Drop(9)
	x.saveAll()
	for seq := crawl.Seq(61); seq <= 90; seq++ {
		if !x.Add(part, mutationOf(seq, 40)) {
			t.Fatal("nothing can be added")
		}
		x.saveAll()
	}
	if err := x.readAll(part, 10, 90, 40); err != nil {
		t.Error(err)
	}
	y, on := after(t, copyOf(t, x.opts.Dir), 90)
	if len(on) != 1 {
		t.Fatal("nothing goes on")
	}
	if err := y.readAll(part, 10, 90, 40); err != nil {
		t.Error(err)
	}
}

// TestHeadIsLost: the file whose head says that proofs end earlier is damaged there, and nothing of
// the files before it counts.
func TestHeadIsLost(t *testing.T) {
	x, _ := after(t, killed(t), 55)
	for seq := crawl.Seq(56); seq <= 58; seq++ {
		x.Add(part, mutationOf(seq, 50))
	}
	x.saveAll()
	dir := copyOf(t, x.opts.Dir)
	files, _ := os.ReadDir(dir)
	path := filepath.Join(dir, files[len(files)-1].Name())
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, on := after(t, copyOf(t, dir), 58); len(on) != 1 {
		t.Fatal("nothing goes on before the damage")
	}
	b[20] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, on := after(t, dir, 58); len(on) != 0 {
		t.Errorf("%v go on", on)
	}
}

// TestWithoutIndex: a file whose index was not written is read as a whole.
func TestWithoutIndex(t *testing.T) {
	dir := killed(t)
	files, _ := os.ReadDir(dir)
	for _, f := range files[:len(files)-1] {
		path := filepath.Join(dir, f.Name())
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		x := &file{size: int64(len(b)), places: map[crawl.Partition]place{}}
		if x.f, err = os.Open(path); err != nil {
			t.Fatal(err)
		}
		if !x.foot() || len(x.places) == 0 {
			t.Errorf("%s has no index", f.Name())
		}
		_ = x.f.Close()
		if err := os.WriteFile(path, b[:len(b)-6], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x, on := after(t, dir, 60)
	if len(on) != 1 {
		t.Fatal("nothing goes on")
	}
	if err := x.readAll(part, 10, 60, 40); err != nil {
		t.Error(err)
	}
}

// TestCaughtUpStaysSo: the next process does not doubt the copy of a node that has caught up while
// hints were kept for another one.
func TestCaughtUpStaysSo(t *testing.T) {
	t.Parallel()
	x := logUnderTest(t)
	x.begin(part, 10, mutationOf(11, 40), mutationOf(12, 40))
	for _, node := range []crawl.NodeID{"c", "d", "e"} {
		x.Begin(Behind{Node: node, P: part, At: machine.Found{Generation: 1, Epoch: 7, Seq: 12}, Sent: 12}, nil)
	}
	x.saveAll()
	x.Resumes("b", part, 7, 12)
	x.CaughtUp("b", part)
	x.InSync(part, machine.Set{Epoch: 7, Members: []crawl.NodeID{"c"}})
	for seq := crawl.Seq(13); seq <= 60; seq++ {
		x.Add(part, mutationOf(seq, 40))
	}
	x.parts[part].since["d"] = time.Now().Add(-x.opts.Keep - time.Second)
	x.expire(time.Now())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	x.Run(ended)
	y, on := after(t, x.opts.Dir, 60)
	if len(on) != 1 || !y.Doubts("e", part, machine.Found{Epoch: 7, Seq: 60}) {
		t.Fatalf("%v go on", on)
	}
	for _, node := range []crawl.NodeID{"b", "c", "d"} {
		if y.Doubts(node, part, machine.Found{Epoch: 7, Seq: 60}) {
			t.Errorf("the copy of %s is doubted: %v", node, y.parts[part].Behind)
		}
	}
}

// TestUnreadableFolder: when hints cannot be read, none of them is left for a later start, for which
// the store has other mutations under their numbers; new ones are kept.
func TestUnreadableFolder(t *testing.T) {
	t.Parallel()
	dir := killed(t)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, entries[0].Name())
	whole, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(bad), os.Symlink("/nonexistent/x", bad)); err != nil {
		t.Fatal(err)
	}
	two, on := after(t, dir, 30)
	if n, _ := two.onDisk(); n != 0 || len(on) > 0 {
		t.Errorf("%d files are left, %v go on", n, on)
	}
	if two.begin(part, 30); two.parts[part] == nil {
		t.Error("nothing new is kept")
	}
	two.saveAll()
	if err := os.WriteFile(bad, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, on := after(t, dir, 60); len(on) > 0 {
		t.Errorf("%v of the first process go on", on)
	}
}

// TestBytesOfDeadFiles: a series that ends while its file is written leaves nothing in the books.
func TestBytesOfDeadFiles(t *testing.T) {
	t.Parallel()
	x := logUnderTest(t)
	x.begin(part, 10, mutationOf(11, 40))
	x.saveAll()
	f, err := x.open()
	if err != nil {
		t.Fatal(err)
	}
	x.CaughtUp("b", part)
	x.mu.Lock()
	x.files.grow(f, 1000)
	x.files.release(f)
	x.mu.Unlock()
	x.saveAll()
	if n, size := x.onDisk(); n != 0 || size != x.Bytes() {
		t.Errorf("%d files of %d bytes, %d in the books", n, size, x.Bytes())
	}
}
