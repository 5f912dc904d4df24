package layout

import (
	"fmt"

	"crawlnode/crawl"
)

// State says what a partition is to this node. The numbers are written to disk.
type State uint8

// The states of a partition.
const (
	// Absent: nothing of it is here. Only the highest epoch is remembered.
	Absent State = iota
	// Holder: this node has the authority over it, in Meta.Epoch.
	Holder
	// Released: it was given to Meta.To in the view Meta.View, and is kept until the
	// receiver and its replicas have it.
	Released
	// Copy: a replica's copy, kept up to date by the holder.
	Copy
)

var stateNames = [...]string{"absent", "holder", "released", "copy"}

func (s State) String() string { return stateNames[min(int(s), len(stateNames)-1)] }

// Meta is what this node knows of one partition.
type Meta struct {
	Partition  crawl.Partition
	State      State
	Epoch      crawl.Epoch  // in which it was acquired; 0 when Absent
	MaxEpoch   crawl.Epoch  // the highest in which this node ever held it; outlives Delete
	Seq        crawl.Seq    // of the last mutation; outlives Delete
	Generation uint32       // of its keys in this node's store; 0 when there are none
	To         crawl.NodeID // with Released: to whom
	View       crawl.Epoch  // with Released: in which view; with Holder: of the acquisition
	Sealed     bool         // a released partition that this node can never take back
	// Suspect: acknowledged mutations are missing here. Such a partition takes no
	// mutation, as a holder or as a copy, until it is replaced, or Transition clears
	// the flag because no better copy exists.
	Suspect bool
	// Unsure: this machine has lost power since the partition, or the copy, was known
	// to be whole; mutations that were acknowledged may be missing here.
	Unsure   bool
	Counters crawl.Counters // of its records
}

// Bytes of an entry on its way, about: of a record with its place in a queue, a host
// with its robots rules, a link in the outbox, a content seen.
const (
	recordBytes  = 250
	hostBytes    = 1000
	outboxBytes  = 150
	contentBytes = 100
)

// Bytes estimates the size of the partition's entries.
func (m *Meta) Bytes() int64 {
	c := &m.Counters
	return c.Seen*recordBytes + c.Hosts*hostBytes + c.Outbox*outboxBytes + c.Contents*contentBytes +
		c.TextBytes + c.NoteBytes
}

// PartState is a partition as the writer sees it. Groups change a copy, which
// takes the place of the original when the group is committed.
type PartState struct {
	Meta
	LastGeneration uint32 // the highest ever used on this node
	Changes        uint64 // how often the state entry was written
	OutboxNext     uint64 // the number of the last outbox entry
	Line           Timeline
	// frozen: neither Add nor Complete changes it. It is not written to disk: after a
	// restart the node holds nothing until a view confirms it.
	Frozen bool
}

// String describes the partition's state for error messages.
func (s *PartState) String() string {
	suspect := ""
	if s.Suspect {
		suspect = ", suspect"
	}
	return fmt.Sprintf("%s of epoch %d at mutation %d%s", s.State, s.Epoch, s.Seq, suspect)
}

// Serves reports whether Add and Complete may change the partition.
func (s *PartState) Serves() bool { return s.State == Holder && !s.Frozen && !s.Suspect }

// EncodeState writes a partition's state on this node (table p). It never
// leaves the node, and says which generation of keys is alive.
//
//	version, byte state, byte flags, u epoch, u highest epoch, u generation,
//	u last generation, u seq, u view, [u changes], rest to
//
// Seq counts only when there are no keys: otherwise the meta entry has it.
func EncodeState(s *PartState) []byte {
	w := newEncoder(32 + len(s.To))
	w.byte(byte(s.State))
	w.byte(byte(FlagIf(s.Sealed, stateSealed) | FlagIf(s.Suspect, stateSuspect) | stateChanges |
		FlagIf(s.Unsure, stateUnsure)))
	w.u(uint64(s.Epoch))
	w.u(uint64(s.MaxEpoch))
	w.u(uint64(s.Generation))
	w.u(uint64(s.LastGeneration))
	w.u(uint64(s.Seq))
	w.u(uint64(s.View))
	w.u(s.Changes)
	w.rest(string(s.To))
	return w.b
}

// Flags of a partition's state.
const (
	stateSealed = 1 << iota
	stateSuspect
	stateChanges // the number of changes follows
	stateUnsure
)

// DecodeState reads what EncodeState has written for p.
func DecodeState(p crawl.Partition, b []byte) (PartState, error) {
	r := newDecoder(b)
	s := PartState{Meta: Meta{Partition: p}}
	s.State = State(r.byte())
	flags := r.byte()
	s.Sealed, s.Suspect, s.Unsure = flags&stateSealed != 0, flags&stateSuspect != 0,
		flags&stateUnsure != 0
	s.Epoch = crawl.Epoch(r.u())
	s.MaxEpoch = crawl.Epoch(r.u())
	s.Generation = uint32(r.small(1 << 32))
	s.LastGeneration = uint32(r.small(1 << 32))
	s.Seq = crawl.Seq(r.u())
	s.View = crawl.Epoch(r.u())
	if flags&stateChanges != 0 {
		s.Changes = r.u()
	}
	s.To = crawl.NodeID(r.rest())
	if s.State > Copy {
		r.fail()
	}
	return s, r.end("state of a partition")
}

// EncodeMeta writes a partition's meta entry (table m). It travels with the
// partition and changes with every mutation.
//
//	version, u seq, u epoch of that mutation, u next outbox number,
//	u number of counters, i each counter in the order of crawl.Counters.Each,
//	[stamp: time on the partition's timeline, time of day, u run, dur of the run]
//
// Counters that a newer version has more are appended; missing ones are 0, and the last ones that
// are 0 are left out.
func EncodeMeta(s *PartState, at Stamp) []byte {
	w := newEncoder(190)
	w.u(uint64(s.Seq))
	w.u(uint64(s.Epoch))
	w.u(s.OutboxNext)
	// The last ones, which are new, are 0 in most stores: they are left out.
	var n, seen uint64
	s.Counters.Each(func(v *int64) {
		if seen++; *v != 0 {
			n = seen
		}
	})
	w.u(n)
	s.Counters.Each(func(v *int64) {
		if n > 0 {
			w.i(*v)
			n--
		}
	})
	if !at.at.IsZero() {
		w.time(at.at)
		w.time(at.wall)
		w.u(at.Run)
		w.dur(at.boot)
	}
	return w.b
}

// MetaEntry is what DecodeMeta reads.
type MetaEntry struct {
	Seq        crawl.Seq
	epoch      crawl.Epoch
	OutboxNext uint64
	Counters   crawl.Counters
	Stamp      Stamp
}

// DecodeMeta reads a meta entry.
func DecodeMeta(b []byte) (m MetaEntry, err error) {
	err = m.Decode(b)
	return m, err
}

// Decode reads a meta entry in place of what m was. An entry has a kilobyte and more: who reads
// many uses one again.
func (m *MetaEntry) Decode(b []byte) error {
	*m = MetaEntry{}
	r := newDecoder(b)
	m.Seq = crawl.Seq(r.u())
	m.epoch = crawl.Epoch(r.u())
	m.OutboxNext = r.u()
	left := r.count()
	m.Counters.Each(func(v *int64) {
		if left > 0 {
			*v = r.i()
			left--
		}
	})
	for ; left > 0 && !r.bad; left-- {
		r.i() // a counter of a newer version
	}
	if len(r.b) > 0 {
		m.Stamp = Stamp{at: r.time(), wall: r.time(), Run: r.u(), boot: r.dur()}
		if m.Stamp.at.IsZero() { // without a place on the timeline the rest is meaningless
			m.Stamp = Stamp{}
		}
	}
	return r.end("sequence and counters of a partition")
}

// Restamped is a meta entry with another stamp.
func Restamped(b []byte, at Stamp) ([]byte, error) {
	m, err := DecodeMeta(b)
	if err != nil {
		return nil, err
	}
	s := PartState{Meta: Meta{Epoch: m.epoch}}
	s.Apply(&m)
	return EncodeMeta(&s, at), nil
}

// Apply takes over what travels with the partition, but for its timeline.
func (s *PartState) Apply(m *MetaEntry) {
	s.Seq, s.OutboxNext, s.Counters = m.Seq, m.OutboxNext, m.Counters
}
