package node

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/datadir"
	"crawlnode/peer"
	"crawlnode/pipeline"
	"crawlnode/store/files"
	"crawlnode/store/scopeset"
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
	// RunSince begins the current run, as a time of this process (doctime.go); nil while
	// none runs. guessed: this process began later, and the time of day told of it.
	RunSince *time.Time `json:"run_since,omitempty"`
	guessed  bool
	// Rejudge says that the scope was changed after the first URLs were admitted.
	Rejudge bool `json:"rejudge,omitempty"`
	// Revoked are the tokens that were ended before their time.
	Revoked revocations `json:"revoked,omitempty"`
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
			c.RunSince, c.guessed = &now, false
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

// docStore keeps the document in memory and on disk, and the scope entries on disk.
// Entries are only ever added; a set needs no order between nodes.
type docStore struct {
	dir   *datadir.Dir
	clock docClock
	self  string // the origin of what this node adds; set by begin
	scope *scopeset.Set
	seeds *scope.Seeds // on scope
	book  atomic.Pointer[rulebook]
	fresh bool // there was nothing on disk: this node is new, here and in its cluster

	mu sync.Mutex // orders writers of the document
}

// openDocStore loads what is on disk. Without any, first is the document: a
// founder's own settings, or a joiner's until it has the cluster's (version 0).
func openDocStore(dir *datadir.Dir, first crawl.Settings, clock docClock) (*docStore, error) {
	s := &docStore{dir: dir, clock: clock}
	doc := &document{Settings: first, State: crawl.CrawlIdle}
	b, err := os.ReadFile(dir.Join("crawl.json"))
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, datadir.Failed("read crawl.json", err)
	default:
		if doc, err = clock.read(b); err != nil {
			return nil, datadir.Failed("read "+dir.Join("crawl.json"), err)
		}
	}
	if s.scope, err = scopeset.Open(dir.Join("scope"), dir.Path()); err != nil {
		return nil, datadir.Failed("open the scope entries", err)
	}
	s.seeds = scope.SeedsOn(s.scope)
	s.fresh = doc.Version == 0 && s.scope.Len() == 0
	book, err := s.compile(doc)
	if err != nil {
		return nil, errors.Join(datadir.Failed("read "+dir.Join("crawl.json"), err), s.scope.Close())
	}
	s.book.Store(book)
	return s, nil
}

// begin tells whose entries those are that are added from now on. What an earlier
// version kept in one file for all becomes this node's own.
func (s *docStore) begin(self crawl.NodeID) error {
	s.self = string(self)
	old := s.dir.Join("scope.log")
	b, err := os.ReadFile(old)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return datadir.Failed("read scope.log", err)
	}
	text := string(b[:bytes.LastIndexByte(b, '\n')+1]) // what a crash cut off was never acknowledged
	s.fresh = s.fresh && text == ""
	for entries := strings.Fields(text); len(entries) > 0; {
		part := entries[:min(len(entries), 10_000)]
		entries = entries[len(part):]
		if err := s.AddScope(part); err != nil {
			return err
		}
	}
	if err := os.Remove(old); err != nil {
		return datadir.Failed("remove scope.log", err)
	}
	return nil
}

// stamp names the rules of this moment.
func (s *docStore) stamp() *peer.RulesStamp {
	d := s.Current().doc
	return &peer.RulesStamp{CrawlVersion: d.Version, CrawlBy: string(d.By), ScopeHash: s.scope.Digest()}
}

// agrees reports whether another node judges by the same rules.
func (s *docStore) agrees(r *peer.RulesStamp) bool {
	own := s.stamp()
	return r.GetCrawlVersion() == own.CrawlVersion && r.GetCrawlBy() == own.CrawlBy && r.GetScopeHash() == own.ScopeHash
}

// Close closes the files.
func (s *docStore) Close() error { return s.scope.Close() }

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

// Merge takes doc over when it is newer; it is on disk then. Revocations of the older of
// the two are kept: the document is then one version on, so that all hear of them. The
// first result tells whether anything changed.
func (s *docStore) Merge(doc *document, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newer, older := doc, s.Current().doc
	if !doc.newerThan(older) {
		newer, older = older, doc
	}
	if all, more := newer.Revoked.with(older.Revoked, now); more {
		c := *newer
		c.Version++
		c.By, c.Revoked = crawl.NodeID(s.self), all
		newer = &c
	}
	if doc = newer; doc == s.Current().doc {
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
	b, err := s.clock.write(doc)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if err := files.Replace(s.dir.Join("crawl.json"), append(b, '\n')); err != nil {
		return datadir.Failed("write crawl.json", err)
	}
	return nil
}

// AddScope stores entries that are new, as this node's, synced to disk.
func (s *docStore) AddScope(entries []string) error {
	return scopeError("write the scope entries", s.scope.Add(s.self, entries))
}

// takeScope stores pieces of other nodes' logs, synced to disk.
func (s *docStore) takeScope(pieces []scopeset.Piece) error {
	return scopeError("write the scope entries of other nodes", s.scope.Take(pieces))
}

// scopeError tells the disk's errors from those of who sent what cannot be stored.
func scopeError(doing string, err error) error {
	if err == nil || errors.Is(err, scopeset.ErrEntry) || errors.Is(err, scopeset.ErrOrigin) {
		return err
	}
	return datadir.Failed(doing, err)
}
