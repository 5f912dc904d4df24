package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"crawlnode/crawl"
)

// maxCells bounds the partitions that are drawn one by one.
const maxCells = 4096

// ringView is the ring as it is drawn.
type ringView struct {
	View      crawl.Epoch
	Digest    string
	Cells     []cell
	Omitted   int // partitions beyond maxCells
	Holders   []holder
	Attention []attention
	More      int // partitions in rows beyond maxAttention
	Summary   string
}

// cell is one partition.
type cell struct {
	Letter, Class, Title string
}

// holder is a node with its partitions.
type holder struct {
	ID            crawl.NodeID // "": nobody
	Letter, Name  string
	Hue           int
	Held, Owned   int
	Copies, Short int // partitions that it copies; of those that it holds, with too few copies
	Moving        int
	URLs          int64
}

// newRingView arranges the members' reports about the partitions.
func newRingView(r *crawl.RingReport, st *crawl.Status) ringView {
	v := ringView{View: r.View, Digest: r.Digest, Omitted: max(len(r.Partitions)-maxCells, 0)}
	b := ringBuilder{
		ranks:   ranksOf(st),
		names:   map[crawl.NodeID]string{},
		holders: map[crawl.NodeID]*holder{},
		rows:    map[attentionKey]*attention{},
	}
	for i := range st.Nodes {
		b.names[st.Nodes[i].ID] = st.Nodes[i].Name
	}
	short, away, moving := 0, 0, 0
	for i := range r.Partitions {
		p := &r.Partitions[i]
		lacks := b.count(p)
		if i < maxCells {
			v.Cells = append(v.Cells, b.cell(p, lacks))
		}
		if lacks {
			short++
		}
		if p.Holder == nil {
			away++
		}
		if isMoving(p) {
			moving++
		}
		if lacks || p.State != crawl.PartitionHeld {
			b.attend(p)
		}
	}
	v.Attention, v.More = b.attentions()
	for _, h := range b.holders {
		v.Holders = append(v.Holders, *h)
	}
	slices.SortFunc(v.Holders, func(a, b holder) int {
		return cmp.Or(cmp.Compare(b2i(a.ID == ""), b2i(b.ID == "")), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.ID, b.ID))
	})
	v.Summary = fmt.Sprintf("%d partitions, %d moving or about to move, %d with too few copies, "+
		"%d held by no node that answers", len(r.Partitions), moving, short, away)
	return v
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ringBuilder counts while the partitions are gone through.
type ringBuilder struct {
	ranks   ranks
	names   map[crawl.NodeID]string
	holders map[crawl.NodeID]*holder
	rows    map[attentionKey]*attention
}

func (b *ringBuilder) holder(id crawl.NodeID) *holder {
	h := b.holders[id]
	if h == nil {
		h = &holder{ID: id, Letter: "·", Name: "nobody", Hue: -1}
		if id != "" {
			h.Letter, h.Name, h.Hue = b.ranks.Letter(id), b.name(id), b.ranks.Hue(id)
		}
		b.holders[id] = h
	}
	return h
}

func (b *ringBuilder) name(id crawl.NodeID) string {
	if name := b.names[id]; name != "" {
		return name
	}
	return string(id)
}

// count adds a partition to its holder and reports whether it has too few copies.
func (b *ringBuilder) count(p *crawl.PartitionReport) (lacks bool) {
	lacks = lacksCopies(p)
	var who crawl.NodeID
	if p.Holder != nil {
		who = *p.Holder
	}
	h := b.holder(who)
	h.Held++
	if p.URLs != nil {
		h.URLs += *p.URLs
	}
	if lacks {
		h.Short++
	}
	if isMoving(p) {
		h.Moving++
	}
	b.holder(p.Owner).Owned++
	for _, id := range p.InSync {
		if id != who {
			b.holder(id).Copies++
		}
	}
	return lacks
}

// lacksCopies reports whether fewer nodes have everything than should.
func lacksCopies(p *crawl.PartitionReport) bool {
	return p.InSync != nil && len(p.InSync) < 1+len(p.Replicas)
}

// isMoving reports whether a partition moves, or is about to.
func isMoving(p *crawl.PartitionReport) bool {
	return p.State == crawl.PartitionMoving || p.State == crawl.PartitionFrozen ||
		p.State == crawl.PartitionPromoting
}

func (b *ringBuilder) cell(p *crawl.PartitionReport, lacks bool) cell {
	c := cell{Letter: "·", Class: "c"}
	who := "nobody"
	if p.Holder != nil {
		c.Letter, who = b.ranks.Letter(*p.Holder), b.name(*p.Holder)
		c.Class += " h" + strconv.Itoa(b.ranks.Hue(*p.Holder))
	}
	if isMoving(p) {
		c.Class += " moving"
	}
	if lacks {
		c.Class += " short"
	}
	if p.Holder == nil {
		c.Class += " away"
	}
	c.Title = fmt.Sprintf("%d: %s, %s", p.Partition, who, words(p.State))
	if lacks {
		c.Title += fmt.Sprintf(", %d of %d copies", len(p.InSync), 1+len(p.Replicas))
	}
	return c
}
