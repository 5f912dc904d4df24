package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"crawlnode/local/files"
)

var wide = Limits{Messages: 1 << 20, Bytes: 1 << 30, Segment: 200, Message: 1000}

func open(t testing.TB, dir string, l Limits, receivers ...string) *Spool {
	t.Helper()
	s, err := Open(Options{Dir: dir, Receivers: receivers, Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func appendAll(t testing.TB, s *Spool, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := s.Append([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// take takes up to n messages, and joins their texts.
func take(t testing.TB, s *Spool, receiver string, n int) string {
	t.Helper()
	var texts []string
	for range n {
		m, ok, err := s.Next(receiver)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		texts = append(texts, string(m.Text))
		if err := s.Took(receiver, m.Number); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(texts, " ")
}

// numbered are the texts from a to b.
func numbered(a, b int) []string {
	var texts []string
	for i := a; i <= b; i++ {
		texts = append(texts, fmt.Sprintf("message-%03d", i))
	}
	return texts
}

func segments(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := segmentsIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestSpool: each receiver gets all messages in order, over new starts, and what all have is
// removed.
func TestSpool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, wide, "a", "b")
	appendAll(t, s, numbered(1, 40)...)
	if err := s.Append([]byte("41"), []byte("42")); err != nil {
		t.Fatal(err)
	}
	want := append(numbered(1, 40), "41", "42")
	if got := take(t, s, "a", 25); got != strings.Join(want[:25], " ") {
		t.Errorf("a got %s", got)
	}
	if f := s.Figures("a"); f != (Figures{Queued: 17, Taken: 25}) {
		t.Errorf("figures of a: %+v", f)
	}
	many := len(segments(t, dir))
	if many < 5 {
		t.Errorf("%d segments", many)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, wide, "b", "a", "new")
	appendAll(t, s, "43")
	if got := take(t, s, "a", 100); got != strings.Join(append(want[25:], "43"), " ") {
		t.Errorf("a got %s after a new start", got)
	}
	if got := take(t, s, "new", 100); got != "43" {
		t.Errorf("a new receiver got %s", got)
	}
	if len(segments(t, dir)) < many {
		t.Error("segments were removed that b has not taken")
	}
	if got := take(t, s, "b", 100); got != strings.Join(append(want, "43"), " ") {
		t.Errorf("b got %s", got)
	}
	if left := segments(t, dir); len(left) != 1 {
		t.Errorf("%d segments are left", len(left))
	}
	if f := s.Figures("b"); f != (Figures{Taken: 43}) {
		t.Errorf("figures of b: %+v", f)
	}
}

// TestForgotten: a receiver that is not named any more keeps nothing, and begins anew.
func TestForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, wide, "a", "b")
	appendAll(t, s, numbered(1, 40)...)
	take(t, s, "a", 40)
	_ = s.Close()
	s = open(t, dir, wide, "a")
	if left := segments(t, dir); len(left) != 0 {
		t.Errorf("%d segments are left", len(left))
	}
	_ = s.Close()
	s = open(t, dir, wide, "a", "b")
	appendAll(t, s, "41")
	if got := take(t, s, "a", 9) + "," + take(t, s, "b", 9); got != "41,41" {
		t.Errorf("they got %s", got)
	}
}

// TestFull: the oldest messages go, each loss is counted, and the order stays.
func TestFull(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]Limits{
		"messages": {Messages: 20, Bytes: 1 << 30, Segment: 200, Message: 100},
		"bytes":    {Messages: 1 << 20, Bytes: 600, Segment: 200, Message: 100},
	} {
		dir := t.TempDir()
		s := open(t, dir, l, "quick", "down")
		for _, text := range numbered(1, 100) {
			appendAll(t, s, text)
			if got := take(t, s, "quick", 9); got != text {
				t.Fatalf("%s: the quick one got %s", name, got)
			}
			if s.messages > l.Messages || s.bytes > l.Bytes {
				t.Fatalf("%s: %d messages, %d bytes", name, s.messages, s.bytes)
			}
		}
		f := s.Figures("down")
		if f.Lost == 0 || f.Lost+f.Queued != 100 || s.Figures("quick").Lost != 0 {
			t.Errorf("%s: %+v, and the quick one %+v", name, f, s.Figures("quick"))
		}
		_ = s.Close()
		s = open(t, dir, l, "quick", "down")
		if again := s.Figures("down"); again != f {
			t.Errorf("%s: %+v after a new start, %+v before", name, again, f)
		}
		if got := take(t, s, "down", 100); got != strings.Join(numbered(int(f.Lost)+1, 100), " ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestRemovedWhileSent: a message that is removed while it is sent counts as taken when it arrives.
func TestRemovedWhileSent(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), Limits{Messages: 20, Bytes: 1 << 30, Segment: 200, Message: 100}, "a")
	appendAll(t, s, numbered(1, 1)...)
	m, _, err := s.Next("a")
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, s, numbered(2, 60)...)
	lost := s.Figures("a").Lost
	if err := s.Took("a", m.Number); err != nil {
		t.Fatal(err)
	}
	if f := s.Figures("a"); f.Lost != lost-1 || f.Taken != 1 || f.Lost+f.Taken+f.Queued != 60 {
		t.Errorf("%+v; %d were lost before", f, lost)
	}
}

// copyOf copies a folder as a kill at this moment leaves it.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestKilled opens what a kill leaves at each byte of a write: everything that was acknowledged is
// there, once and in order, and what comes after it too.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir, short := t.TempDir(), Limits{Messages: 1 << 20, Bytes: 1 << 30, Segment: 90, Message: 1000}
	s := open(t, dir, short, "a")
	for i := 1; i <= 7; i++ {
		before := copyOf(t, dir)
		appendAll(t, s, numbered(i, i)...)
		paths := segments(t, dir)
		newest := paths[len(paths)-1]
		whole, err := os.ReadFile(newest)
		if err != nil {
			t.Fatal(err)
		}
		had, err := os.ReadFile(filepath.Join(before, filepath.Base(newest)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for size := len(had); size <= len(whole); size++ {
			if err := os.WriteFile(filepath.Join(before, filepath.Base(newest)), whole[:size], 0o600); err !=
				nil {
				t.Fatal(err)
			}
			torn := open(t, copyOf(t, before), short, "a")
			appendAll(t, torn, "later")
			want := numbered(1, i)
			if size < len(whole) {
				want = numbered(1, i-1)
			}
			if got := take(t, torn, "a", 100); got != strings.Join(append(want, "later"), " ") ||
				torn.Damaged() != 0 {
				t.Fatalf("%d bytes of %d of message %d: %s, %d damaged", size, len(whole), i, got,
					torn.Damaged())
			}
		}
	}
}

// TestKilledWhileTaking: a cursor is where the last Took left it, whatever stands in the folder.
func TestKilledWhileTaking(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, wide, "a")
	appendAll(t, s, numbered(1, 15)...)
	for i := 1; i <= 15; i++ {
		take(t, s, "a", 1)
		killed := open(t, copyOf(t, dir), wide, "a")
		if got := take(t, killed, "a", 100); got != strings.Join(numbered(i+1, 15), " ") ||
			killed.Figures("a").Taken != 15 {
			t.Fatalf("after %d: %s, %+v", i, got, killed.Figures("a"))
		}
	}
}

// TestDamaged: a flipped bit costs one message, and cursors that cannot be read send all again.
func TestDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, wide, "a")
	appendAll(t, s, numbered(1, 12)...)
	take(t, s, "a", 2)
	_ = s.Close()
	first := segments(t, dir)[0]
	text, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(text, []byte("message-004"), []byte("massage-004"), 1)
	if err := os.WriteFile(first, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, wide, "a")
	want := slices.Delete(numbered(3, 12), 1, 2)
	if got := take(t, s, "a", 4); got != strings.Join(want[:4], " ") || s.Damaged() != 1 {
		t.Errorf("got %s, %d damaged", got, s.Damaged())
	}
	_ = s.Close()
	if err := os.WriteFile(filepath.Join(dir, "cursors.json"), []byte(`{"newest":`), 0o600); err !=
		nil {
		t.Fatal(err)
	}
	s = open(t, dir, wide, "a")
	appendAll(t, s, "later")
	if got := take(t, s, "a", 100); !strings.HasSuffix(got,
		strings.Join(append(want[4:], "later"), " ")) {
		t.Errorf("with damaged cursors: %s", got)
	}
}

// TestDamagedWhileOpen: what is damaged after the start is counted as lost.
func TestDamagedWhileOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, wide, "a")
	appendAll(t, s, numbered(1, 20)...)
	paths := segments(t, dir)
	if err := os.Remove(paths[1]); err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(take(t, s, "a", 100))
	f := s.Figures("a")
	if f.Lost == 0 || int(f.Lost)+len(got) != 20 || f.Taken != int64(len(got)) ||
		!slices.IsSorted(got) || got[len(got)-1] != "message-020" {
		t.Errorf("%+v, got %v", f, got)
	}
}

// faultyFile fails as it is told to.
type faultyFile struct {
	files.File
	of *faults
}

type faults struct {
	mu    sync.Mutex
	write int  // so many bytes are written, then ENOSPC; -1: all
	sync  bool // fails
	cut   bool // fails
}

func (f *faultyFile) Write(b []byte) (int, error) {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.of.write < 0 {
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:min(f.of.write, len(b))])
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f *faultyFile) Sync() error {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.of.sync {
		return syscall.EIO
	}
	return f.File.Sync()
}

func (f *faultyFile) Truncate(size int64) error {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.of.cut {
		return syscall.EIO
	}
	return f.File.Truncate(size)
}

// TestDiskFails: an append that fails can be made again, at this start or the next, and nothing
// that was acknowledged before is lost.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{false, true} {
		for _, fault := range []*faults{{write: 0, cut: cut}, {write: 7, cut: cut},
			{write: 1000, cut: cut}, {write: -1, sync: true, cut: cut}} {
			for _, had := range []int{0, 3} { // a new segment, and one that grows
				dir, now := t.TempDir(), &faults{write: -1}
				s, err := Open(Options{
					Dir:       dir,
					Receivers: []string{"a"},
					Limits:    wide,
					OpenFile: func(path string, flag int) (files.File, error) {
						f, err := files.OpenFile(path, flag)
						return &faultyFile{f, now}, err
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				appendAll(t, s, numbered(1, had)...)
				for range 3 {
					now.mu.Lock()
					now.write, now.sync, now.cut = fault.write, fault.sync, fault.cut
					now.mu.Unlock()
					if err := s.Append([]byte("again")); err == nil {
						t.Fatalf("%d bytes, sync fails: %v: no error", fault.write, fault.sync)
					}
				}
				now.mu.Lock()
				now.write, now.sync, now.cut = -1, false, false
				now.mu.Unlock()
				appendAll(t, s, "again", "later")
				want := strings.Join(append(numbered(1, had), "again", "later"), " ")
				next := open(t, copyOf(t, dir), wide, "a")
				if got := take(t, s, "a", 100); got != want {
					t.Errorf("%d bytes, sync fails: %v: %s, want %s", fault.write, fault.sync, got, want)
				}
				// What failed may be there after a new start, before what came in the end.
				got := strings.Fields(take(t, next, "a", 100))
				if once := slices.Compact(got); strings.Join(once, " ") != want {
					t.Errorf("%d bytes, sync fails: %v: %s after a new start, want %s", fault.write, fault.sync,
						once, want)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), wide, "a")
	if err := s.Append([]byte("small"), make([]byte, wide.Message+1)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if err := s.Append(bytes.Repeat([]byte{'x'}, wide.Message)); err != nil {
		t.Error(err)
	}
	if err := s.Lose(1); err != nil {
		t.Error(err)
	}
	if f := s.Figures("a"); f != (Figures{Queued: 1, Lost: 1}) {
		t.Errorf("%+v", f)
	}
	if got := take(t, s, "a", 9); len(got) != wide.Message {
		t.Errorf("%d bytes", len(got))
	}
}

// FuzzSegment: whatever a segment holds, it is read without a panic, and what follows is kept.
func FuzzSegment(f *testing.F) {
	f.Add(append(encode(1, []byte("one")), encode(2, []byte("two"))...))
	f.Add([]byte("00000000 1 x\n"))
	f.Add(encode(1<<64-2, nil))
	f.Add([]byte(strings.Repeat("x", 100<<10)))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, segmentName(1)), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cursors.json"), []byte(`{"cursors":{"a":{}}}`),
			0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, wide, "a")
		if s.newest > 1<<63 {
			return // no spool has so many messages
		}
		appendAll(t, s, "later")
		n := int(s.Figures("a").Queued)
		if got := take(t, s, "a", n); !strings.HasSuffix(got, "later") || s.Figures("a").Queued != 0 {
			t.Errorf("%d messages, and the last one is not the new one: %q", n, got)
		}
	})
}
