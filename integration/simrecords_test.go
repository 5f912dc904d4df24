package integration

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	storereader "crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	storefiles "crawlnode/local/files"
	"crawlnode/output/archive"
)

// This file compares at the end what was stored twice:
//
//   - No page is done without its record, and no payload is known without its capture (recorded).
//     An archive that was lost with its machine is not asked.
//   - Copies equal their holders (sameCopies), with archives or without.
//
// That nothing is lost, and that a node goes on by itself when there is space, is judged as ever:
// the crawl ends, with every page.

// recorded checks each page that is stored: its record is in the archive that it names.
func (s *simulation) recorded() {
	s.t.Helper()
	if !s.plan.warc {
		return
	}
	j := archiveJudge{s: s, folders: map[crawl.NodeID]string{}, ids: map[string]bool{}}
	for _, name := range s.names {
		m := s.members[name]
		if m.lost {
			continue
		}
		dir := filepath.Join(m.path, "warc")
		j.folders[crawl.NodeID(m.life.Info().ID)] = dir
		j.read(dir)
	}
	for _, name := range s.up() {
		if err := eachCopy(s.members[name].store,
			func(st *layout.PartState, v *storereader.Partition) error {
				return j.judge(name, v)
			}); err != nil {
			s.t.Errorf("%s: %v", name, err)
		}
	}
	s.note("%d records and %d payloads of copies compared with %d in archives", j.pages, j.payloads,
		len(j.ids))
}

// archiveJudge compares what frontiers say with what is in archives.
type archiveJudge struct {
	s               *simulation
	folders         map[crawl.NodeID]string
	ids             map[string]bool // of all records
	pages, payloads int
	wrong           int
}

func (j *archiveJudge) blame(format string, args ...any) {
	if j.wrong++; j.wrong <= maxVerdicts {
		j.s.t.Errorf(format, args...)
	}
}

// read notes the records of a folder. Another file may be begun meanwhile; its records are of no
// page that is stored yet.
func (j *archiveJudge) read(dir string) {
	paths, err := archive.Files(dir)
	if err != nil {
		j.s.t.Errorf("an archive: %v", err)
	}
	for _, path := range paths {
		if _, err := archive.Scan(path, func(r archive.Record) error {
			j.ids[r.ID] = true
			return r.Verify()
		}); err != nil && !strings.HasSuffix(path, storefiles.OpenSuffix) {
			// the end of an open one may be on its way
			j.s.t.Errorf("%s: %v", path, err)
		}
	}
}

// judge looks for the records of one copy of a partition.
func (j *archiveJudge) judge(name string, v *storereader.Partition) error {
	err := each(v, layout.TableRecords, func(key, value []byte) error {
		host, _, ok := layout.ParseRecordKey(key)
		rec, err := layout.DecodeRecord(value)
		if !ok || err != nil {
			return fmt.Errorf("record %x: %w", key, err)
		}
		dir, kept := j.folders[rec.Archive.Node]
		url := "http://" + string(host) + string(rec.Rest)
		switch {
		case rec.State != crawl.Done:
		case rec.Archive == (crawl.ArchiveRef{}):
			j.blame("F14: %s: %s is done, and names no record", name, url)
		case kept:
			j.pages++
			if r, err := archive.ReadRef(dir, rec.Archive); err != nil || r.TargetURI != url ||
				r.Verify() != nil {
				j.blame("F14: %s: %s is done, and its record at %s %d is %q (%v)", name, url, rec.Archive.File,
					rec.Archive.Offset, r.TargetURI, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return each(v, layout.TableContents, func(key, value []byte) error {
		o, err := layout.DecodeContent(value)
		if err != nil {
			return fmt.Errorf("payload %x: %w", key, err)
		}
		if _, kept := j.folders[o.Node]; kept {
			j.payloads++
			if id := uuidOf(o.Record); !j.ids[id] {
				j.blame("F14: %s: a payload is known by %s, whose record %s is in no archive", name, o.URL, id)
			}
		}
		return nil
	})
}

// uuidOf is the id of a record, as its header has it.
func uuidOf(id [16]byte) string {
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// eachCopy calls do with the partitions that a store serves or copies.
func eachCopy(
	store *storage.Memory,
	do func(*layout.PartState, *storereader.Partition) error,
) error {
	snap, err := store.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	states, _, err := storereader.States(snap)
	if err != nil {
		return err
	}
	for p, st := range states {
		if st.State != layout.Holder && st.State != layout.Copy {
			continue
		}
		if err := do(st, &storereader.Partition{
			Snapshot:   snap,
			Generation: layout.Generation{Partition: p, Number: st.Generation},
		}); err != nil {
			return fmt.Errorf("partition %d: %w", p, err)
		}
	}
	return nil
}

// each calls do with the relative keys of a table, 0 for all of them, and their values.
func each(v *storereader.Partition, table byte, do func(key, value []byte) error) error {
	var from []byte
	if table != 0 {
		from = []byte{table}
	}
	it := v.Iterate(from)
	defer it.Close()
	for it.Seek(v.Abs(from)); it.Valid(); it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		if err := do(it.Key()[layout.PrefixLen:], value); err != nil {
			return err
		}
	}
	return nil
}

// sameCopies waits until each copy of a partition is what its holder has. The crawl has ended, so
// nothing changes them but what is on its way.
func (s *simulation) sameCopies(within time.Duration) {
	s.t.Helper()
	copies := 0
	if s.until(within, func() (why string) {
		copies, why = s.compareCopies()
		return why
	}) {
		s.note("%d copies equal their holders", copies)
	}
}

// compareCopies returns how many copies were compared, and the first difference; "": there is none.
func (s *simulation) compareCopies() (copies int, why string) {
	held, at := map[crawl.Partition]map[string]string{}, map[crawl.Partition]string{}
	for _, state := range []layout.State{layout.Holder, layout.Copy} {
		for _, name := range s.up() {
			err := eachCopy(s.members[name].store,
				func(st *layout.PartState, v *storereader.Partition) error {
					if st.State != state {
						return nil
					}
					content, err := contentOf(v)
					p := v.Generation.Partition
					switch {
					case err != nil:
					case state == layout.Holder:
						held[p], at[p] = content, name
					default:
						copies++
						if diff := firstDifference(content, held[p]); diff != "" {
							return fmt.Errorf("the copy is not as %s has it: %s", at[p], diff)
						}
					}
					return err
				})
			if err != nil {
				return copies, fmt.Sprintf("I2: %s: %v", name, err)
			}
		}
	}
	return copies, ""
}

// contentOf is all of a partition that travels.
func contentOf(v *storereader.Partition) (map[string]string, error) {
	content := map[string]string{}
	err := each(v, 0, func(key, value []byte) error {
		content[string(key)] = string(value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slots, err := storereader.ReadBooks(v.Snapshot)
	if err != nil {
		return nil, err
	}
	books, _, err := slots.Of(v)
	if err == nil { // they say when their node has written them
		books, err = layout.Restamped(books, layout.Stamp{})
	}
	content[layout.MetaKey] = string(books)
	return content, err
}

func firstDifference(a, b map[string]string) string {
	for key, value := range b {
		if other, ok := a[key]; !ok {
			return fmt.Sprintf("%q is missing, and %d keys of %d are there", key, len(a), len(b))
		} else if other != value {
			return fmt.Sprintf("%q is %q, not %q", key, other, value)
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("it has %d keys, not %d", len(a), len(b))
	}
	return ""
}
