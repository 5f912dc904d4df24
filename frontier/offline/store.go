package offline

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/listing"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/web/urlnorm"
)

// Store are the frontiers of nodes that do not run.
type Store struct {
	stores []*storage.ReadOnly
	parts  []part                   // by partition
	left   map[crawl.Partition]bool // those that are only copies here, and are not read
}

// ErrNotHere is inside an error about a partition that is not read.
var ErrNotHere = errors.New("not in the data directories")

// part is a partition with the store that it is read from.
type part struct {
	kv     *storage.ReadOnly
	folder int // of those that Open was given
	layout.PartState
}

// Open opens the frontiers in the folders. With copies it also reads partitions that none of them
// holds.
func Open(copies bool, dirs ...string) (*Store, error) {
	s := &Store{left: map[crawl.Partition]bool{}}
	best := map[crawl.Partition]part{}
	for _, dir := range dirs {
		if err := s.add(dir, best); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	for number, p := range best {
		switch {
		case p.State == layout.Holder || copies:
			s.parts = append(s.parts, p)
		default:
			s.left[number] = true
		}
	}
	slices.SortFunc(s.parts, func(a, b part) int { return int(a.Partition) - int(b.Partition) })
	return s, nil
}

// add opens one folder, and notes where it has the newest of a partition.
func (s *Store) add(dir string, best map[crawl.Partition]part) error {
	kv, err := storage.OpenReadOnly(dir)
	if err != nil {
		return err
	}
	s.stores = append(s.stores, kv)
	states, err := statesOf(kv)
	if err != nil {
		return fmt.Errorf("the frontier in %s: %w", dir, err)
	}
	for p, state := range states {
		if old, ok := best[p]; state.State != layout.Absent && (!ok || newer(state, &old.PartState)) {
			best[p] = part{kv, len(s.stores) - 1, *state}
		}
	}
	return nil
}

// statesOf reads the state of each partition.
func statesOf(kv *storage.ReadOnly) (map[crawl.Partition]*layout.PartState, error) {
	snap := kv.Snapshot()
	defer snap.Close()
	version, ok, err := snap.Get(layout.NodeKey(layout.NodeVersion), nil)
	if err == nil && ok && !bytes.Equal(version, []byte{layout.FormatVersion}) {
		err = fmt.Errorf("it has format %v, this program reads format %d: use the program that wrote it",
			version, layout.FormatVersion)
	}
	if err != nil {
		return nil, err
	}
	states, _, err := reader.States(snap)
	if err != nil {
		return nil, err
	}
	if err := overrule(states, kv.Kept()); err != nil {
		return nil, err
	}
	slots, err := reader.ReadBooks(snap)
	if err != nil {
		return nil, err
	}
	for p, state := range states {
		if err := books(snap, slots, p, state); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// overrule replaces states by those that were written while the disk was full.
func overrule(states map[crawl.Partition]*layout.PartState, kept []storage.Entry) error {
	prefix := layout.NodeKey(layout.NodeStates)
	for _, e := range kept {
		rest, ok := bytes.CutPrefix(e.Key, prefix)
		if !ok || len(rest) != 2 {
			continue
		}
		p := crawl.Partition(binary.BigEndian.Uint16(rest))
		state, err := layout.DecodeState(p, e.Value)
		if err != nil {
			return err
		}
		states[p] = &state
	}
	return nil
}

// books completes a state by the sequence number and the times of the partition's keys.
func books(
	snap storage.Snapshot,
	slots reader.Books,
	p crawl.Partition,
	s *layout.PartState,
) error {
	now := layout.Moment{Now: time.Now(), Wall: time.Now()}
	s.Line = layout.Stamp{}.Begin(now)
	v := reader.Partition{
		Snapshot:   snap,
		Generation: layout.Generation{Partition: p, Number: s.Generation},
	}
	b, _, err := slots.Of(&v)
	if err != nil || b == nil || s.State == layout.Absent {
		return err
	}
	m, err := layout.DecodeMeta(b)
	if err == nil {
		s.Apply(&m)
		s.Line = m.Stamp.Begin(now)
	}
	return err
}

// newer reports whether a is to be read rather than b.
func newer(a, b *layout.PartState) bool {
	if held := a.State == layout.Holder; held != (b.State == layout.Holder) {
		return held
	}
	return a.Epoch > b.Epoch || a.Epoch == b.Epoch && a.Seq > b.Seq
}

// Partitions counts the partitions that are read, and those that are here and are not.
func (s *Store) Partitions() (read, left int) { return len(s.parts), len(s.left) }

// Page reads a page of the URLs that a query wants. It ends when it is full, and at the end of the
// list, however long that takes.
func (s *Store) Page(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	f, err := listing.Compile(q)
	if err != nil {
		return nil, err
	}
	from, after, err := listing.ParseCursor(q.After)
	if err != nil {
		return nil, err
	}
	if q.Limit <= 0 || q.Limit > crawl.MaxURLLines {
		q.Limit = crawl.MaxURLLines
	}
	page := &crawl.URLPage{URLs: []crawl.URLLine{}, Unread: []crawl.UnreadPartition{}}
	for i := range s.parts {
		p := &s.parts[i]
		if p.Partition < from || q.Partition != nil && p.Partition != *q.Partition {
			continue
		}
		if p.Partition > from {
			after = ""
		}
		if len(page.URLs) >= q.Limit {
			next := listing.Cursor(p.Partition, "")
			page.Next = &next
			return page, nil
		}
		part, err := s.read(ctx, p, &f, after, q.Limit-len(page.URLs))
		if err != nil {
			return nil, fmt.Errorf("partition %d: %w", p.Partition, err)
		}
		page.URLs = append(page.URLs, part.Lines...)
		page.Scanned += int64(part.Read)
		if !part.Done {
			next := listing.Cursor(p.Partition, part.Next)
			page.Next = &next
			return page, nil
		}
	}
	return page, nil
}

// read reads a part of the page out of one partition.
func (s *Store) read(
	ctx context.Context,
	p *part,
	f *listing.Filter,
	after listing.Position,
	lines int,
) (listing.Page, error) {
	v := p.open()
	defer v.Close()
	return f.Page(ctx, v, after, listing.Budget{Lines: lines, Bytes: math.MaxInt})
}

// open reads a snapshot of a partition.
func (p *part) open() *reader.Partition {
	return &reader.Partition{Snapshot: p.kv.Snapshot(), Line: p.Line,
		Generation: layout.Generation{Partition: p.Partition, Number: p.Generation}}
}

// Folders says of each folder how many partitions are read there, and the sums of their counters.
func (s *Store) Folders() (read []int, sums []crawl.Counters) {
	read, sums = make([]int, len(s.stores)), make([]crawl.Counters, len(s.stores))
	for i := range s.parts {
		p := &s.parts[i]
		read[p.folder]++
		sums[p.folder].Plus(&p.Counters)
	}
	return read, sums
}

// Folder is that of the folders in which a partition is read; false: in none.
func (s *Store) Folder(p crawl.Partition) (int, bool) {
	found, err := s.find(p)
	if err != nil {
		return 0, false
	}
	return found.folder, true
}

// find finds a partition that is read. The error is an ErrNotHere.
func (s *Store) find(p crawl.Partition) (*part, error) {
	i, ok := slices.BinarySearchFunc(s.parts, p, func(have part, want crawl.Partition) int {
		return int(have.Partition) - int(want)
	})
	switch {
	case ok:
		return &s.parts[i], nil
	case s.left[p]:
		return nil, fmt.Errorf("partition %d is %w but for a copy: give that of the node that holds "+
			"it too, or --copies", p, ErrNotHere)
	}
	return nil, fmt.Errorf("partition %d is %w: give those of the other nodes too", p, ErrNotHere)
}

// Record reads the record of a URL, as frontier.Frontier does.
func (s *Store) Record(p crawl.Partition, u urlnorm.URL) (rec crawl.Record, ok bool, err error) {
	found, err := s.find(p)
	if err != nil {
		return rec, false, err
	}
	v := found.open()
	defer v.Close()
	return v.Record(u)
}

// Refer replaces what names a record's referrer in the store by that page's URL.
func (s *Store) Refer(p crawl.Partition, rec *crawl.Record) error {
	found, err := s.find(p)
	if err != nil {
		return err
	}
	v := found.open()
	defer v.Close()
	return v.Refer(rec)
}

// HostInfo reads what is known of a host, as frontier.Frontier does.
func (s *Store) HostInfo(p crawl.Partition, host crawl.Host) (
	info reader.HostInfo, ok bool, err error) {
	found, err := s.find(p)
	if err != nil {
		return info, false, err
	}
	v := found.open()
	defer v.Close()
	return v.HostInfo(host)
}

// Verify reads the stores whole and names a file that is damaged. What was listed may lack
// something then.
func (s *Store) Verify() error {
	for _, kv := range s.stores {
		if err := kv.Verify(); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the reading.
func (s *Store) Close() error {
	var errs []error
	for _, kv := range s.stores {
		errs = append(errs, kv.Close())
	}
	return errors.Join(errs...)
}
