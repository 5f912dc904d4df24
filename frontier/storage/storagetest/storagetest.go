package storagetest

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

	"crawlnode/frontier/storage"
)

// Opener opens a new store; reopen ends it as kill -9 would and opens it again. The options
// are for a store on disk.
type Opener func(t *testing.T, with ...func(*storage.BadgerOptions)) (kv storage.KV, reopen func() storage.KV)

// Stores are the KVs that every test of the conformance suite runs on.
var Stores = []struct {
	Name string
	Open Opener
}{
	{"memory", func(t *testing.T, _ ...func(*storage.BadgerOptions)) (storage.KV, func() storage.KV) {
		return OpenMemory(t)
	}},
	{"badger", OpenBadger},
}

// OpenMemory opens a store in memory, and says how it is opened again after a crash.
func OpenMemory(*testing.T) (storage.KV, func() storage.KV) {
	m := storage.NewMemory()
	return m, func() storage.KV {
		m = m.Crash()
		return m
	}
}

// OpenBadger opens a small store on disk, and says how it is opened again after a crash.
func OpenBadger(t *testing.T, with ...func(*storage.BadgerOptions)) (storage.KV, func() storage.KV) {
	dir := t.TempDir()
	open := func() storage.KV {
		// Small files, so that a copy of them costs little.
		o := storage.BadgerOptions{MemTableBytes: 8 << 20, ValueLogBytes: 1 << 20, BlockCacheBytes: 8 << 20, IndexCacheBytes: 4 << 20}
		for _, set := range with {
			set(&o)
		}
		kv, err := storage.OpenBadger(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		return kv
	}
	kv := open()
	t.Cleanup(func() { _ = kv.Close() })
	return kv, func() storage.KV {
		old := kv
		dir = Clone(t, dir)
		kv = open()
		_ = old.Close()
		return kv
	}
}

// OnStores runs a test on each store. The options are for the store on disk.
func OnStores(t *testing.T, test func(t *testing.T, kv storage.KV, reopen func() storage.KV), with ...func(*storage.BadgerOptions)) {
	t.Parallel()
	for _, s := range Stores {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			kv, reopen := s.Open(t, with...)
			test(t, kv, reopen)
		})
	}
}

// Dump reads all keys with a prefix.
func Dump(t testing.TB, kv storage.KV, prefix string) map[string]string {
	t.Helper()
	snap, err := kv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	return DumpSnapshot(t, snap, prefix)
}

// DumpSnapshot reads all keys of a snapshot with a prefix.
func DumpSnapshot(t testing.TB, snap storage.Snapshot, prefix string) map[string]string {
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

// Faulty is a KV whose n-th Write is the last: it fails, before or after the
// store has it, and so does every later one.
type Faulty struct {
	storage.KV
	mu      sync.Mutex
	Left    int
	Applied bool // the fatal Write reaches the store
	dead    bool
}

// ErrInjected is the error of a disk that is made to fail.
var ErrInjected = errors.New("injected crash")

// Write counts down to the crash.
func (f *Faulty) Write(entries []storage.Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return ErrInjected
	}
	if f.Left--; f.Left >= 0 {
		return f.KV.Write(entries)
	}
	f.dead = true
	if f.Applied {
		if err := f.KV.Write(entries); err != nil {
			return err
		}
	}
	return ErrInjected
}

// Clone copies the files of an open store as kill -9 would leave them:
// what the process wrote into its shared mappings is in the page cache, where
// this reads it. Holes stay holes. A copy during which the store's background
// work changed its set of files is no moment in time, and is made again.
func Clone(t testing.TB, from string) string {
	t.Helper()
	for {
		to, before := t.TempDir(), List(t, from)
		ok := true
		for name := range before {
			if name != "LOCK" {
				ok = ok && CloneFile(filepath.Join(from, name), filepath.Join(to, name)) == nil
			}
		}
		if ok && maps.Equal(before, List(t, from)) {
			return to
		}
	}
}

// List names the files of a folder with their sizes. A store has no folders: those in it
// stand in its way.
func List(t testing.TB, dir string) map[string]int64 {
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

// CloneFile copies a file with its holes.
func CloneFile(from, to string) error {
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

// OnceClose returns what closes a channel, at the end of the test at the latest.
func OnceClose(t *testing.T, c chan struct{}) func() {
	f := sync.OnceFunc(func() { close(c) })
	t.Cleanup(f)
	return f
}

// OpenSmall opens a store on disk that begins a new table after each megabyte.
func OpenSmall(dir string) (storage.KV, error) {
	return storage.OpenBadger(dir, storage.BadgerOptions{MemTableBytes: 1 << 20, ValueLogBytes: 1 << 20, BlockCacheBytes: 8 << 20, IndexCacheBytes: 4 << 20})
}

// Compare compares what a store has with what it should have.
func Compare(t testing.TB, what string, got, want map[string]string) {
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
