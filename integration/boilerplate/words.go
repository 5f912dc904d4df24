package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// writeText writes the text of a tree that a browser would show, but for the elements to leave out.
// A space stands where an element begins or ends that is no part of a line.
func writeText(b *strings.Builder, n *html.Node, leave func(*html.Node) bool) {
	switch n.Type {
	case html.TextNode:
		b.WriteString(n.Data)
		return
	case html.ElementNode:
		if leave != nil && leave(n) {
			b.WriteByte(' ')
			return
		}
	case html.CommentNode, html.DoctypeNode:
		return
	}
	inline := n.Type == html.ElementNode
	switch n.DataAtom {
	case atom.Head, atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Iframe,
		atom.Select, atom.Textarea:
		return
	case atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code,
		atom.Data, atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I, atom.Ins, atom.Kbd, atom.Mark,
		atom.Q, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub,
		atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr:
	default:
		inline = false
	}
	if !inline {
		b.WriteByte(' ')
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		writeText(b, k, leave)
	}
	if !inline {
		b.WriteByte(' ')
	}
}

// textOf is the text of a whole tree, "" for none.
func textOf(n *html.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	writeText(&b, n, nil)
	return b.String()
}

// bag counts words.
type bag map[string]int

// bagOf counts runs of letters and digits.
func bagOf(text string) (b bag) {
	b = bag{}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M)
	}) {
		b[w]++
	}
	return b
}

func (b bag) len() (n int) {
	for _, k := range b {
		n += k
	}
	return n
}

// without names the ten words that another bag lacks most often.
func (b bag) without(o bag) string {
	lack := bag{}
	for w, n := range b {
		if n > o[w] {
			lack[w] = n - o[w]
		}
	}
	words := slices.SortedFunc(maps.Keys(lack), func(v, w string) int {
		return cmp.Or(lack[w]-lack[v], cmp.Compare(v, w))
	})
	named := fmt.Sprintf("%d words", lack.len())
	for _, w := range words[:min(10, len(words))] {
		named += fmt.Sprintf(" %s×%d", w, lack[w])
	}
	return named
}

// score says how much two texts have in common.
type score struct{ precision, recall, f1 float64 }

// compare scores what a reader has found of what is wanted, which is not empty.
func compare(found, wanted bag) (s score) {
	common := 0
	for w, n := range found {
		common += min(n, wanted[w])
	}
	if common == 0 {
		return score{}
	}
	s.precision = float64(common) / float64(found.len())
	s.recall = float64(common) / float64(wanted.len())
	s.f1 = 2 * s.precision * s.recall / (s.precision + s.recall)
	return s
}
