package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// tabled is a store with tables, as it was closed, and what is in it.
type tabled struct {
	dir   string
	model map[string]string
}

// makeTabled makes a store of some megabytes that do not compress well.
func makeTabled(t *testing.T) tabled {
	t.Helper()
	s := tabled{dir: t.TempDir(), model: map[string]string{}}
	kv, err := storagetest.OpenSmall(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	source := rand.NewChaCha8([32]byte{5, 6})
	rng := rand.New(source)
	for n := range 50 {
		var batch []storage.Entry
		for i := range 20 {
			k := fmt.Sprintf("p%03d/%d", rng.IntN(1000), i)
			v := make([]byte, 1500)
			_, _ = source.Read(v) // it never fails
			v = fmt.Appendf(v, "%d", n)
			batch = append(batch, storage.Entry{Key: []byte(k), Value: v})
			s.model[k] = string(v)
		}
		if err := kv.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, kv)
	return s
}

// closed closes a store, however long that takes on a machine that others use.
func closed(t *testing.T, kv storage.KV) {
	t.Helper()
	storage.SetPatience(kv, time.Hour)
	if err := kv.Close(); err != nil {
		t.Error(err)
	}
}

// tables are the names of the files.
func (s tabled) tables(t *testing.T) []string {
	t.Helper()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(storagetest.List(t, s.dir))),
		func(name string) bool { return filepath.Ext(name) != ".sst" })
	if len(names) == 0 {
		t.Fatal("the store has no table")
	}
	return names
}

// inValue is a place in a table where a value stands as it is, because it does not compress; a bit
// that flips there is in any case a damage. It is not in the last block, which is verified at the
// open. ok is false when the table is small, or has no value of the model there.
func (s tabled) inValue(t *testing.T, name string) (at int, ok bool) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range slices.Sorted(maps.Keys(s.model)) {
		at := bytes.Index(b, []byte(s.model[k][500:600]))
		if at >= 0 && at < len(b)/2 && len(b) > 64<<10 {
			return at + 50, true
		}
	}
	return 0, false
}

// valued is a table with a value of the model, and where it stands.
func (s tabled) valued(t *testing.T) (name string, at int) {
	t.Helper()
	for _, name := range s.tables(t) {
		if at, ok := s.inValue(t, name); ok {
			return name, at
		}
	}
	t.Fatal("no table has a value")
	return "", 0
}

// flip returns a copy in which one bit of a file is flipped, and where.
func (s tabled) flip(t *testing.T, name string, at func(size int) int, bit int) (tabled, int) {
	t.Helper()
	to := tabled{dir: storagetest.Clone(t, s.dir), model: s.model}
	path := filepath.Join(to.dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := at(len(b))
	b[n] ^= 1 << bit
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return to, n
}

// refuses checks that a store is not opened, and that the error names the file.
func (s tabled) refuses(t *testing.T, name string) {
	t.Helper()
	kv, err := storagetest.OpenSmall(s.dir)
	if err == nil {
		_ = kv.Close()
		t.Fatalf("the store was opened although %s is damaged", name)
	}
	if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), name) {
		t.Fatalf("%v does not name %s", err, name)
	}
}

// failed checks that nothing is read or written, and that each error names the file.
func failed(t *testing.T, kv storage.KV, name string) {
	t.Helper()
	verified := kv.(interface{ Verified() error }).Verified()
	_, snapshot := kv.Snapshot()
	write := kv.Write([]storage.Entry{{Key: []byte("k"), Value: []byte("v")}})
	for what, err := range map[string]error{
		"a snapshot": snapshot, "a write": write, "a sync": kv.Sync(),
		"Verified": verified,
	} {
		if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s with a damaged table %s: %v", what, name, err)
		}
	}
}

// TestFlippedBitIsFoundLater flips bits anywhere in tables: the store is refused, or opened and
// then closed to all reads and writes, and refused from then on.
func TestFlippedBitIsFoundLater(t *testing.T) {
	t.Parallel()
	s := makeTabled(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	names := s.tables(t)
	for round := range 6 {
		name := names[rng.IntN(len(names))]
		place, certain := rng.IntN, round == 0
		if certain {
			var in int
			name, in = s.valued(t)
			place = func(int) int { return in }
		}
		damaged, at := s.flip(t, name, place, rng.IntN(8))
		kv, err := storagetest.OpenSmall(damaged.dir)
		if err != nil {
			if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), name) {
				t.Fatalf("%s, byte %d: %v", name, at, err)
			}
			damaged.refuses(t, name)
			continue
		}
		if !certain && kv.(interface{ Verified() error }).Verified() == nil {
			// A compressed block can say the same in two ways.
			storagetest.Compare(t, "a flipped bit", storagetest.Dump(t, kv, "p"), s.model)
			closed(t, kv)
			continue
		}
		failed(t, kv, name)
		_ = kv.Close()
		if !storage.Mistrusted(damaged.dir) {
			t.Errorf("%s, byte %d: the next open would begin as this one", name, at)
		}
		moved := tabled{dir: storagetest.Clone(t, damaged.dir), model: s.model} // the lock is the process's
		moved.refuses(t, name)
	}
}

// TestNothingIsReadUnverified reads each key of a damaged store before its tables are verified: it
// gets the value or the error, and from the error on nothing but errors.
func TestNothingIsReadUnverified(t *testing.T) {
	t.Parallel()
	s := makeTabled(t)
	tried := 0
	for i, name := range s.tables(t) {
		in, ok := s.inValue(t, name)
		if !ok {
			continue
		}
		tried++
		damaged, at := s.flip(t, name, func(int) int { return in }, i%8)
		kv, verify, err := storage.OpenHeld(damaged.dir, storage.Most)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := kv.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		bad := 0
		for _, k := range slices.Sorted(maps.Keys(s.model)) {
			v, ok, err := snap.Get([]byte(k), nil)
			switch {
			case err != nil:
				bad++
				if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), name) {
					t.Fatalf("%s, byte %d: %v", name, at, err)
				}
			case !ok || string(v) != s.model[k]:
				t.Fatalf("%s, byte %d: %q is lost without a word", name, at, k)
			case bad > 0:
				t.Fatalf("%s, byte %d: %q was read after a damage", name, at, k)
			}
		}
		if bad == 0 {
			t.Errorf("%s, byte %d: no key was in the damaged block", name, at)
		}
		it := snap.Iterate([]byte("p"))
		it.Seek([]byte("p9"))
		if !it.Valid() || string(it.Key()) != "p9" { // whoever asks for keys with p9 must see it, too
			t.Fatal("the keys seem to have ended")
		}
		if _, err := it.Value(); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("an iterator over what is damaged: %v", err)
		}
		if it.Next(); it.Valid() {
			t.Error("an iterator that failed goes on")
		}
		it.Close()
		snap.Close()
		verify()
		failed(t, kv, name)
		_ = kv.Close()
	}
	if tried == 0 {
		t.Error("no table has a value")
	}
}

// TestReadsVerifyWhatTheyNeed: a read verifies some blocks, a whole iteration all of them, and what
// is read is what was written.
func TestReadsVerifyWhatTheyNeed(t *testing.T) {
	t.Parallel()
	s := makeTabled(t)
	kv, verify, err := storage.OpenHeld(s.dir, storage.Most)
	if err != nil {
		t.Fatal(err)
	}
	_, before := storage.Unverified(kv)
	snap, err := kv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range s.model {
		v, ok, err := snap.Get([]byte(k), nil)
		if err != nil || !ok || string(v) != want {
			t.Fatalf("%q: %t, %v", k, ok, err)
		}
		break
	}
	_, after := storage.Unverified(kv)
	if after == 0 || after >= before {
		t.Errorf("one read left %d of %d blocks unverified", after, before)
	}
	storagetest.Compare(t, "an iteration", storagetest.DumpSnapshot(t, snap, "p"), s.model)
	if _, left := storage.Unverified(kv); left != 0 {
		t.Errorf("%d blocks are not verified, though all keys were read", left)
	}
	snap.Close()
	if !storage.Mistrusted(s.dir) {
		t.Error("a process that dies now would not be noticed")
	}
	verify()
	if err := kv.(interface{ Verified() error }).Verified(); err != nil {
		t.Error(err)
	}
	if storage.Mistrusted(s.dir) {
		t.Error("all is verified, and the next start does not know")
	}
	if tables, _ := storage.Unverified(kv); tables != 0 {
		t.Errorf("the memory of %d tables is kept for ever", tables)
	}
	storagetest.Compare(t, "the store", storagetest.Dump(t, kv, "p"), s.model)
	closed(t, kv)
}

// TestKilledWhileUnverified: what died before its tables were verified may have died of them. The
// next open verifies all before, and the one after it does not.
func TestKilledWhileUnverified(t *testing.T) {
	t.Parallel()
	s := makeTabled(t)
	for _, most := range []int{storage.Most, 0} { // 0: as if the store were larger than that
		kv, verify, err := storage.OpenHeld(s.dir, most)
		if err != nil {
			t.Fatal(err)
		}
		if tables, _ := storage.Unverified(kv); (tables > 0) != (most > 0) {
			t.Errorf("%d tables are not verified with %d blocks at most", tables, most)
		}
		killed := tabled{dir: storagetest.Clone(t, s.dir), model: s.model}
		verify()
		closed(t, kv)
		again, verify, err := storage.OpenHeld(killed.dir, storage.Most)
		if err != nil {
			t.Fatal(err)
		}
		if tables, _ := storage.Unverified(again); (tables == 0) != (most > 0) {
			t.Errorf("%d tables are not verified after a kill, with %d blocks at most before", tables, most)
		}
		verify()
		storagetest.Compare(t, "after a kill", storagetest.Dump(t, again, "p"), s.model)
		closed(t, again)
		if storage.Mistrusted(killed.dir) {
			t.Error("the next open verifies all once more")
		}
	}
}

// TestNoCompactionBeforeVerification: a compaction that has read tables which are not verified
// waits, and changes nothing when one of them turns out to be damaged.
//
//race:meets
func TestNoCompactionBeforeVerification(t *testing.T) {
	t.Parallel()
	for _, flipped := range []bool{false, true} {
		t.Run(fmt.Sprintf("damaged=%t", flipped), func(t *testing.T) {
			t.Parallel()
			s := makeTabled(t)
			names := s.tables(t)
			bad := ""
			if flipped {
				var in int
				bad, in = s.valued(t)
				s, _ = s.flip(t, bad, func(int) int { return in }, 2)
			}
			kv, verify, err := storage.OpenHeld(s.dir, storage.Most)
			if err != nil {
				t.Fatal(err)
			}
			quit, over := make(chan struct{}), make(chan error, 1)
			go func() { over <- fillUntil(kv, quit) }()
			select {
			case <-storage.Waiting(kv):
			case <-time.After(5 * time.Minute):
				t.Fatal("no compaction waits for the tables to be verified")
			}
			for _, name := range names {
				if _, err := os.Stat(filepath.Join(s.dir, name)); err != nil {
					t.Errorf("a compaction has removed a table that was not verified: %v", err)
				}
			}
			close(quit)
			verify()
			err = <-over
			if flipped {
				if err != nil && !errors.Is(err, storage.ErrDamaged) {
					t.Error(err)
				}
				failed(t, kv, bad)
				_ = kv.Close()
				for _, name := range names {
					if _, err := os.Stat(filepath.Join(s.dir, name)); err != nil {
						t.Errorf("a compaction has taken place beside a damaged table: %v", err)
					}
				}
				return
			}
			if err != nil {
				t.Error(err)
			}
			storagetest.Compare(t, "the store", storagetest.Dump(t, kv, "p"), s.model)
			closed(t, kv)
			reopened, err := storagetest.OpenSmall(s.dir)
			if err != nil {
				t.Fatal(err)
			}
			storagetest.Compare(t, "opened again", storagetest.Dump(t, reopened, "p"), s.model)
			closed(t, reopened)
		})
	}
}

// fillUntil writes keys behind those of a tabled store until quit is closed.
func fillUntil(kv storage.KV, quit <-chan struct{}) error {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := 0; ; n++ {
		select {
		case <-quit:
			return nil
		default:
		}
		var batch []storage.Entry
		for i := range 20 {
			v := bytes.Repeat(binaryValue(rng.Uint64()), 60)
			batch = append(batch, storage.Entry{Key: fmt.Appendf(nil, "q%d/%d", n%1000, i), Value: v})
		}
		if err := kv.Write(batch); err != nil {
			return err
		}
	}
}

func binaryValue(n uint64) []byte { return fmt.Appendf(nil, "%016x", n) }

// makeYoung makes a store of young tables that no compaction has seen, with so many keys each, of
// which two fill a block.
func makeYoung(t *testing.T, tables, keys int) tabled {
	t.Helper()
	s := tabled{dir: t.TempDir(), model: map[string]string{}}
	opt := storage.SmallOptions(s.dir).WithNumCompactors(0).WithNumLevelZeroTablesStall(1000)
	source := rand.NewChaCha8([32]byte{7})
	for n := range tables {
		db, err := badger.Open(opt.WithLogger(nil))
		if err != nil {
			t.Fatal(err)
		}
		for i := range keys {
			s.put(t, db, fmt.Sprintf("p%d/%03d", n, i), randomValue(source, 1500))
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// put writes one entry.
func (s tabled) put(t *testing.T, db *badger.DB, k string, v []byte) {
	t.Helper()
	err := db.Update(func(txn *badger.Txn) error { return txn.Set([]byte(k), v) })
	if err != nil {
		t.Fatal(err)
	}
	s.model[k] = string(v)
}

// randomValue does not compress.
func randomValue(source *rand.ChaCha8, n int) []byte {
	v := make([]byte, n)
	_, _ = source.Read(v) // it never fails
	return v
}

// TestCompactionOfNothingWaits: a compaction that finds no key at all, because the first block of
// each of its tables is damaged, waits like any other. It would remove the tables and make none.
//
//race:meets
func TestCompactionOfNothingWaits(t *testing.T) {
	t.Parallel()
	s := makeYoung(t, 7, 40)
	names := s.tables(t)
	if len(names) != 7 {
		t.Fatalf("the store has the tables %v, want 7", names)
	}
	for _, name := range names {
		s, _ = s.flip(t, name, func(int) int { return 1000 }, 3)
	}
	kv, verify, err := storage.OpenHeld(s.dir, storage.Most)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- storage.Flatten(kv) }()
	select {
	case <-storage.Waiting(kv):
	case err := <-over:
		t.Fatalf("a compaction has not waited for the tables to be verified: %v", err)
	}
	verify()
	if err := kv.(interface{ Verified() error }).Verified(); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("seven damaged tables: %v", err)
	}
	_ = kv.Close()
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(s.dir, name)); err != nil {
			t.Errorf("a compaction has removed a table of which it could read nothing: %v", err)
		}
	}
}

// TestOpenWithManyLogs: a store that is killed while its writes wait for compactions has more logs
// and young tables than Badger opens without one.
//
//race:meets
func TestOpenWithManyLogs(t *testing.T) {
	t.Parallel()
	opt := storage.SmallOptions("").WithNumCompactors(0).WithLogger(nil)
	s := makeYoung(t, opt.NumLevelZeroTablesStall, 1)
	// Now no log becomes a table any more. It has as many as when writes wait, and they do not.
	db, err := badger.Open(opt.WithDir(s.dir).WithValueDir(s.dir).WithNumMemtables(20))
	if err != nil {
		t.Fatal(err)
	}
	source := rand.NewChaCha8([32]byte{8})
	for n := range 6 * 20 { // each log takes some 18 of these
		s.put(t, db, fmt.Sprintf("q/%d", n), randomValue(source, 60<<10))
	}
	killed := storagetest.Clone(t, s.dir)
	if logs, _ := filepath.Glob(filepath.Join(killed, "*.mem")); len(logs) < 5 {
		t.Fatalf("the store has only the logs %v", logs)
	}
	if err := db.Close(); err != nil { // it makes tables of all, compaction or not
		t.Error(err)
	}
	opened := make(chan storage.KV, 1)
	go func() {
		kv, err := storagetest.OpenSmall(killed)
		if err != nil {
			t.Error(err)
		}
		opened <- kv
	}()
	select {
	case kv := <-opened:
		if kv == nil {
			return
		}
		got := storagetest.Dump(t, kv, "p")
		maps.Copy(got, storagetest.Dump(t, kv, "q"))
		storagetest.Compare(t, "the store", got, s.model)
		closed(t, kv)
	case <-time.After(5 * time.Minute):
		t.Fatal("the store is never opened")
	}
}

// TestOthersVerifyFirst: while a reader is about to verify a block, all are found to be good by
// others, and a compaction removes the table. That is no damage.
func TestOthersVerifyFirst(t *testing.T) {
	t.Parallel()
	s := makeTabled(t)
	kv, verify, err := storage.OpenHeld(s.dir, storage.Most)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := kv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	late := true
	storage.SetOpen(kv, func(path string) (*os.File, error) {
		if !late {
			return os.Open(path)
		}
		late = false
		verify() // it opens all files
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	})
	storagetest.Compare(t, "the snapshot", storagetest.DumpSnapshot(t, snap, "p"), s.model)
	snap.Close()
	if late {
		t.Error("no file was opened")
	}
	if err := kv.(interface{ Verified() error }).Verified(); err != nil {
		t.Error(err)
	}
	closed(t, kv)
}

// TestUnreadableTable: what cannot be read is damaged, unless the process may not read it now. In
// both cases the store has failed, however good the tables are found to be later.
func TestUnreadableTable(t *testing.T) {
	t.Parallel()
	s := makeTabled(t)
	for want, cause := range map[bool]error{true: syscall.EIO, false: syscall.EMFILE} {
		s := tabled{dir: storagetest.Clone(t, s.dir), model: s.model}
		kv, verify, err := storage.OpenHeld(s.dir, storage.Most)
		if err != nil {
			t.Fatal(err)
		}
		failing := true
		storage.SetOpen(kv, func(path string) (*os.File, error) {
			if failing {
				return nil, &fs.PathError{Op: "open", Path: path, Err: cause}
			}
			return os.Open(path)
		})
		snap, err := kv.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		it := snap.Iterate([]byte("p"))
		it.Seek([]byte("p"))
		if _, err := it.Value(); !errors.Is(err, cause) || errors.Is(err, storage.ErrDamaged) != want {
			t.Errorf("%v: %v", cause, err)
		}
		it.Close()
		snap.Close()
		failing = false
		verify()
		if err := kv.(interface{ Verified() error }).Verified(); !errors.Is(err, cause) {
			t.Errorf("%v is forgotten: %v", cause, err)
		}
		_ = kv.Close()
		if !storage.Mistrusted(s.dir) {
			t.Errorf("%v: the next open would begin as this one", cause)
		}
	}
}

// TestOneHost: a read verifies some blocks even when all keys begin with the same hundred bytes.
func TestOneHost(t *testing.T) {
	t.Parallel()
	host := "p" + strings.Repeat("h", 100)
	dir := t.TempDir()
	kv, err := storagetest.OpenSmall(dir)
	if err != nil {
		t.Fatal(err)
	}
	source := rand.NewChaCha8([32]byte{9})
	for n := range 20 {
		var batch []storage.Entry
		for i := range 20 {
			k := fmt.Appendf(nil, "%s%03d", host, n*20+i)
			batch = append(batch, storage.Entry{Key: k, Value: randomValue(source, 1500)})
		}
		if err := kv.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, kv)
	kv, verify, err := storage.OpenHeld(dir, storage.Most)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := kv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	tables, before := storage.Unverified(kv)
	if _, ok, err := snap.Get(fmt.Appendf(nil, "%s%03d", host, 200), nil); !ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
	_, after := storage.Unverified(kv)
	if most := int64(3 * tables); before-after > most || before < 10*most {
		t.Errorf("one read has verified %d of %d blocks of %d tables", before-after, before, tables)
	}
	snap.Close()
	verify()
	closed(t, kv)
}

// TestBlocksOfKeys: of all tables, the blocks that are verified have each key that is asked for, and
// the next one, at which Badger sees that there are no more.
func TestBlocksOfKeys(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(10, 11))
	// Few different bytes, so that keys have much in common.
	random := func(most int) []byte {
		b := make([]byte, rng.IntN(most+1))
		for i := range b {
			b[i] = [...]byte{0, 'a', 0xff}[rng.IntN(3)]
		}
		return b
	}
	for range 2000 {
		shared := random(12)
		var keys, firsts [][]byte
		for range 1 + rng.IntN(40) {
			keys = append(keys, append(bytes.Clone(shared), random(12)...))
		}
		slices.SortFunc(keys, bytes.Compare)
		keys = slices.CompactFunc(keys, bytes.Equal)
		var blocks []int // of each key
		for i, key := range keys {
			if i == 0 || rng.IntN(3) == 0 {
				firsts = append(firsts, key)
			}
			blocks = append(blocks, len(firsts)-1)
		}
		between := storage.Between(firsts)
		asked := append([][]byte{nil, shared, random(14)}, keys...)
		for _, q := range asked {
			for _, prefix := range []bool{false, true} {
				from, to := between(q, prefix)
				for i, key := range keys {
					wanted := bytes.Equal(key, q) || prefix && bytes.HasPrefix(key, q)
					next := i > 0 && bytes.Compare(q, keys[0]) >= 0 && bytes.Compare(keys[i-1], q) < 0 &&
						bytes.Compare(key, q) > 0 // where a search for q ends
					if b := blocks[i]; (wanted || next) && (b < from || b >= to) {
						t.Fatalf("%q of %q: blocks %d to %d, but %q is in %d; prefix: %t",
							q, firsts, from, to, key, b, prefix)
					}
					if wanted && i+1 < len(keys) && blocks[i+1] >= to {
						t.Fatalf("%q of %q: blocks %d to %d, but %q, which is next, is in %d; prefix: %t",
							q, firsts, from, to, keys[i+1], blocks[i+1], prefix)
					}
				}
			}
		}
	}
}
