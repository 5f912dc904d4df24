package segment

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Distance is the number of letters (bytes) to change, add, leave out or swap with the next to make
// b of a, and most+1 if it is larger than most.
func Distance(a, b string, most int) int {
	r := rows{word: []byte(a), most: most}
	for i := range len(b) {
		if r.push(b[i]) > most {
			return most + 1
		}
	}
	return min(most+1, r.last())
}

// rows are the rows of the table of distances between a word and the beginnings of another: one row
// for each letter of that. Swapped neighbours count as one mistake (optimal string alignment).
type rows struct {
	word []byte
	most int
	path []byte // the letters that were pushed
	rows [][]int
}

// row is the row after d letters.
func (r *rows) row(d int) []int {
	for len(r.rows) <= d {
		r.rows = append(r.rows, make([]int, len(r.word)+1))
		if len(r.rows) == 1 {
			for i := range r.rows[0] {
				r.rows[0][i] = i
			}
		}
	}
	return r.rows[d]
}

// push adds a letter and returns the smallest number of its row: no word that begins so is nearer.
func (r *rows) push(c byte) int {
	d := len(r.path)
	r.path = append(r.path, c)
	r.row(d + 1)
	before, row := r.rows[d], r.rows[d+1]
	row[0] = d + 1
	least := row[0]
	for i, w := range r.word {
		cost := 1
		if w == c {
			cost = 0
		}
		v := min(before[i]+cost, before[i+1]+1, row[i]+1)
		if d > 0 && i > 0 && w == r.path[d-1] && r.word[i-1] == c {
			v = min(v, r.rows[d-1][i-1]+1)
		}
		row[i+1] = v
		least = min(least, v)
	}
	return least
}

func (r *rows) cut(n int) { r.path = r.path[:n] }

func (r *rows) last() int { return r.row(len(r.path))[len(r.word)] }

// Similar calls f for each word of the segment that differs from word in at most distance letters,
// if the first letter is right, or in the first one only: mistakes there are rare, and a walk over
// the words with one first letter is a twentieth of a walk over all. left bounds the words that are
// looked at: it is counted down, over several calls of one question, and at 0 the rest is not
// found. The bytes are valid during the call.
func (s *Segment) Similar(
	word string,
	distance int,
	left *int,
	f func(similar []byte, documents int64),
) {
	if word == "" || distance < 1 {
		return
	}
	_, first := utf8.DecodeRuneInString(word)
	s.beginsAlike(word, first, distance, left, f)
	for _, other := range otherBeginnings(word, first) {
		*left--
		if e, ok := s.words.find([]byte(other)); ok {
			f(e.key, int64(e.count))
		}
	}
}

// otherBeginnings are the words with one mistake in the first letter of word, which has first
// bytes: left out, added, swapped with the second one, another one. Added ones and others are the
// letters a to z.
func otherBeginnings(word string, first int) []string {
	letter, rest := word[:first], word[first:]
	if rest == "" {
		return nil
	}
	_, second := utf8.DecodeRuneInString(rest)
	all := []string{rest, rest[:second] + letter + rest[second:]}
	for c := 'a'; c <= 'z'; c++ {
		all = append(all, string(c)+rest, string(c)+word)
	}
	return slices.DeleteFunc(all, func(w string) bool { return strings.HasPrefix(w, letter) })
}

// beginsAlike calls f for the similar words that have the first bytes in common. A beginning that
// is too far away already takes all words that begin so out at once, when they fill blocks of the
// table.
func (s *Segment) beginsAlike(
	word string,
	first, distance int,
	left *int,
	f func(similar []byte, documents int64),
) {
	r := rows{word: []byte(word), most: distance}
	c := s.words.seek([]byte(word[:first]))
	for ; *left > 0 && c.next() && bytes.HasPrefix(c.key, []byte(word[:first])); *left-- {
		key := c.key
		common := 0
		for common < len(key) && common < len(r.path) && key[common] == r.path[common] {
			common++
		}
		if common == len(r.path) && common > 0 && r.least() > distance {
			continue // it begins as a word that was too far away already
		}
		r.cut(common)
		for len(r.path) < len(key) {
			if r.push(key[len(r.path)]) > distance {
				break
			}
		}
		if r.least() > distance {
			if after := successor(r.path); after != nil {
				c.skip(after)
			}
		} else if len(r.path) == len(key) && r.last() <= distance {
			f(key, int64(c.count))
		}
	}
}

// least is the smallest number of the last row.
func (r *rows) least() int {
	row := r.row(len(r.path))
	least := row[0]
	for _, v := range row {
		least = min(least, v)
	}
	return least
}

// successor is the first key after all that begin with prefix.
func successor(prefix []byte) []byte {
	out := bytes.Clone(prefix)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i] < 0xFF {
			out[i]++
			return out[:i+1]
		}
	}
	return nil
}
