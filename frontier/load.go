package frontier

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"crawlnode/crawl"
)

// loading is what New finds out before there is a writer.
type loading struct {
	f      *Frontier
	snap   Snapshot
	now    moment
	states map[crawl.Partition]*partState
	// What the store does not say as it is now, and is written before anything
	// else: states, and generations to be deleted.
	restated []*partState
	lost     []generation
}

// load reads the node's own range and the books of the partitions, compares
// them with the high-water file, and lists what is left to delete.
func (f *Frontier) load() error {
	snap, err := f.kv.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	if err := f.loadVersion(snap); err != nil {
		return err
	}
	if f.sets, err = loadSets(snap); err != nil {
		return err
	}
	l := loading{f: f, snap: snap, now: f.moment()}
	var dead []generation
	if l.states, dead, err = loadStates(snap); err != nil {
		return err
	}
	for _, s := range l.states {
		if err := l.books(s); err != nil {
			return err
		}
	}
	if err := l.compareMarks(); err != nil {
		return err
	}
	l.suspectAll()
	l.unsureAll()
	for _, s := range l.states {
		f.parts[s.Partition] = &partition{partState: *s}
		f.showLocked(s) // nobody else knows f yet
	}
	for _, g := range append(dead, l.lost...) {
		f.dead.add(g, 0)
	}
	return l.settle()
}

func (f *Frontier) loadVersion(snap Snapshot) error {
	version, ok, err := snap.Get(nodeKey(nodeVersion), nil)
	if err != nil {
		return err
	}
	if ok && !bytes.Equal(version, []byte{formatVersion}) {
		return fmt.Errorf("the store has format %v, this program reads format %d: use the program that wrote it", version, formatVersion)
	}
	if !ok {
		return f.kv.Write([]Entry{{Key: nodeKey(nodeVersion), Value: []byte{formatVersion}}})
	}
	return nil
}

// books completes the state of a partition that has keys. One whose books are
// lost is suspect, and gets such as its keys show.
func (l *loading) books(s *partState) error {
	if s.State == Absent {
		return nil
	}
	v := view{snap: l.snap, gen: generation{s.Partition, s.Generation}}
	b, ok, err := v.get([]byte(metaKey))
	if err != nil {
		return err
	}
	if ok {
		if m, err := decodeMeta(b); err == nil {
			s.apply(&m)
			s.line = m.stamp.resume(l.f.run, l.now)
			return nil
		}
	}
	l.f.log.Error("the books of a partition are lost", "node", l.f.o.Node, "partition", s.Partition, "state", s.State)
	s.Suspect = true
	m, err := v.recount()
	m.seq = s.Seq
	s.apply(&m)
	s.line = m.stamp.begin(l.now)
	return err
}

// recount makes a partition's books of its keys: what else was counted is lost.
func (v *view) recount() (m metaEntry, err error) {
	it := v.iterate(nil)
	defer it.Close()
	for it.Seek(v.abs(nil)); it.Valid(); it.Next() {
		rel := it.Key()[prefixLen:]
		c := &m.counters
		switch rel[0] {
		case tableHosts:
			value, err := it.Value()
			if err != nil {
				return m, err
			}
			e, err := decodeHost(value)
			if err != nil || e.admitted() {
				c.Hosts++
			}
			if err == nil && e.sole != nil {
				c.Seen++
				c.Queued[e.sole.band]++
			}
		case tableQueue:
			if band := len(rel) - 9; band > 0 && rel[band] < crawl.Bands {
				c.Queued[rel[band]]++
			}
		case tableOutbox:
			if k, ok := parseOutboxKey(rel); ok {
				c.Outbox++
				m.outboxNext = max(m.outboxNext, k.Seq)
			}
		case tableContents:
			c.Contents++
		case tableRecords:
			c.Seen++
			value, err := it.Value()
			if err != nil {
				return m, err
			}
			if rec, err := decodeRecord(value); err == nil && rec.State == crawl.Failed {
				c.Failed++
			} else if err == nil && rec.State == crawl.Done {
				c.Pages++
			}
		}
	}
	return m, nil
}

// compareMarks opens the high-water file and judges each partition.
func (l *loading) compareMarks() error {
	f := l.f
	if f.o.HighWater == "" {
		return nil
	}
	w, marks, bad, err := openHighWater(f.o.HighWater)
	if err != nil {
		return err
	}
	f.marks = w
	if len(bad) > 0 {
		f.log.Warn("marks cannot be read; their partitions are taken as the store has them", "file", f.o.HighWater, "marks", len(bad), "err", bad[0])
	}
	for p, m := range marks {
		s := l.states[p]
		if s == nil {
			s = &partState{Meta: Meta{Partition: p}}
		}
		next, why := judge(*s, m)
		if next == *s {
			continue
		}
		if next.Generation != s.Generation {
			if err := l.books(&next); err != nil {
				return err
			}
			next.Seq = max(next.Seq, m.seq)
		}
		if why != "" {
			f.log.Error("a partition lacks what this node acknowledged; it must be rebuilt from a replica",
				"node", f.o.Node, "partition", p, "state", next.State, "epoch", next.Epoch, "reason", why)
		}
		l.findLost(s, &next)
		l.states[p] = &next
		l.restated = append(l.restated, &next)
	}
	return nil
}

// maxLostGenerations bounds the generations that are looked for after a loss.
const maxLostGenerations = 1024

// findLost lists the generations of a partition whose place on the list of the
// dead was lost with its state.
func (l *loading) findLost(was, is *partState) {
	if was.Generation != 0 && was.Generation != is.Generation {
		l.lost = append(l.lost, generation{is.Partition, was.Generation})
	}
	from := was.lastGeneration
	if is.lastGeneration > from+maxLostGenerations {
		from = is.lastGeneration - maxLostGenerations
	}
	for n := from + 1; n <= is.lastGeneration; n++ {
		if n != is.Generation {
			l.lost = append(l.lost, generation{is.Partition, n})
		}
	}
}

// damaged is a KV that knows that some of what was written is lost, and not
// which.
type damaged interface {
	// Damage says what is known of it; "" when nothing is lost.
	Damage() string
	// NoteDamage says that the frontier knows, on disk.
	NoteDamage() error
}

// suspectAll suspects every partition when the store knows of a damage that
// the marks cannot show: one in front of what is whole.
func (l *loading) suspectAll() {
	kv, ok := l.f.kv.(damaged)
	if !ok || kv.Damage() == "" {
		return
	}
	l.f.log.Error("the store is damaged; its partitions must be rebuilt from replicas", "node", l.f.o.Node, "damage", kv.Damage())
	for _, s := range l.states {
		if s.State != Absent && !s.Suspect {
			s.Suspect = true
			l.restated = append(l.restated, s)
		}
	}
}

// settle writes what was found out: first the states, to disk, so that no
// suspicion is forgotten, then the marks, which say from now on what the store
// has.
func (l *loading) settle() error {
	f := l.f
	var entries []Entry
	for _, s := range l.restated {
		entries = append(entries, Entry{Key: stateKey(s.Partition), Value: encodeState(s)})
	}
	for _, g := range l.lost {
		entries = append(entries, Entry{Key: deadKey(g), Value: []byte{formatVersion}})
	}
	for piece := range slices.Chunk(entries, 2_000) {
		if err := f.kv.Write(piece); err != nil {
			return err
		}
	}
	if len(entries) > 0 {
		if err := f.kv.Sync(); err != nil {
			return err
		}
	}
	if kv, ok := f.kv.(damaged); ok && kv.Damage() != "" {
		if err := kv.NoteDamage(); err != nil {
			return err
		}
	}
	if kv, ok := f.kv.(powerless); ok {
		if err := kv.NotePowerLoss(); err != nil {
			return err
		}
	}
	if f.marks == nil {
		return nil
	}
	for _, p := range f.parts {
		f.marks.set(p.Partition, markOf(&p.partState))
	}
	return f.marks.flush()
}

// Close closes the store. Run and all readers must be over.
func (f *Frontier) Close() error {
	err := f.kv.Close()
	if f.marks != nil {
		err = errors.Join(err, f.marks.close())
	}
	return err
}
