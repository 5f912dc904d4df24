package archive

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestRangeOf: what bisection finds in a sorted index is what reading it from end to end finds.
func TestRangeOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	word := func(letters string, most int) string {
		b := make([]byte, rng.IntN(most+1))
		for i := range b {
			b[i] = letters[rng.IntN(len(letters))]
		}
		return string(b)
	}
	for range 2000 {
		var lines []string
		for range rng.IntN(12) {
			lines = append(lines, word("abc,)", 4)+" "+word("012", 2))
		}
		slices.Sort(lines)
		lines = slices.Compact(lines)
		text := ""
		for _, l := range lines {
			text += l + "\n"
		}
		path := filepath.Join(dir, "index")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := crawl.IndexRange{From: word("abc,) ", 3), To: word("abc,)! ", 3)}
		want := ""
		for _, l := range lines {
			if InRange(r, []byte(l)) {
				want += l + "\n"
			}
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if in, err := rangeOf(f, r, t.TempDir()); err != nil {
			t.Fatal(err)
		} else if in != nil {
			all, err := io.ReadAll(in)
			if err != nil || in.Close() != nil {
				t.Fatal(err)
			}
			got = string(all)
		}
		if got != want {
			t.Fatalf("%+v of\n%sis\n%snot\n%s", r, text, got, want)
		}
	}
}

// TestWriteRange: a range of an archive is that part of its whole index, of finished and of open
// files.
func TestWriteRange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{MaxFileBytes: 4 << 10})
	for i := range 60 {
		put(t, a, capture(t, fmt.Sprintf("http://h%d.test/p%d", i%3, i), "a page"))
	}
	var whole bytes.Buffer
	if err := a.WriteIndex(&whole); err != nil {
		t.Fatal(err)
	}
	for _, r := range []crawl.IndexRange{{}, OfKey(Key("http://h1.test/p4")),
		{From: "test,h1)", To: "test,h1*"}, {From: "test,h2)/p5"}, {To: "test,h1"}, {From: "zz"}} {
		want := ""
		for line := range strings.Lines(whole.String()) {
			if InRange(r, []byte(strings.TrimSuffix(line, "\n"))) {
				want += line
			}
		}
		var got bytes.Buffer
		if err := a.WriteRange(&got, r); err != nil || got.String() != want {
			t.Errorf("%+v: %v\n%s\nnot\n%s", r, err, got.String(), want)
		}
	}
	if n := strings.Count(whole.String(), "\n"); n != 60 {
		t.Errorf("%d lines, want 60", n)
	}
}
