package lists

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wreck is a folder as a killed process leaves it: three pages, a checkpoint, three pages in a
// member after the checkpoint, and two that are only in the tail.
type wreck struct {
	files map[string][]byte
	texts []int64 // where each page's text ends
}

func newWreck(t *testing.T) wreck {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, everything())
	w := wreck{files: map[string][]byte{}}
	for i := range 8 {
		put(t, s, fmt.Sprintf("http://a.test/%d", i),
			fmt.Sprintf("<a href=http://b.test/>link</a> text %d", i))
		w.texts = append(w.texts, s.text.file.size)
		switch i {
		case 2:
			if err := s.checkpointAll(); err != nil {
				t.Fatal(err)
			}
		case 5:
			for _, o := range []*stream{s.pages, s.links, s.hosts} {
				if err := o.pack(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		w.files[e.Name()] = b
	}
	return w
}

// file finds the file of a kind with that suffix.
func (w wreck) file(t *testing.T, kind, suffix string) (string, []byte) {
	t.Helper()
	for name, b := range w.files {
		if strings.HasPrefix(name, kind+"-") && strings.HasSuffix(name, suffix) {
			return name, b
		}
	}
	t.Fatalf("no %s file ends in %s", kind, suffix)
	return "", nil
}

// repaired writes the files of a kind into a folder, with one changed (nil: without it), opens it,
// and returns the content of the repaired files.
func (w wreck) repaired(t *testing.T, kind, changed string, content []byte) (string, Repair) {
	t.Helper()
	dir := t.TempDir()
	for name, b := range w.files {
		if name == changed {
			b = content
		}
		if !strings.HasPrefix(name, kind+"-") || b == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return reopened(t, dir, kind)
}

// reopened opens the folder twice: the second open must find nothing to repair.
func reopened(t *testing.T, dir, kind string) (string, Repair) {
	t.Helper()
	var repairs []Repair
	o := everything()
	o.OnRepair = func(r Repair) { repairs = append(repairs, r) }
	shut(t, open(t, dir, o))
	shut(t, open(t, dir, o))
	if len(repairs) != 1 {
		t.Fatalf("repairs %+v, want one", repairs)
	}
	only(t, dir)
	return unpacked(t, dir, kind), repairs[0]
}

// pagesIn are the numbers of the pages that lines name.
func pagesIn(t *testing.T, lines string) string {
	t.Helper()
	var b strings.Builder
	for _, l := range decoded(t, lines) {
		b.WriteString(strings.TrimPrefix(l["url"].(string), "http://a.test/"))
	}
	return b.String()
}

// TestTornTail cuts the tail at every seventh byte, and at and before the ends of lines: every
// whole line is there, once, and no other.
func TestTornTail(t *testing.T) {
	t.Parallel()
	w := newWreck(t)
	name, tail := w.file(t, Pages, tailSuffix)
	head := bytes.IndexByte(tail, '\n') + 1
	for size := head; size <= len(tail); size++ {
		if size%7 != 0 && tail[size-1] != '\n' && tail[min(size, len(tail)-1)] != '\n' {
			continue
		}
		got, r := w.repaired(t, Pages, name, tail[:size])
		want := 3 + bytes.Count(tail[head:size], []byte("\n"))
		if pagesIn(t, got) != "01234567"[:want] || r.Lines != want-3 {
			t.Fatalf("tail cut at %d: pages %s, %+v; want %d", size, pagesIn(t, got), r, want)
		}
	}
}

// TestTornFile cuts the file after the checkpoint, at every fifth byte and near both ends: the tail
// has all.
func TestTornFile(t *testing.T) {
	t.Parallel()
	w := newWreck(t)
	for _, kind := range []string{Pages, Links, Hosts} {
		name, gz := w.file(t, kind, openSuffix)
		_, tail := w.file(t, kind, tailSuffix)
		var head tailHead
		if err := json.Unmarshal(tail[:bytes.IndexByte(tail, '\n')], &head); err != nil ||
			head.After == 0 || head.After >= int64(len(gz)) {
			t.Fatalf("%+v of %d bytes, %v", head, len(gz), err)
		}
		whole, _ := w.repaired(t, kind, "", nil)
		for size := int(head.After); size <= len(gz); size++ {
			if size%5 != 0 && size > int(head.After)+4 && size < len(gz)-4 {
				continue
			}
			if got, r := w.repaired(t, kind, name, gz[:size]); got != whole || r.Kept != head.After ||
				r.Lines != 5 {
				t.Fatalf("%s cut at %d: %+v\n%s\nwant\n%s", kind, size, r, got, whole)
			}
		}
	}
}

// TestTornText cuts a file of texts after the checkpoint, at every seventh byte and near the ends
// of records: all whole ones stay, and nothing else.
func TestTornText(t *testing.T) {
	t.Parallel()
	w := newWreck(t)
	name, gz := w.file(t, Text, openSuffix)
	_, tail := w.file(t, Text, tailSuffix)
	var head tailHead
	if err := json.Unmarshal(tail, &head); err != nil {
		t.Fatal(err)
	}
	if head.After != w.texts[2] {
		t.Fatalf("the tail says %d, the third text ends at %d", head.After, w.texts[2])
	}
	near := func(size int64) bool {
		return slices.ContainsFunc(w.texts, func(end int64) bool { return max(size-end, end-size) < 3 })
	}
	for size := head.After; size <= int64(len(gz)); size++ {
		if size%7 != 0 && !near(size) {
			continue
		}
		want := 0
		for _, end := range w.texts {
			if end <= size {
				want++
			}
		}
		got, r := w.repaired(t, Text, name, gz[:size])
		if n := strings.Count(got, "WARC-Type: conversion"); n != want || r.Kept+r.Cut != size ||
			(r.Cut > 0) != (r.Reason != "") {
			t.Fatalf("cut at %d: %d texts, %+v; want %d", size, n, r, want)
		}
	}
}

// TestDamage tries the damage that power loss and bad disks leave.
func TestDamage(t *testing.T) {
	t.Parallel()
	w := newWreck(t)
	gzName, gz := w.file(t, Pages, openSuffix)
	tailName, tail := w.file(t, Pages, tailSuffix)
	head := tail[:bytes.IndexByte(tail, '\n')+1]
	for _, test := range []struct {
		name, file string
		content    []byte
		want       string // pages
	}{
		{"untouched", gzName, gz, "01234567"},
		{"no tail", tailName, nil, "012345"},
		{"empty tail", tailName, []byte{}, "012345"},
		{"tail of zeros", tailName, make([]byte, len(tail)), "012345"},
		{"a tail's first line alone", tailName, head, "012"},
		{"zeros in the tail", tailName, append(bytes.Clone(tail), make([]byte, 4096)...), "01234567"},
		{"rubbish in the tail", tailName, append(bytes.Clone(tail), "rubbish\n{}\n"...), "01234567"},
		{"a tail of another file", tailName, bytes.Replace(tail, []byte("pages-"), []byte("links-"), 1), "012345"},
		{"zeros in the file", gzName, append(bytes.Clone(gz), make([]byte, 4096)...), "01234567"},
		{"no file", gzName, nil, "34567"},
	} {
		if got, r := w.repaired(t, Pages, test.file, test.content); pagesIn(t, got) != test.want {
			t.Errorf("%s: pages %s, want %s (%+v)", test.name, pagesIn(t, got), test.want, r)
		}
	}
}

// Files without any whole member are removed.
func TestNothingWhole(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "rubbish", "\x1f\x8b"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "pages-20260101000000-00007-x.jsonl.gz.open"),
			[]byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var r Repair
		shut(t, open(t, dir, Options{Node: "x", OnRepair: func(got Repair) { r = got }}))
		if n := only(t, dir); n != 0 || !r.Removed {
			t.Errorf("%q: %d files are left, %+v", content, n, r)
		}
	}
}

// A crash between the last two steps of closing leaves a tail, which is removed.
func TestTailOfAClosedFile(t *testing.T) {
	t.Parallel()
	w := newWreck(t)
	dir := t.TempDir()
	gzName, gz := w.file(t, Pages, openSuffix)
	tailName, tail := w.file(t, Pages, tailSuffix)
	final := strings.TrimSuffix(gzName, openSuffix)
	for name, b := range map[string][]byte{
		final:             gz,
		tailName:          tail,
		"foreign.tail":    nil,
		"foreign.gz.open": nil,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, open(t, dir, everything()))
	if got := pagesIn(t, unpacked(t, dir, Pages)); got != "012345" {
		t.Errorf("the closed file was changed: %s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tail")); len(left) != 1 ||
		filepath.Base(left[0]) != "foreign.tail" {
		t.Errorf("tails %v, want the foreign one", left)
	}
	if err := os.WriteFile(filepath.Join(dir, gzName), gz, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, everything()); err == nil ||
		!strings.Contains(err.Error(), "already exists") {
		t.Errorf("Open = %v, want a refusal to replace a file", err)
	}
}

// A failed read must not lead to a cut.
func TestDiskErrorIsNoDamage(t *testing.T) {
	t.Parallel()
	w := newWreck(t)
	_, gz := w.file(t, Pages, openSuffix)
	if _, damage, err :=
		wholeMembers(io.MultiReader(bytes.NewReader(gz[:len(gz)-7]), failing{})); err == nil ||
		damage != nil {
		t.Errorf("error %v, damage %v; want that of the disk", err, damage)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }
