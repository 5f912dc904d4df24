package wall

import (
	"encoding/binary"
	"strings"
)

// This file finds all marks of the table in a page with one pass: a search for each took half a
// millisecond for a page of 20 KB.

// anchor is how many first bytes of a mark are looked up at each place of a page.
const anchor = 4

// needle is a mark of a body, or what a page loads that asks for a captcha.
type needle struct {
	text   string
	row    int // of the Table; -1: of captchas
	weight int
	kind   kind
}

// kind is where in a page a needle means something.
type kind uint8

const (
	inCode kind = 1 << iota // tags and scripts
	inText                  // what a reader sees
)

// finder has the needles by a hash of their first bytes.
type finder struct {
	needles []needle
	byHash  [1 << 12][]uint16
}

const (
	// maxRows is how many rows a Table may have: those of the package, and a user's own.
	maxRows = 128
	// maxNeedles is how many marks all of them may have.
	maxNeedles = 4096
)

func newFinder(rows []row) *finder {
	f := &finder{}
	add := func(n needle) {
		h := hashOf(binary.LittleEndian.Uint32([]byte(n.text)))
		f.byHash[h] = append(f.byHash[h], uint16(len(f.needles))) //nolint:gosec // a few hundred
		f.needles = append(f.needles, n)
	}
	for i := range rows {
		for _, m := range rows[i].code {
			add(needle{m.text, i, m.weight, inCode})
		}
		for _, m := range rows[i].says {
			add(needle{m.text, i, m.weight, inText})
		}
	}
	for _, text := range captchas {
		add(needle{text: text, row: -1, kind: inCode})
	}
	return f
}

func hashOf(first uint32) uint32 { return first * 2654435761 >> 20 }

// found is what stands in a page: the weights of each row, and whether it asks for a captcha.
type found struct {
	code, says [maxRows]int
	captcha    bool
}

// in looks for the needles of these kinds, and adds what it finds. Each counts once.
func (f *finder) in(body []byte, kinds kind, have *found) {
	var seen [maxNeedles / 64]uint64
	for i := 0; i+anchor <= len(body); i++ {
		candidates := f.byHash[hashOf(binary.LittleEndian.Uint32(body[i:]))]
		for _, c := range candidates {
			n := &f.needles[c]
			if seen[c/64]>>(c%64)&1 != 0 || len(body)-i < len(n.text) || n.kind&kinds == 0 ||
				string(body[i:i+len(n.text)]) != n.text {
				continue
			}
			seen[c/64] |= 1 << (c % 64)
			switch {
			case n.row < 0:
				have.captcha = true
			case n.kind == inCode:
				have.code[n.row] += n.weight
			default:
				have.says[n.row] += n.weight
			}
		}
	}
}

// hasAny reports whether a text has one of the words.
func hasAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
