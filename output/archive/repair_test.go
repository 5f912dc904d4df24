package archive

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// wreck is a folder as a crash left it: five captures in one open file, three of them synced.
type wreck struct {
	name        string // final name of the file
	warc, index []byte
	refs        []crawl.ArchiveRef
}

// newWreck writes the captures and copies what is on the disk.
func newWreck(t *testing.T, c Compression) wreck {
	t.Helper()
	dir := t.TempDir()
	a := open(t, dir, Options{Compression: c})
	var w wreck
	for i := range 5 {
		w.refs = append(w.refs,
			put(t, a, capture(t, fmt.Sprintf("http://a.test/%d", i), strings.Repeat("body ", i*10))))
		if i == 2 {
			if err := a.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.name = w.refs[0].File
	var err error
	if w.warc, err = os.ReadFile(filepath.Join(dir, w.name+openSuffix)); err != nil {
		t.Fatal(err)
	}
	if w.index, err = os.ReadFile(filepath.Join(dir, indexName(w.name)+openSuffix)); err != nil ||
		bytes.Count(w.index, []byte("\n")) != 3 {
		t.Fatalf("index = %q, %v", w.index, err)
	}
	return w
}

// lay writes the wreck into a new folder, with the given contents.
func (w wreck) lay(t *testing.T, warc, index []byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range map[string][]byte{
		w.name + openSuffix:            warc,
		indexName(w.name) + openSuffix: index,
	} {
		if b != nil {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// reopen opens the folder, which must report one repair.
func reopen(t *testing.T, dir string) Repair {
	t.Helper()
	var repairs []Repair
	open(t, dir, Options{OnRepair: func(r Repair) { repairs = append(repairs, r) }})
	if len(repairs) != 1 {
		t.Fatalf("repairs = %+v, want one", repairs)
	}
	return repairs[0]
}

// responses counts the responses in dir, whose files must be undamaged.
func responses(t *testing.T, dir string) int {
	n := 0
	for _, r := range readAll(t, dir) {
		if r.Type == "response" {
			n++
		}
	}
	return n
}

// TestTornAnywhere cuts the file at every seventh byte behind what was synced, every
// 61st with -short, and at and around the ends of records: all whole records stay, nothing
// else does.
func TestTornAnywhere(t *testing.T) {
	t.Parallel()
	for _, c := range both {
		t.Run(string(c), func(t *testing.T) { tornAnywhere(t, newWreck(t, c)) })
	}
}

func tornAnywhere(t *testing.T, w wreck) {
	t.Parallel()
	synced := w.refs[2].Offset + w.refs[2].Length
	near := func(size int64) bool {
		return slices.ContainsFunc(w.refs,
			func(r crawl.ArchiveRef) bool { return max(size-r.Offset-r.Length, r.Offset+r.Length-size) < 2 })
	}
	stride := int64(7)
	if testing.Short() {
		stride = 61
	}
	for size := synced; size <= int64(len(w.warc)); size++ {
		if size%stride != 0 && !near(size) && size != int64(len(w.warc)) {
			continue
		}
		dir := w.lay(t, w.warc[:size], w.index)
		got := reopen(t, dir)
		want := 0
		for _, ref := range w.refs {
			if ref.Offset+ref.Length <= size {
				want++
			}
		}
		if n := responses(t, dir); n != want || got.Captures != want-3 || got.Kept+got.Cut != size ||
			(got.Cut > 0) != (got.Reason != "") {
			t.Fatalf("cut at %d: %d responses, %+v; want %d", size, n, got, want)
		}
	}
}

// TestDamage tries the damage that power loss and bad disks leave.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, c := range both {
		t.Run(string(c), func(t *testing.T) { damaged(t, newWreck(t, c)) })
	}
}

func damaged(t *testing.T, w wreck) {
	t.Parallel()
	flip := func(b []byte, at int64) []byte {
		b = bytes.Clone(b)
		b[at] ^= 0x40
		return b
	}
	firstLine := w.index[:bytes.IndexByte(w.index, '\n')+1]
	tests := []struct {
		name        string
		warc, index []byte
		want        int // responses
	}{
		{"untouched", w.warc, w.index, 5},
		{"no index", w.warc, nil, 5},
		{"empty index", w.warc, []byte{}, 5},
		{"short index", w.warc, firstLine, 5},
		{"torn line", w.warc, w.index[:len(w.index)-20], 5},
		{"line of zeros", w.warc, append(bytes.Clone(w.index), make([]byte, 100)...), 5},
		{"whole line of rubbish", w.warc, append(bytes.Clone(w.index), "rubbish\n"...), 5},
		{"index names another file", w.warc, bytes.ReplaceAll(w.index, []byte(w.name), []byte("other"+suffixes[Gzip])), 5},
		{"index names what is not there", w.warc, append(bytes.Clone(firstLine),
			bytes.Replace(firstLine, []byte(`"offset":"`), []byte(`"offset":"9`), 1)...), 5},
		{"zeros behind", append(bytes.Clone(w.warc), make([]byte, 5000)...), w.index, 5},
		{"flipped in the tail", flip(w.warc, w.refs[4].Offset+w.refs[4].Length/2), w.index, 4},
		{"flipped checksum", flip(w.warc, w.refs[4].Offset+w.refs[4].Length-5), w.index, 4},
		{"flipped in the last synced one", flip(w.warc, w.refs[2].Offset+w.refs[2].Length/2), w.index, 2},
		{"rubbish", []byte("rubbish"), w.index, -1},
		{"empty", []byte{}, nil, -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := w.lay(t, test.warc, test.index)
			got := reopen(t, dir)
			if test.want < 0 {
				if entries, _ := os.ReadDir(dir); !got.Removed || len(entries) != 0 {
					t.Errorf("%+v leaves %v", got, entries)
				}
				return
			}
			if n := responses(t, dir); n != test.want || got.File != w.name || got.Removed {
				t.Errorf("%d responses, want %d (%+v)", n, test.want, got)
			}
		})
	}
}

// TestRepairIsRefused: nothing is cut or replaced without certainty.
func TestRepairIsRefused(t *testing.T) {
	t.Parallel()
	w := newWreck(t, Gzip)
	dir := w.lay(t, w.warc, w.index)
	if err := os.WriteFile(filepath.Join(dir, w.name), []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{Node: "x"}); err == nil ||
		!strings.Contains(err.Error(), "already exists") {
		t.Errorf("Open = %v, want a refusal to replace a file", err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, w.name)); string(b) != "somebody's" {
		t.Errorf("the other file was overwritten: %q", b)
	}
}

// TestDiskErrorIsNoDamage: a failed read must not lead to a cut.
func TestDiskErrorIsNoDamage(t *testing.T) {
	t.Parallel()
	w := newWreck(t, Gzip)
	_, err := scan(&failing{data: w.warc[:len(w.warc)-7]}, 0, maxBlockBytes,
		func(Record) error { return nil })
	if err == nil || bytes.Contains([]byte(err.Error()), []byte("no whole record")) {
		t.Errorf("error = %v, want that of the disk", err)
	}
}

// failing returns its data and then fails.
type failing struct{ data []byte }

func (f *failing) Read(p []byte) (int, error) {
	if len(f.data) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, f.data)
	f.data = f.data[n:]
	return n, nil
}
