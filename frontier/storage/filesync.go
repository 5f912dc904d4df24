package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// fileSync makes the files of a Badger store durable. Badger's own Sync holds,
// while the disk works, the lock that every commit needs: on a slow disk each
// call stops the crawl for as long as it takes. This one opens the files by
// their names and takes no lock of the store.
//
// On Linux fsync of any descriptor of a file writes back what was written into
// its shared mappings. What a commit has written is in a log of a table in
// memory (*.mem) or in the value log (*.vlog); when a *.mem is gone, Badger has
// synced the table that took its place, and the MANIFEST that names it, before
// it removed the log. What Badger never syncs by itself are the names of new
// logs and tables: the folder is synced when its names have changed.
type fileSync struct {
	dir   string
	fsync func(*os.File) error

	mu     sync.Mutex // one at a time; guards synced
	synced string     // the names in the folder when it was last synced
}

func newFileSync(dir string) *fileSync { return &fileSync{dir: dir, fsync: (*os.File).Sync} }

// sync returns when all that was written before the call survives a loss of
// power.
func (s *fileSync) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if ext := filepath.Ext(name); ext == ".mem" || ext == ".vlog" {
			if err := s.file(name); err != nil {
				return err
			}
		}
	}
	// Again: a table may have taken the place of a log since.
	if names, err = s.names(); err != nil {
		return err
	}
	if all := strings.Join(names, "/"); all != s.synced {
		if err := s.file("."); err != nil {
			return err
		}
		s.synced = all
	}
	return nil
}

// names lists the folder, sorted.
func (s *fileSync) names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// file syncs one file; one that is gone has a table in its place.
func (s *fileSync) file(name string) error {
	path := filepath.Join(s.dir, name)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(s.fsync(file), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
