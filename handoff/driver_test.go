package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// These tests wire drivers to each other over streams that break, above disks
// that outlive their drivers, in virtual time. A judge stands beside them all:
// nobody may take a partition while another holds it, and no copy may become
// the partition without every write that any holder has acknowledged.

const testPartitions = 4

var errCut = errors.New("the stream broke")

// world is a cluster. Its goroutines end with stop; the bubble proves it.
type world struct {
	t     *testing.T
	judge *judge
	wg    sync.WaitGroup // streams and writers

	mu       sync.Mutex // guards the rest
	rng      *rand.Rand
	nodes    map[crawl.NodeID]*member
	messages int
	cut      func(message int) cutMode
	slow     bool // random pauses everywhere
}

// cutMode says how a stream breaks at a message.
type cutMode int

const (
	whole       cutMode = iota
	cutBefore           // the message is lost and both ends hear of it
	cutAfter            // the message arrives, its reply is lost
	cutDeaf             // the message is lost; the receiver hears of it much later
	cutDeafLate         // the message arrives, its reply is lost, the receiver hears of that much later
	numCuts
)

// judge knows the truth. All disks report to it.
type judge struct {
	t *testing.T

	mu      sync.Mutex // guards the rest
	holder  [testPartitions]crawl.NodeID
	fetches [testPartitions]crawl.NodeID
	truth   [testPartitions]map[string]string
	moves   int
	errs    []string
}

func (j *judge) fail(format string, args ...any) {
	j.errs = append(j.errs, fmt.Sprintf(format, args...))
}

func (j *judge) took(id crawl.NodeID, p crawl.Partition, content map[string]string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if h := j.holder[p]; h != "" {
		j.fail("%s takes partition %d while %s holds it", id, p, h)
	}
	if !maps.Equal(content, j.truth[p]) {
		j.fail("%s takes partition %d with %v, acknowledged are %v", id, p, content, j.truth[p])
	}
	j.holder[p] = id
	j.moves++
}

func (j *judge) letGo(id crawl.NodeID, p crawl.Partition) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.holder[p] != id {
		j.fail("%s lets partition %d go, which %q holds", id, p, j.holder[p])
	}
	if j.fetches[p] != "" {
		j.fail("%s lets partition %d go, and %s still fetches", id, p, j.fetches[p])
	}
	j.holder[p] = ""
}

func (j *judge) fetching(id crawl.NodeID, p crawl.Partition, on bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch f := j.fetches[p]; {
	case on && f != "" && f != id:
		j.fail("%s and %s fetch partition %d at once", id, f, p)
	case on && j.holder[p] != id:
		j.fail("%s fetches partition %d, which %q holds", id, p, j.holder[p])
	case on:
		j.fetches[p] = id
	case f == id:
		j.fetches[p] = ""
	}
}

func (j *judge) wrote(id crawl.NodeID, p crawl.Partition, k, v string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.holder[p] != id {
		j.fail("%s acknowledges a write to partition %d, which %q holds", id, p, j.holder[p])
	}
	if v == "" {
		delete(j.truth[p], k)
	} else {
		j.truth[p][k] = v
	}
}

// check fails the test with what was seen so far.
func (j *judge) check() {
	j.t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.errs) > 0 {
		j.t.Fatalf("%s", strings.Join(j.errs, "\n"))
	}
}

func newWorld(t *testing.T, seed uint64, ids ...crawl.NodeID) *world {
	w := &world{t: t, judge: &judge{t: t}, rng: rand.New(rand.NewPCG(seed, 1)), nodes: map[crawl.NodeID]*member{}}
	for p := range w.judge.truth {
		w.judge.truth[p] = map[string]string{}
	}
	for _, id := range ids {
		w.nodes[id] = &member{w: w, id: id, disk: map[crawl.Partition]*fakePart{}}
	}
	t.Cleanup(w.end) // after a failure; t.Context, by which the writers go, is over then
	return w
}

// found gives a node all partitions, with some content, as of view 1.
func (w *world) found(id crawl.NodeID) {
	for p := range crawl.Partition(testPartitions) {
		w.nodes[id].disk[p] = &fakePart{state: Holding, maxEpoch: 1, content: map[string]string{}, changed: make(chan struct{})}
		w.judge.took(id, p, nil)
		for i := range 5 {
			w.nodes[id].write(p, fmt.Sprint("first", i), "x")
		}
	}
}

func (w *world) intn(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// pause takes a while in a world that is slow.
func (w *world) pause() {
	w.mu.Lock()
	slow := w.slow
	w.mu.Unlock()
	if slow {
		time.Sleep(time.Duration(w.intn(20)) * time.Millisecond)
	}
}

// install tells the members of a view; whoever is down hears of it at its start.
func (w *world) install(view crawl.Epoch, active ...crawl.NodeID) {
	v := w.view(view, active...)
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		w.nodes[id].install(v)
	}
}

func (w *world) view(view crawl.Epoch, active ...crawl.NodeID) ViewInstalled {
	v := ViewInstalled{View: view}
	if len(active) > 0 {
		table, err := ring.Build(active, testPartitions, 1)
		if err != nil {
			w.t.Fatal(err)
		}
		v.Table = table
	}
	return v
}

// settle waits until every partition is where the newest view wants it.
func (w *world) settle(v ViewInstalled) {
	w.t.Helper()
	for range 600 {
		w.judge.check()
		if w.settled(v) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	for id, m := range w.nodes {
		w.t.Logf("%s: %+v", id, m.driver.Status())
	}
	w.t.Fatal("the partitions do not come to rest")
}

func (w *world) settled(v ViewInstalled) bool {
	synctest.Wait()
	for p := range crawl.Partition(testPartitions) {
		holders := 0
		for id, m := range w.nodes {
			s := m.driver.Status()
			if s.View != v.View || s.Outstanding != 0 || s.Moving != 0 || m.arriving(p) {
				return false
			}
			if s.States[p] == Holding {
				holders++
				w.judge.mu.Lock()
				right := w.judge.holder[p] == id && w.judge.fetches[p] == id && maps.Equal(w.judge.truth[p], m.content(p)) &&
					(v.Table == nil || v.Table.Owner(p) == id)
				w.judge.mu.Unlock()
				if !right {
					return false
				}
			}
		}
		if holders != 1 {
			return false
		}
	}
	return true
}

// stop ends everything, and what the judge saw counts; goroutines that stay are
// found by the bubble.
func (w *world) stop() {
	w.t.Helper()
	w.end()
	w.judge.check()
}

func (w *world) end() {
	for _, m := range w.nodes {
		m.stop()
	}
	w.wg.Wait()
}

// member is one node: a disk, which stays, and a driver, which may be restarted.
type member struct {
	w  *world
	id crawl.NodeID

	mu     sync.Mutex // guards the rest and what hangs below it
	disk   map[crawl.Partition]*fakePart
	view   ViewInstalled
	driver *Driver
	ctx    context.Context // of this life; nil while it is down
	cancel context.CancelFunc
	ended  chan error
	broken error // every durable step fails with it
}

// fakePart is a partition on a disk.
type fakePart struct {
	state    State // Absent, Holding or Released
	maxEpoch crawl.Epoch
	to       crawl.NodeID
	view     crawl.Epoch
	content  map[string]string
	seq      crawl.Seq
	log      []Mutation // of this copy, for tails
	frozen   bool
	changed  chan struct{}
	arriving *fakeImport
}

// touch wakes the tails. Under the member's mu.
func (p *fakePart) touch() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (m *member) start() {
	ctx, cancel := context.WithCancel(context.Background())
	var loaded []Loaded
	m.mu.Lock()
	m.ctx, m.cancel, m.ended = ctx, cancel, make(chan error, 1)
	for p, f := range m.disk {
		f.frozen, f.arriving = f.state == Released, nil
		loaded = append(loaded, Loaded{P: p, State: f.state, MaxEpoch: f.maxEpoch, To: f.to, View: f.view})
	}
	d := NewDriver(Options{Self: m.id, Partitions: testPartitions, Limits: Limits{Out: 2, In: 2}, Store: m, Fetching: fakeFetching{m},
		Transport: m, Changed: func() {}, Logger: slog.New(slog.DiscardHandler)}, loaded)
	m.driver = d
	view, ended := m.view, m.ended
	m.mu.Unlock()
	for _, l := range loaded {
		if l.State == Holding {
			m.w.judge.fetching(m.id, l.P, true)
		}
	}
	go func() { ended <- d.Run(ctx) }()
	if view.View > 0 {
		d.Installed(view)
	}
}

func (m *member) stop() {
	m.mu.Lock()
	ended, broken := m.ended, m.broken
	down := m.ctx == nil
	if !down {
		m.cancel()
	}
	m.mu.Unlock()
	if down {
		return
	}
	if err := <-ended; err != nil && !errors.Is(err, broken) {
		m.w.t.Errorf("the driver of %s ended with %v", m.id, err)
	}
	m.mu.Lock()
	m.ctx = nil
	m.mu.Unlock()
	for p := range crawl.Partition(testPartitions) {
		m.w.judge.fetching(m.id, p, false)
	}
}

func (m *member) install(v ViewInstalled) {
	m.mu.Lock()
	d := m.driver
	if m.ctx == nil || v.View < m.view.View {
		d = nil
	}
	if v.View > m.view.View {
		m.view = v
	}
	m.mu.Unlock()
	if d != nil {
		d.Installed(v)
	}
}

func (m *member) content(p crawl.Partition) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.disk[p]; f != nil {
		return maps.Clone(f.content)
	}
	return nil
}

// arriving reports whether room for a copy is still taken.
func (m *member) arriving(p crawl.Partition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.disk[p] != nil && m.disk[p].arriving != nil
}

// write stores a key, or deletes it when v is "", if this node holds p.
func (m *member) write(p crawl.Partition, k, v string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.disk[p]
	if f == nil || f.state != Holding || f.frozen {
		return false
	}
	e := Entry{Key: []byte(k), Value: []byte(v), Deleted: v == ""}
	f.seq++
	f.log = append(f.log, Mutation{Seq: f.seq, Entries: []Entry{e}})
	apply(f.content, []Entry{e})
	f.touch()
	m.w.judge.wrote(m.id, p, k, v)
	return true
}

func apply(content map[string]string, es []Entry) {
	for _, e := range es {
		if e.Deleted {
			delete(content, string(e.Key))
		} else {
			content[string(e.Key)] = string(e.Value)
		}
	}
}

// The Store.

func (m *member) Export(_ context.Context, p crawl.Partition) (Export, error) {
	m.w.pause()
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.disk[p]
	if f == nil || f.state == Absent {
		return nil, errors.New("nothing of it is here")
	}
	return &fakeExport{m: m, f: f, content: maps.Clone(f.content), seq: f.seq, next: len(f.log)}, nil
}

func (m *member) BeginImport(_ context.Context, p crawl.Partition) (Import, error) {
	m.w.pause()
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.disk[p]
	if f == nil {
		f = &fakePart{content: map[string]string{}, changed: make(chan struct{})}
		m.disk[p] = f
	}
	if f.state == Holding {
		return nil, errors.New("this node holds it")
	}
	f.arriving = &fakeImport{m: m, f: f, p: p, content: map[string]string{}}
	return f.arriving, nil
}

func (m *member) Freeze(ctx context.Context, p crawl.Partition) error { return m.freeze(ctx, p, true) }
func (m *member) Unfreeze(ctx context.Context, p crawl.Partition) error {
	return m.freeze(ctx, p, false)
}

func (m *member) freeze(ctx context.Context, p crawl.Partition, frozen bool) error {
	m.w.pause()
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if m.disk[p].state == Holding {
		m.disk[p].frozen = frozen
		m.disk[p].touch()
	}
	return nil
}

// durable is a step that can fail, and that a stop may come before.
func (m *member) durable(ctx context.Context, p crawl.Partition, f func(*fakePart)) error {
	m.w.pause()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(m.broken, ctx.Err()); err != nil {
		return err
	}
	f(m.disk[p])
	m.disk[p].touch()
	return nil
}

func (m *member) StoreReleased(ctx context.Context, p crawl.Partition, to crawl.NodeID, view crawl.Epoch) error {
	return m.durable(ctx, p, func(f *fakePart) {
		f.state, f.to, f.view, f.frozen = Released, to, view, true
		m.w.judge.letGo(m.id, p)
	})
}

func (m *member) StoreHolder(ctx context.Context, p crawl.Partition) error {
	return m.durable(ctx, p, func(f *fakePart) {
		f.state, f.frozen = Holding, false
		m.w.judge.took(m.id, p, f.content)
	})
}

func (m *member) Delete(ctx context.Context, p crawl.Partition) error {
	return m.durable(ctx, p, func(f *fakePart) {
		if f.state != Released {
			m.w.t.Errorf("%s deletes partition %d, which is %s", m.id, p, f.state)
		}
		f.state, f.content, f.log, f.seq = Absent, map[string]string{}, nil, 0
	})
}

type fakeExport struct {
	m       *member
	f       *fakePart
	content map[string]string
	seq     crawl.Seq
	next    int // in the log
}

func (x *fakeExport) Seq() crawl.Seq { return x.seq }
func (x *fakeExport) Close()         {}

func (x *fakeExport) Lag() int {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	return len(x.f.log) - x.next
}

// Snapshot gives two entries a chunk, and the number of the snapshot last.
func (x *fakeExport) Snapshot(ctx context.Context, _ int, give func([]Entry) error) error {
	var es []Entry
	for _, k := range slices.Sorted(maps.Keys(x.content)) {
		es = append(es, Entry{Key: []byte(k), Value: []byte(x.content[k])})
	}
	es = append(es, Entry{Key: []byte("#seq"), Value: fmt.Append(nil, uint64(x.seq))})
	for chunk := range slices.Chunk(es, 2) {
		x.m.w.pause()
		if err := errors.Join(ctx.Err(), give(chunk)); err != nil {
			return err
		}
	}
	return nil
}

func (x *fakeExport) Tail(ctx context.Context) ([]Mutation, error) {
	for {
		x.m.mu.Lock()
		changed, frozen := x.f.changed, x.f.frozen
		if x.next < len(x.f.log) {
			n := min(len(x.f.log)-x.next, 3)
			ms := slices.Clone(x.f.log[x.next : x.next+n])
			x.next += n
			x.m.mu.Unlock()
			return ms, nil
		}
		x.m.mu.Unlock()
		if frozen {
			return nil, io.EOF
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
	}
}

type fakeImport struct {
	m       *member
	f       *fakePart
	p       crawl.Partition
	content map[string]string
	seq     crawl.Seq
	over    bool
}

func (i *fakeImport) Seq() crawl.Seq {
	i.m.mu.Lock()
	defer i.m.mu.Unlock()
	return i.seq
}

func (i *fakeImport) Put(_ context.Context, es []Entry) error {
	i.m.w.pause()
	i.m.mu.Lock()
	defer i.m.mu.Unlock()
	if i.over || i.f.arriving != i {
		return ErrImportOver
	}
	for _, e := range es {
		if string(e.Key) == "#seq" {
			var n uint64
			if _, err := fmt.Sscan(string(e.Value), &n); err != nil {
				return err
			}
			i.seq = crawl.Seq(n)
			continue
		}
		i.content[string(e.Key)] = string(e.Value)
	}
	return nil
}

func (i *fakeImport) Apply(_ context.Context, ms []Mutation) error {
	i.m.w.pause()
	i.m.mu.Lock()
	defer i.m.mu.Unlock()
	if i.over || i.f.arriving != i {
		return ErrImportOver
	}
	for _, mu := range ms {
		if mu.Seq != i.seq+1 {
			return fmt.Errorf("mutation %d after %d", mu.Seq, i.seq)
		}
		i.seq = mu.Seq
		apply(i.content, mu.Entries)
	}
	return nil
}

func (i *fakeImport) Commit(ctx context.Context, epoch crawl.Epoch) error {
	i.m.w.pause()
	i.m.mu.Lock()
	defer i.m.mu.Unlock()
	if err := errors.Join(i.m.broken, ctx.Err()); err != nil {
		return err
	}
	if i.over || i.f.arriving != i {
		return ErrImportOver
	}
	if epoch <= i.f.maxEpoch {
		return fmt.Errorf("epoch %d is not above %d", epoch, i.f.maxEpoch)
	}
	i.over, i.f.arriving = true, nil
	i.f.state, i.f.maxEpoch, i.f.content, i.f.seq, i.f.log, i.f.frozen = Holding, epoch, i.content, i.seq, nil, false
	i.f.touch()
	i.m.w.judge.took(i.m.id, i.p, i.content)
	return nil
}

func (i *fakeImport) Abort(context.Context) {
	i.m.mu.Lock()
	defer i.m.mu.Unlock()
	i.over = true
	if i.f.arriving == i {
		i.f.arriving = nil
	}
}

// fakeFetching tells the judge who fetches.
type fakeFetching struct{ m *member }

func (f fakeFetching) Freeze(ctx context.Context, p crawl.Partition) error {
	f.m.w.pause()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.m.w.judge.fetching(f.m.id, p, false)
	return nil
}

func (f fakeFetching) Resume(p crawl.Partition)              { f.m.w.judge.fetching(f.m.id, p, true) }
func (f fakeFetching) Hold(p crawl.Partition, _ crawl.Epoch) { f.m.w.judge.fetching(f.m.id, p, true) }

// The Transport.

// fakeStream is a stream with a serving goroutine at its other end, that works
// through the messages in order, like gRPC.
type fakeStream struct {
	w       *world
	ctx     context.Context // the sender's
	frames  chan fakeFrame
	replies chan Reply
	dead    chan struct{} // closed when the other end has ended the stream
	hangUp  func(after time.Duration)
	closed  bool
}

type fakeFrame struct {
	kind     string
	p        crawl.Partition
	view     crawl.Epoch
	released bool
	entries  []Entry
	tail     []Mutation
	seq      crawl.Seq
}

func (m *member) Move(ctx context.Context, to crawl.NodeID) (Stream, error) {
	other := m.w.nodes[to]
	other.mu.Lock()
	life, d := other.ctx, other.driver
	other.mu.Unlock()
	if life == nil {
		return nil, errors.New("connection refused")
	}
	served, hangUp := context.WithCancel(life)
	s := &fakeStream{w: m.w, ctx: ctx, frames: make(chan fakeFrame, 8), replies: make(chan Reply, 1), dead: make(chan struct{})}
	s.hangUp = func(after time.Duration) {
		m.w.wg.Go(func() {
			select {
			case <-time.After(after):
			case <-served.Done():
			}
			hangUp()
		})
	}
	m.w.wg.Go(func() {
		defer hangUp()
		defer close(s.dead)
		s.serve(served, d.Receive())
	})
	return s, nil
}

func (s *fakeStream) serve(ctx context.Context, r *Receiver) {
	defer r.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-s.frames:
			s.w.pause()
			var reply Reply
			var err error
			switch f.kind {
			case "offer":
				reply, err = r.Offer(ctx, f.p, f.view, f.released)
			case "chunk":
				err = r.Chunk(ctx, f.entries)
			case "tail":
				err = r.Tail(ctx, f.tail)
			case "token":
				reply, err = r.Token(ctx, f.seq)
			}
			if err != nil {
				return
			}
			if f.kind == "offer" || f.kind == "token" {
				s.replies <- reply // one at a time: capacity 1 is enough
			}
		}
	}
}

func (s *fakeStream) send(f fakeFrame) error {
	s.w.mu.Lock()
	s.w.messages++
	mode := whole
	if s.w.cut != nil {
		mode = s.w.cut(s.w.messages)
	}
	s.w.mu.Unlock()
	if s.closed {
		return errCut
	}
	if mode == whole || mode == cutAfter || mode == cutDeafLate {
		select {
		case s.frames <- f:
		case <-s.dead:
			return errCut
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	switch mode {
	case cutBefore:
		s.end(0)
		return errCut
	case cutAfter:
		synctestYield()
		s.end(0)
		return errCut
	case cutDeaf, cutDeafLate:
		s.end(time.Duration(s.w.intn(2000)) * time.Millisecond)
		return errCut
	}
	return nil
}

// synctestYield lets the other end work on what has arrived.
func synctestYield() { time.Sleep(time.Millisecond) }

func (s *fakeStream) end(after time.Duration) {
	if !s.closed {
		s.closed = true
		s.hangUp(after)
	}
}

func (s *fakeStream) Close() { s.end(0) }

func (s *fakeStream) ask(f fakeFrame) (Reply, error) {
	if err := s.send(f); err != nil {
		return Reply{}, err
	}
	select {
	case r := <-s.replies:
		return r, nil
	case <-s.dead:
		return Reply{}, errCut
	case <-s.ctx.Done():
		return Reply{}, s.ctx.Err()
	}
}

func (s *fakeStream) Offer(p crawl.Partition, view, _ crawl.Epoch, released bool) (Reply, error) {
	return s.ask(fakeFrame{kind: "offer", p: p, view: view, released: released})
}

func (s *fakeStream) Chunk(es []Entry) error {
	return s.send(fakeFrame{kind: "chunk", entries: slices.Clone(es)})
}

func (s *fakeStream) Tail(ms []Mutation) error { return s.send(fakeFrame{kind: "tail", tail: ms}) }

func (s *fakeStream) Token(seq crawl.Seq) (Reply, error) {
	return s.ask(fakeFrame{kind: "token", seq: seq})
}

// writeOn writes to whoever holds the partitions, every few milliseconds.
func (w *world) writeOn(ctx context.Context) {
	w.wg.Go(func() {
		ids := slices.Sorted(maps.Keys(w.nodes))
		for i := 0; ctx.Err() == nil; i++ {
			p, k, v := crawl.Partition(w.intn(testPartitions)), fmt.Sprint("k", w.intn(9)), fmt.Sprint(i)
			if w.intn(5) == 0 {
				v = ""
			}
			for _, id := range ids {
				m := w.nodes[id]
				m.mu.Lock()
				up := m.ctx != nil
				m.mu.Unlock()
				if up && m.write(p, k, v) {
					break
				}
			}
			time.Sleep(time.Duration(1+w.intn(3)) * time.Millisecond)
		}
	})
}

func startAll(w *world) {
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		w.nodes[id].start()
	}
}

func TestPartitionsFollowTheView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "a", "b", "c")
		w.found("a")
		startAll(w)
		ctx, cancel := context.WithCancel(t.Context())
		w.writeOn(ctx)
		for i, active := range [][]crawl.NodeID{{"a"}, {"a", "b"}, {"a", "b", "c"}, {"b", "c"}, {"c"}, {"a", "b", "c"}, {"b"}} {
			view := crawl.Epoch(i + 1)
			w.install(view, active...)
			w.settle(w.view(view, active...))
		}
		cancel()
		var moved int64
		for _, m := range w.nodes {
			moved += m.driver.BytesMoved()
		}
		if moved == 0 || w.judge.moves < 8 {
			t.Errorf("%d moves, %d bytes", w.judge.moves, moved)
		}
		w.stop()
	})
}

// Every message of the moves from a to b breaks in every way, alone and in a
// pair; meanwhile nothing else, a newer view, a view and back, or a restart.
func TestEveryCutPoint(t *testing.T) {
	meanwhile := map[string]func(w *world) ViewInstalled{
		"nothing": func(w *world) ViewInstalled { return w.view(2, "b") },
		"a view takes it elsewhere": func(w *world) ViewInstalled {
			w.install(3, "c")
			return w.view(3, "c")
		},
		"the receiver hears first that it stays": func(w *world) ViewInstalled {
			w.nodes["b"].install(w.view(3, "a"))
			time.Sleep(300 * time.Millisecond)
			w.install(3, "a")
			return w.view(3, "a")
		},
		"the sender restarts": func(w *world) ViewInstalled {
			w.nodes["a"].stop()
			time.Sleep(time.Second)
			w.nodes["a"].start()
			return w.view(2, "b")
		},
		"the receiver restarts": func(w *world) ViewInstalled {
			w.nodes["b"].stop()
			time.Sleep(time.Second)
			w.nodes["b"].start()
			return w.view(2, "b")
		},
		"both restart into a newer view": func(w *world) ViewInstalled {
			w.nodes["a"].stop()
			w.nodes["b"].stop()
			w.install(3, "b", "c")
			w.nodes["b"].start()
			w.nodes["a"].start()
			return w.view(3, "b", "c")
		},
	}
	for name, then := range meanwhile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := false
			for at := 1; at <= 24; at++ {
				for mode := cutBefore; mode < numCuts; mode++ {
					for _, again := range []int{0, 2} {
						reached = cutAt(t, at, again, mode, then) || reached
					}
				}
			}
			if !reached {
				t.Error("no run came to its cut")
			}
		})
	}
}

// cutAt breaks the stream at message at, and once more again messages later.
func cutAt(t *testing.T, at, again int, mode cutMode, then func(*world) ViewInstalled) (reached bool) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, uint64(at), "a", "b", "c")
		w.found("a")
		happened := make(chan struct{}, 2)
		w.cut = func(message int) cutMode {
			if message == at || again > 0 && message == at+again {
				happened <- struct{}{}
				return mode
			}
			return whole
		}
		startAll(w)
		w.install(1, "a")
		ctx, cancel := context.WithCancel(t.Context())
		w.writeOn(ctx)
		time.Sleep(10 * time.Millisecond)
		w.install(2, "b")
		select {
		case <-happened:
			reached = true
		case <-time.After(time.Second): // fewer messages were needed
		}
		v := then(w)
		w.settle(v)
		cancel()
		w.stop()
		if t.Failed() {
			t.Fatalf("cut %d at message %d and %d later", mode, at, again)
		}
	})
	return reached
}

// Random views, breaks, restarts and pauses.
func TestRandomSchedules(t *testing.T) {
	runs := uint64(200)
	if testing.Short() {
		runs = 40
	}
	for part := range uint64(4) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < runs; seed += 4 {
				synctest.Test(t, func(t *testing.T) { randomSchedule(t, seed) })
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

func randomSchedule(t *testing.T, seed uint64) {
	ids := []crawl.NodeID{"a", "b", "c"}
	w := newWorld(t, seed, ids...)
	w.found("a")
	quiet := false
	w.slow = true
	w.cut = func(int) cutMode { // under w.mu
		if quiet || w.rng.IntN(12) > 0 {
			return whole
		}
		return cutMode(w.rng.IntN(int(numCuts)))
	}
	startAll(w)
	w.install(1, "a")
	ctx, cancel := context.WithCancel(t.Context())
	w.writeOn(ctx)
	for view := crawl.Epoch(2); view < 14; view++ {
		randomView(w, view, ids)
		if w.intn(3) == 0 {
			m := w.nodes[ids[w.intn(len(ids))]]
			m.stop()
			time.Sleep(time.Duration(w.intn(800)) * time.Millisecond)
			m.start()
		}
		time.Sleep(time.Duration(w.intn(1200)) * time.Millisecond)
		w.judge.check()
	}
	w.mu.Lock()
	quiet = true
	w.mu.Unlock()
	w.install(14, "a", "b", "c")
	w.settle(w.view(14, "a", "b", "c"))
	cancel()
	w.stop()
}

// randomView tells the nodes of a view one after the other, some not at all.
func randomView(w *world, view crawl.Epoch, ids []crawl.NodeID) {
	var active []crawl.NodeID
	for _, id := range ids {
		if w.intn(2) == 0 {
			active = append(active, id)
		}
	}
	v := w.view(view, active...)
	w.mu.Lock()
	order := w.rng.Perm(len(ids))
	w.mu.Unlock()
	for _, i := range order {
		if w.intn(6) == 0 {
			continue
		}
		w.nodes[ids[i]].install(v)
		time.Sleep(time.Duration(w.intn(150)) * time.Millisecond)
	}
}

// A release that lies on disk is passed on by the next life, also without any
// view installed, and is never held again by that node alone.
func TestReleasedResumesAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "a", "b", "c")
		w.found("a")
		startAll(w)
		w.install(1, "a")
		w.nodes["b"].stop()
		synctest.Wait()
		w.nodes["a"].stop()
		f := w.nodes["a"].disk[2]
		f.state, f.to, f.view = Released, "b", 2
		w.judge.letGo("a", 2)
		w.nodes["a"].view = ViewInstalled{}
		w.nodes["a"].start()
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := w.nodes["a"].driver.Status(); s.States[2] != Released || s.Held != testPartitions-1 {
			t.Errorf("while the receiver is away: %+v", s)
		}
		w.nodes["b"].start()
		w.install(2, "b")
		w.settle(w.view(2, "b"))
		w.stop()
	})
}

// A disk that fails a durable step ends the driver with an error that says so;
// nobody waits for it for ever.
func TestFatalDisk(t *testing.T) {
	for _, who := range []crawl.NodeID{"a", "b"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 1, "a", "b")
			w.found("a")
			startAll(w)
			w.install(1, "a")
			m := w.nodes[who]
			m.mu.Lock()
			m.broken = errors.New("the disk is gone")
			m.mu.Unlock()
			w.install(2, "b")
			err := <-m.ended
			if !errors.Is(err, m.broken) || !strings.Contains(err.Error(), "partition") {
				t.Errorf("%s ended with %v", who, err)
			}
			m.ended <- err
			r := m.driver.Receive()
			if _, err := r.Offer(t.Context(), 0, 3, false); !errors.Is(err, errEnded) {
				t.Errorf("an offer to a driver that has ended: %v", err)
			}
			r.Close()
			m.driver.Installed(w.view(3, "a")) // does not block
			w.stop()
		})
	}
}

// What a stranger may say to a receiver is refused, not believed.
func TestReceiverRefusesNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "a", "b")
		w.found("a")
		startAll(w)
		w.install(1, "a")
		w.install(2, "b")
		w.settle(w.view(2, "b"))
		ctx, d := t.Context(), w.nodes["a"].driver
		r := d.Receive()
		if err := r.Chunk(ctx, nil); err == nil {
			t.Error("a chunk without an offer was taken")
		}
		if err := r.Tail(ctx, nil); err == nil {
			t.Error("a tail without an offer was taken")
		}
		if _, err := r.Token(ctx, 0); err == nil {
			t.Error("a token without an offer was taken")
		}
		if _, err := r.Offer(ctx, testPartitions, 2, false); err == nil {
			t.Error("an offer of a partition that there is not was taken")
		}
		if reply, err := r.Offer(ctx, 0, 2, false); err != nil || reply.Kind != ReplyLater {
			t.Errorf("an offer to another than the owner: %+v, %v", reply, err)
		}
		r.Close()
		w.install(3, "a")
		// A copy with a gap is not whole.
		r = d.Receive()
		if reply, err := r.Offer(ctx, 0, 3, false); err != nil {
			t.Error(err)
		} else if reply.Kind == ReplyGoOn {
			if reply, err := r.Token(ctx, 1<<40); err != nil || reply.Kind != ReplyLater {
				t.Errorf("a token for a copy that is not whole: %+v, %v", reply, err)
			}
		}
		r.Close()
		w.settle(w.view(3, "a"))
		w.stop()
	})
}
