package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Errors of Decode.
var (
	// ErrCorrupt: the state file is damaged. It must not be replaced by a new
	// one under the same id: its promises would be lost.
	ErrCorrupt = errors.New("membership: the state file membership.json is damaged; no older copy may take its place, since this node has voted since: " +
		"start it with another --data-dir, and where there are other nodes have them forget it (crawlnode nodes forget NODE)")
	// ErrForeign: the state file is intact, but not for this node: a newer release
	// wrote it, or it is another cluster's.
	ErrForeign = errors.New("membership: the data directory belongs to something else")
)

// FileName is the name of the state file in the data directory.
const FileName = "membership.json"

// File stores the document in a file.
type File struct {
	name    string
	replace func(path string, content []byte) error
}

// NewFile returns a File for FileName in dir, which must exist. replace gives a file a
// new content that survives a crash and a power loss; if it fails, the file has the old
// content or the new one. Blanks behind the content do no harm.
func NewFile(dir string, replace func(path string, content []byte) error) *File {
	return &File{filepath.Join(dir, FileName), replace}
}

// Load returns what Save stored last, or nil if nothing was ever stored.
func (f *File) Load() ([]byte, error) {
	out, err := os.ReadFile(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("membership: read state: %w", err)
	}
	return out, nil
}

// Save replaces the document.
func (f *File) Save(doc []byte) error {
	if err := f.replace(f.name, doc); err != nil {
		return fmt.Errorf("membership: write state: %w", err)
	}
	return nil
}

// Memory stores the document in memory, for simulations: it survives the node, not the
// process. It is safe for concurrent use.
type Memory struct {
	mu  sync.Mutex
	doc []byte
}

// Load returns what Save stored last, or nil.
func (m *Memory) Load() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.doc), nil
}

// Save replaces the document.
func (m *Memory) Save(doc []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doc = slices.Clone(doc)
	return nil
}
