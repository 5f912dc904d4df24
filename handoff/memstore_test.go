package handoff

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/ring"
)

const memPartitions = 4

// memPart is one partition of a store in memory.
type memPart struct {
	state    State
	copy     bool
	suspect  bool
	epoch    crawl.Epoch
	maxEpoch crawl.Epoch
	to       crawl.NodeID
	view     crawl.Epoch
	seq      crawl.Seq
	content  map[string]string
	set      Set
	frozen   bool
	sinks    []Sink
	copies   uint32 // how many there were: the generation
}

// memStore is a Store that outlives its driver.
type memStore struct {
	mu    sync.Mutex // guards all; the sinks are called under it
	parts map[crawl.Partition]*memPart
	fail  error         // of every durable step
	stuck chan struct{} // the disk does not answer until it is closed; nil: it does
}

// stall lets nothing that is stored come to an end until the returned function is called.
func (s *memStore) stall() (goOn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = make(chan struct{})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.stuck)
		s.stuck = nil
	}
}

// disk waits while the disk does not answer.
func (s *memStore) disk() {
	s.mu.Lock()
	stuck := s.stuck
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
}

func newMemStore() *memStore {
	s := &memStore{parts: map[crawl.Partition]*memPart{}}
	for p := range crawl.Partition(memPartitions) {
		s.parts[p] = &memPart{content: map[string]string{}}
	}
	return s
}

// wipe leaves what a lost disk leaves.
func (s *memStore) wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = newMemStore().parts
}

func memView(t testing.TB, view crawl.Epoch, members ...crawl.NodeID) Members {
	t.Helper()
	table, err := ring.Build(ring.Equals(members), memPartitions, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := Members{ViewInstalled: ViewInstalled{View: view, Table: table, Members: members, Listed: true}, Boots: map[crawl.NodeID]crawl.Boot{}}
	for _, id := range members {
		m.Boots[id] = 1
	}
	return m
}

// dump writes down all that is durable.
func (s *memStore) dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := ""
	for p := range crawl.Partition(memPartitions) {
		x := *s.parts[p]
		x.sinks = nil
		out += fmt.Sprintf("%+v\n", x)
	}
	return out
}

// restart is what a new process finds.
func (s *memStore) restart() []machine.Loaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []machine.Loaded
	for p := range crawl.Partition(memPartitions) {
		x := s.parts[p]
		x.sinks, x.frozen = nil, x.state == Released
		out = append(out, machine.Loaded{P: p, State: x.state, Epoch: x.epoch, MaxEpoch: x.maxEpoch, To: x.to, View: x.view, Set: x.set})
	}
	return out
}

// write commits a mutation, if the partition is held and not frozen.
func (s *memStore) write(p crawl.Partition, k, v string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.parts[p]
	if x.state != Holding || x.frozen {
		return false
	}
	x.seq++
	x.content[k] = v
	m := crawl.Mutation{Epoch: x.epoch, Seq: x.seq, Entries: []crawl.Entry{{Key: []byte(k), Value: []byte(v)}}}
	x.sinks = slices.DeleteFunc(x.sinks, func(f Sink) bool { return !f(p, m) })
	return true
}

func (s *memStore) part(p crawl.Partition, f func(*memPart) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.parts[p])
}

// durable is part for a step that must be on disk.
func (s *memStore) durable(p crawl.Partition, f func(*memPart)) error {
	s.disk()
	return s.part(p, func(x *memPart) error {
		if s.fail == nil {
			f(x)
		}
		return s.fail
	})
}

func (s *memStore) Kept(p crawl.Partition) (k Kept) {
	_ = s.part(p, func(x *memPart) error {
		k = Kept{State: x.state, Copy: x.copy, Suspect: x.suspect, Epoch: x.epoch, MaxEpoch: x.maxEpoch, Seq: x.seq}
		return nil
	})
	return k
}

func (s *memStore) Generation(p crawl.Partition) (n uint32) {
	_ = s.part(p, func(x *memPart) error { n = x.copies; return nil })
	return n
}

// Size calls every fourth partition large, so that copies of both classes are made.
func (s *memStore) Size(p crawl.Partition) int64 {
	if p%4 == 3 {
		return 1 << 30
	}
	return 1
}

func (s *memStore) Export(_ context.Context, p crawl.Partition, sink Sink) (e Export, err error) {
	err = s.part(p, func(x *memPart) error {
		if x.state == Absent && !x.copy {
			return fmt.Errorf("partition %d is not here", p)
		}
		if sink != nil && x.state != Absent {
			x.sinks = append(x.sinks, sink)
		}
		e = &memExport{epoch: x.epoch, seq: x.seq, content: maps.Clone(x.content)}
		return nil
	})
	return e, err
}

func (s *memStore) Attach(_ context.Context, p crawl.Partition, epoch crawl.Epoch, after crawl.Seq, sink Sink) error {
	return s.part(p, func(x *memPart) error {
		if x.state != Holding || x.epoch != epoch || x.seq != after {
			return ErrGap
		}
		x.sinks = append(x.sinks, sink)
		return nil
	})
}

func (s *memStore) Listen(_ context.Context, p crawl.Partition, epoch crawl.Epoch, sink Sink) (seq crawl.Seq, err error) {
	err = s.part(p, func(x *memPart) error {
		if x.state != Holding || x.epoch != epoch {
			return ErrGap
		}
		x.sinks = append(x.sinks, sink)
		seq = x.seq
		return nil
	})
	return seq, err
}

func (s *memStore) BeginImport(_ context.Context, p crawl.Partition) (Import, error) {
	if s.Kept(p).State == Holding {
		return nil, fmt.Errorf("partition %d is held", p)
	}
	return &memImport{s: s, p: p, content: map[string]string{}}, nil
}

func (s *memStore) ApplyCopies(_ context.Context, ms []crawl.CopyMutation) []error {
	s.disk()
	errs := make([]error, len(ms))
	for i := range ms {
		m := &ms[i]
		errs[i] = s.part(m.Partition, func(x *memPart) error {
			switch {
			case !x.copy || x.suspect || x.epoch != m.Epoch:
				return fmt.Errorf("no copy of epoch %d", m.Epoch)
			case m.Seq <= x.seq:
				return nil
			case m.Seq > x.seq+1:
				return ErrGap
			}
			x.seq = m.Seq
			for _, e := range m.Entries {
				x.content[string(e.Key)] = string(e.Value)
			}
			return nil
		})
	}
	return errs
}

func (s *memStore) AdoptCopy(_ context.Context, p crawl.Partition, from crawl.Epoch, seq crawl.Seq, epoch crawl.Epoch) error {
	return s.part(p, func(x *memPart) error {
		if !x.copy || x.suspect || x.seq != seq || x.epoch != from && x.epoch != epoch || epoch < x.epoch {
			return ErrGap
		}
		x.epoch = epoch
		return nil
	})
}

func (s *memStore) Freeze(_ context.Context, p crawl.Partition) error {
	return s.part(p, func(x *memPart) error { x.frozen = true; return nil })
}

func (s *memStore) Unfreeze(_ context.Context, p crawl.Partition) error {
	return s.part(p, func(x *memPart) error { x.frozen = false; return nil })
}

func (s *memStore) StoreReleased(_ context.Context, p crawl.Partition, to crawl.NodeID, view crawl.Epoch) error {
	return s.durable(p, func(x *memPart) { x.state, x.to, x.view = Released, to, view })
}

func (s *memStore) StoreHolder(_ context.Context, p crawl.Partition) error {
	return s.durable(p, func(x *memPart) { x.state, x.frozen = Holding, false })
}

func (s *memStore) StoreCopy(_ context.Context, p crawl.Partition, suspect bool) error {
	return s.durable(p, func(x *memPart) {
		if x.state != Absent {
			x.state, x.copy, x.suspect, x.sinks, x.frozen = Absent, true, suspect, nil, false
		}
	})
}

func (s *memStore) Promote(_ context.Context, p crawl.Partition, epoch crawl.Epoch) error {
	return s.durable(p, func(x *memPart) {
		x.state, x.copy, x.suspect, x.epoch, x.maxEpoch, x.frozen = Holding, false, false, epoch, epoch, false
	})
}

func (s *memStore) Found(_ context.Context, p crawl.Partition, epoch crawl.Epoch) error {
	return s.durable(p, func(x *memPart) {
		*x = memPart{state: Holding, epoch: epoch, maxEpoch: epoch, content: map[string]string{}, copies: x.copies + 1}
	})
}

func (s *memStore) PutSets(_ context.Context, sets map[crawl.Partition]Set) error {
	for p, set := range sets {
		err := s.durable(p, func(x *memPart) {
			if set.Newer(x.set) {
				x.set = set
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *memStore) Set(p crawl.Partition) (set Set) {
	_ = s.part(p, func(x *memPart) error { set = x.set; return nil })
	return set
}

func (s *memStore) Delete(_ context.Context, p crawl.Partition) error {
	return s.durable(p, func(x *memPart) {
		*x = memPart{maxEpoch: x.maxEpoch, set: x.set, content: map[string]string{}, copies: x.copies}
	})
}

// memExport is a snapshot.
type memExport struct {
	epoch   crawl.Epoch
	seq     crawl.Seq
	content map[string]string
}

func (e *memExport) Snapshot(_ context.Context, _ int, f func([]crawl.Entry) error) error {
	chunk := []crawl.Entry{{Key: []byte("\x00seq"), Value: []byte(fmt.Sprint(e.seq))}}
	for _, k := range slices.Sorted(maps.Keys(e.content)) {
		chunk = append(chunk, crawl.Entry{Key: []byte(k), Value: []byte(e.content[k])})
		if len(chunk) >= 3 {
			if err := f(chunk); err != nil {
				return err
			}
			chunk = nil
		}
	}
	return f(chunk)
}

func (e *memExport) Epoch() crawl.Epoch { return e.epoch }
func (e *memExport) Seq() crawl.Seq     { return e.seq }
func (e *memExport) Close()             {}

// memImport is a copy that arrives.
type memImport struct {
	s       *memStore
	p       crawl.Partition
	seq     crawl.Seq
	whole   bool // the sequence number has come
	content map[string]string
}

func (i *memImport) Put(_ context.Context, es []crawl.Entry) error {
	for _, e := range es {
		if string(e.Key) == "\x00seq" {
			_, err := fmt.Sscan(string(e.Value), &i.seq)
			if err != nil {
				return err
			}
			i.whole = true
			continue
		}
		i.content[string(e.Key)] = string(e.Value)
	}
	return nil
}

func (i *memImport) Commit(_ context.Context, epoch crawl.Epoch) error {
	return i.s.part(i.p, func(x *memPart) error {
		if x.state == Holding || !i.whole {
			return fmt.Errorf("partition %d is held, or the copy is not whole", i.p)
		}
		x.state, x.copy, x.suspect, x.epoch, x.seq, x.content, x.frozen = Absent, true, false, epoch, i.seq, i.content, false
		x.copies++
		return nil
	})
}

func (i *memImport) Abort(context.Context) {}
