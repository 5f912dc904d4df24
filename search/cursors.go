package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"crawlnode/crawl"
	"crawlnode/frontier/texts"
	"crawlnode/local/files"
)

// cursor says how far one partition is in the index.
type cursor struct {
	Position texts.Position `json:"position"`
	// Changes is the partition's count of changes up to which all are in the index.
	Changes int64 `json:"changes"`
	// Again says that the partition is read once more from the start, for other rules; what is in the
	// index stays good.
	Again bool `json:"again,omitempty"`
	// Scored is how many documents the partition had when all were last read for their importance.
	Scored int64 `json:"scored,omitempty"`
}

// cursors is what the file holds.
type cursors struct {
	Version    int                         `json:"version"`
	Rules      uint64                      `json:"rules"` // Rules.Version
	Partitions map[crawl.Partition]*cursor `json:"partitions"`
}

const cursorsVersion = 1

func cursorsPath(dir string) string { return filepath.Join(dir, "cursors.json") }

// readCursors reads the file; none, or one that cannot be read, says that nothing is known.
func readCursors(dir string) (c cursors, known bool) {
	c.Partitions = map[crawl.Partition]*cursor{}
	b, err := os.ReadFile(cursorsPath(dir))
	if err != nil {
		return c, false
	}
	var read cursors
	if json.Unmarshal(b, &read) != nil || read.Version != cursorsVersion || read.Partitions == nil {
		return c, false
	}
	for _, cur := range read.Partitions {
		if cur == nil {
			return c, false
		}
	}
	return read, true
}

func (c *cursors) write(dir string) error {
	c.Version = cursorsVersion
	b, err := json.Marshal(c)
	if err == nil {
		err = files.Replace(cursorsPath(dir), b)
	}
	if err != nil {
		return fmt.Errorf("write how far the index is: %w", err)
	}
	return nil
}

// forgetCursors removes the file, so that all is read again.
func forgetCursors(dir string) error {
	if err := os.Remove(cursorsPath(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget how far the index was: %w", err)
	}
	return nil
}
