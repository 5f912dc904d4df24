package search

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
)

// latencies count the questions of people that this node has asked for them, by time.
type latencies struct {
	questions int64
	buckets   [crawl.NumLatencyBuckets]int64
}

func (x *Indexer) observe(took time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.times.questions++
	var c crawl.Counters
	c.Observe(took.Milliseconds())
	for i, n := range c.Latency {
		x.times.buckets[i] += n
	}
}

// Block is what this node says of its index; nil while it is off. Documents are those of the
// partitions that it holds, so the sum over the nodes counts each once; Bytes and Waiting are of
// its copies too.
func (x *Indexer) Block() *crawl.IndexBlock {
	x.mu.Lock()
	index, on := x.index, x.on
	b := &crawl.IndexBlock{
		Queries: x.times.questions,
		Buckets: append([]int64(nil), x.times.buckets[:]...),
	}
	behind := x.behind
	x.mu.Unlock()
	if index == nil || !on {
		return nil
	}
	ranked := x.o.Rules().Ranked
	select {
	case x.slots <- struct{}{}: // it stays open
		defer func() { <-x.slots }()
	default:
		return b
	}
	if !x.On() {
		return nil
	}
	count := index.Partitions()
	b.Bytes = index.Size().Bytes
	x.o.Store.Walk(func(m *frontier.Meta) bool {
		if !readable(m) {
			return true
		}
		if m.State == frontier.Holder {
			b.Documents += count[uint32(m.Partition)]
		}
		b.Waiting += m.Counters.TextChanges - x.read(m)
		if ranked && x.rescores(m) {
			b.Waiting += m.Counters.Texts
		}
		return true
	})
	if b.Waiting > 0 && !behind.IsZero() {
		b.BehindSeconds = max(x.o.Now().Sub(behind), 0).Seconds()
	}
	return b
}

// read is the count of changes of a partition up to which all are in the index; 0: nothing of this
// copy is.
func (x *Indexer) read(m *frontier.Meta) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.cursors.Partitions[m.Partition]; c != nil && c.Position.Generation == m.Generation {
		return min(c.Changes, m.Counters.TextChanges)
	}
	return 0
}

// rescores reports whether the documents of a partition are to be read again for their importance.
func (x *Indexer) rescores(m *frontier.Meta) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.cursors.Partitions[m.Partition]
	return c != nil && c.Position.Generation == m.Generation &&
		(c.Again || c.outgrown(m.Counters.Texts))
}
