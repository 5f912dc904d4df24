package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSortIndex sorts in one run and in many, and compares the result with the order of bytes.
func TestSortIndex(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 1000, 20_000} {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = fmt.Sprintf("org,h%d)/%s %d", r.IntN(9), strings.Repeat("ü/", r.IntN(4)), r.IntN(n))
		}
		dir := t.TempDir()
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		text := strings.Join(append(lines, ""), "\n")
		if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		slices.Sort(lines)
		want := strings.Join(append(slices.Compact(lines), ""), "\n")
		for _, memory := range []int{100, 10_000, sortMemory} {
			if err := sortIndex(from, to, memory); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(to); string(got) != want {
				t.Errorf("%d lines in runs of %d bytes: %d bytes, want %d", n, memory, len(got), len(want))
			}
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 2 {
			t.Errorf("left behind: %v", entries)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   []string
		want error
	}{
		{"out of order", []string{"a\n", "b\na\n"}, errNotSorted},
		{"torn", []string{"a\nb"}, nil},
		{"too long", []string{strings.Repeat("x", readBuffer) + "\n"}, nil},
	} {
		var out bytes.Buffer
		readers := make([]io.Reader, len(c.in))
		for i, s := range c.in {
			readers[i] = strings.NewReader(s)
		}
		err := MergeLines(&out, readers...)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestIndexesAreFinished: an index that a crash left unsorted is sorted, and a deleted index is
// rebuilt.
func TestIndexesAreFinished(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		name  string
		spoil func(index string) error
		want  int // repairs reported
	}{
		{"not sorted yet", func(index string) error { return os.Rename(index, index+openSuffix) }, 0},
		{"half sorted", func(index string) error {
			return errors.Join(os.Rename(index, index+openSuffix),
				os.WriteFile(index+tempSuffix, []byte("half"), 0o600))
		}, 0},
		{"sorted, but not cleaned up", func(index string) error {
			b, err := os.ReadFile(index)
			return errors.Join(err, os.WriteFile(index+openSuffix, b, 0o600))
		}, 0},
		{"deleted", os.Remove, 1},
		{"deleted", os.Remove, 1}, // of the other compression
	} {
		dir := t.TempDir()
		a := open(t, dir, Options{Compression: both[i%2]})
		var name string
		for _, url := range []string{"http://z.test/", "http://a.test/b", "http://a.test/a"} {
			name = put(t, a, capture(t, url, url)).File
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.spoil(filepath.Join(dir, indexName(name))); err != nil {
			t.Fatal(err)
		}
		repairs := 0
		again := open(t, dir, Options{OnRepair: func(Repair) { repairs++ }})
		readAll(t, dir)
		if entries, _ := os.ReadDir(dir); len(entries) != 2 || repairs != c.want {
			t.Errorf("%s: %v, %d repairs", c.name, entries, repairs)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestReindexOfADamagedFile keeps the records before the damage.
func TestReindexOfADamagedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	put(t, a, capture(t, "http://a.test/1", "x"))
	ref := put(t, a, capture(t, "http://a.test/2", "y"))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ref.File)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[ref.Offset+ref.Length-5] ^= 1
	if err := errors.Join(os.WriteFile(path, b, 0o600),
		os.Remove(filepath.Join(dir, indexName(ref.File)))); err != nil {
		t.Fatal(err)
	}
	var told []Repair
	open(t, dir, Options{OnRepair: func(r Repair) { told = append(told, r) }})
	if len(told) != 1 || told[0].Captures != 1 || told[0].Reason == "" {
		t.Errorf("told %+v", told)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(after, b) {
		t.Error("the damaged file was changed")
	}
	if index, _ := os.ReadFile(filepath.Join(dir, indexName(ref.File))); bytes.Count(index,
		[]byte("\n")) != 1 {
		t.Errorf("index %q", index)
	}
}

// TestUnsortableIndex: without room for a sorted index, only the order is lost.
func TestUnsortableIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var told []string
	a := open(t, dir, Options{OnUnsorted: func(file string, _ error) { told = append(told, file) }})
	ref := put(t, a, capture(t, "http://z.test/", "x"))
	put(t, a, capture(t, "http://a.test/", "y"))
	// A folder at the path of the sorted index makes writing it fail.
	obstacle := filepath.Join(dir, indexName(ref.File)+tempSuffix)
	if err := os.Mkdir(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil || !slices.Equal(told, []string{ref.File}) {
		t.Fatalf("Close = %v, told %v", err, told)
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	open(t, dir, Options{})
	readAll(t, dir)
}

// TestNameLeftByACrash: a crash may come before a file of the sort has lost its name. The next
// start removes it, and nothing else.
func TestNameLeftByACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"sort-17": "", "sort-18": "somebody's", "sorted": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Open(dir, Options{Node: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || fmt.Sprint(left) !=
		fmt.Sprint([]string{filepath.Join(dir, "sort-18"), filepath.Join(dir, "sorted")}) {
		t.Errorf("left: %v, %v", left, err)
	}
}
