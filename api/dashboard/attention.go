package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"crawlnode/crawl"
)

// A node that is taken over has hundreds of partitions in the same state: they share a
// row, and /api/v1/ring has them one by one.
const (
	maxAttention = 12 // rows
	maxSpans     = 6  // runs of partitions that a row names
)

// attention is what partitions that are not as they should be have in common.
type attention struct {
	attentionKey
	Count      int
	Partitions string // the first of them
	parts      []crawl.Partition
}

type attentionKey struct {
	Holder, Owner string
	State         string
	InSync, Want  int
	Reason        string
	away          bool
}

// attend adds a partition to its row.
func (b *ringBuilder) attend(p *crawl.PartitionReport) {
	k := attentionKey{Holder: "nobody", Owner: b.name(p.Owner), State: words(p.State), InSync: len(p.InSync), Want: 1 + len(p.Replicas), away: p.Holder == nil}
	if p.Holder != nil {
		k.Holder = b.name(*p.Holder)
	}
	switch {
	case p.Reason != nil:
		k.Reason = *p.Reason
	case lacksCopies(p):
		k.Reason = "a copy is being made"
	case p.State == crawl.PartitionMoving:
		k.Reason = "it goes to its owner when that has a copy"
	case p.Holder == nil:
		k.Reason = "nobody who answers holds it"
	}
	a := b.rows[k]
	if a == nil {
		a = &attention{attentionKey: k}
		b.rows[k] = a
	}
	a.Count++
	a.parts = append(a.parts, p.Partition)
}

// attentions returns the rows, those first whose hosts nobody fetches, then the
// largest; more is the number of partitions in the rows that are left out.
func (b *ringBuilder) attentions() (rows []attention, more int) {
	for _, a := range b.rows {
		a.Partitions = spans(a.parts)
		rows = append(rows, *a)
	}
	slices.SortFunc(rows, func(x, y attention) int {
		return cmp.Or(cmp.Compare(b2i(y.away), b2i(x.away)), cmp.Compare(y.Count, x.Count), cmp.Compare(x.parts[0], y.parts[0]))
	})
	for _, a := range rows[min(len(rows), maxAttention):] {
		more += a.Count
	}
	return rows[:min(len(rows), maxAttention)], more
}

// spans writes sorted partitions as runs, the first of them.
func spans(ps []crawl.Partition) string {
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
