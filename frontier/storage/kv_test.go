package storage_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"

	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestKVAgainstMap compares a store with a map over random writes, with
// snapshots that must not move and crashes that must not lose.
func TestKVAgainstMap(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		rng := rand.New(rand.NewPCG(1, 2))
		model := map[string]string{}
		for round := range 60 {
			before, err := kv.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			old := map[string]string{}
			for k, v := range model {
				old[k] = v
			}
			var batch []storage.Entry
			for range rng.IntN(40) {
				k := fmt.Sprintf("k%03d", rng.IntN(200))
				v := ""
				if rng.IntN(3) > 0 {
					v = fmt.Sprint("v", rng.IntN(1000))
				}
				batch = append(batch, storage.Entry{Key: []byte(k), Value: []byte(v)})
				model[k] = v
				if v == "" {
					delete(model, k)
				}
			}
			if err := kv.Write(batch); err != nil {
				t.Fatal(err)
			}
			storagetest.Compare(t, "snapshot before the write", storagetest.DumpSnapshot(t, before, "k"), old)
			before.Close()
			storagetest.Compare(t, "store", storagetest.Dump(t, kv, "k"), model)
			checkGetAndSeek(t, kv, model, fmt.Sprintf("k%03d", rng.IntN(200)))
			if round%20 == 19 {
				kv = reopen()
				storagetest.Compare(t, "after a crash", storagetest.Dump(t, kv, "k"), model)
			}
		}
	})
}

func checkGetAndSeek(t *testing.T, kv storage.KV, model map[string]string, key string) {
	t.Helper()
	snap, err := kv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	v, ok, err := snap.Get([]byte(key), nil)
	if want, has := model[key]; err != nil || ok != has || string(v) != want {
		t.Fatalf("Get(%q) = %q, %v, %v; want %q, %v", key, v, ok, err, want, has)
	}
	keys := make([]string, 0, len(model))
	for k := range model {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	i := sort.SearchStrings(keys, key)
	it := snap.Iterate([]byte("k"))
	defer it.Close()
	it.Seek([]byte(key))
	if it.Valid() != (i < len(keys)) || it.Valid() && string(it.Key()) != keys[i] {
		t.Fatalf("Seek(%q): valid %v, want key %d of %d", key, it.Valid(), i, len(keys))
	}
}

func TestKVRefusesTooMuch(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		l := kv.Limits()
		if l.Entries < 9_000 || l.Bytes < 900<<10 {
			t.Fatalf("limits %+v are too small to be of use", l)
		}
		batch := make([]storage.Entry, l.Entries*2)
		for i := range batch {
			batch[i] = storage.Entry{Key: fmt.Appendf(nil, "a%d", i), Value: []byte{1}}
		}
		if err := kv.Write(batch); !errors.Is(err, storage.ErrTooBig) {
			t.Fatalf("too many entries: %v", err)
		}
		if n := len(storagetest.Dump(t, kv, "a")); n != 0 {
			t.Fatalf("%d entries of a refused write are there", n)
		}
		if err := kv.Write(batch[:l.Entries]); err != nil {
			t.Fatalf("a write within the limits: %v", err)
		}
		big := make([]storage.Entry, 64)
		for i := range big {
			big[i] = storage.Entry{Key: fmt.Appendf(nil, "b%d", i), Value: make([]byte, l.Bytes/64-16)}
		}
		if err := kv.Write(big); err != nil {
			t.Fatalf("a write of as many bytes as allowed: %v", err)
		}
	})
}

func TestMemoryPowerLoss(t *testing.T) {
	t.Parallel()
	m := storage.NewMemory()
	put := func(k string) {
		if err := m.Write([]storage.Entry{{Key: []byte(k), Value: []byte{1}}}); err != nil {
			t.Fatal(err)
		}
	}
	put("synced")
	if err := m.Sync(); err != nil {
		t.Fatal(err)
	}
	put("written")
	dead := m
	m = m.Crash()
	if got := storagetest.Dump(t, m, ""); len(got) != 2 {
		t.Fatalf("after kill -9: %v", got)
	}
	if err := dead.Write(nil); !errors.Is(err, storage.ErrClosed) {
		t.Fatalf("write into a dead store: %v", err)
	}
	m = m.PowerLoss()
	if got := storagetest.Dump(t, m, ""); len(got) != 1 || got["synced"] == "" {
		t.Fatalf("after a loss of power: %v", got)
	}
}
