package index

import (
	"crawlnode/search/segment"
)

// change gathers what is deleted of a snapshot.
type change struct {
	now  *snapshot
	gone map[*part]map[uint32]bool
}

func newChange(now *snapshot) *change {
	return &change{now: now, gone: map[*part]map[uint32]bool{}}
}

func (c *change) delete(p *part, doc uint32) {
	if c.gone[p] == nil {
		c.gone[p] = map[uint32]bool{}
	}
	c.gone[p][doc] = true
}

// find returns the document with a key, if the change has not deleted it.
func (c *change) find(k segment.Key) (p *part, doc uint32, ok bool) {
	p, doc, ok = c.now.find(k)
	if ok && c.gone[p][doc] {
		ok = false
	}
	return p, doc, ok
}

func (c *change) remove(r Removal) {
	p, doc, ok := c.find(keyOf(cut(r.URL, MaxURL)))
	if ok && (r.At.IsZero() || !p.seg.Card(doc).FetchedAt.After(r.At)) {
		c.delete(p, doc)
	}
}

func (c *change) removePartitions(p *part, partitions []uint32) {
	if len(partitions) == 0 {
		return
	}
	of := map[uint32]bool{}
	for _, partition := range partitions {
		of[partition] = true
	}
	for doc := range uint32(p.seg.Len()) {
		if of[p.seg.Partition(doc)] && !p.deleted.Has(doc) {
			c.delete(p, doc)
		}
	}
}

// newest returns the documents that are newer than what there is, the newest of each URL, and
// deletes what they replace.
func (c *change) newest(put []Document) []*Document {
	at := map[segment.Key]int{}
	var out []*Document
	for i := range put {
		d := bounded(put[i])
		k := keyOf(d.URL)
		if j, ok := at[k]; ok {
			if !older(&d, out[j]) {
				out[j] = &d
			}
			continue
		}
		p, doc, ok := c.find(k)
		if ok {
			card := p.seg.Card(doc)
			if older(&d, &Document{FetchedAt: card.FetchedAt, Revision: card.Revision}) {
				continue
			}
			c.delete(p, doc)
		}
		at[k] = len(out)
		out = append(out, &d)
	}
	return out
}

// older reports whether d is an older version than o.
func older(d, o *Document) bool {
	if !d.FetchedAt.Equal(o.FetchedAt) {
		return d.FetchedAt.Before(o.FetchedAt)
	}
	return d.Revision < o.Revision
}

// parts are those of the snapshot after the change; those with nothing left are left out.
func (c *change) parts() []*part {
	var out []*part
	for _, p := range c.now.parts {
		var docs []uint32
		for doc := range c.gone[p] {
			docs = append(docs, doc)
		}
		if next := p.without(docs); next.live > 0 {
			out = append(out, next)
		}
	}
	return out
}
