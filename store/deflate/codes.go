package deflate

import "math/bits"

// codes are the Huffman codes of one alphabet: first how often each symbol comes, then its code.
type codes struct {
	n    int // symbols of the alphabet
	freq [literalSymbols + 2]uint32
	size [literalSymbols + 2]uint8  // bits of each symbol's code; 0: it has none
	code [literalSymbols + 2]uint32 // the code, its first bit lowest, and size << 16

	// Memory of build: symbols that come, the rarest first, each with its frequency << 16; weights and depths.
	sorted, other []uint32
	tree          []uint32
}

func (c *codes) reset(n int) {
	c.n = n
	clear(c.freq[:])
	clear(c.size[:])
}

// cost returns the bits that all symbols take, with the extra bits of those from first on.
func (c *codes) cost(extra []uint8, first int) int {
	sum := 0
	for s, f := range c.freq[:c.n] {
		sum += int(f) * int(c.size[s])
	}
	for i, x := range extra {
		if first+i < c.n {
			sum += int(c.freq[first+i]) * int(x)
		}
	}
	return sum
}

// build makes codes of at most limit bits. An alphabet with fewer than two symbols that come gets two codes of one bit: readers differ in
// what they make of fewer.
func (c *codes) build(limit int) {
	c.sort()
	var counts [64]int // codes by their size
	switch len(c.sorted) {
	case 0:
		c.sorted = append(c.sorted[:0], 0, 1)
		counts[1] = 2
	case 1:
		c.sorted = append(c.sorted, (c.sorted[0]&0xffff+1)%2) // any other symbol; 0 or 1 is in each alphabet
		counts[1] = 2
	default:
		c.depths()
		for _, d := range c.tree {
			counts[min(int(d), limit)]++
		}
		shorten(&counts, limit)
	}
	c.assign(&counts, limit)
}

// sort fills sorted, by two passes over bytes of the frequency.
func (c *codes) sort() {
	c.sorted = c.sorted[:0]
	var low, high [256]int
	for s, f := range c.freq[:c.n] {
		if f > 0 {
			c.sorted = append(c.sorted, f<<16|uint32(s))
			low[f&255]++
			high[f>>8&255]++
		}
	}
	n := len(c.sorted)
	if cap(c.other) < n {
		c.other = make([]uint32, literalSymbols)
	}
	c.other = c.other[:n]
	c.pass(&low, 16)
	if high[0] < n {
		c.pass(&high, 24)
	}
}

// pass sorts by one byte and keeps the order of equal ones.
func (c *codes) pass(counts *[256]int, shift int) {
	at := 0
	for i, n := range counts {
		counts[i] = at
		at += n
	}
	for _, x := range c.sorted {
		b := x >> shift & 255
		c.other[counts[b]] = x
		counts[b]++
	}
	c.sorted, c.other = c.other, c.sorted
}

// depths sets tree to the sizes of the best codes, those of the rarest symbols first. A. Moffat, J. Katajainen: In-place calculation
// of minimum-redundancy codes, WADS 1995. There are at least two symbols.
func (c *codes) depths() {
	a := c.tree[:0]
	for _, x := range c.sorted {
		a = append(a, x>>16)
	}
	c.tree = a
	n := len(a)
	// Weights of inner nodes, then, in place of each, its parent.
	a[0] += a[1]
	root, leaf := 0, 2
	for next := 1; next < n-1; next++ {
		if leaf >= n || a[root] < a[leaf] {
			a[next], a[root] = a[root], uint32(next)
			root++
		} else {
			a[next] = a[leaf]
			leaf++
		}
		if leaf >= n || root < next && a[root] < a[leaf] {
			a[next] += a[root]
			a[root] = uint32(next)
			root++
		} else {
			a[next] += a[leaf]
			leaf++
		}
	}
	// Depths of inner nodes, then of leaves.
	a[n-2] = 0
	for next := n - 3; next >= 0; next-- {
		a[next] = a[a[next]] + 1
	}
	free, used, depth := 1, 0, uint32(0)
	root = n - 2
	for next := n - 1; free > 0; depth++ {
		for root >= 0 && a[root] == depth {
			used++
			root--
		}
		for ; free > used; free-- {
			a[next] = depth
			next--
		}
		free, used = 2*used, 0
	}
}

// shorten makes a complete code of counts, whose codes beyond limit were counted as of limit bits.
func shorten(counts *[64]int, limit int) {
	sum := 0
	for size := 1; size <= limit; size++ {
		sum += counts[size] << (limit - size)
	}
	for ; sum > 1<<limit; sum-- {
		// A leaf at the longest smaller size becomes an inner node, with itself and one of those at the limit below it.
		size := limit - 1
		for counts[size] == 0 {
			size--
		}
		counts[size]--
		counts[size+1] += 2
		counts[limit]--
	}
}

// assign gives the rarest symbols the longest codes, and codes of a size to symbols in their order (RFC 1951, section 3.2.2).
func (c *codes) assign(counts *[64]int, limit int) {
	i := 0
	for size := limit; size > 0; size-- {
		for range counts[size] {
			c.size[c.sorted[i]&0xffff] = uint8(size)
			i++
		}
	}
	var next [16]uint32
	code := uint32(0)
	for size := 1; size <= limit; size++ {
		code = (code + uint32(counts[size-1])) << 1
		next[size] = code
	}
	for s, size := range c.size[:c.n] {
		if size > 0 {
			c.code[s] = uint32(bits.Reverse16(uint16(next[size]<<(16-size)))) | uint32(size)<<16
			next[size]++
		}
	}
}
