package urlfrontier

import (
	"context"
	"sync"

	"google.golang.org/protobuf/proto"

	"crawlnode/crawl"
	"crawlnode/workers/urlfrontier/wire"
)

// The items of a stream that wait to be stored: so many, or so many bytes and one item more. As
// many are being stored meanwhile.
const (
	maxItems     = 256
	maxItemBytes = streamWindow / 2
)

// inbox has the items of a stream that came while earlier ones were being stored, so that they are
// stored together. One goroutine fills it, another one empties it.
type inbox struct {
	mu         sync.Mutex // guards the next three
	items      []*wire.URLItem
	bytes      int
	err        error         // why the stream has ended; nil: it has not
	came, room chan struct{} // capacity 1
}

func newInbox() *inbox {
	return &inbox{came: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// fill receives items until the stream ends, which it does with ctx.
func (b *inbox) fill(ctx context.Context, recv func() (*wire.URLItem, error)) {
	for {
		item, err := recv()
		full := b.put(item, err)
		if err != nil {
			return
		}
		for ; full; full = b.full() {
			select {
			case <-b.room:
			case <-ctx.Done():
				b.put(nil, ctx.Err())
				return
			}
		}
	}
}

// put adds an item, or the end of the stream, and reports whether there is no room for more.
func (b *inbox) put(item *wire.URLItem, err error) (full bool) {
	b.mu.Lock()
	if err != nil {
		b.err = err
	} else {
		b.items, b.bytes = append(b.items, item), b.bytes+proto.Size(item)
	}
	b.mu.Unlock()
	crawl.Signal(b.came)
	return b.full()
}

func (b *inbox) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.items) >= maxItems || b.bytes >= maxItemBytes
}

// take waits for items and returns all there are. Its error is the end of the stream, after its
// last item.
func (b *inbox) take() ([]*wire.URLItem, error) {
	for {
		b.mu.Lock()
		items, err := b.items, b.err
		b.items, b.bytes = nil, 0
		b.mu.Unlock()
		if len(items) > 0 {
			crawl.Signal(b.room)
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		<-b.came // fill sends it, for the end as well
	}
}
