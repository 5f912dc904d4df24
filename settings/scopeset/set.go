package scopeset

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"crawlnode/local/files"
	"crawlnode/web/scope"
)

// MaxEntry is the largest size of an entry, in bytes.
const MaxEntry = 4096

// Errors that are not caused by the disk.
var (
	// ErrEntry says that a text cannot be an entry: empty, too long, or of several lines.
	ErrEntry = errors.New("scopeset: not an entry")
	// ErrOrigin says that a log's name is not the id of a node.
	ErrOrigin = errors.New("scopeset: not an origin")
)

// Set is the set of scope entries of one node. Any number of goroutines may use it.
type Set struct {
	dir   string
	index *index
	// durable is the synced and indexed part; readers take no lock and do not wait for the disk.
	durable atomic.Pointer[durable]
	entries atomic.Int64 // different ones

	mu   sync.Mutex // orders writers, disk included; guards logs and keys
	logs map[string]*log
	keys []scope.Key // reused
}

// durable is the state after one change.
type durable struct {
	lengths map[string]int64 // bytes of each log
	files   map[string]*log  // for reading below those lengths
	digest  uint64
}

// Open reads the logs in dir, which is created when it is missing. tmp is the folder for the index.
func Open(dir, tmp string) (*Set, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return openSet(dir, tmp, openLog)
}

// OpenReadOnly is Open of a set to which nothing will be added, and changes nothing in dir, which
// need not exist.
func OpenReadOnly(dir, tmp string) (*Set, error) { return openSet(dir, tmp, openLogReadOnly) }

func openSet(dir, tmp string, openLog func(path string) (*log, error)) (*Set, error) {
	s := &Set{dir: dir, index: newIndex(tmp), logs: map[string]*log{}}
	s.durable.Store(&durable{})
	names, err := filepath.Glob(filepath.Join(dir, "*"+logSuffix))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		origin := strings.TrimSuffix(filepath.Base(name), logSuffix)
		l, err := openLog(name)
		if err == nil {
			s.logs[origin] = l
			err = l.replay(s.take)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read %s: %w", name, err), s.Close())
		}
	}
	s.publish()
	return s, nil
}

// Close closes the files.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, l := range s.logs {
		errs = append(errs, l.file.Close())
	}
	return errors.Join(append(errs, s.index.close())...)
}

// Has reports whether an entry has opened the key; it is scope.Index.
func (s *Set) Has(k scope.Key) bool { return s.index.has(k) }

// Len counts the distinct entries.
func (s *Set) Len() int64 { return s.entries.Load() }

// Digest summarises the set: it is equal for nodes with the same logs.
func (s *Set) Digest() uint64 { return s.durable.Load().digest }

// Lengths are the bytes of each log that are durable here. The map must not be
// changed.
func (s *Set) Lengths() map[string]int64 { return s.durable.Load().lengths }

// Add appends those entries to the log of origin that are not in the set, and returns when they are
// durable. It adds all of them or, with an error, none. origin is the calling node itself.
func (s *Set) Add(origin string, entries []string) error {
	if err := checkOrigin(origin); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines strings.Builder
	within := make(map[string]struct{}, len(entries))
	for _, e := range entries {
		if err := checkEntry(e); err != nil {
			return err
		}
		known, err := s.index.knows(scope.KeyOf(e))
		if err != nil {
			return err
		}
		if _, twice := within[e]; twice || known {
			continue
		}
		within[e] = struct{}{}
		lines.WriteString(e)
		lines.WriteByte('\n')
	}
	if lines.Len() == 0 {
		return nil
	}
	return s.appendLocked(origin, lines.String())
}

// Take appends pieces of other nodes' logs: of each the part after the end of the log here. A piece
// that would leave a gap is skipped; the missing part comes first in a later call.
func (s *Set) Take(pieces []Piece) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range pieces {
		if err := p.check(); err != nil {
			return err
		}
	}
	for _, p := range pieces {
		have := s.lengthLocked(p.Origin)
		if p.From > have || p.From+int64(len(p.Lines)) <= have {
			continue
		}
		if err := s.appendLocked(p.Origin, p.Lines[have-p.From:]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) lengthLocked(origin string) int64 {
	if l := s.logs[origin]; l != nil {
		return l.size
	}
	return 0
}

// appendLocked makes whole lines durable, indexes them, and then publishes them.
func (s *Set) appendLocked(origin, lines string) error {
	if err := s.index.room(); err != nil {
		return err // a run could not be written: no more entries until that succeeds
	}
	l := s.logs[origin]
	if l == nil {
		var err error
		if l, err = openLog(filepath.Join(s.dir, origin+logSuffix)); err != nil {
			return err
		}
		if err := files.SyncDir(s.dir); err != nil {
			return errors.Join(err, l.file.Close())
		}
		s.logs[origin] = l
	}
	if err := l.append(lines); err != nil {
		return err
	}
	s.take(lines)
	s.publish()
	return nil
}

// take indexes whole lines.
func (s *Set) take(lines string) {
	s.keys = s.keys[:0]
	for line := range strings.Lines(lines) {
		e := strings.TrimSuffix(line, "\n")
		at := len(s.keys)
		if s.keys = scope.AppendKeys(s.keys, e); !s.index.has(s.keys[at]) {
			s.entries.Add(1)
		}
		if len(s.keys) >= indexedAtOnce {
			s.index.add(s.keys)
			s.keys = s.keys[:0]
		}
	}
	s.index.add(s.keys)
}

// publish shows readers the durable state.
func (s *Set) publish() {
	d := &durable{lengths: make(map[string]int64, len(s.logs)), files: maps.Clone(s.logs)}
	for origin, l := range s.logs {
		if l.size > 0 {
			d.lengths[origin] = l.size
			d.digest ^= xxh3.HashStringSeed(origin, uint64(l.size))
		}
	}
	s.durable.Store(d)
}

// Missing returns the part of the logs that is here and not in logs of the given lengths: pieces of
// at most limit bytes together, and whether there is more. limit must be more than MaxEntry.
func (s *Set) Missing(have map[string]int64, limit int) (pieces []Piece, more bool, err error) {
	here := s.durable.Load()
	for _, origin := range slices.Sorted(maps.Keys(here.lengths)) {
		from, end := have[origin], here.lengths[origin]
		if from >= end || from < 0 {
			continue
		}
		if limit <= MaxEntry {
			return pieces, true, nil
		}
		lines, err := here.files[origin].read(from, min(end-from, int64(limit)))
		if err != nil {
			return nil, false, err
		}
		if lines == "" {
			continue // the caller's log differs from this one; nothing can be added to it
		}
		more = more || from+int64(len(lines)) < end
		limit -= len(lines)
		pieces = append(pieces, Piece{Origin: origin, From: from, Lines: lines})
	}
	return pieces, more, nil
}

// Covers reports whether logs of the lengths a contain everything in logs of the lengths b.
func Covers(a, b map[string]int64) bool {
	for origin, n := range b {
		if a[origin] < n {
			return false
		}
	}
	return true
}
