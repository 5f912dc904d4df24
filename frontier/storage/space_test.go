package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestRoom(t *testing.T) {
	t.Parallel()
	var free int64
	var err error
	s := space{free: func(string) (int64, error) { return free, err }}
	for _, c := range []struct {
		free int64
		err  error
		want error // nil: there is room
	}{
		{ReserveBytes, nil, nil},
		{ReserveBytes - 1, nil, ErrNoSpace},
		{0, errors.New("no such volume"), nil}, // what cannot be known must not stop the store
		{0, syscall.EROFS, syscall.EROFS},
		{0, syscall.EIO, syscall.EIO},
		{ReserveBytes, roomForFiles("", 500, ReserveFiles-1), ErrNoSpace},
		{ReserveBytes, roomForFiles("", 500, ReserveFiles), nil},
		{ReserveBytes, roomForFiles("", 0, 0), nil}, // a volume without a limit
	} {
		free, err = c.free, c.err
		if got := s.room(); !errors.Is(got, c.want) || c.want == nil && got != nil {
			t.Errorf("%d bytes, %v: %v, want %v", c.free, c.err, got, c.want)
		}
	}
}

// TestReserve: what was added is there after any crash, in its order, and nothing of
// an earlier round.
func TestReserve(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), reserveFile)
	open := func() *reserve {
		t.Helper()
		r, err := openReserve(path, 4096)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.close() })
		return r
	}
	entry := func(i int) Entry { return Entry{Key: fmt.Append(nil, OwnRange, i), Value: []byte(fmt.Sprint(i))} }
	keys := func(r *reserve) (out []string) {
		for _, e := range r.kept {
			out = append(out, string(e.Value))
		}
		return out
	}
	r := open()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(r.add([]Entry{entry(1), entry(2)}))
	must(r.touch())
	must(r.add([]Entry{entry(3)}))
	if got := keys(open()); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("it has %v", got)
	}
	must(r.clear())
	if got := keys(open()); len(got) > 0 {
		t.Errorf("after clear it has %v", got)
	}
	// The first record of the new round is as long as the first of the old one, whose
	// second stands right behind it.
	r = open()
	must(r.add([]Entry{entry(4), entry(5)}))
	if got := keys(open()); !slices.Equal(got, []string{"4", "5"}) {
		t.Errorf("in the second round it has %v", got)
	}
	n := 0
	for r.add([]Entry{entry(9)}) == nil {
		n++
	}
	if err := r.add([]Entry{entry(9)}); !errors.Is(err, ErrNoSpace) || n < 50 {
		t.Errorf("after %d more it says %v", n, err)
	}
	if got := keys(open()); len(got) != n+2 {
		t.Errorf("full, it has %d entries, want %d", len(got), n+2)
	}
	// A torn record ends the file.
	raw, err := os.ReadFile(path)
	must(err)
	raw[r.end-1] ^= 1
	must(os.WriteFile(path, raw, 0o600))
	if got := keys(open()); len(got) != n+1 {
		t.Errorf("with a torn end it has %d entries, want %d", len(got), n+1)
	}
}

// TestFrozenMemory: nothing comes to an end while the disk is frozen, and its crash
// frees who waits.
//
//race:meets
func TestFrozenMemory(t *testing.T) {
	t.Parallel()
	for _, end := range []func(*Memory) error{
		func(m *Memory) error { m.SetTrouble(Trouble{}); return nil },
		func(m *Memory) error { m.Crash(); return ErrClosed },
		func(m *Memory) error { m.SetTrouble(Trouble{Err: syscall.EIO}); return syscall.EIO },
	} {
		m := NewMemory()
		m.SetTrouble(Trouble{Frozen: true})
		got := make(chan error, 2)
		go func() { got <- m.Write([]Entry{{Key: []byte("k"), Value: []byte("v")}}) }()
		go func() { got <- m.Sync() }()
		select {
		case err := <-got:
			t.Fatalf("on a frozen disk something ended with %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		want := end(m)
		for range 2 {
			if err := <-got; !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("it ended with %v, want %v", err, want)
			}
		}
	}
}
