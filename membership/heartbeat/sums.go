package heartbeat

import "crawlnode/crawl"

// Ranks are the summaries of importance that the other members last sent.
func (t *Table) Ranks() (all [][]byte) {
	t.eachMember(func(_ crawl.NodeID, b *crawl.NodeBlock) { all = append(all, b.Ranks) })
	return all
}

// Texts sums the documents that the other members last said that they have for the index. Who owns nothing has lost what it says to
// those who took it over, such as a node with a stalled disk.
func (t *Table) Texts(owned func(crawl.NodeID) []crawl.Partition) (sum int64) {
	t.eachMember(func(id crawl.NodeID, b *crawl.NodeBlock) {
		if len(owned(id)) > 0 {
			sum += b.Counters.Texts
		}
	})
	return sum
}

func (t *Table) eachMember(visit func(crawl.NodeID, *crawl.NodeBlock)) {
	for id, info := range t.All() {
		if info.Held != nil { // a member
			visit(id, &info.Block)
		}
	}
}
