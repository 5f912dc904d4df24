package frontier

import (
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// Due is a planned page of a held partition.
type Due struct {
	Partition crawl.Partition
	Epoch     crawl.Epoch // in which it was read
	layout.DueSlot
	At time.Time // when its time comes, in this process
	Estimate
}

// Visit reports whether the page is visited at its time; otherwise it is planned anew.
func (e *Due) Visit() bool { return e.Flags&layout.DueVisit != 0 }

// DueCursor is a place in the order of due times, or of records; "" is its start. It is an opaque
// string.
type DueCursor string

// key is the relative key of a place in a table.
func (c DueCursor) key(table byte) []byte { return append([]byte{table}, c...) }

// dueBehind is the place behind a relative key.
func dueBehind(rel []byte) DueCursor { return DueCursor(rel[1:]) + "\x00" }

// eachDue reads the planned pages from a relative key on, until visit returns false. visit may keep
// neither.
func eachDue(
	v *reader.Partition, epoch crawl.Epoch, from []byte, visit func(rel []byte, e *Due) bool,
) error {
	it := v.Iterate([]byte{layout.TableDue})
	defer it.Close()
	for it.Seek(v.Abs(from)); it.Valid(); it.Next() {
		rel := it.Key()[layout.PrefixLen:]
		e := Due{Partition: v.Generation.Partition, Epoch: epoch}
		var ok bool
		if e.DueSlot, ok = layout.ParseDueKey(rel); !ok {
			return fmt.Errorf("%w: the place of a due page", layout.ErrCorrupt)
		}
		value, err := it.Value()
		if err == nil {
			e.Estimate, err = layout.DecodeDue(value)
		}
		if err != nil {
			return err
		}
		e.At = v.Line.Read(e.Time())
		if !visit(rel, &e) {
			return nil
		}
	}
	return nil
}

// eachEstimate is eachDue for what the pages count for alone.
func eachEstimate(v *reader.Partition, visit func(Estimate) bool) error {
	it := v.Iterate([]byte{layout.TableDue})
	defer it.Close()
	for it.Seek(v.Abs([]byte{layout.TableDue})); it.Valid(); it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		e, err := layout.DecodeDue(value)
		if err != nil {
			return err
		}
		if !visit(e) {
			return nil
		}
	}
	return nil
}

// eachDone looks at up to n records behind a place, and calls visit for those of done pages.
func eachDone(
	v *reader.Partition, after DueCursor, n int,
	visit func(crawl.Host, layout.Fingerprint, *crawl.Record),
) (next DueCursor, done bool, err error) {
	it := v.Iterate([]byte{layout.TableRecords})
	defer it.Close()
	for it.Seek(v.Abs(after.key(layout.TableRecords))); it.Valid(); it.Next() {
		if n <= 0 {
			return after, false, nil
		}
		n--
		rel := it.Key()[layout.PrefixLen:]
		after = dueBehind(rel)
		host, fp, ok := layout.ParseRecordKey(rel)
		value, err := it.Value()
		if err == nil && !ok {
			err = fmt.Errorf("%w: the key of a record", layout.ErrCorrupt)
		}
		if err != nil {
			return after, false, err
		}
		if s, ok := layout.StateOf(value); !ok || s != crawl.Done {
			continue
		}
		if rec, err := layout.DecodeRecord(value); err == nil {
			visit(host, fp, &rec.Record)
		}
	}
	return after, true, nil
}
