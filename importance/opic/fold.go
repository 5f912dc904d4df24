package opic

import (
	"encoding/binary"
	"math"
	"slices"
)

// Block is the accounts of neighbouring URLs, in order: version, and for each URL its number (8
// bytes) and its account. A URL with one link to it takes 20 bytes, of which 8 are its sites.
// A partition is a row of blocks, and every URL belongs to the last block whose First is not above
// it.
type Block struct {
	First URL
	Bytes []byte
}

// blockBytes is the size at which a block is divided.
const blockBytes = 4 << 10

// Delta is what the log of a partition says of one URL since its accounts were folded.
type Delta struct {
	URL    URL
	Amount Cash
	Links  int // links to the URL that are new
	Sites  Sites
}

// AddLinks adds counts of links. A sum ends at 31 bits, which is all that is stored; members may
// send credits of any number.
func AddLinks[T int | int32](a, b T) T {
	return T(min(max(int64(a)+int64(b), -math.MaxInt32), math.MaxInt32))
}

// SumCredits sums the entries of a log by URL, in order.
func SumCredits(log []Entry) []Delta {
	var s Summer
	return s.SumCredits(log)
}

// Summer is the memory of sorts, which is several times that of what they return. Its zero value is
// ready, and one goroutine at a time uses it.
type Summer struct{ from, to []logged }

// SumCredits sums the entries of a log by URL, in order.
func (s *Summer) SumCredits(log []Entry) []Delta {
	all := s.sorted(log)
	sums := make([]Delta, 0, distinct(all))
	for i := range all {
		c, last := &all[i], len(sums)-1
		if last < 0 || sums[last].URL != c.URL {
			sums = append(sums, Delta{URL: c.URL})
			last++
		}
		sums[last].Amount += c.Amount
		sums[last].Links = AddLinks(sums[last].Links, int(c.Links))
		sums[last].Sites.Add(c.site)
	}
	return sums
}

// MergeDeltas makes one list of two, which are in order.
func MergeDeltas(a, b []Delta) []Delta {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	all := make([]Delta, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].URL < b[0].URL:
			all, a = append(all, a[0]), a[1:]
		case b[0].URL < a[0].URL:
			all, b = append(all, b[0]), b[1:]
		default:
			d := a[0]
			d.Amount += b[0].Amount
			d.Links = AddLinks(d.Links, b[0].Links)
			d.Sites.Merge(&b[0].Sites)
			all, a, b = append(all, d), a[1:], b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// logged is a credit with the site of its page.
type logged struct {
	Credit
	site Site
}

// distinct counts the URLs of credits that are sorted.
func distinct(all []logged) (n int) {
	for i := range all {
		if i == 0 || all[i].URL != all[i-1].URL {
			n++
		}
	}
	return n
}

// sorted lists the credits of a log by URL: a radix sort, byte by byte from the least, which takes
// a quarter of the time of a comparing one. The list is good until the next call.
func (s *Summer) sorted(log []Entry) []logged {
	n := 0
	for i := range log {
		n += len(log[i].Credits)
	}
	from, to := slices.Grow(s.from[:0], n), slices.Grow(s.to[:0], n)[:n]
	var counts [8][256]int
	for i := range log {
		for _, c := range log[i].Credits {
			from = append(from, logged{c, log[i].Site})
			for digit := range counts {
				counts[digit][byte(c.URL>>(8*digit))]++
			}
		}
	}
	for digit := range counts {
		place, used := 0, 0
		for v, n := range counts[digit] {
			counts[digit][v] = place
			place += n
			if n > 0 {
				used++
			}
		}
		if used <= 1 {
			continue // all are equal here
		}
		for i := range from {
			at := &counts[digit][byte(from[i].URL>>(8*digit))]
			to[*at] = from[i]
			*at++
		}
		from, to = to, from
	}
	s.from, s.to = from, to
	return from
}

// Fold adds the deltas, which are in order, to the accounts of a block, and divides it when it has
// grown. changed is called for each URL with a delta; it may change the account further, such as
// settle it. A nil block is the first of a partition.
func (b *Block) Fold(
	deltas []Delta,
	changed func(u URL, before Account, now *Account),
) ([]Block, error) {
	r := reader{b: b.Bytes}
	if len(b.Bytes) > 0 {
		r.version()
	}
	w := folder{first: b.First, size: len(b.Bytes)}
	var now Account // one for all URLs: changed makes it escape
	for len(r.b) > 0 || len(deltas) > 0 {
		var u URL
		var before Account
		old := len(r.b) >= 8
		if old {
			u = URL(binary.BigEndian.Uint64(r.b))
		}
		switch {
		case old && (len(deltas) == 0 || u < deltas[0].URL): // unchanged
			rest := r.b
			r.take(8)
			r.account()
			w.copy(u, rest[:len(rest)-len(r.b)])
		case old && u == deltas[0].URL:
			r.take(8)
			before = r.account()
			fallthrough
		case len(deltas) > 0:
			now = before
			now.Pending += deltas[0].Amount
			now.In = AddLinks(now.In, deltas[0].Links)
			now.Sites.Merge(&deltas[0].Sites)
			changed(deltas[0].URL, before, &now)
			w.put(deltas[0].URL, &now)
			deltas = deltas[1:]
		default: // less than a URL is left
			r.fail()
		}
		if r.bad {
			break
		}
	}
	return w.blocks, r.end("block of accounts")
}

// folder writes blocks.
type folder struct {
	first  URL
	size   int // of the block before
	blocks []Block
}

// room begins a block where one must begin, and returns the last one.
func (w *folder) room(u URL) *Block {
	if n := len(w.blocks); n == 0 || len(w.blocks[n-1].Bytes) >= blockBytes {
		first := u
		if n == 0 {
			first = w.first
		}
		w.blocks = append(w.blocks, Block{
			First: first,
			Bytes: append(make([]byte, 0, max(min(w.size+w.size/8, blockBytes+64), 256)), formatVersion),
		})
	}
	return &w.blocks[len(w.blocks)-1]
}

func (w *folder) copy(u URL, raw []byte) {
	b := w.room(u)
	b.Bytes = append(b.Bytes, raw...)
}

func (w *folder) put(u URL, a *Account) {
	b := w.room(u)
	b.Bytes = appendAccount(binary.BigEndian.AppendUint64(b.Bytes, uint64(u)), a)
}

// Find returns the account of a URL; ok is false when the block has none of it.
func (b *Block) Find(u URL) (a Account, ok bool, err error) {
	r := reader{b: b.Bytes}
	if len(b.Bytes) > 0 {
		r.version()
	}
	for len(r.b) > 0 {
		at := URL(binary.BigEndian.Uint64(r.take(8)))
		if found := r.account(); !r.bad && at == u {
			return found, true, nil
		}
		if at > u && !r.bad {
			return a, false, nil
		}
	}
	return a, false, r.end("block of accounts")
}

// Accounts calls f with each account of the block, in order.
func (b *Block) Accounts(f func(URL, Account)) error {
	r := reader{b: b.Bytes}
	if len(b.Bytes) > 0 {
		r.version()
	}
	for len(r.b) > 0 {
		u := URL(binary.BigEndian.Uint64(r.take(8)))
		a := r.account()
		if r.bad {
			break
		}
		f(u, a)
	}
	return r.end("block of accounts")
}
