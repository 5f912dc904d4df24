package htmlparse

// The sizes of memory that is used again. Smaller memory would soon be too small for the next page,
// larger memory is too much to keep for it.
const (
	minSpareText  = 32 << 10 // bytes; at most MaxText
	minSpareLinks = 128
	maxSpareLinks = 1 << 10
)

// Memory is what an earlier document has left for a later one: see [Document.Release]. The zero
// value is for a first one. It has at most MaxText bytes and some 1,000 links.
type Memory struct {
	text  []byte
	links []Link
}

// forText returns memory for n bytes, or more. A nil Memory has none.
func (m *Memory) forText(n int) []byte {
	switch {
	case m == nil:
		return make([]byte, 0, n)
	case cap(m.text) < n:
		return make([]byte, 0, max(n, minSpareText))
	}
	return m.text
}

// forLinks returns memory for n links, or more. A nil Memory has none.
func (m *Memory) forLinks(n int) []Link {
	switch {
	case m == nil:
		return make([]Link, 0, n)
	case cap(m.links) < n:
		return make([]Link, 0, max(n, minSpareLinks))
	}
	return m.links
}

// Release returns the memory of Links and Text for a later document. Neither may be used
// afterwards; all strings stay good. A document that is never released is garbage as usual.
func (d *Document) Release() *Memory {
	m := &Memory{}
	if n := cap(d.Text); n >= minSpareText && n <= MaxText {
		m.text = d.Text[:0]
	}
	if n := cap(d.Links); n >= minSpareLinks && n <= maxSpareLinks {
		clear(d.Links) // the strings are not kept
		m.links = d.Links[:0]
	}
	d.Links, d.Text = nil, nil
	return m
}
