package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/output/upload/s3test"
)

// finishedFiles watches the finished files of a cluster's nodes. It keeps a link to each, and when
// one goes, the store must have it, once and whole.
type finishedFiles struct {
	t     *testing.T
	store *s3test.Store
	dirs  []string
	kept  string // the folder of links
	over  func() // ends the looks

	links map[string]string // by path
	there map[string]bool
	gone  int
}

// watchFinished begins to look, until end is called.
func watchFinished(t *testing.T, store *s3test.Store, c *cluster) *finishedFiles {
	t.Helper()
	w := &finishedFiles{
		t:     t,
		store: store,
		kept:  t.TempDir(),
		links: map[string]string{},
		there: map[string]bool{},
	}
	for _, n := range c.nodes {
		w.dirs = append(w.dirs, filepath.Join(n.dir, "warc"), filepath.Join(n.dir, "derived"))
	}
	stop, wait := make(chan struct{}), sync.WaitGroup{}
	w.over = sync.OnceFunc(func() { close(stop); wait.Wait() })
	wait.Go(func() {
		for {
			w.look()
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	t.Cleanup(w.over)
	return w
}

// look links new files, and compares those that have gone.
func (w *finishedFiles) look() {
	now := map[string]bool{}
	for _, dir := range w.dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.t.Error(err)
		}
		for _, e := range entries {
			name := e.Name()
			if !strings.HasSuffix(name, ".warc.gz") && !strings.HasSuffix(name, ".cdxj") &&
				!strings.HasSuffix(name, ".jsonl.gz") {
				continue
			}
			path := filepath.Join(dir, name)
			if w.links[path] == "" {
				link := filepath.Join(w.kept, fmt.Sprint(len(w.links), "-", name))
				if os.Link(path, link) != nil {
					continue // it has gone already
				}
				w.links[path] = link
			}
			now[path] = true
		}
	}
	for path := range w.there {
		if !now[path] {
			w.gone++
			w.compare(path)
		}
	}
	w.there = now
}

func (w *finishedFiles) compare(path string) {
	want, err := os.ReadFile(w.links[path])
	if err != nil {
		w.t.Error(err)
		return
	}
	suffix := "/" + filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)
	if found := w.store.Find(suffix); len(found) != 1 || !bytes.Equal(found[0], want) {
		w.t.Errorf("%s is not on the disk, and the store has %d objects of that name, or another one",
			path, len(found))
	}
}

// end compares all files that were ever seen, and returns how many there were.
func (w *finishedFiles) end() int {
	w.over()
	w.look()
	for path := range w.links {
		w.compare(path)
	}
	return len(w.links)
}
