package hints

import (
	"errors"
	"os"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// This file takes up the hints of an earlier process. What it finds is compared with the store,
// which is the truth: series that do not end exactly where the copy here does are dropped, or cut
// (machine.Series.Resume). Only the newest file is read as a whole; of the others, the index.

// Resumed is a series that goes on. The caller must Add what follows Seq.
type Resumed struct {
	P     crawl.Partition
	Epoch crawl.Epoch
	Seq   crawl.Seq
	Held  bool // by this node; otherwise its mutations come from the holder
}

// Load takes up the series that go on, by what the store has. Nothing may be added before.
func (l *Log) Load(found func(crawl.Partition) machine.Found) []Resumed {
	if l.opts.Dir == "" {
		return nil
	}
	if l.opts.Keep <= 0 {
		_ = os.RemoveAll(l.opts.Dir)
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(found, time.Now()); err != nil {
		l.opts.Logger.Warn(
			"hints of the last run cannot be used: replicas that fell behind are copied as a whole",
			"dir", l.opts.Dir, "err", err)
		l.dropAll()
		deleteAll(l.files.unused)
		l.files.unused = nil
		if err := l.files.clear(); err != nil {
			// They would be taken up by the next start, when the store has other mutations under their
			// numbers: what is kept from now on could not say that they are over.
			l.opts.Logger.Warn(
				"hints of the last run cannot be deleted: none are kept; delete the folder", "dir",
				l.opts.Dir, "err", err)
			l.files.closed = true
		}
		return nil
	}
	var on []Resumed
	for p, x := range l.parts {
		on = append(on, Resumed{P: p, Epoch: x.Epoch, Seq: x.Last, Held: found(p).Held})
	}
	return on
}

func (l *Log) load(found func(crawl.Partition) machine.Found, now time.Time) error {
	if err := l.files.found(); err != nil {
		return err
	}
	for p, s := range l.files.states() {
		x := &series{Series: *s.Series, p: p, id: s.ID, since: s.Since}
		for id, since := range x.since {
			if since.After(now) {
				x.since[id] = now // the clock was set back
			} else if now.Sub(since) > l.opts.Keep {
				delete(x.Behind, id)
				delete(x.since, id)
			}
		}
		if !x.Resume(found(p)) {
			continue
		}
		if x.spans = l.files.spansOf(p, x.id, &x.Series); x.spans == nil && x.Last > x.Base {
			continue
		}
		for _, s := range x.spans {
			s.f.users++
		}
		l.spans += len(x.spans)
		l.parts[p] = x
	}
	for _, f := range slices.Clone(l.files.list) {
		f.places, f.closed = nil, true
		if f.users == 0 {
			l.files.remove(f)
		}
	}
	// What was cut off or dropped must stay so, whatever is lost with the power: the store writes
	// other mutations under these numbers. So the new head is there before an old one goes, and old
	// ones go from the oldest on.
	if len(l.parts) > 0 {
		f, err := l.files.create(l.headLocked())
		if err != nil {
			return err
		}
		l.files.adopt(f)
		if err := errors.Join(f.f.Sync(), l.files.sync()); err != nil {
			return err
		}
	}
	unused := l.files.unused
	l.files.unused = nil
	deleteAll(unused)
	return l.files.sync()
}

// states are the series as the newest file leaves them.
func (fs *files) states() map[crawl.Partition]state {
	now := map[crawl.Partition]state{}
	one := func(s state) {
		if s.Series == nil || s.Series.Behind == nil || s.Since == nil {
			delete(now, s.Partition)
		} else {
			now[s.Partition] = s
		}
	}
	for i, f := range fs.list {
		if i == len(fs.list)-1 {
			// Without its head nothing is known: it may have said that proofs end earlier.
			all, begin, err := f.head()
			if err != nil {
				continue
			}
			for _, s := range all {
				one(s)
			}
			f.scan(begin, one, func(m crawl.CopyMutation) {
				if s, ok := now[m.Partition]; ok {
					if _, ok := s.Series.Follow(m.Epoch, m.Seq); !ok {
						delete(now, m.Partition)
					}
				}
			})
		} else if !f.foot() { // the head of the last file has the states: only places are wanted
			if _, begin, err := f.recordAt(0); err == nil {
				f.scan(begin, func(state) {}, func(crawl.CopyMutation) {})
			}
		}
	}
	return now
}

// spansOf finds a series in the files, from its end back; nil: there is a gap. Newer files count
// first: what stands in older ones under the same numbers was cut off.
func (fs *files) spansOf(p crawl.Partition, id uint64, s *machine.Series) []span {
	var spans []span
	need := s.Last
	for i := len(fs.list) - 1; i >= 0 && need > s.Base; i-- {
		at, ok := fs.list[i].places[p]
		if !ok || at.ID != id || at.First > need {
			continue
		}
		if at.Last < need {
			return nil
		}
		first := max(at.First, s.Base+1)
		spans = append([]span{{f: fs.list[i], first: first, last: need, at: at}}, spans...)
		need = first - 1
	}
	if need > s.Base {
		return nil
	}
	return spans
}
