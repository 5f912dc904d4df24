package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"crawlnode/crawl"
)

// When a node is taken over, hundreds of partitions are in the same state. They share a row;
// /api/v1/ring lists them one by one.
const (
	maxAttention = 12 // rows
	maxSpans     = 6  // runs of partitions that a row names
)

// attention is the common state of partitions that need attention.
type attention struct {
	attentionKey
	Count      int
	Partitions string // the first of them
	parts      []crawl.Partition
}

type attentionKey struct {
	Holder, Owner string
	State, Code   string // the state in words, and as a code
	InSync, Want  int
	Reason        string
	away          bool
}

// attend adds a partition to its row.
func (b *ringBuilder) attend(p *crawl.PartitionReport) {
	k := attentionKey{
		Holder: "nobody",
		Owner:  b.name(p.Owner),
		State:  words(p.State),
		Code:   p.State,
		InSync: len(p.InSync),
		Want:   1 + len(p.Replicas),
		away:   p.Holder == nil,
	}
	if p.Holder != nil {
		k.Holder = b.name(*p.Holder)
	}
	switch {
	case p.Reason != nil:
		k.Reason = *p.Reason
	case lacksCopies(p):
		k.Reason = "a copy is being made"
	case p.State == crawl.PartitionMoving:
		k.Reason = "it moves to its owner once the owner has a copy"
	case p.Holder == nil:
		k.Reason = "no node that answers holds it"
	}
	a := b.rows[k]
	if a == nil {
		a = &attention{attentionKey: k}
		b.rows[k] = a
	}
	a.Count++
	a.parts = append(a.parts, p.Partition)
}

// attentions returns the rows: first partitions whose hosts no node fetches, then by size. more is
// the number of partitions in the rows that are left out.
func (b *ringBuilder) attentions() (rows []attention, more int) {
	for _, a := range b.rows {
		a.Partitions = runs(a.parts)
		rows = append(rows, *a)
	}
	slices.SortFunc(rows, func(x, y attention) int {
		return cmp.Or(cmp.Compare(b2i(y.away), b2i(x.away)), cmp.Compare(y.Count, x.Count),
			cmp.Compare(x.parts[0], y.parts[0]))
	})
	for _, a := range rows[min(len(rows), maxAttention):] {
		more += a.Count
	}
	return rows[:min(len(rows), maxAttention)], more
}

// runs writes sorted partitions as ranges; it lists only the first ranges.
func runs(ps []crawl.Partition) string {
	var out []string
	for len(ps) > 0 && len(out) < maxSpans {
		n := 1
		for n < len(ps) && ps[n] == ps[n-1]+1 {
			n++
		}
		if n == 1 {
			out = append(out, fmt.Sprint(ps[0]))
		} else {
			out = append(out, fmt.Sprintf("%d\u2013%d", ps[0], ps[n-1]))
		}
		ps = ps[n:]
	}
	text := strings.Join(out, ", ")
	if len(ps) > 0 {
		text += fmt.Sprintf(" and %s more", count(len(ps)))
	}
	return text
}
