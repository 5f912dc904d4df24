package recovery

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
)

// Options says where to look, and how.
type Options struct {
	KV storage.KV
	// HighWater is the high-water file, "": none.
	HighWater string
	// Machine names this run of the machine, as stamps do; 0: it has no name.
	Machine uint64
	Now     layout.Moment
	Node    crawl.NodeID // for log lines
	Log     *slog.Logger
}

// Result is what a frontier begins with. The store and the high-water file agree with it.
type Result struct {
	Partitions map[crawl.Partition]*layout.PartState
	Sets       map[crawl.Partition]layout.SetRecord
	// Books are those that are the newest of their partitions, and stand in slots. There may be some of generations that are no more.
	Books reader.Books
	// Dead are the generations whose keys must be deleted.
	Dead []layout.Generation
	// Marks is the open high-water file, nil: there is none.
	Marks *HighWater
}

// loading is a Load under way.
type loading struct {
	Options
	Result
	snap storage.Snapshot
	// Corrections of the store, which are written before anything else: states, and
	// generations to be deleted.
	restated []*layout.PartState
	lost     []layout.Generation
	// recounted and lacking count partitions whose books or mutations are lost; why is the
	// reason of one of the latter.
	recounted, lacking int
	why                string
}

// Load reads the node's own range and the books of the partitions, compares
// them with the high-water file, and lists what is left to delete. It reads no URL, save of
// partitions whose books are lost.
func Load(o Options) (Result, error) {
	l := loading{Options: o}
	err := l.run()
	if err == nil {
		return l.Result, nil
	}
	if l.Marks != nil {
		err = errors.Join(err, l.Marks.Close())
	}
	return Result{}, err
}

func (l *loading) run() error {
	snap, err := l.KV.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	l.snap = snap
	if err := l.version(); err != nil {
		return err
	}
	if l.Sets, err = reader.Sets(snap); err != nil {
		return err
	}
	if l.Partitions, l.Dead, err = reader.States(snap); err != nil {
		return err
	}
	if l.Books, err = reader.ReadBooks(snap); err != nil {
		return err
	}
	for _, s := range l.Partitions {
		if err := l.books(s); err != nil {
			return err
		}
	}
	if err := l.compareMarks(); err != nil {
		return err
	}
	l.say()
	l.suspectAll()
	l.unsureAll()
	l.Dead = append(l.Dead, l.lost...)
	return l.record()
}

// version checks the version of the store's format, and writes it into a new store.
func (l *loading) version() error {
	version, ok, err := l.snap.Get(layout.NodeKey(layout.NodeVersion), nil)
	if err != nil {
		return err
	}
	if ok && !bytes.Equal(version, []byte{layout.FormatVersion}) {
		return fmt.Errorf("the store has format %v, this program reads format %d: use the program that wrote it", version, layout.FormatVersion)
	}
	if !ok {
		return l.KV.Write([]storage.Entry{{Key: layout.NodeKey(layout.NodeVersion), Value: []byte{layout.FormatVersion}}})
	}
	return nil
}

// books completes the state of a partition that has keys. A partition whose books are
// lost becomes suspect, and gets such books as its keys show.
func (l *loading) books(s *layout.PartState) error {
	if s.State == layout.Absent {
		return nil
	}
	v := reader.Partition{Snapshot: l.snap, Generation: layout.Generation{Partition: s.Partition, Number: s.Generation}}
	b, inSlot, err := l.Books.Of(&v)
	if err != nil {
		return err
	}
	if !inSlot {
		delete(l.Books, v.Generation)
	}
	if b != nil {
		if m, err := layout.DecodeMeta(b); err == nil {
			s.Apply(&m)
			s.Line = m.Stamp.Resume(l.Machine, l.Now)
			return nil
		}
	}
	l.recounted++
	s.Suspect = true
	m, err := v.Recount()
	m.Seq = s.Seq
	s.Apply(&m)
	s.Line = m.Stamp.Begin(l.Now)
	return err
}

// compareMarks opens the high-water file and judges each partition.
func (l *loading) compareMarks() error {
	if l.HighWater == "" {
		return nil
	}
	w, marks, bad, err := OpenHighWater(l.HighWater)
	if err != nil {
		return err
	}
	l.Marks = w
	if len(bad) > 0 {
		l.Log.Warn("high-water marks cannot be read; their partitions are used as the store has them", "file", l.HighWater, "marks", len(bad), "err", bad[0])
	}
	for p, m := range marks {
		s := l.Partitions[p]
		if s == nil {
			s = &layout.PartState{Meta: layout.Meta{Partition: p}}
		}
		next, why := compare(*s, m)
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
			l.lacking++
			l.why = fmt.Sprintf("partition %d: %s", p, why)
		}
		l.findLost(s, &next)
		l.Partitions[p] = &next
		l.restated = append(l.restated, &next)
	}
	return nil
}

// say logs what is missing, in one line for all partitions: there may be thousands.
func (l *loading) say() {
	if l.recounted > 0 {
		l.Log.Error("the counters of partitions are lost; they are recounted from their keys", "node", l.Node, "partitions", l.recounted)
	}
	if l.lacking > 0 {
		l.Log.Error("partitions lack what this node acknowledged; they must be rebuilt from replicas", "node", l.Node, "partitions", l.lacking, "one", l.why)
	}
}

// maxLostGenerations bounds the generations that are looked for after a loss.
const maxLostGenerations = 1024

// findLost lists the generations of a partition whose place on the list of the
// dead was lost with its state.
func (l *loading) findLost(was, is *layout.PartState) {
	if was.Generation != 0 && was.Generation != is.Generation {
		l.lost = append(l.lost, layout.Generation{Partition: is.Partition, Number: was.Generation})
	}
	from := was.LastGeneration
	if is.LastGeneration > from+maxLostGenerations {
		from = is.LastGeneration - maxLostGenerations
	}
	for n := from + 1; n <= is.LastGeneration; n++ {
		if n != is.Generation {
			l.lost = append(l.lost, layout.Generation{Partition: is.Partition, Number: n})
		}
	}
}

// damaged is a KV that knows that some of what was written is lost, and not
// which.
type damaged interface {
	// Damage describes the damage; "" when nothing is lost.
	Damage() string
	// NoteDamage is called once the damage is recorded in the states.
	NoteDamage() error
}

// suspectAll suspects every partition when the store knows of a damage that
// the marks cannot show: one in front of what is whole.
func (l *loading) suspectAll() {
	kv, ok := l.KV.(damaged)
	if !ok || kv.Damage() == "" {
		return
	}
	l.Log.Error("the store is damaged; its partitions must be rebuilt from replicas", "node", l.Node, "damage", kv.Damage())
	for _, s := range l.Partitions {
		if s.State != layout.Absent && !s.Suspect {
			s.Suspect = true
			l.restated = append(l.restated, s)
		}
	}
}

// record writes what was found out: first the states, durably, so that no suspicion is
// forgotten, then the marks, which agree with the store from then on.
func (l *loading) record() error {
	var entries []storage.Entry
	for _, s := range l.restated {
		entries = append(entries, storage.Entry{Key: layout.StateKey(s.Partition), Value: layout.EncodeState(s)})
	}
	for _, g := range l.lost {
		entries = append(entries, storage.Entry{Key: layout.DeadKey(g), Value: []byte{layout.FormatVersion}})
	}
	for piece := range slices.Chunk(entries, 2_000) {
		if err := l.KV.Write(piece); err != nil {
			return err
		}
	}
	if len(entries) > 0 {
		if err := l.KV.Sync(); err != nil {
			return err
		}
	}
	if kv, ok := l.KV.(damaged); ok && kv.Damage() != "" {
		if err := kv.NoteDamage(); err != nil {
			return err
		}
	}
	if kv, ok := l.KV.(powerless); ok {
		if err := kv.NotePowerLoss(); err != nil {
			return err
		}
	}
	if l.Marks == nil {
		return nil
	}
	for p, s := range l.Partitions {
		l.Marks.Set(p, MarkOf(s))
	}
	return l.Marks.Flush()
}

// powerless is a KV that may have lost the end of what was written.
type powerless interface {
	// LostPower reports whether the machine has lost power, or crashed, since writes
	// that were not synced.
	LostPower() bool
	// NotePowerLoss is called at every start, once the loss is recorded in the states and
	// before anything else is written.
	NotePowerLoss() error
}

// unsureAll marks every partition as unsure after a loss of power.
func (l *loading) unsureAll() {
	kv, ok := l.KV.(powerless)
	if !ok || !kv.LostPower() {
		return
	}
	n := 0
	for _, s := range l.Partitions {
		if s.State != layout.Absent && !s.Unsure {
			s.Unsure = true
			l.restated = append(l.restated, s)
			n++
		}
	}
	l.Log.Warn("this machine has lost power, or crashed: what it wrote in its last second may be missing; other copies of its partitions are asked first",
		"node", l.Node, "partitions", n)
}
