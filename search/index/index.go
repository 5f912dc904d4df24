package index

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"sync"

	"crawlnode/local/files"
	"crawlnode/search/analyse"
	"crawlnode/search/segment"
)

// Options are what Open is told.
type Options struct {
	Log *slog.Logger // nil: no log
	// Still leaves the segments as they are until something is changed: for whoever only asks.
	Still bool
}

// Size says how large an index is.
type Size struct {
	Documents int64
	Bytes     int64 // on disk
	Segments  int
}

// Index is an index in a folder. All methods may be called from several goroutines; Apply and
// RemovePartition take turns.
type Index struct {
	dir string
	log *slog.Logger

	turn chan struct{} // holds a token that who changes the index takes
	next uint64        // number of the next segment; of the turn
	stem *analyse.Stemmer

	stemmers sync.Pool // of questions

	mu  sync.Mutex // guards now; held for a few instructions
	now *snapshot

	wake  chan struct{} // cap 1: there may be something to merge
	stop  context.CancelFunc
	ended chan struct{}
}

// Open opens the index in dir, which is made if it is missing, and mends what a crash or a disk
// has damaged. One process per folder. The Index merges its segments in the background until Close.
func Open(dir string, o Options) (*Index, Repair, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, Repair{}, fmt.Errorf("make the folder of the index: %w", err)
	}
	x := &Index{
		dir: dir, log: o.Log, turn: make(chan struct{}, 1), stem: analyse.NewStemmer(),
		stemmers: stemmerPool(),
		wake:     make(chan struct{}, 1), ended: make(chan struct{}),
	}
	repair, err := x.recover()
	if err != nil {
		return nil, Repair{}, err
	}
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	x.turn <- struct{}{}
	if !o.Still {
		x.wakeMerger()
	}
	go x.mergeLoop(ctx)
	return x, repair, nil
}

// Close waits for the merge that is going on to stop. It is called once, after the last other call.
func (x *Index) Close() error {
	x.stop()
	<-x.ended
	<-x.turn
	x.now.release()
	return nil
}

// snapshot is the index as it is now; the caller releases it.
func (x *Index) snapshot() *snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.now.uses.Add(1)
	return x.now
}

// publish makes parts the index, durably. The caller has the turn.
func (x *Index) publish(parts []*part) error {
	m := manifest{next: x.next}
	for _, p := range parts {
		m.parts = append(m.parts, manifestPart{number: p.number, n: p.seg.Len(), deleted: p.deleted})
	}
	if err := writeManifest(x.dir, &m); err != nil {
		return err
	}
	next := newSnapshot(parts)
	x.mu.Lock()
	old := x.now
	x.now = next
	x.mu.Unlock()
	kept := map[uint64]bool{}
	for _, p := range parts {
		kept[p.number] = true
	}
	for _, p := range old.parts {
		if !kept[p.number] {
			_ = os.Remove(segmentPath(x.dir, p.number)) // Open removes what the manifest does not name
		}
	}
	old.release()
	x.wakeMerger()
	return nil
}

// wakeMerger says that there may be something to merge; it may have been said before.
func (x *Index) wakeMerger() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// take waits for the turn to change the index.
func (x *Index) take(ctx context.Context) error {
	select {
	case <-x.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (x *Index) give() { x.turn <- struct{}{} }

// Apply changes the index; when it returns the change is durable and found by later questions.
// Either the whole batch is in the index after a crash or nothing of it. A batch is held in memory:
// about 1,000 documents or 16 MiB of text are a good size. After an error of the disk the batch may
// be applied again.
func (x *Index) Apply(ctx context.Context, b Batch) error {
	if err := x.take(ctx); err != nil {
		return err
	}
	defer x.give()
	c := newChange(x.now)
	for _, r := range b.Remove {
		c.remove(r)
	}
	put := c.newest(b.Put)
	builder := segment.NewBuilder(x.stem)
	for _, d := range put {
		e := entryOf(d)
		builder.Add(&e)
	}
	if builder.Len() == 0 && len(c.gone) == 0 {
		return nil
	}
	parts := c.parts()
	if builder.Len() > 0 {
		added, err := x.write(builder)
		if err != nil {
			return fmt.Errorf("add %d documents to the index: %w", builder.Len(), err)
		}
		parts = append(parts, added)
	}
	return x.publish(parts)
}

// write makes a segment of what was built.
func (x *Index) write(b *segment.Builder) (*part, error) {
	number := x.next
	x.next++
	path := segmentPath(x.dir, number)
	if err := b.Write(path); err != nil {
		return nil, err
	}
	if err := files.SyncDir(x.dir); err != nil {
		return nil, err
	}
	seg, err := segment.Open(path)
	if err != nil {
		return nil, err
	}
	return newPart(seg, number, nil), nil
}

// RemovePartition removes all documents of the partitions, durably.
func (x *Index) RemovePartition(ctx context.Context, partitions ...uint32) error {
	if err := x.take(ctx); err != nil {
		return err
	}
	defer x.give()
	c := newChange(x.now)
	for _, p := range x.now.parts {
		var of []uint32
		for _, partition := range partitions {
			if p.partitions[partition] > 0 {
				of = append(of, partition)
			}
		}
		c.removePartitions(p, of)
	}
	if len(c.gone) == 0 {
		return nil
	}
	return x.publish(c.parts())
}

// Get returns the document of a URL.
func (x *Index) Get(url string) (Document, bool, error) {
	s := x.snapshot()
	defer s.release()
	p, doc, ok := s.find(keyOf(url))
	if !ok {
		return Document{}, false, nil
	}
	d, err := p.document(doc)
	return d, err == nil, err
}

// document reads the record of a document.
func (p *part) document(doc uint32) (Document, error) {
	record, err := p.seg.Stored(doc)
	if err != nil {
		return Document{}, fmt.Errorf("read a document of the index: %w", err)
	}
	d, _, err := ParseDocument(record)
	if err != nil {
		return Document{}, fmt.Errorf("read a document of the index: %w", err)
	}
	return d, nil
}

// Documents yields the documents of one partition as they were when it began, in no order that
// means anything: to copy them. After an error it yields nothing more.
func (x *Index) Documents(partition uint32) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		s := x.snapshot()
		defer s.release()
		for _, p := range s.parts {
			if p.partitions[partition] == 0 {
				continue
			}
			for doc := range uint32(p.seg.Len()) {
				if p.seg.Partition(doc) != partition || p.deleted.Has(doc) {
					continue
				}
				d, err := p.document(doc)
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	}
}

// Count is the number of documents of a partition.
func (x *Index) Count(partition uint32) int64 { return x.Partitions()[partition] }

// Partitions returns the number of documents of each partition that has any.
func (x *Index) Partitions() map[uint32]int64 {
	s := x.snapshot()
	defer s.release()
	out := map[uint32]int64{}
	for _, p := range s.parts {
		for partition, n := range p.partitions {
			out[partition] += n
		}
	}
	return out
}

// Size says how large the index is.
func (x *Index) Size() Size {
	s := x.snapshot()
	defer s.release()
	size := Size{Segments: len(s.parts)}
	size.Documents, _ = s.documents()
	for _, p := range s.parts {
		size.Bytes += p.seg.Bytes()
	}
	return size
}
