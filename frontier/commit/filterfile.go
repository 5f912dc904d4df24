package commit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"crawlnode/frontier/filters"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// saveFilters writes the filters of the held partitions. Only what Run left
// behind may call it.
func (w *Writer) saveFilters() error {
	if w.O.BloomDir == "" {
		return nil
	}
	var saved []filters.Saved
	for _, p := range w.parts {
		if p.State == layout.Holder && p.Filter != nil {
			saved = append(saved, filters.Saved{
				Gen:    layout.Generation{Partition: p.Partition, Number: p.Generation},
				Seq:    p.Seq,
				Filter: p.Filter,
			})
		}
	}
	path := filepath.Join(w.O.BloomDir, filters.FileName)
	if err := storage.WriteFile(path, func(out io.Writer) error {
		return filters.Write(out, saved)
	}); err != nil {
		return fmt.Errorf("frontier: saving the Bloom filters: %w", err)
	}
	return nil
}

// loadFilters takes over what saveFilters left, removes the file, and lists
// the held partitions that have no filter.
func (w *Writer) loadFilters() {
	for _, s := range w.takeFilterFile() {
		p := w.parts[s.Gen.Partition]
		if p != nil && p.State == layout.Holder && p.Generation == s.Gen.Number && p.Seq == s.Seq {
			p.Filter = s.Filter
		}
	}
	metas := w.Metas()
	for _, m := range metas {
		if m.State == layout.Holder && w.parts[m.Partition].Filter == nil {
			w.rebuilds.add(rebuild{m.Partition, layout.TableRecords})
		}
	}
	for _, m := range metas { // behind those, which save more
		w.refreshPayloads(w.parts[m.Partition])
	}
}

// takeFilterFile reads and removes the file. Without a good one the filters
// are rebuilt, so an error is only worth a line in the log.
func (w *Writer) takeFilterFile() []filters.Saved {
	if w.O.BloomDir == "" {
		return nil
	}
	path := filepath.Join(w.O.BloomDir, filters.FileName)
	saved, err := filters.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	// Used or not, it must not be there at the next start: this one is going
	// to add URLs.
	if rmErr := os.Remove(path); rmErr != nil {
		err = errors.Join(err, rmErr)
	}
	if err != nil {
		w.log.Warn("the saved Bloom filters cannot be used; they are rebuilt in the background", "file",
			path, "err", err)
		return nil
	}
	return saved
}
