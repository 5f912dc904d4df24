package frontier

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/web/urlnorm"
)

// Notes are what clients of the URLFrontier protocol say of URLs of the cluster's own crawl:
// metadata, and a date at which a URL is wanted again. They stand beside the records, so they move
// and are replicated with the partition, and cost nothing where there are none.

// NotePut is what a client says of a URL.
type NotePut struct {
	Partition crawl.Partition
	URL       urlnorm.URL
	Metadata  crawl.Metadata
	// Known: it is a result, which takes the place of what was said before. Otherwise the URL was
	// discovered, and the note is written only if the URL is not known: it comes before the URL
	// itself, so that nobody gets that without it.
	Known bool
	// Refetch is the date, in seconds since 1970; 0: none. Only with Known.
	Refetch int64
}

const (
	notesPiece      = 500
	notesPieceBytes = 256 << 10
)

// PutNotes stores notes, durably. It is cut into several atomic pieces, and fails with ErrNotHolder
// when one of the partitions is not held here; then some may be stored, and storing all again is
// harmless.
func (f *Frontier) PutNotes(ctx context.Context, puts []NotePut) error {
	return f.inNotes(ctx, puts, "storing", func(pg part, n *NotePut) { pg.putNote(n) })
}

// DropNotes deletes the notes of URLs that were not admitted.
func (f *Frontier) DropNotes(ctx context.Context, puts []NotePut) error {
	return f.inNotes(ctx, puts, "deleting", func(pg part, n *NotePut) {
		if !pg.lookup(n.URL, layout.FingerprintOf(n.URL.String())).ok {
			pg.dropNote(layout.HostOf(n.URL), layout.FingerprintOf(n.URL.String()))
		}
	})
}

func (f *Frontier) inNotes(
	ctx context.Context,
	puts []NotePut,
	what string,
	do func(part, *NotePut),
) error {
	for len(puts) > 0 {
		n, size := 0, 0
		for n < len(puts) && n < notesPiece && (n == 0 || size < notesPieceBytes) {
			size += puts[n].Metadata.Size() + 2*len(puts[n].URL.String()) + 300
			n++
		}
		piece := puts[:n]
		puts = puts[n:]
		err := f.do(
			ctx,
			&commit.Request{
				Patient: true,
				Entries: 4 * n,
				Bytes:   size,
				Apply: f.in(func(g group) error {
					for i := range piece {
						if pg := g.part(piece[i].Partition); !pg.State.Serves() {
							return fmt.Errorf("%w: partition %d", ErrNotHolder, piece[i].Partition)
						}
					}
					for i := range piece {
						do(g.part(piece[i].Partition), &piece[i])
					}
					return nil
				}),
			},
		)
		if err != nil {
			return fmt.Errorf("frontier: %s %d notes of clients: %w", what, len(piece), err)
		}
	}
	return nil
}

// putNote writes one note.
func (pg part) putNote(n *NotePut) {
	host, fp := layout.HostOf(n.URL), layout.FingerprintOf(n.URL.String())
	if !n.Known && pg.lookup(n.URL, fp).ok {
		return
	}
	key := layout.AppendNoteKey(nil, host, fp)
	now := pg.Group.Now
	e := layout.NoteEntry{Created: now.Wall.Unix(), Metadata: n.Metadata}
	if old, ok := pg.note(key); ok {
		e.Created = old.Created
		if old.Due != 0 {
			pg.Del(layout.AppendDateKey(nil, old.Due, host, fp))
			pg.State.Counters.NoteDates--
		}
	}
	e.HTTPS, e.Rest = layout.SplitURL(n.URL)
	if e.Refetch = n.Refetch; e.Refetch != 0 {
		at := now.Now.Add(time.Unix(e.Refetch, 0).Sub(now.Wall))
		e.Due = max(layout.MillisOf(pg.State.Line.Write(at)), 1)
		pg.Set(layout.AppendDateKey(nil, e.Due, host, fp), dated)
		pg.State.Counters.NoteDates++
	}
	pg.setNote(key, &e)
}

// dated is the value of a key that says all.
var dated = []byte{layout.FormatVersion}

// note reads a note within a group. Its Rest is not kept.
func (pg part) note(key []byte) (e layout.NoteEntry, ok bool) {
	v, ok := pg.Get(key)
	if !ok {
		return e, false
	}
	e, err := layout.DecodeNote(v)
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w in partition %d", err, pg.State.Partition))
		return e, false
	}
	e.Rest = append([]byte(nil), e.Rest...)
	return e, true
}

// setNote writes a note and counts its bytes.
func (pg part) setNote(key []byte, e *layout.NoteEntry) {
	if v, ok := pg.Get(key); ok {
		pg.State.Counters.NoteBytes -= int64(len(v))
	}
	v := layout.EncodeNote(e)
	pg.State.Counters.NoteBytes += int64(len(v))
	pg.Set(key, v)
}

// dropNote deletes a note, if there is one.
func (pg part) dropNote(host crawl.Host, fp layout.Fingerprint) {
	key := layout.AppendNoteKey(nil, host, fp)
	v, ok := pg.Get(key)
	if !ok {
		return
	}
	pg.State.Counters.NoteBytes -= int64(len(v))
	if e, ok := pg.note(key); ok && e.Due != 0 {
		pg.Del(layout.AppendDateKey(nil, e.Due, host, fp))
		pg.State.Counters.NoteDates--
	}
	pg.Del(key)
}

// NoteOf reads what a client has said of a URL; false: nothing. It fails with ErrNotHolder when
// nothing of the partition is here.
func (f *Frontier) NoteOf(p crawl.Partition, u urlnorm.URL) (n crawl.Note, ok bool, err error) {
	v, err := f.w.Read(p)
	if err != nil {
		return n, false, err
	}
	defer v.Close()
	b, ok, err := v.Get(
		layout.AppendNoteKey(nil, layout.HostOf(u), layout.FingerprintOf(u.String())),
	)
	if err != nil || !ok {
		return n, false, err
	}
	e, err := layout.DecodeNote(b)
	if err != nil || !layout.SameURL(u, e.HTTPS, e.Rest) {
		return n, false, err
	}
	return crawl.Note{
		URL:      u.String(),
		Metadata: e.Metadata,
		Created:  e.Created,
		Refetch:  e.Refetch,
	}, true, nil
}

// date is a note whose date has come.
type date struct {
	ms   uint64
	host crawl.Host
	fp   layout.Fingerprint
}

// MoveDates puts URLs whose dates have come by now back into their queues, at most n of a
// partition, and returns how many dates were used up. A URL that waits already, that is not known,
// or that a person has removed stays as it is. It fails with ErrNotHolder when the partition is not
// held here.
func (f *Frontier) MoveDates(
	ctx context.Context,
	p crawl.Partition,
	now time.Time,
	n int,
) (moved int, err error) {
	m, line, err := f.w.Held(p)
	if err != nil || m.Counters.NoteDates == 0 {
		return 0, err
	}
	dates, err := f.dates(p, layout.MillisOf(line.Write(now)), n)
	if err != nil || len(dates) == 0 {
		return 0, err
	}
	err = f.do(
		ctx,
		&commit.Request{
			Patient: true,
			Entries: len(dates) * dueEntries,
			Bytes:   len(dates) * dueBytes,
			Apply: f.in(func(g group) error {
				pg, err := g.leased(&crawl.Lease{Partition: p, Epoch: m.Epoch})
				for i := range dates {
					if err == nil {
						pg.moveDate(&dates[i])
					}
				}
				return err
			}),
		},
	)
	if err != nil {
		return 0, fmt.Errorf(
			"frontier: queueing URLs whose date has come in partition %d: %w",
			p,
			err,
		)
	}
	return len(dates), nil
}

// dates reads the dates until a place on the timeline.
func (f *Frontier) dates(p crawl.Partition, until uint64, n int) (dates []date, err error) {
	v, err := f.w.Read(p)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	it := v.Iterate(layout.DatesPrefix())
	defer it.Close()
	for it.Seek(v.Abs(layout.DatesPrefix())); it.Valid() && len(dates) < n; it.Next() {
		ms, host, fp, ok := layout.ParseDateKey(it.Key()[layout.PrefixLen:])
		if !ok {
			return nil, fmt.Errorf("%w: date of a client in partition %d", layout.ErrCorrupt, p)
		}
		if ms > until {
			break
		}
		dates = append(dates, date{ms, host, fp})
	}
	return dates, nil
}

// moveDate uses up one date.
func (pg part) moveDate(d *date) {
	key := layout.AppendNoteKey(nil, d.host, d.fp)
	e, ok := pg.note(key)
	dateKey := layout.AppendDateKey(nil, d.ms, d.host, d.fp)
	if _, is := pg.Get(dateKey); !is {
		return
	}
	pg.Del(dateKey)
	pg.State.Counters.NoteDates--
	if !ok || e.Due != d.ms {
		return // the date is of no note
	}
	e.Due = 0
	pg.setNote(key, &e)
	u, err := layout.JoinURL(d.host, e.HTTPS, e.Rest)
	if err != nil {
		pg.Group.Fail(err)
		return
	}
	found := pg.lookup(u, d.fp)
	if rec := &found.rec.Record; found.ok && rec.State != crawl.Queued && !removedByHand(rec) {
		pg.requeue(
			&crawl.Target{
				URL:   u,
				Depth: rec.Depth,
				Band:  rec.Band,
				Hops:  rec.Hops,
				Via:   rec.Via,
				Again: true,
			},
			d.fp,
			&found,
		)
	}
}
