package secrets

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
)

// Store has the secrets of a node. A Store without a file, and the nil Store, have none.
type Store struct {
	redacted
	log *slog.Logger
	// reloading guards path, and makes readings of the file follow each other, so that the last one
	// counts. Lookups do not wait for it.
	reloading sync.Mutex
	path      string // "": none
	set       atomic.Pointer[Set]
}

// Open reads the secrets in a file; "": there are none.
func Open(path string, log *slog.Logger) (*Store, error) {
	s := &Store{path: path, log: log}
	if path == "" {
		s.set.Store(newSet("", nil))
		return s, nil
	}
	set, err := Load(path)
	if err != nil {
		return nil, err
	}
	s.set.Store(set)
	return s, nil
}

func (s *Store) current() *Set {
	if s == nil {
		return newSet("", nil)
	}
	return s.set.Load()
}

// Lookup returns a secret.
func (s *Store) Lookup(name string) (Value, bool) { return s.current().Lookup(name) }

// Names returns the names of the secrets, sorted, for reports.
func (s *Store) Names() []string { return s.current().Names() }

// CookieFile returns the cookies of the file whose path is the secret of this name. The file is
// read the first time and after Reload. The error is ErrMissing without such a secret.
func (s *Store) CookieFile(name string) (*CookieFile, error) { return s.current().CookieFile(name) }

// Reload reads the file again, and the cookie files that were in use. What is wrong with a file is
// logged and returned, and its last good reading stays.
func (s *Store) Reload() error {
	if s == nil {
		return nil
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	return s.reload(s.path)
}

// ReloadFrom is Reload from a file that may be another one; "": from now on there are no secrets.
func (s *Store) ReloadFrom(path string) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	return s.reload(path)
}

// reload is called with reloading held.
func (s *Store) reload(path string) error {
	if path == "" {
		s.path = ""
		s.set.Store(newSet("", nil))
		return nil
	}
	next, err := Load(path)
	if err != nil {
		s.log.Error("the secrets were not read again, and stay as they were", "error", err)
		return fmt.Errorf("the secrets stay as they were: %w", err)
	}
	var errs []error
	for name, file := range s.set.Load().inUse() {
		if _, ok := next.Lookup(name); !ok {
			continue // nobody gets cookies of a secret that is gone
		}
		if _, err := next.CookieFile(name); err != nil {
			s.log.Error("a cookie file was not read again, and stays as it was", "error", err)
			errs = append(errs, err)
			next.keep(name, file)
		}
	}
	s.path = path
	s.set.Store(next)
	s.log.Info("the secrets were read again", "count", len(next.values))
	return errors.Join(errs...)
}
