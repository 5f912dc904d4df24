package frontier

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage/storagetest"
)

// damageStore is a small store with tables and logs, as kill -9 left it.
type damageStore struct {
	dir, marks string
	seen       map[crawl.Partition]int64
}

func makeDamageStore(t *testing.T) damageStore {
	t.Helper()
	s := damageStore{
		dir:   t.TempDir(),
		marks: filepath.Join(t.TempDir(), "marks"),
		seen:  map[crawl.Partition]int64{},
	}
	kv, err := storagetest.OpenSmall(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	r := startHolding(t, kv, 4, commit.Options{HighWater: s.marks})
	for n := 0; ; n++ {
		var links []crawl.Routed
		for i := range 100 {
			links = append(links, link(fmt.Sprintf("http://h%d.p%d.test/%d/%x", i%7, i%4, n, n*n*7919+i)))
		}
		r.add(links...)
		if n%20 == 19 && len(s.files(t, ".sst")) >= 3 {
			break
		}
	}
	_ = r.stop()
	for _, m := range r.Metas() {
		s.seen[m.Partition] = m.Counters.Seen
	}
	from := s.dir
	s.dir = storagetest.Clone(t, from)
	r.must(r.Close())
	return s
}

// rotated makes it a store that has begun its next log, and not yet written a
// table of the one before, whose name it returns.
func (s damageStore) rotated(t *testing.T) (full string) {
	t.Helper()
	logs := s.files(t, ".mem")
	full = logs[len(logs)-1]
	var number int
	if _, err := fmt.Sscanf(full, "%d.mem", &number); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(s.dir, full))
	if err != nil {
		t.Fatal(err)
	}
	clear(b[20:]) // all but the log's head
	if err := os.WriteFile(filepath.Join(s.dir, fmt.Sprintf("%05d.mem", number+1)), b, 0o600); err !=
		nil {
		t.Fatal(err)
	}
	return full
}

func (s damageStore) files(t *testing.T, ext string) (names []string) {
	t.Helper()
	for name := range storagetest.List(t, s.dir) {
		if strings.HasSuffix(name, ext) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// flipped copies the store and flips one bit of a file, at a byte that is used.
func (s damageStore) flipped(t *testing.T, name string, rng *rand.Rand) (to damageStore, at int) {
	t.Helper()
	to = damageStore{
		dir:   storagetest.Clone(t, s.dir),
		marks: filepath.Join(t.TempDir(), "marks"),
		seen:  s.seen,
	}
	if err := storagetest.CloneFile(s.marks, to.marks); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(to.dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(b, "\x00"))
	if used == 0 {
		return to, -1
	}
	at = rng.IntN(used)
	b[at] ^= 1 << rng.IntN(8)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return to, at
}

// judge opens the store and returns "refused" with a name, at the open or behind it, "suspect" or
// "whole"; anything else is a loss that nobody was told of.
func (s damageStore) judge(t *testing.T, name string) string {
	t.Helper()
	kv, err := storagetest.OpenSmall(s.dir)
	later := err == nil
	if later {
		err = kv.(interface{ Verified() error }).Verified()
	}
	if err != nil {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error does not name it: %v", name, err)
		}
		if later {
			_, err := commit.Open(kv, commit.Options{})
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: a frontier was opened on a damaged store: %v", name, err)
			}
			_ = kv.Close()
		}
		return "refused"
	}
	r := start(t, kv, commit.Options{HighWater: s.marks})
	verdict := "whole"
	for p, want := range s.seen {
		m := metaOf(t, r, p)
		found := int64(len(storagetest.Dump(t, kv,
			string(append(layout.AppendPrefix(nil, p, 1), layout.TableRecords)))))
		switch {
		case m.Suspect:
			verdict = "suspect"
		case m.State != layout.Holder || found != want || m.Counters.Seen != want:
			t.Errorf("%s: partition %d is %v with %d of %d records, and not suspect", name, p, m.State,
				found, want)
			verdict = "silent"
		}
	}
	_ = r.stop()
	r.must(r.Close())
	return verdict
}

// TestFlippedBits flips bits in each kind of file: never are there fewer URLs
// without a word.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	s := makeDamageStore(t)
	logs := s.files(t, ".mem")
	full := damageStore{dir: storagetest.Clone(t, s.dir), marks: s.marks, seen: s.seen}
	full.rotated(t)
	tests := []struct {
		what  string
		store damageStore
		files []string
		tries int
		want  []string // one of these, each time
	}{
		{"newest log", s, logs[len(logs)-1:], 8, []string{"suspect", "whole", "refused"}},
		{"older log", full, logs[len(logs)-1:], 8, []string{"suspect", "whole", "refused"}},
		{"tables", s, s.files(t, ".sst"), 12, []string{"refused", "whole"}},
		{"MANIFEST", s, []string{badger.ManifestFilename}, 12, []string{"refused"}},
		{"value log", s, s.files(t, ".vlog"), 2, []string{"refused", "whole"}},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 1))
			got := map[string]int{}
			for range test.tries {
				name := test.files[rng.IntN(len(test.files))]
				damaged, at := test.store.flipped(t, name, rng)
				verdict := damaged.judge(t, name)
				got[verdict]++
				if !slices.Contains(test.want, verdict) {
					t.Errorf("seed %d: %s, byte %d: %s, want one of %v", seed, name, at, verdict, test.want)
				}
			}
			t.Log(slices.Sorted(maps.Keys(got)), got)
			if got["whole"] == test.tries && test.what != "value log" {
				t.Errorf("seed %d: no damage was noticed", seed)
			}
		})
	}
}

// TestDamageIsRemembered checks that a log which Badger has mended leaves its
// trace until the frontier has written it down.
func TestDamageIsRemembered(t *testing.T) {
	t.Parallel()
	s := makeDamageStore(t)
	log := s.rotated(t)
	path := filepath.Join(s.dir, log)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(bytes.TrimRight(b, "\x00"))/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first time the process dies before New
		kv, err := storagetest.OpenSmall(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := kv.(interface{ Damage() string }).Damage(); got != log {
			t.Fatalf("damage %q, want %q", got, log)
		}
		old := s.dir
		s.dir = storagetest.Clone(t, old)
		if err := kv.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		kv, err := storagetest.OpenSmall(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, kv, commit.Options{})
		for _, m := range r.Metas() {
			if !m.Suspect {
				t.Errorf("partition %d is not suspect", m.Partition)
			}
		}
		if got := kv.(interface{ Damage() string }).Damage(); got != "" {
			t.Errorf("damage %q, when it is written down", got)
		}
		_ = r.stop()
		r.must(r.Close())
	}
}

// TestTornFiles cuts the files that a loss of power may cut: it starts.
func TestTornFiles(t *testing.T) {
	t.Parallel()
	s := makeDamageStore(t)
	path := filepath.Join(s.dir, badger.ManifestFilename)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A record that was begun, of a table that is not there.
	torn := append(bytes.Clone(b), 0, 0, 0, 30, 1, 2, 3, 4, 5, 6)
	if err := os.WriteFile(path, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.judge(t, badger.ManifestFilename); got != "whole" {
		t.Errorf("a torn MANIFEST: %s", got)
	}
}

func TestMissingManifest(t *testing.T) {
	t.Parallel()
	s := makeDamageStore(t)
	if err := os.Remove(filepath.Join(s.dir, badger.ManifestFilename)); err != nil {
		t.Fatal(err)
	}
	if got := s.judge(t, badger.ManifestFilename); got != "refused" {
		t.Errorf("%s", got)
	}
}

// TestUnmadeLogs: a log that was made and has no size yet, since the process was killed
// between the two, keeps no store from being opened.
func TestUnmadeLogs(t *testing.T) {
	t.Parallel()
	made := makeDamageStore(t)
	for _, name := range []string{"00000.mem", "99999.mem"} {
		s := damageStore{dir: storagetest.Clone(t, made.dir), marks: made.marks, seen: made.seen}
		if err := os.WriteFile(filepath.Join(s.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.judge(t, name); got != "whole" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
