package commit

import (
	"fmt"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/recovery"
	"crawlnode/frontier/storage"
)

// Group is the work of one transaction. Requests see what those before them in
// the group did. Nothing of the frontier changes before the commit, save that
// filters learn URLs early, which is harmless.
type Group struct {
	Writer  *Writer
	Now     layout.Moment
	parts   map[crawl.Partition]*Part
	order   []*Part
	entries []storage.Entry // with absolute keys, beside those of the partitions
	keys    []byte          // room for keys
	handed  []storage.Entry // room for entries of mutations
	size    int             // bytes so far, roughly
	count   int             // entries so far, roughly
	snap    storage.Snapshot
	err     error    // the first failure to read the store
	after   []func() // called once the group is committed
	Sets    map[crawl.Partition]layout.SetRecord
}

// Part is one partition in a group.
type Part struct {
	Group    *Group
	Live     *Partition
	State    layout.PartState  // takes the place of the original at commit
	over     map[string][]byte // relative key -> new value; empty: deleted
	hosts    map[crawl.Host]*Host
	queued   map[crawl.Host]crawl.Band // hosts with new URLs, and the best band of these
	Seen     []xxh3.Uint128            // cache keys of records that exist after the commit
	written  []writtenHost             // by writeHosts
	key, buf []byte                    // scratch
	Mutated  bool                      // the sequence number rises
	Followed bool                      // a copy has taken mutations of its holder
	Restated bool                      // the state on this node changes
	// the meta entry that the group writes, with its absolute key; Key nil: none
	books storage.Entry
	slot  int // 1 + the slot with the books; 0: they go under the partition's own key
}

// Host is a host in a group. Only its entry is written.
type Host struct {
	layout.HostEntry
	Fresh  bool // no URL of the host was ever queued: it is not counted
	absent bool // the store has no entry of it
	dirty  bool // the entry must be written
	Parked bool // its place in the wake index must be brought up to date
}

func newGroup(w *Writer) *Group {
	return &Group{Writer: w, Now: w.moment(), parts: map[crawl.Partition]*Part{}}
}

// hasRoom reports whether a request may join the group.
func (g *Group) hasRoom(r *Request) bool {
	b := &g.Writer.Budget
	return g.size < b.groupBytes && g.count < b.groupEntries && g.size+r.Bytes <= b.maxBytes &&
		g.count+r.Entries <= b.maxEntries
}

// Fail notes a failure of the store, which ends the frontier.
func (g *Group) Fail(err error) {
	if g.err == nil {
		g.err = err
	}
}

// Part opens a partition in the group. One that the node does not know is
// Absent.
func (g *Group) Part(p crawl.Partition) *Part {
	if pg, ok := g.parts[p]; ok {
		return pg
	}
	part := g.Writer.parts[p]
	if part == nil {
		part = &Partition{PartState: layout.PartState{Meta: layout.Meta{Partition: p}}}
	}
	pg := &Part{Group: g, Live: part, State: part.PartState}
	g.parts[p] = pg
	g.order = append(g.order, pg)
	return pg
}

// StateOf is a partition as the group sees it, to look at; nil when the node does not
// know it.
func (g *Group) StateOf(p crawl.Partition) *layout.PartState {
	if pg, ok := g.parts[p]; ok {
		return &pg.State
	}
	if part := g.Writer.parts[p]; part != nil {
		return &part.PartState
	}
	return nil
}

// Then calls f once the group is committed.
func (g *Group) Then(f func()) { g.after = append(g.after, f) }

// Put adds an entry with an absolute key.
func (g *Group) Put(key, value []byte) {
	g.entries = append(g.entries, storage.Entry{Key: key, Value: value})
	g.grow(len(key), len(value))
}

// PutUnder adds entries with relative keys under a generation, and returns how many bytes they
// have.
func (g *Group) PutUnder(gen layout.Generation, entries []storage.Entry) int {
	size, values := 0, 0
	for i := range entries {
		size += layout.PrefixLen + len(entries[i].Key)
	}
	keys := g.KeyRoom(size)
	for i := range entries {
		from := len(keys)
		keys = append(layout.AppendPrefix(keys, gen.Partition, gen.Number), entries[i].Key...)
		g.Put(keys[from:len(keys):len(keys)], entries[i].Value)
		values += len(entries[i].Value)
	}
	return size + values
}

// Follow adds a mutation of the holder to a copy.
func (pg *Part) Follow(entries []storage.Entry) {
	g := pg.Group
	from := len(g.entries)
	g.PutUnder(pg.Gen(), entries)
	kept := g.entries[:from]
	for _, e := range g.entries[from:] {
		if layout.IsMeta(e.Key[layout.PrefixLen:]) {
			pg.books = e
		} else {
			kept = append(kept, e)
		}
	}
	g.entries, pg.Followed = kept, true
}

// grow accounts for an entry.
func (g *Group) grow(key, value int) {
	g.count++
	g.size += layout.PrefixLen + key + value
}

// Snapshot is the store before the group.
func (g *Group) Snapshot() (storage.Snapshot, bool) {
	if g.snap == nil && g.err == nil {
		snap, err := g.Writer.KV.Snapshot()
		if err != nil {
			g.Fail(err)
			return nil, false
		}
		g.snap = snap
	}
	return g.snap, g.snap != nil
}

// Gen names the generation of the partition's keys.
func (pg *Part) Gen() layout.Generation {
	return layout.Generation{Partition: pg.State.Partition, Number: pg.State.Generation}
}

// Get reads a relative key as the group sees it. The value is good until the
// next call. A failure of the store is noted and looks like no value.
func (pg *Part) Get(rel []byte) ([]byte, bool) {
	if v, ok := pg.over[string(rel)]; ok {
		return v, len(v) > 0
	}
	snap, ok := pg.Group.Snapshot()
	if !ok {
		return nil, false
	}
	pg.key = append(layout.AppendPrefix(pg.key[:0], pg.State.Partition, pg.State.Generation), rel...)
	v, ok, err := snap.Get(pg.key, pg.buf)
	if err != nil {
		pg.Group.Fail(err)
		return nil, false
	}
	if ok {
		pg.buf = v
	}
	return v, ok
}

// Scratch is an empty slice in which to make a relative key for one call of Get, Set, Del or
// Written. None of them keeps it.
func (pg *Part) Scratch() []byte { return pg.Group.Writer.scratch[:0] }

// write puts an entry aside for the commit.
func (pg *Part) write(rel string, value []byte) {
	if pg.over == nil {
		pg.over = map[string][]byte{}
	}
	pg.over[rel] = value
}

// Written reports whether the group has written or deleted a relative key.
func (pg *Part) Written(rel []byte) bool {
	_, ok := pg.over[string(rel)]
	return ok
}

// Set writes an entry with a relative key in this group. It is part of the mutation.
func (pg *Part) Set(rel, value []byte) {
	pg.Mutated = true
	pg.write(string(rel), value)
	pg.Group.grow(len(rel), len(value))
}

// Del deletes a relative key in this group.
func (pg *Part) Del(rel []byte) {
	pg.Mutated = true
	pg.write(string(rel), nil)
	pg.Group.grow(len(rel), 0)
}

// Host opens a host in the group, or makes an unknown one. Callers that change
// it call touch.
func (pg *Part) Host(h crawl.Host) *Host {
	if e, ok := pg.hosts[h]; ok {
		return e
	}
	e := &Host{Fresh: true, absent: true}
	if v, ok := pg.hostValue(h); ok {
		if err := e.Decode(v); err != nil {
			pg.Group.Fail(fmt.Errorf("%w: host %s", err, h))
			e.HostEntry = layout.HostEntry{}
		}
		e.Fresh, e.absent = !e.Admitted(), false
	}
	if pg.hosts == nil {
		pg.hosts = map[crawl.Host]*Host{}
	}
	pg.hosts[h] = e
	return e
}

// hostValue reads a host's entry, unless the filter knows that there is none.
func (pg *Part) hostValue(h crawl.Host) ([]byte, bool) {
	if fl := pg.Live.Filter; fl != nil && !fl.Maybe(layout.FingerprintOf(string(h))) {
		return nil, false
	}
	rel := layout.AppendHost(pg.Scratch(), layout.TableHosts, h)
	if v, ok := pg.cachedHost(rel, h); ok {
		return v, true
	}
	return pg.Get(rel)
}

// Touch marks the host for writing.
func (pg *Part) Touch(e *Host) {
	if !e.dirty {
		e.dirty = true
		pg.Group.count += 3
		pg.Group.size += 400
	}
}

// Block has a known host wait until then, and moves it in the wake index.
func (pg *Part) Block(h crawl.Host, until time.Time) error {
	if !pg.State.Serves() {
		return fmt.Errorf("%w: host %s, which was to be blocked", ErrNotHolder, h)
	}
	e := pg.Host(h)
	if e.Fresh {
		return fmt.Errorf("frontier: block %s: %w", h, crawl.ErrUnknownHost)
	}
	e.BlockedUntil, e.Parked = pg.State.Line.Write(until), true
	pg.Touch(e)
	return nil
}

// Delay has a known host requested at least so far apart, also after what may have been its last
// request.
func (pg *Part) Delay(h crawl.Host, d time.Duration) error {
	if !pg.State.Serves() {
		return fmt.Errorf("%w: host %s, whose delay was to be set", ErrNotHolder, h)
	}
	e := pg.Host(h)
	if e.Fresh {
		return fmt.Errorf("frontier: delay of %s: %w", h, crawl.ErrUnknownHost)
	}
	if d > e.AskedDelay {
		e.NotBefore = crawl.Latest(e.NotBefore, pg.State.Line.Write(pg.Group.Now.Now.Add(d)))
	}
	e.AskedDelay, e.Parked = d, true
	pg.Touch(e)
	return nil
}

// NoteQueued notes that a URL of the host was queued, for Options.OnQueued.
func (pg *Part) NoteQueued(h crawl.Host, band crawl.Band) {
	if pg.queued == nil {
		pg.queued = map[crawl.Host]crawl.Band{}
	}
	if old, ok := pg.queued[h]; !ok || band < old {
		pg.queued[h] = band
	}
}

// awake is the value of an entry of the wake index.
var awake = []byte{layout.FormatVersion}

// writeHosts puts the changed hosts, and what follows from them for the wake
// index, into the group: a host has queued URLs exactly when it has one entry
// there.
func (pg *Part) writeHosts() {
	for name, e := range pg.hosts {
		if !e.dirty {
			continue
		}
		band, waits := e.Best()
		place := e.Wake
		if waits && (!e.Awake || e.Parked || band < e.Wake.Band) {
			place = layout.WakeOf(band, &e.HostState)
		}
		if e.Awake && (!waits || place != e.Wake) {
			pg.Del(layout.AppendWakeKey(pg.Scratch(), e.Wake, name))
		}
		if waits && (!e.Awake || place != e.Wake) {
			pg.Set(layout.AppendWakeKey(pg.Scratch(), place, name), awake)
		}
		if !waits {
			place = layout.WakeSlot{}
		}
		e.Awake, e.Wake = waits, place
		value := layout.EncodeHost(&e.HostEntry)
		pg.Set(layout.AppendHost(pg.Scratch(), layout.TableHosts, name), value)
		pg.written = append(pg.written, writtenHost{name, value})
		if e.absent {
			e.absent = false
			pg.Learn(layout.FingerprintOf(string(name)))
		}
	}
}

// finish completes the partition's entries: hosts, meta, state.
func (pg *Part) finish() (m crawl.Mutation) {
	pg.writeHosts()
	if pg.Mutated {
		pg.State.Seq++
		pg.WriteMeta()
	}
	m.Epoch, m.Seq = pg.State.Epoch, pg.State.Seq
	size := 0
	for rel := range pg.over {
		size += layout.PrefixLen + len(rel)
	}
	keys := pg.Group.KeyRoom(size)
	if pg.Mutated && len(pg.Live.Sinks) > 0 {
		m.Entries = pg.Group.entryRoom(len(pg.over))
	}
	for rel, v := range pg.over {
		from := len(keys)
		keys = append(layout.AppendPrefix(keys, pg.State.Partition, pg.State.Generation), rel...)
		key := keys[from:len(keys):len(keys)]
		if rel == layout.MetaKey {
			pg.books = storage.Entry{Key: key, Value: v}
		} else {
			pg.Group.entries = append(pg.Group.entries, storage.Entry{Key: key, Value: v})
		}
		if pg.Mutated && len(pg.Live.Sinks) > 0 {
			m.Entries = append(m.Entries, storage.Entry{Key: key[layout.PrefixLen:], Value: v})
		}
	}
	if pg.Restated {
		pg.State.Changes++
		pg.Group.entries = append(pg.Group.entries,
			storage.Entry{Key: layout.StateKey(pg.State.Partition), Value: layout.EncodeState(&pg.State)})
	}
	return m
}

// commit writes the group and makes it the frontier's state. full is why it must do
// without space on the disk; nil: it need not. Its error is a failure of the store, or
// ErrNoSpace, and then nothing has changed.
func (g *Group) commit(full error) error {
	mutations := make([]crawl.Mutation, len(g.order))
	if g.err == nil {
		g.entries = slices.Grow(g.entries, g.count)
		for i, pg := range g.order {
			mutations[i] = pg.finish()
		}
		g.writeBooks(full != nil)
	}
	if g.snap != nil {
		g.snap.Close()
	}
	if g.err != nil {
		return g.err
	}
	if len(g.entries) > 0 {
		if err := g.Writer.writing.during(func() error { return g.Writer.write(g.entries, full) }); err !=
			nil {
			return err
		}
	}
	if g.Writer.marks != nil {
		if err := g.Writer.writing.during(g.mark); err != nil {
			return err
		}
	}
	for i, pg := range g.order {
		pg.publish(mutations[i])
	}
	for _, f := range g.after {
		f()
	}
	g.publishMetas()
	g.announce()
	return nil
}

// mark writes to the high-water file how far each changed partition has come.
func (g *Group) mark() error {
	for _, pg := range g.order {
		if pg.Mutated || pg.Restated || pg.Followed {
			g.Writer.marks.Set(pg.State.Partition, recovery.MarkOf(&pg.State))
		}
	}
	return g.Writer.marks.Flush()
}

// WriteMeta writes the partition's books as they stand now.
func (pg *Part) WriteMeta() {
	pg.write(layout.MetaKey,
		layout.EncodeMeta(&pg.State, pg.State.Line.Stamp(pg.Group.Writer.Machine, pg.Group.Now)))
}

// publish makes the group's copy of a partition the real one.
func (pg *Part) publish(m crawl.Mutation) {
	f := pg.Group.Writer
	pg.keepBooks()
	pg.Live.PartState = pg.State
	pg.cacheHosts()
	if pg.Mutated || pg.Restated {
		f.parts[pg.State.Partition] = pg.Live
	}
	for _, k := range pg.Seen {
		f.Cache.Add(k)
	}
	if pg.Mutated {
		pg.Live.deliver(m)
		f.refreshPayloads(pg.Live)
	}
	if fl := pg.Live.Filter; fl != nil && fl.Full() && !pg.Live.rebuilding {
		f.rebuilds.add(rebuild{pg.State.Partition, layout.TableRecords})
	}
}

func (g *Group) publishMetas() {
	g.Writer.mu.Lock()
	defer g.Writer.mu.Unlock()
	for _, pg := range g.order {
		if pg.Mutated || pg.Restated || pg.Followed {
			g.Writer.showLocked(&pg.Live.PartState)
		}
	}
	for p, r := range g.Sets {
		g.Writer.sets[p] = r
	}
}

// announce calls OnQueued with the hosts that got URLs.
func (g *Group) announce() {
	if g.Writer.O.OnQueued == nil {
		return
	}
	var news []QueuedHost
	for _, pg := range g.order {
		for h, band := range pg.queued {
			news = append(news, QueuedHost{pg.State.Partition, h, band})
		}
	}
	if len(news) > 0 {
		g.Writer.O.OnQueued(news)
	}
}

// Learn adds a fingerprint to the partition's filter, and to one that is being made.
func (pg *Part) Learn(fp layout.Fingerprint) {
	if pg.Live.Filter != nil {
		pg.Live.Filter.Add(fp)
	}
	pg.Live.noteDelta(fp)
}
