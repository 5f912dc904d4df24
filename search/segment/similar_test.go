package segment

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crawlnode/search/analyse"
	"crawlnode/search/rank"
)

// vocabulary is a segment with n drawn words, and the words.
func vocabulary(t *testing.T, n int) (*Segment, []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 8))
	seen := map[string]bool{}
	for len(seen) < n {
		var w strings.Builder
		for range 3 + r.IntN(8) {
			w.WriteByte("etaoinshrdlu"[min(r.IntN(12), r.IntN(12))])
		}
		seen[w.String()] = true
	}
	var words []string
	for w := range seen {
		words = append(words, w)
	}
	slices.Sort(words)
	b := NewBuilder(analyse.NewStemmer())
	d := Document{URL: "http://a.test/", Language: analyse.Other}
	d.Fields[rank.Text] = []string{strings.Join(words, " ")}
	b.Add(&d)
	path := filepath.Join(t.TempDir(), "segment")
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, words
}

// TestSimilar: what Similar finds is what a look at every word finds: with the first letter in
// common, or with one mistake that is in it.
func TestSimilar(t *testing.T) {
	s, words := vocabulary(t, 20_000)
	r := rand.New(rand.NewPCG(1, 1))
	found := 0
	for range 200 {
		w := []byte(words[r.IntN(len(words))])
		switch at := r.IntN(len(w)); r.IntN(3) {
		case 0:
			w = slices.Delete(w, at, at+1)
		case 1:
			w[at] = 'z'
		case 2:
			w = slices.Insert(w, at, 'e')
		}
		word, most := string(w), 1+r.IntN(2)
		var want, got []string
		others := otherBeginnings(word, 1)
		for _, o := range words {
			if o[0] == word[0] && Distance(word, o, most) <= most || slices.Contains(others, o) {
				want = append(want, o)
			}
		}
		left := 1 << 20
		s.Similar(word, most, &left, func(similar []byte, n int64) {
			if n != 1 {
				t.Fatalf("%s has %d documents", similar, n)
			}
			got = append(got, string(similar))
		})
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Fatalf("%s, %d mistakes: found %v, want %v", word, most, got, want)
		}
		found += len(got)
	}
	if found < 200 {
		t.Errorf("%d words found for 200", found)
	}
}

// TestSimilarIsBounded: no more words are looked at than are allowed, and far fewer than there are.
func TestSimilarIsBounded(t *testing.T) {
	s, words := vocabulary(t, 50_000)
	for _, w := range []string{"ostinetoe", "z", "", "ëtaoin", strings.Repeat("e", 48), "\xff\xfe"} {
		left := 1 << 20
		s.Similar(w, 2, &left, func([]byte, int64) {})
		if looked := 1<<20 - left; looked > len(words)/4 {
			t.Errorf("%q: %d words of %d were looked at", w, looked, len(words))
		}
		left = 10
		s.Similar(w, 2, &left, func([]byte, int64) {})
		if left < -60 {
			t.Errorf("%q: %d left of 10", w, left)
		}
	}
}
