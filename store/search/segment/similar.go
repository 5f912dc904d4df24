package segment

import "bytes"

// maxVisited bounds the words that Similar looks at.
const maxVisited = 3_000_000

// Distance is the number of letters (bytes) to change, add, leave out or swap with the next to make b of a, and most+1 if it is
// larger than most.
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

// Similar calls f for each word of the segment that differs from word in at most distance places.
// The bytes are valid during the call.
func (s *Segment) Similar(word string, distance int, f func(similar []byte, documents int64)) {
	r := rows{word: []byte(word), most: distance}
	c := s.words.seek(nil)
	for visited := 0; visited < maxVisited && c.next(); visited++ {
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
		switch n := len(r.path); {
		case r.least() > distance:
			if n <= 3 {
				if after := successor(r.path); after != nil {
					c = s.words.seek(after)
				}
			}
		case n == len(key) && r.last() <= distance:
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
