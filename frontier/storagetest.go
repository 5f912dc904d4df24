package frontier

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// stores are the KVs that every test of the conformance suite runs on.
var stores = []struct {
	name string
	// open opens a store; reopen ends it as kill -9 would and opens it again.
	open func(t *testing.T, with ...func(*BadgerOptions)) (kv KV, reopen func() KV)
}{
	{"memory", func(t *testing.T, _ ...func(*BadgerOptions)) (KV, func() KV) { return openTestMemory(t) }},
	{"badger", openTestBadger},
}

// openTestMemory opens a store in memory, and says how it is opened again after a crash.
func openTestMemory(*testing.T) (KV, func() KV) {
	m := NewMemory()
	return m, func() KV {
		m = m.Crash()
		return m
	}
}

// openTestBadger opens a small store on disk, and says how it is opened again after a crash.
func openTestBadger(t *testing.T, with ...func(*BadgerOptions)) (KV, func() KV) {
	dir := t.TempDir()
	open := func() KV {
		// Small files, so that a copy of them costs little.
		o := BadgerOptions{MemTableBytes: 8 << 20, ValueLogBytes: 1 << 20, BlockCacheBytes: 8 << 20, IndexCacheBytes: 4 << 20}
		for _, set := range with {
			set(&o)
		}
		kv, err := OpenBadger(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		return kv
	}
	kv := open()
	t.Cleanup(func() { _ = kv.Close() })
	return kv, func() KV {
		old := kv
		dir = cloneStore(t, dir)
		kv = open()
		_ = old.Close()
		return kv
	}
}

// onStores runs a test on each store. The options are for the store on disk.
func onStores(t *testing.T, test func(t *testing.T, kv KV, reopen func() KV), with ...func(*BadgerOptions)) {
	t.Parallel()
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			kv, reopen := s.open(t, with...)
			test(t, kv, reopen)
		})
	}
}

// dump reads all keys with a prefix.
func dump(t testing.TB, kv KV, prefix string) map[string]string {
	t.Helper()
	snap, err := kv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	return dumpSnapshot(t, snap, prefix)
}

// dumpSnapshot reads all keys of a snapshot with a prefix.
func dumpSnapshot(t testing.TB, snap Snapshot, prefix string) map[string]string {
	t.Helper()
	it := snap.Iterate([]byte(prefix))
	defer it.Close()
	out := map[string]string{}
	last := ""
	for it.Seek([]byte(prefix)); it.Valid(); it.Next() {
		v, err := it.Value()
		if err != nil {
			t.Fatal(err)
		}
		if k := string(it.Key()); k <= last && last != "" || !strings.HasPrefix(k, prefix) {
			t.Fatalf("key %q came after %q, prefix %q", k, last, prefix)
		}
		last = string(it.Key())
		out[last] = string(v)
	}
	return out
}

// faulty is a KV whose n-th Write is the last: it fails, before or after the
// store has it, and so does every later one.
type faulty struct {
	KV
	mu      sync.Mutex
	left    int
	applied bool // the fatal Write reaches the store
	dead    bool
}

// errInjected is the error of a disk that is made to fail.
var errInjected = errors.New("injected crash")

// Write counts down to the crash.
func (f *faulty) Write(entries []Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return errInjected
	}
	if f.left--; f.left >= 0 {
		return f.KV.Write(entries)
	}
	f.dead = true
	if f.applied {
		if err := f.KV.Write(entries); err != nil {
			return err
		}
	}
	return errInjected
}

// cloneStore copies the files of an open store as kill -9 would leave them:
// what the process wrote into its shared mappings is in the page cache, where
// this reads it. Holes stay holes. A copy during which the store's background
// work changed its set of files is no moment in time, and is made again.
func cloneStore(t testing.TB, from string) string {
	t.Helper()
	for {
		to, before := t.TempDir(), listing(t, from)
		ok := true
		for name := range before {
			if name != "LOCK" {
				ok = ok && cloneFile(filepath.Join(from, name), filepath.Join(to, name)) == nil
			}
		}
		if ok && maps.Equal(before, listing(t, from)) {
			return to
		}
	}
}

// listing names the files of a folder with their sizes. A store has no folders: those in it
// stand in its way.
func listing(t testing.TB, dir string) map[string]int64 {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = info.Size()
	}
	return out
}

// cloneFile copies a file with its holes.
func cloneFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	buf, zero := make([]byte, 1<<16), make([]byte, 1<<16)
	at := int64(0)
	for {
		n, err := in.Read(buf)
		if n == 0 {
			return errors.Join(out.Truncate(at), ignoreEOF(err))
		}
		if !bytes.Equal(buf[:n], zero[:n]) {
			if _, err := out.WriteAt(buf[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// onceClose returns what closes a channel, at the end of the test at the latest.
func onceClose(t *testing.T, c chan struct{}) func() {
	f := sync.OnceFunc(func() { close(c) })
	t.Cleanup(f)
	return f
}

// smallBadger opens a store on disk that begins a new table after each megabyte.
func smallBadger(dir string) (KV, error) {
	return OpenBadger(dir, BadgerOptions{MemTableBytes: 1 << 20, ValueLogBytes: 1 << 20, BlockCacheBytes: 8 << 20, IndexCacheBytes: 4 << 20})
}

// compare compares what a store has with what it should have.
func compare(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d keys, want %d", what, len(got), len(want))
	}
	for k, v := range want {
		if got[k] != v {
			t.Fatalf("%s: %q = %q, want %q", what, k, got[k], v)
		}
	}
}
