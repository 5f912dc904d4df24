package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crawlnode/search/segment"
)

// Repair says what Open found damaged and mended. The zero value is a sound index.
type Repair struct {
	// Rebuilt is the number of segments whose postings were made anew from their stored documents.
	Rebuilt int
	// Lost is the number of documents that could not be read. Which they were is not known: the
	// caller compares Count with what each partition should have, and indexes again what is missing.
	Lost int
	// All: nothing is known of what there was, and the index is empty.
	All bool
}

// Damaged reports whether anything was.
func (r Repair) Damaged() bool { return r != Repair{} }

// recover reads the manifest, opens its segments, mends damaged ones and removes other files. It
// runs before anything else uses the index.
func (x *Index) recover() (Repair, error) {
	var repair Repair
	m := manifest{}
	raw, err := os.ReadFile(filepath.Join(x.dir, manifestName))
	if err == nil {
		m, err = decodeManifest(raw)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		found, err := filepath.Glob(filepath.Join(x.dir, "segment-*"))
		if err != nil {
			return repair, err
		}
		// The very first Apply may have been cut off; more files were once in a manifest.
		repair.All = len(found) > 1
	case errors.Is(err, errManifest):
		repair.All = true
	case err != nil:
		return repair, fmt.Errorf("open the index in %s: %w", x.dir, err)
	}
	x.next = m.next
	parts := x.openParts(&m, &repair)
	if err := x.tidy(&m); err != nil {
		return repair, err
	}
	x.now = newSnapshot(parts)
	if repair.Damaged() {
		x.log.Warn("the index was damaged and has been rebuilt from what is left of it",
			"folder", x.dir, "segments_rebuilt", repair.Rebuilt, "documents_lost", repair.Lost,
			"everything_lost", repair.All)
		return repair, x.publish(parts)
	}
	return repair, nil
}

func (x *Index) openParts(m *manifest, repair *Repair) []*part {
	var parts []*part
	for _, p := range m.parts {
		seg, err := segment.Open(segmentPath(x.dir, p.number))
		if err == nil && seg.Len() == p.n {
			parts = append(parts, newPart(seg, p.number, p.deleted))
			continue
		}
		repair.Rebuilt++
		rebuilt, n := x.rebuild(p)
		alive := p.n
		for doc := range uint32(p.n) {
			if p.deleted.Has(doc) {
				alive--
			}
		}
		repair.Lost += alive - n
		parts = append(parts, rebuilt...)
	}
	return parts
}

// rebuildAt bounds the documents that a rebuild holds in memory.
const rebuildAt = 2000

// rebuild makes new segments of what can be read of a damaged one, and returns how many documents
// they have.
func (x *Index) rebuild(p manifestPart) (parts []*part, n int) {
	builder := segment.NewBuilder(x.stem)
	flush := func() {
		if builder.Len() == 0 {
			return
		}
		made, err := x.write(builder)
		if err != nil {
			x.log.Error("a damaged segment of the index cannot be rebuilt", "documents", builder.Len(),
				"error", err)
		} else {
			parts, n = append(parts, made), n+builder.Len()
		}
		builder = segment.NewBuilder(x.stem)
	}
	_, err := segment.Salvage(segmentPath(x.dir, p.number), func(doc uint32, record []byte) {
		d, _, err := ParseDocument(record)
		if err != nil || p.deleted.Has(doc) {
			return
		}
		e := entryOf(&d)
		builder.Add(&e)
		if builder.Len() >= rebuildAt {
			flush()
		}
	})
	flush()
	if err != nil {
		x.log.Warn("a segment of the index is damaged", "segment", p.number, "documents_read", n, "error",
			err)
	}
	return parts, n
}

// tidy removes files that the manifest does not name: of batches and merges that a crash cut off,
// or that are not needed any more. Rebuilt segments are newer than those numbers.
func (x *Index) tidy(m *manifest) error {
	found, err := os.ReadDir(x.dir)
	if err != nil {
		return fmt.Errorf("read the folder of the index: %w", err)
	}
	for _, f := range found {
		path := filepath.Join(x.dir, f.Name())
		named := slices.ContainsFunc(m.parts,
			func(p manifestPart) bool { return segmentPath(x.dir, p.number) == path })
		rebuilt := path >= segmentPath(x.dir, m.next) && path < segmentPath(x.dir, x.next)
		if !strings.HasPrefix(f.Name(), "segment-") || named || rebuilt {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove a left-over of the index: %w", err)
		}
	}
	return nil
}
