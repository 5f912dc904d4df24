package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/hints"
)

// These tests wire drivers to each other over calls and streams that break,
// above stores that outlive them, in virtual time.

var errCut = errors.New("the line broke")

// cutMode is how a message is lost.
type cutMode int

const (
	whole     cutMode = iota
	cutBefore         // it does not arrive
	cutAfter          // it arrives, and its answer is lost; a stream breaks behind it
	cutStuck          // there is no answer until the deadline
	numCuts
)

// callPatience is the deadline of a call.
const callPatience = 2 * time.Second

// memNet is a cluster.
type memNet struct {
	t  *testing.T
	wg sync.WaitGroup // streams and writers

	mu       sync.Mutex // guards the rest
	nodes    map[crawl.NodeID]*memNode
	messages int
	cut      func(message int) cutMode
	acked    map[crawl.Partition]map[string]bool
	errs     []string
}

// memNode is a store, which stays, and a driver, which may be restarted.
type memNode struct {
	net     *memNet
	id      crawl.NodeID
	store   *memStore
	driver  *Driver         // as ctx: written by the goroutine of the test with net.mu held, others read both by life
	ctx     context.Context // of this life; over while it is down
	cancel  context.CancelFunc
	hints   string // the folder
	ended   chan error
	stopped bool          // it neither takes nor answers anything
	visits  chan struct{} // closed when those of busy end; nil: none is open. Guarded by net.mu, as busy
	busy    *crawl.Partition
	out     int // partitions that it passes on at a time; 0: 2
}

// memFetching is the fetching of a node.
type memFetching struct {
	idle
	node *memNode
}

// Freeze waits for the visits of the first partition that is frozen, as long as there is a channel.
func (f memFetching) Freeze(ctx context.Context, p crawl.Partition) error {
	n := f.node
	n.net.mu.Lock()
	visits := n.visits
	if visits != nil && n.busy == nil {
		n.busy = &p
	}
	busy := visits != nil && *n.busy == p
	n.net.mu.Unlock()
	if !busy {
		return nil
	}
	select {
	case <-visits:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func newMemNet(t *testing.T, ids ...crawl.NodeID) *memNet {
	w := &memNet{t: t, nodes: map[crawl.NodeID]*memNode{}, acked: map[crawl.Partition]map[string]bool{}}
	for p := range crawl.Partition(memPartitions) {
		w.acked[p] = map[string]bool{}
	}
	for _, id := range ids {
		w.nodes[id] = &memNode{net: w, id: id, store: newMemStore()}
	}
	for p := range crawl.Partition(memPartitions) {
		x := w.nodes[ids[0]].store.parts[p]
		x.state, x.epoch, x.maxEpoch = Holding, 1, 1
	}
	for _, id := range ids {
		w.nodes[id].start()
	}
	return w
}

// life returns the driver of this life, and whether it is up.
func (n *memNode) life() (d *Driver, ctx context.Context, up bool) {
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	return n.driver, n.ctx, n.ctx.Err() == nil
}

func (n *memNode) start() {
	n.ended = make(chan error, 1)
	if n.hints == "" {
		n.hints = filepath.Join(n.net.t.TempDir(), "hints")
	}
	d := NewDriver(Options{Hints: hints.Options{Dir: n.hints, Keep: time.Hour}, Self: n.id, Boot: 1, Partitions: memPartitions, Factor: 2, Limits: Limits{Out: cmp.Or(n.out, 2)}, Store: n.store,
		Fetching: memFetching{node: n}, Transport: n, Changed: func() {}, Logger: slog.New(slog.DiscardHandler)}, n.store.restart())
	n.net.mu.Lock()
	n.driver = d
	n.ctx, n.cancel = context.WithCancel(context.Background())
	ctx, ended := n.ctx, n.ended
	n.net.mu.Unlock()
	go func() { ended <- d.Run(ctx) }()
}

func (n *memNode) stop() error {
	if n.ctx.Err() != nil {
		return nil
	}
	n.cancel()
	return <-n.ended
}

// end stops all; goroutines that stay are found by the bubble.
func (w *memNet) end() {
	w.t.Helper()
	for _, n := range w.nodes {
		if err := n.stop(); err != nil {
			w.t.Errorf("%s ended with %v", n.id, err)
		}
	}
	w.wg.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.errs {
		w.t.Error(e)
	}
}

func (w *memNet) install(view crawl.Epoch, members ...crawl.NodeID) Members {
	v := memView(w.t, view, members...)
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		n := w.nodes[id]
		own := v
		own.Listed = slices.Contains(members, id)
		if n.ctx.Err() == nil && !n.stopped {
			n.driver.Installed(own)
		}
	}
	return v
}

// awaitRest waits until every partition is where the table wants it, with a full
// set and all that was acknowledged.
func (w *memNet) awaitRest(v Members) {
	w.t.Helper()
	for range 600 {
		if w.atRest(v) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, id := range v.ViewInstalled.Members {
		w.t.Logf("%s: %+v", id, w.nodes[id].driver.Status())
	}
	w.t.Fatal("the partitions do not come to rest")
}

func (w *memNet) atRest(v Members) bool {
	for p := range crawl.Partition(memPartitions) {
		for _, id := range v.ViewInstalled.Members {
			n := w.nodes[id]
			s := n.driver.Status()
			holds := n.store.Kept(p).State == Holding
			if s.View != v.View || s.Moving > 0 || s.UnderReplicated > 0 || holds != (v.Table.Owner(p) == id) {
				return false
			}
			if holds {
				w.checkContent(p, n)
			}
		}
	}
	return true
}

func (w *memNet) checkContent(p crawl.Partition, n *memNode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = n.store.part(p, func(x *memPart) error {
		for k := range w.acked[p] {
			if _, ok := x.content[k]; !ok {
				w.t.Fatalf("partition %d at %s lacks %s, which was acknowledged", p, n.id, k)
			}
		}
		return nil
	})
}

// write adds a key where the partition is held, and waits until it is acknowledged.
func (w *memNet) write(ctx context.Context, p crawl.Partition, k string) {
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		n := w.nodes[id]
		if _, _, up := n.life(); !up {
			continue
		}
		tenures := n.tenures(p)
		if !n.store.write(p, k, "x") {
			continue
		}
		if n.await(ctx, tenures, false)[0] == nil {
			w.mu.Lock()
			w.acked[p][k] = true
			w.mu.Unlock()
		}
		return
	}
}

// tenures and await are Tenure and Await for several partitions.
func (n *memNode) tenures(ps ...crawl.Partition) (ts []Tenure) {
	d, _, _ := n.life()
	for _, p := range ps {
		ts = append(ts, d.Tenure(p))
	}
	return ts
}

func (n *memNode) await(ctx context.Context, ts []Tenure, full bool) []error {
	errs := make([]error, len(ts))
	d, _, _ := n.life()
	d.Await(ctx, ts, full, errs)
	return errs
}

// wait waits for what is in the partitions now.
func (n *memNode) wait(ctx context.Context, full bool, ps ...crawl.Partition) error {
	return errors.Join(n.await(ctx, n.tenures(ps...), full)...)
}

// load writes to all partitions until stop is called.
func (w *memNet) load() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	for p := range crawl.Partition(memPartitions) {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				bounded, end := context.WithTimeout(ctx, 5*time.Second)
				w.write(bounded, p, fmt.Sprintf("key %d", i))
				end()
				time.Sleep(7 * time.Millisecond)
			}
		})
	}
	return func() { cancel(); writers.Wait() }
}

// next decides what becomes of the next message between two nodes.
func (w *memNet) next(to *memNode) cutMode {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messages++
	switch {
	case to.stopped:
		return cutStuck
	case w.cut != nil:
		return w.cut(w.messages - 1)
	}
	return whole
}

func (n *memNode) Call(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	peer := n.net.nodes[to]
	mode := n.net.next(peer)
	d, _, up := peer.life()
	if !up || mode == cutBefore {
		return nil, errCut
	}
	if mode == cutStuck {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(time.Millisecond)
	answer, err := d.HandleCall(ctx, n.id, payload)
	if mode == cutAfter {
		return nil, errCut
	}
	return answer, err
}

// memStream is one end of a stream.
type memStream struct {
	net     *memNet
	to      *memNode
	ctx     context.Context
	cancel  context.CancelFunc
	in, out chan []byte
}

func (n *memNode) Open(ctx context.Context, to crawl.NodeID) (Stream, error) {
	peer := n.net.nodes[to]
	d, life, up := peer.life()
	if !up {
		return nil, errCut
	}
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(life, cancel)
	there, here := make(chan []byte, 2), make(chan []byte, 2)
	mine := &memStream{net: n.net, to: peer, ctx: ctx, cancel: cancel, in: here, out: there}
	theirs := &memStream{net: n.net, to: n, ctx: ctx, cancel: cancel, in: there, out: here}
	n.net.wg.Go(func() {
		defer unhook()
		defer cancel()
		_ = d.HandleStream(ctx, n.id, theirs)
	})
	return mine, nil
}

func (s *memStream) Send(b []byte) error {
	mode := s.net.next(s.to)
	switch mode {
	case cutBefore:
		s.cancel()
		return errCut
	case cutStuck:
		<-s.ctx.Done()
		return s.ctx.Err()
	}
	select {
	case s.out <- slices.Clone(b):
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	if mode == cutAfter {
		time.Sleep(time.Millisecond)
		s.cancel()
	}
	return nil
}

func (s *memStream) Recv() ([]byte, error) {
	select {
	case b := <-s.in:
		return b, nil
	case <-s.ctx.Done():
		return nil, io.EOF
	}
}

func (s *memStream) Close() { s.cancel() }

// bubble runs f in virtual time with a fresh cluster.
func bubble(t *testing.T, ids []crawl.NodeID, f func(t *testing.T, w *memNet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newMemNet(t, ids...)
		defer w.end()
		f(t, w)
	})
}

// scripted is the receiver's end of a stream that brings messages and then ends.
type scripted struct{ messages [][]byte }

func script(messages ...[]byte) *scripted { return &scripted{messages} }

func (s *scripted) Send([]byte) error { return nil }
func (s *scripted) Close()            {}

func (s *scripted) Recv() ([]byte, error) {
	if len(s.messages) == 0 {
		return nil, io.EOF
	}
	b := s.messages[0]
	s.messages = s.messages[1:]
	return b, nil
}
