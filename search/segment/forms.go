package segment

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Words that are written differently have one term: those with one stem, and those with and without
// what an apostrophe joins to them. The forms of a term tell them apart. They stand before the
// postings, in order, and each position has the number of its form:
//
//	uvarint  number of forms; 0: there is one, the word of the term
//	for each form: uvarint bytes in common with the word of the term, uvarint further bytes, those
//
// Labels have 0.

// wordOf is the word of a term without the signs before it.
func wordOf(term string) string {
	i := 1 // the language
	if len(term) > 1 && term[1] < ' ' {
		i = 2 // a stop word of a text
	}
	return term[min(i, len(term)):]
}

// appendForms appends the forms, which are in order, of a term with a word.
func appendForms(dst []byte, word string, forms []string) []byte {
	if len(forms) == 0 || len(forms) == 1 && forms[0] == word {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(forms)))
	for _, f := range forms {
		shared := 0
		for shared < len(f) && shared < len(word) && f[shared] == word[shared] {
			shared++
		}
		dst = binary.AppendUvarint(dst, uint64(shared))
		dst = binary.AppendUvarint(dst, uint64(len(f)-shared))
		dst = append(dst, f[shared:]...)
	}
	return dst
}

// cutForms reads what appendForms wrote.
func cutForms(raw []byte, word string) (forms []string, err error) {
	n, _, err := skipForms(raw, func(shared uint64, further []byte) error {
		if shared > uint64(len(word)) {
			return errPostings
		}
		forms = append(forms, word[:shared]+string(further))
		return nil
	})
	if n == 0 && err == nil {
		forms = []string{word}
	}
	return forms, err
}

// skipForms calls f, unless it is nil, for each form, and returns their number and what follows.
func skipForms(raw []byte, f func(shared uint64, further []byte) error) (
	forms uint64, rest []byte, err error,
) {
	n, k := binary.Uvarint(raw)
	if k <= 0 || n > uint64(len(raw)) {
		return 0, nil, errPostings
	}
	raw = raw[k:]
	for range n {
		shared, a := binary.Uvarint(raw)
		if a <= 0 {
			return 0, nil, errPostings
		}
		further, b := binary.Uvarint(raw[a:])
		if b <= 0 || further > uint64(len(raw)-a-b) {
			return 0, nil, errPostings
		}
		raw = raw[a+b:]
		if f != nil {
			if err := f(shared, raw[:further]); err != nil {
				return 0, nil, err
			}
		}
		raw = raw[further:]
	}
	return n, raw, nil
}

// numbers says, for the number of a form in one list, its number in another that has n forms.
type numbers struct {
	of   []uint32
	n    uint64
	same bool // the lists are the same
}

// renumber finds forms in a list in order, which has them all.
func renumber(forms, all []string) numbers {
	out := numbers{
		of: make([]uint32, len(forms)), n: uint64(max(1, len(all))), same: slices.Equal(forms, all),
	}
	for i, f := range forms {
		at, _ := slices.BinarySearchFunc(all, f, strings.Compare)
		out.of[i] = uint32(at)
	}
	return out
}

// codePositions appends the positions that a Builder has gathered as postings have them.
func codePositions(dst, pairs []byte, to numbers) []byte {
	for len(pairs) > 0 {
		delta, a := binary.Uvarint(pairs)
		form, b := binary.Uvarint(pairs[a:])
		pairs = pairs[a+b:]
		dst = binary.AppendUvarint(dst, delta*to.n+uint64(to.of[form]))
	}
	return dst
}

// recode appends positions of postings with other forms.
func (p *Postings) recode(dst []byte, to numbers) []byte {
	raw := p.rawPositions()
	if to.same {
		return append(dst, raw...)
	}
	ways := max(1, p.ways)
	for len(raw) > 0 {
		v, n := binary.Uvarint(raw)
		if n <= 0 || v%ways >= uint64(len(to.of)) {
			p.fail()
			return dst
		}
		raw = raw[n:]
		dst = binary.AppendUvarint(dst, v/ways*to.n+uint64(to.of[v%ways]))
	}
	return dst
}
