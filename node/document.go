package node

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/pipeline"
	"crawlnode/web/scope"
)

// document is what all nodes must agree on about the crawl. A node that changes
// it raises Version and sends it to every member; the greater (Version, By)
// wins everywhere, so that two changes at once end in one of them on all nodes.
type document struct {
	Version  uint64         `json:"version"`
	By       crawl.NodeID   `json:"by"`
	Settings crawl.Settings `json:"settings"`
	State    string         `json:"state"` // crawl.CrawlIdle...
	Reason   string         `json:"finish_reason,omitempty"`
	// Started is when the first seed came; RanFor adds up the finished runs.
	Started *time.Time    `json:"started_at,omitempty"`
	RanFor  time.Duration `json:"ran_for"`
	// RunSince begins the current run; nil while none runs.
	RunSince *time.Time `json:"run_since,omitempty"`
	// Rejudge says that the scope was changed after the first URLs were admitted.
	Rejudge bool `json:"rejudge,omitempty"`
}

// newerThan orders documents the same way on every node.
func (d *document) newerThan(o *document) bool {
	if d.Version != o.Version {
		return d.Version > o.Version
	}
	return d.By > o.By
}

// runningFor is how long the crawl has run in all.
func (d *document) runningFor(now time.Time) time.Duration {
	if d.RunSince == nil {
		return d.RanFor
	}
	return d.RanFor + max(now.Sub(*d.RunSince), 0)
}

// enter returns a copy of d in another state, one version on.
func (d *document) enter(state, reason string, by crawl.NodeID, now time.Time) *document {
	c := *d
	c.Version++
	c.By, c.State, c.Reason = by, state, reason
	if state == crawl.CrawlRunning {
		if c.Started == nil {
			c.Started = &now
		}
		if c.RunSince == nil {
			c.RunSince = &now
		}
		return &c
	}
	c.RanFor, c.RunSince = d.runningFor(now), nil
	return &c
}

// rulebook is an immutable snapshot of a document with its compiled rules.
type rulebook struct {
	doc      *document
	rules    *scope.Rules
	pipeline *pipeline.Rules
}

// docStore keeps the document and the scope entries in memory and on disk.
// Scope entries are only ever added; a set needs no order between nodes.
type docStore struct {
	dir   *dataDir
	seeds *scope.Seeds
	book  atomic.Pointer[rulebook]
	// hash is the exclusive or of the entries' hashes: equal sets have equal
	// hashes, in whatever order they grew.
	hash atomic.Uint64

	mu  sync.Mutex // orders writers; guards log
	log *os.File
}

// openDocStore loads what is on disk. Without any, first is the document: a
// founder's own settings, or a joiner's until it has the cluster's (version 0).
func openDocStore(dir *dataDir, first crawl.Settings) (*docStore, error) {
	s := &docStore{dir: dir}
	doc := &document{Settings: first, State: crawl.CrawlIdle}
	b, err := os.ReadFile(dir.join("crawl.json"))
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, storageError("read crawl.json", err)
	default:
		doc = &document{}
		if err := json.Unmarshal(b, doc); err != nil {
			return nil, storageError("read "+dir.join("crawl.json"), err)
		}
	}
	if err := s.openLog(); err != nil {
		return nil, err
	}
	book, err := s.compile(doc)
	if err != nil {
		return nil, errors.Join(storageError("read "+dir.join("crawl.json"), err), s.log.Close())
	}
	s.book.Store(book)
	return s, nil
}

// openLog reads the scope entries. A line that a crash cut off was never
// acknowledged; it is cut away.
func (s *docStore) openLog() error {
	path := s.dir.join("scope.log")
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return storageError("read scope.log", err)
	}
	whole := strings.LastIndexByte(string(b), '\n') + 1
	var entries []string
	lines := bufio.NewScanner(strings.NewReader(string(b[:whole])))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if e := lines.Text(); e != "" {
			entries = append(entries, e)
		}
	}
	if err := lines.Err(); err != nil {
		return storageError("read "+path, err)
	}
	s.seeds = scope.NewSeeds(nil)
	s.take(entries)
	s.log, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err == nil {
		err = s.log.Truncate(int64(whole))
	}
	if err == nil {
		_, err = s.log.Seek(int64(whole), 0)
	}
	if err == nil {
		err = syncDir(s.dir.path)
	}
	if err != nil {
		return storageError("open scope.log", err)
	}
	return nil
}

// take adds durable entries to the set and its hash.
func (s *docStore) take(entries []string) {
	h := s.hash.Load()
	for _, e := range s.seeds.Add(entries...) {
		h ^= xxh3.HashString(e)
	}
	s.hash.Store(h)
}

// stamp names the rules of this moment.
func (s *docStore) stamp() *peer.RulesStamp {
	d := s.Current().doc
	return &peer.RulesStamp{CrawlVersion: d.Version, CrawlBy: string(d.By), ScopeHash: s.hash.Load()}
}

// agrees reports whether another node judges by the same rules.
func (s *docStore) agrees(r *peer.RulesStamp) bool {
	own := s.stamp()
	return r.GetCrawlVersion() == own.CrawlVersion && r.GetCrawlBy() == own.CrawlBy && r.GetScopeHash() == own.ScopeHash
}

// Close closes the log.
func (s *docStore) Close() error { return s.log.Close() }

func (s *docStore) compile(d *document) (*rulebook, error) {
	c := d.Settings
	rules, err := compileScope(&c)
	if err != nil {
		return nil, err
	}
	return &rulebook{doc: d, rules: rules, pipeline: &pipeline.Rules{Settings: c, Scope: rules, Seeds: s.seeds, Rejudge: d.Rejudge}}, nil
}

// compileScope makes the scope rules of the settings.
func compileScope(c *crawl.Settings) (*scope.Rules, error) {
	rules, err := scope.Compile(scope.Options{Mode: c.Scope, Include: c.Include, Exclude: c.Exclude, MaxDepth: c.MaxDepth})
	if err != nil {
		return nil, fmt.Errorf("the scope rules: %w", err)
	}
	return rules, nil
}

// Current is the document with its rules.
func (s *docStore) Current() *rulebook { return s.book.Load() }

// Merge takes doc over when it is newer; it is on disk then. The first result
// tells whether anything changed.
func (s *docStore) Merge(doc *document) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !doc.newerThan(s.Current().doc) {
		return false, nil
	}
	book, err := s.compile(doc)
	if err != nil {
		return false, err
	}
	if err := s.writeLocked(doc); err != nil {
		return false, err
	}
	s.book.Store(book)
	return true, nil
}

// Change applies f to the document and stores the result, unless f returns nil.
func (s *docStore) Change(f func(*document) *document) (*document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	doc := f(s.Current().doc)
	if doc == nil {
		return nil, nil
	}
	book, err := s.compile(doc)
	if err != nil {
		return nil, err
	}
	if err := s.writeLocked(doc); err != nil {
		return nil, err
	}
	s.book.Store(book)
	return doc, nil
}

func (s *docStore) writeLocked(doc *document) error {
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if err := writeFileSynced(s.dir.join("crawl.json"), append(b, '\n')); err != nil {
		return storageError("write crawl.json", err)
	}
	return nil
}

// AddScope stores entries that are new, synced to disk.
func (s *docStore) AddScope(entries []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh []string
	for _, e := range entries {
		if strings.ContainsAny(e, "\r\n") || e == "" || len(e) > 4096 {
			return fmt.Errorf("a scope entry of %d bytes with %.80q", len(e), e)
		}
		if !s.seeds.Has(e) && !slices.Contains(fresh, e) {
			fresh = append(fresh, e)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	end, err := s.log.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = s.log.WriteString(strings.Join(fresh, "\n") + "\n")
	}
	if err == nil {
		err = s.log.Sync()
	}
	if err != nil { // a torn line must not be joined to the next one
		_, seek := s.log.Seek(end, io.SeekStart)
		return storageError("write scope.log", errors.Join(err, s.log.Truncate(end), seek))
	}
	s.take(fresh) // only what is durable counts
	return nil
}
