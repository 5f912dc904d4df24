package crawldoc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/focus"
	"crawlnode/local/datadir"
	"crawlnode/local/files"
	"crawlnode/pipeline"
	"crawlnode/settings/scopeset"
	"crawlnode/settings/sites"
	"crawlnode/web/normalize"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// Rulebook is an immutable snapshot of a document with its compiled rules.
type Rulebook struct {
	Doc      *Document
	Rules    *scope.Rules
	Pipeline *pipeline.Rules // the same, as the pipeline asks for it
}

// Store keeps the document in memory and on disk, and the scope entries on disk. Entries are only
// ever added; a set needs no order between nodes. The exported fields do not change after Begin.
// Any goroutine may call its methods.
type Store struct {
	Scope *scopeset.Set
	Seeds *scope.Seeds // on Scope
	Fresh bool         // there was nothing on disk: this node is new, here and in its cluster

	dir  *datadir.Dir
	self string // origin of the entries that this node adds; set by Begin
	book atomic.Pointer[Rulebook]

	mu sync.Mutex // orders writers of the document
}

// Open loads the document from disk. If there is none, first is used: a founder's own settings, or
// a joiner's until it has the cluster's (version 0).
func Open(dir *datadir.Dir, first crawl.Settings) (*Store, error) {
	return open(&Store{dir: dir}, dir.Path(), first, func() (*scopeset.Set, error) {
		return scopeset.Open(filepath.Join(dir.Path(), "scope"), dir.Path())
	})
}

// OpenReadOnly loads the document of a node that does not run, and changes nothing in its data
// directory. Of the Store's methods only Current and Close may be called.
func OpenReadOnly(dataDir string) (*Store, error) {
	if _, err := os.Stat(filepath.Join(dataDir, "crawl.json")); errors.Is(err, os.ErrNotExist) {
		return nil, datadir.Usage(fmt.Errorf("%s has no settings of a crawl: its node has not begun",
			dataDir))
	}
	return open(&Store{}, dataDir, crawl.Settings{}, func() (*scopeset.Set, error) {
		return scopeset.OpenReadOnly(filepath.Join(dataDir, "scope"), os.TempDir())
	})
}

func open(s *Store, path string, first crawl.Settings,
	entries func() (*scopeset.Set, error)) (*Store, error) {
	doc := &Document{Settings: first, State: crawl.CrawlIdle}
	b, err := os.ReadFile(filepath.Join(path, "crawl.json"))
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, datadir.Failed("read crawl.json", err)
	default:
		if doc, err = decode(b, readNote(filepath.Join(path, ranFile))); err != nil {
			return nil, damaged(path, err)
		}
	}
	if s.Scope, err = entries(); err != nil {
		return nil, datadir.Failed("open the scope entries", err)
	}
	s.Seeds = scope.SeedsOn(s.Scope)
	s.Fresh = doc.Version == 0 && s.Scope.Len() == 0
	book, err := s.compile(doc)
	if err != nil {
		return nil, errors.Join(damaged(path, err), s.Scope.Close())
	}
	s.book.Store(book)
	return s, nil
}

// ReadSettings reads the settings of the crawl from a data directory that a node may be using; nil:
// it has none.
func ReadSettings(dataDir string) (*crawl.Settings, error) {
	path := filepath.Join(dataDir, "crawl.json")
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	doc, err := decode(b, note{})
	if err != nil {
		return nil, fmt.Errorf("the settings of the crawl in %s are damaged: %w. "+
			"Put the file back from a backup, or use another node's data directory", path, err)
	}
	return &doc.Settings, nil
}

// damaged is the error of a document that cannot be read, with the remedies.
func damaged(dir string, err error) error {
	path := filepath.Join(dir, "crawl.json")
	return datadir.Failed("read the settings of the crawl", fmt.Errorf("the file %s is damaged: %w. "+
		"Put it back from a backup; or take the settings before their last change with the command cp "+
		"%s.spare %s; "+
		"or move it away, and start with the flags of the crawl: a node of a cluster then takes the "+
		"settings of the others", path, err, path, path))
}

// Begin sets the origin of entries that are added from now on. Entries that an earlier version kept
// in one file for all become this node's own.
func (s *Store) Begin(self crawl.NodeID) error {
	s.self = string(self)
	old := s.dir.Join("scope.log")
	b, err := os.ReadFile(old)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return datadir.Failed("read scope.log", err)
	}
	text := string(b[:bytes.LastIndexByte(b, '\n')+1]) // a partial line was never acknowledged
	s.Fresh = s.Fresh && text == ""
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

// Close closes the files.
func (s *Store) Close() error { return s.Scope.Close() }

func (s *Store) compile(d *Document) (*Rulebook, error) {
	c := d.Settings
	table, err := s.compileSites(&c)
	if err != nil {
		return nil, err
	}
	rules, err := compileScope(&c, table)
	if err != nil {
		return nil, err
	}
	same, err := normalize.Parse(c.Normalize)
	if err != nil {
		return nil, err
	}
	book := &Rulebook{Doc: d, Rules: rules, Pipeline: &pipeline.Rules{
		Settings:  c,
		Scope:     rules,
		Seeds:     s.Seeds,
		Normalize: same,
		Rejudge:   d.Rejudge,
		Entries:   s.Scope.Digest,
		Sites:     table,
	}}
	if book.Pipeline.Basis, err = basisOf(&c); err != nil {
		return nil, err
	}
	if (c.Renders() || table.Renders()) && len(c.RenderMatch) > 0 {
		if book.Pipeline.RenderMatch, err = scope.Compile(scope.Options{
			Mode:    scope.Any,
			Include: c.RenderMatch,
		}); err != nil {
			return nil, fmt.Errorf("the pages to render: %w", err)
		}
	}
	if err := s.addFocus(book); err != nil {
		return nil, err
	}
	return book, nil
}

// addFocus reads the topic model of the settings. The one of the book before is kept when it is the
// same: many changes are not of the topic.
func (s *Store) addFocus(book *Rulebook) error {
	topic := book.Doc.Settings.Focus
	if topic == nil {
		return nil
	}
	if before := s.book.Load(); before != nil && before.Doc.Settings.Focus.Equal(topic) {
		book.Pipeline.Focus = before.Pipeline.Focus
		return nil
	}
	m, err := focus.Decode(topic.Model)
	if err != nil {
		return fmt.Errorf("the topic model %q %w", topic.Name, err)
	}
	book.Pipeline.Focus = m
	return nil
}

// compileSites reads the rules for sites. What the book before has of them is kept when it is the
// same: many changes are of other things.
func (s *Store) compileSites(c *crawl.Settings) (*sites.Table, error) {
	if c.Sites == "" {
		return nil, nil
	}
	before := s.book.Load()
	switch {
	case before == nil:
	case reflect.DeepEqual(&before.Doc.Settings, c):
		return before.Pipeline.Sites, nil
	case before.Doc.Settings.Sites == c.Sites:
		return sites.NewTable(before.Pipeline.Sites.File(), config.SiteOverlay(c)), nil
	}
	return CompileSites(c)
}

// CompileSites reads the rules for sites of the settings. Nil: there are none.
func CompileSites(c *crawl.Settings) (*sites.Table, error) {
	file, problems := config.ParseSites(c.Sites, c)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the rules for sites: %w", problems[0])
	}
	return sites.NewTable(file, config.SiteOverlay(c)), nil
}

// CompileScope compiles the scope rules of the settings.
func CompileScope(c *crawl.Settings) (*scope.Rules, error) {
	table, err := CompileSites(c)
	if err != nil {
		return nil, err
	}
	return compileScope(c, table)
}

func compileScope(c *crawl.Settings, table *sites.Table) (*scope.Rules, error) {
	o := scope.Options{Mode: c.Scope, Include: c.Include, Exclude: c.Exclude, MaxDepth: c.MaxDepth}
	if table.Scopes() {
		o.Site = func(u urlnorm.URL) *scope.Rules {
			if site := table.Of(u); site != nil {
				return site.Scope
			}
			return nil
		}
	}
	rules, err := scope.Compile(o)
	if err != nil {
		return nil, fmt.Errorf("the scope rules: %w", err)
	}
	return rules, nil
}

// Current is the current document with its rules.
func (s *Store) Current() *Rulebook { return s.book.Load() }

// Merge adopts doc if it is newer; it is then on disk. Revocations of the older of the two are
// kept: the document then gets the next version, so that all nodes get them. The first result
// reports whether anything changed.
func (s *Store) Merge(doc *Document, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newer, older := doc, s.Current().Doc
	if !doc.NewerThan(older) {
		newer, older = older, doc
	}
	if all, more := newer.Revoked.with(older.Revoked, now); more {
		c := *newer
		c.Version++
		c.By, c.Revoked = crawl.NodeID(s.self), all
		newer = &c
	}
	if newer != older {
		newer = newer.runsAs(older, now)
	}
	if doc = newer; doc == s.Current().Doc {
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
func (s *Store) Change(f func(*Document) *Document) (*Document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	doc := f(s.Current().Doc)
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

func (s *Store) writeLocked(doc *Document) error {
	b, err := encode(doc)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if err := files.Replace(s.dir.Join("crawl.json"), append(b, '\n')); err != nil {
		return datadir.Failed("write crawl.json", err)
	}
	return nil
}

// AddScope stores entries that are new, as this node's, synced to disk.
func (s *Store) AddScope(entries []string) error {
	return scopeError("write the scope entries", s.Scope.Add(s.self, entries))
}

// TakeScope stores pieces of other nodes' logs, synced to disk.
func (s *Store) TakeScope(pieces []scopeset.Piece) error {
	return scopeError("write the scope entries of other nodes", s.Scope.Take(pieces))
}

// scopeError separates errors of the disk from entries that cannot be stored.
func scopeError(doing string, err error) error {
	if err == nil || errors.Is(err, scopeset.ErrEntry) || errors.Is(err, scopeset.ErrOrigin) {
		return err
	}
	return datadir.Failed(doing, err)
}
