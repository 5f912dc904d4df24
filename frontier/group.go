package frontier

import (
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/recovery"
	"crawlnode/frontier/storage"
)

// group is the work of one transaction. Requests see what those before them in
// the group did. Nothing of the frontier changes before the commit, save that
// filters learn URLs early, which is harmless.
type group struct {
	f       *Frontier
	now     layout.Moment
	parts   map[crawl.Partition]*partGroup
	order   []*partGroup
	entries []storage.Entry // with absolute keys, beside those of the partitions
	size    int             // bytes so far, roughly
	count   int             // entries so far, roughly
	snap    storage.Snapshot
	err     error    // the first failure to read the store
	after   []func() // called once the group is committed
	sets    map[crawl.Partition]layout.SetRecord
}

// partGroup is one partition in a group.
type partGroup struct {
	g        *group
	part     *partition
	state    layout.PartState  // takes the place of the original at commit
	over     map[string][]byte // relative key -> new value; empty: deleted
	hosts    map[crawl.Host]*groupHost
	news     map[crawl.Host]crawl.Band // hosts with new URLs, and the best band of these
	seen     []xxh3.Uint128            // cache keys of records that exist after the commit
	key, buf []byte                    // scratch
	mutated  bool                      // the sequence number rises
	followed bool                      // a copy has taken mutations of its holder
	restated bool                      // the state on this node changes
}

// groupHost is a host in a group. Only its entry is written.
type groupHost struct {
	layout.HostEntry
	fresh  bool // no URL of the host was ever queued: it is not counted
	absent bool // the store has no entry of it
	dirty  bool // the entry must be written
	parked bool // its place in the wake index must be brought up to date
}

func newGroup(f *Frontier) *group {
	return &group{f: f, now: f.moment(), parts: map[crawl.Partition]*partGroup{}}
}

// hasRoom reports whether a request may join the group.
func (g *group) hasRoom(r *request) bool {
	b := &g.f.budget
	return g.size < b.groupBytes && g.count < b.groupEntries && g.size+r.bytes <= b.maxBytes && g.count+r.entries <= b.maxEntries
}

// fail notes a failure of the store, which ends the frontier.
func (g *group) fail(err error) {
	if g.err == nil {
		g.err = err
	}
}

// part opens a partition in the group. One that the node does not know is
// Absent.
func (g *group) part(p crawl.Partition) *partGroup {
	if pg, ok := g.parts[p]; ok {
		return pg
	}
	part := g.f.parts[p]
	if part == nil {
		part = &partition{PartState: layout.PartState{Meta: layout.Meta{Partition: p}}}
	}
	pg := &partGroup{g: g, part: part, state: part.PartState}
	g.parts[p] = pg
	g.order = append(g.order, pg)
	return pg
}

// stateOf is a partition as the group sees it, to look at; nil when the node does not
// know it.
func (g *group) stateOf(p crawl.Partition) *layout.PartState {
	if pg, ok := g.parts[p]; ok {
		return &pg.state
	}
	if part := g.f.parts[p]; part != nil {
		return &part.PartState
	}
	return nil
}

// put adds an entry with an absolute key.
func (g *group) put(key, value []byte) {
	g.entries = append(g.entries, storage.Entry{Key: key, Value: value})
	g.grow(len(key), len(value))
}

// grow accounts for an entry.
func (g *group) grow(key, value int) {
	g.count++
	g.size += layout.PrefixLen + key + value
}

// snapshot is the store before the group.
func (g *group) snapshot() (storage.Snapshot, bool) {
	if g.snap == nil && g.err == nil {
		snap, err := g.f.kv.Snapshot()
		if err != nil {
			g.fail(err)
			return nil, false
		}
		g.snap = snap
	}
	return g.snap, g.snap != nil
}

func (pg *partGroup) gen() layout.Generation {
	return layout.Generation{Partition: pg.state.Partition, Number: pg.state.Generation}
}

// get reads a relative key as the group sees it. The value is good until the
// next call. A failure of the store is noted and looks like no value.
func (pg *partGroup) get(rel []byte) ([]byte, bool) {
	if v, ok := pg.over[string(rel)]; ok {
		return v, len(v) > 0
	}
	snap, ok := pg.g.snapshot()
	if !ok {
		return nil, false
	}
	pg.key = append(layout.AppendPrefix(pg.key[:0], pg.state.Partition, pg.state.Generation), rel...)
	v, ok, err := snap.Get(pg.key, pg.buf)
	if err != nil {
		pg.g.fail(err)
		return nil, false
	}
	if ok {
		pg.buf = v
	}
	return v, ok
}

// write puts an entry aside for the commit.
func (pg *partGroup) write(rel string, value []byte) {
	if pg.over == nil {
		pg.over = map[string][]byte{}
	}
	pg.over[rel] = value
}

func (pg *partGroup) set(rel, value []byte) {
	pg.mutated = true
	pg.write(string(rel), value)
	pg.g.grow(len(rel), len(value))
}

func (pg *partGroup) del(rel []byte) {
	pg.mutated = true
	pg.write(string(rel), nil)
	pg.g.grow(len(rel), 0)
}

// host opens a host in the group, or makes an unknown one. Callers that change
// it call touch.
func (pg *partGroup) host(h crawl.Host) *groupHost {
	if e, ok := pg.hosts[h]; ok {
		return e
	}
	e := &groupHost{fresh: true, absent: true}
	if v, ok := pg.hostValue(h); ok {
		if err := e.Decode(v); err != nil {
			pg.g.fail(fmt.Errorf("%w: host %s", err, h))
			e.HostEntry = layout.HostEntry{}
		}
		e.fresh, e.absent = !e.Admitted(), false
	}
	if pg.hosts == nil {
		pg.hosts = map[crawl.Host]*groupHost{}
	}
	pg.hosts[h] = e
	return e
}

// hostValue reads a host's entry, unless the filter knows that there is none.
func (pg *partGroup) hostValue(h crawl.Host) ([]byte, bool) {
	if fl := pg.part.filter; fl != nil && !fl.Maybe(layout.FingerprintOf(string(h))) {
		return nil, false
	}
	return pg.get(layout.AppendHost(nil, layout.TableHosts, h))
}

// touch says that the host has to be written.
func (pg *partGroup) touch(e *groupHost) {
	if !e.dirty {
		e.dirty = true
		pg.g.count += 3
		pg.g.size += 400
	}
}

// queuedNews notes that a host got a URL.
func (pg *partGroup) queuedNews(h crawl.Host, band crawl.Band) {
	if pg.news == nil {
		pg.news = map[crawl.Host]crawl.Band{}
	}
	if old, ok := pg.news[h]; !ok || band < old {
		pg.news[h] = band
	}
}

// writeHosts puts the changed hosts, and what follows from them for the wake
// index, into the group: a host has queued URLs exactly when it has one entry
// there.
func (pg *partGroup) writeHosts() {
	for name, e := range pg.hosts {
		if !e.dirty {
			continue
		}
		band, waits := e.Best()
		place := e.Wake
		if waits && (!e.Awake || e.parked || band < e.Wake.Band) {
			place = layout.WakeOf(band, &e.HostState)
		}
		if e.Awake && (!waits || place != e.Wake) {
			pg.del(layout.AppendWakeKey(nil, e.Wake, name))
		}
		if waits && (!e.Awake || place != e.Wake) {
			pg.set(layout.AppendWakeKey(nil, place, name), []byte{layout.FormatVersion})
		}
		if !waits {
			place = layout.WakePlace{}
		}
		e.Awake, e.Wake = waits, place
		pg.set(layout.AppendHost(nil, layout.TableHosts, name), layout.EncodeHost(&e.HostEntry))
		if e.absent {
			e.absent = false
			pg.learn(layout.FingerprintOf(string(name)))
		}
	}
}

// finish completes the partition's entries: hosts, meta, state.
func (pg *partGroup) finish() (m Mutation) {
	pg.writeHosts()
	if pg.mutated {
		pg.state.Seq++
		pg.writeMeta()
	}
	m.Epoch, m.Seq = pg.state.Epoch, pg.state.Seq
	size := 0
	for rel := range pg.over {
		size += layout.PrefixLen + len(rel)
	}
	keys := make([]byte, 0, size)
	pg.g.entries = slices.Grow(pg.g.entries, len(pg.over))
	for rel, v := range pg.over {
		from := len(keys)
		keys = append(layout.AppendPrefix(keys, pg.state.Partition, pg.state.Generation), rel...)
		key := keys[from:len(keys):len(keys)]
		pg.g.entries = append(pg.g.entries, storage.Entry{Key: key, Value: v})
		if pg.mutated && len(pg.part.sinks) > 0 {
			m.Entries = append(m.Entries, storage.Entry{Key: key[layout.PrefixLen:], Value: v})
		}
	}
	if pg.restated {
		pg.state.Changes++
		pg.g.entries = append(pg.g.entries, storage.Entry{Key: layout.StateKey(pg.state.Partition), Value: layout.EncodeState(&pg.state)})
	}
	return m
}

// commit writes the group and makes it the frontier's state. full is why it must do
// without space on the disk; nil: it need not. Its error is a failure of the store, or
// ErrNoSpace, and then nothing has changed.
func (g *group) commit(full error) error {
	mutations := make([]Mutation, len(g.order))
	if g.err == nil {
		for i, pg := range g.order {
			mutations[i] = pg.finish()
		}
	}
	if g.snap != nil {
		g.snap.Close()
	}
	if g.err != nil {
		return g.err
	}
	if len(g.entries) > 0 {
		if err := g.f.writing.during(func() error { return g.f.write(g.entries, full) }); err != nil {
			return err
		}
	}
	if g.f.marks != nil {
		if err := g.f.writing.during(g.mark); err != nil {
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
func (g *group) mark() error {
	for _, pg := range g.order {
		if pg.mutated || pg.restated || pg.followed {
			g.f.marks.Set(pg.state.Partition, recovery.MarkOf(&pg.state))
		}
	}
	return g.f.marks.Flush()
}

// writeMeta writes the partition's books as they stand now.
func (pg *partGroup) writeMeta() {
	pg.write(layout.MetaKey, layout.EncodeMeta(&pg.state, pg.state.Line.Stamp(pg.g.f.run, pg.g.now)))
}

// publish makes the group's copy of a partition the real one.
func (pg *partGroup) publish(m Mutation) {
	f := pg.g.f
	pg.part.PartState = pg.state
	if pg.mutated || pg.restated {
		f.parts[pg.state.Partition] = pg.part
	}
	for _, k := range pg.seen {
		f.cache.Add(k)
	}
	if pg.mutated {
		pg.part.deliver(m)
		f.refreshPayloads(pg.part)
	}
	if fl := pg.part.filter; fl != nil && fl.Full() && !pg.part.rebuilding {
		f.rebuilds.add(rebuild{pg.state.Partition, layout.TableRecords})
	}
}

func (g *group) publishMetas() {
	g.f.mu.Lock()
	defer g.f.mu.Unlock()
	for _, pg := range g.order {
		if pg.mutated || pg.restated || pg.followed {
			g.f.showLocked(&pg.part.PartState)
		}
	}
	for p, r := range g.sets {
		g.f.sets[p] = r
	}
}

// announce calls OnQueued with the hosts that got URLs.
func (g *group) announce() {
	if g.f.o.OnQueued == nil {
		return
	}
	var news []QueuedHost
	for _, pg := range g.order {
		for h, band := range pg.news {
			news = append(news, QueuedHost{pg.state.Partition, h, band})
		}
	}
	if len(news) > 0 {
		g.f.o.OnQueued(news)
	}
}
