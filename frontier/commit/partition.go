package commit

import (
	"slices"

	"crawlnode/crawl"
	"crawlnode/frontier/filters"
	"crawlnode/frontier/layout"
)

// Partition is all that the writer has of one partition.
type Partition struct {
	layout.PartState
	Filter *filters.URLs // nil: everything is maybe
	// delta holds what was added since a rebuild of the filter began.
	rebuilding bool
	delta      []layout.Fingerprint
	Sinks      []Sink
	Payloads   filters.PayloadPair
	hosts      *hostCache // nil: none
	// slot is 1 + the slot in which the newest books of this generation are, and books is their entry;
	// 0 and nil: they are under the partition's own key.
	slot  int
	books []byte
}

// Sink is handed the mutations of a held partition, each after it was
// committed and before the callers that made it are answered, in their order.
// The writer calls it, so it must not block, nor call the frontier. false
// detaches it. A partition that is deleted, or becomes a copy, drops its sinks
// without a call; one that is released keeps them, for the receiver may refuse.
type Sink func(p crawl.Partition, m crawl.Mutation) bool

// Attach adds a sink; nil is none.
func (p *Partition) Attach(sink Sink) {
	if sink != nil {
		p.Sinks = append(p.Sinks, sink)
	}
}

// deliver hands a mutation to the sinks, and forgets those that are over.
func (p *Partition) deliver(m crawl.Mutation) {
	p.Sinks = slices.DeleteFunc(p.Sinks, func(sink Sink) bool { return !sink(p.Partition, m) })
}

// MarkDead puts a generation on the list of those to be deleted, and drops the writer's in-memory
// state of it.
func (g *Group) MarkDead(pg *Part, gen layout.Generation) {
	g.Put(layout.DeadKey(gen), []byte{layout.FormatVersion})
	bytes := pg.State.Bytes()
	g.after = append(g.after, func() {
		g.Writer.Reset(pg.Live)
		g.Writer.DeadList.Add(gen, bytes)
	})
}

// Reset drops what belongs to one generation of a partition that was served.
func (w *Writer) Reset(p *Partition) {
	p.Filter, p.rebuilding, p.delta, p.Sinks, p.hosts = nil, false, nil, nil, nil
	w.dropPayloads(p)
}

// Begin gives an empty partition its filters, which are complete.
func (w *Writer) Begin(p *Partition) {
	p.Filter = filters.NewURLs(0)
	w.usePayloads(p, w.takeRoom(0))
}

// Prepare has the filters of a partition made that is held from now on.
func (w *Writer) Prepare(p *Partition) {
	if p.Filter == nil {
		w.rebuilds.add(rebuild{p.PartState.Partition, layout.TableRecords})
	}
	w.refreshPayloads(p)
}
