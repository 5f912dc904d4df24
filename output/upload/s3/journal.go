package s3

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Entry is a file that the store has.
type Entry struct {
	File string `json:"file"` // folder/file
	// Target.Place of the store; "": a journal of before 2026-11-27, which has one store
	Place string    `json:"place,omitempty"`
	Key   string    `json:"key"`
	Bytes int64     `json:"bytes"`
	Tag   string    `json:"tag"` // of the digests of its parts, see Sums
	At    time.Time `json:"at"`
}

// Journal is the list of what was sent. Its methods may be called from any goroutine.
type Journal struct {
	mu    sync.Mutex // guards all below
	f     *os.File
	files map[string]Entry
	bytes int64
}

// OpenJournal reads a journal, or begins one. A line that a crash cut off is removed.
func OpenJournal(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, err
	}
	j := &Journal{f: f, files: map[string]Entry{}}
	whole := int64(0)
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var e Entry
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf(
				"%s, after byte %d: %w: remove that line, and its file is sent again", path, whole,
				err), f.Close())
		}
		whole += int64(len(line))
		j.keep(e)
	}
	if err := f.Truncate(whole); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(whole, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

func (j *Journal) keep(e Entry) {
	j.bytes += e.Bytes - j.files[e.File].Bytes
	j.files[e.File] = e
}

// Add notes durably that the store has a file.
func (j *Journal) Add(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.f.Write(append(line, '\n')); err != nil {
		return err
	}
	if err := j.f.Sync(); err != nil {
		return err
	}
	j.keep(e)
	return nil
}

// Get finds a file by its name, folder/file.
func (j *Journal) Get(name string) (Entry, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, ok := j.files[name]
	return e, ok
}

// In reports whether the file is in the store at a place.
func (e *Entry) In(place string) bool { return e.Place == "" || e.Place == place }

// Has reports whether the store at a place has a file.
func (j *Journal) Has(name, place string) bool {
	e, ok := j.Get(name)
	return ok && e.In(place)
}

// All lists the entries, in no order.
func (j *Journal) All() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := make([]Entry, 0, len(j.files))
	for _, e := range j.files {
		all = append(all, e)
	}
	return all
}

// Bytes is the size of all files that were sent.
func (j *Journal) Bytes() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.bytes
}

// Close closes the file.
func (j *Journal) Close() error { return j.f.Close() }
