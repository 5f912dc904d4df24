package output

import (
	"sync"
	"time"
)

// Shortage is an archive that finds no space. The system may say that there is some: of a quota, of
// inodes and of what a file system keeps for itself it says nothing.
type Shortage struct {
	Since time.Time // zero: there is none
	Path  string    // of the archive
	// Commits says that records wait which come before a commit, so that nothing that needs one is
	// stored.
	Commits bool
}

// shortage knows what the archive has refused for want of space and not taken since.
type shortage struct {
	mu    sync.Mutex // guards the rest
	flush time.Time  // since when Flush is refused; zero: it is not
	puts  int        // writes that were refused and are tried again
	since time.Time  // when the first of them was refused
}

// flushed notes how a Flush, or a Sync, ended: refused or done.
func (s *shortage) flushed(now time.Time, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !refused:
		s.flush = time.Time{}
	case s.flush.IsZero():
		s.flush = now
	}
}

// begin notes a write that was refused, end that it is not tried any more.
func (s *shortage) begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.puts++; s.puts == 1 {
		s.since = now
	}
}

func (s *shortage) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts--
}

// get is what there is now.
func (s *shortage) get() (sh Shortage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.puts > 0 {
		sh.Since = s.since
	}
	if sh.Commits = !s.flush.IsZero(); sh.Commits && (sh.Since.IsZero() || s.flush.Before(sh.Since)) {
		sh.Since = s.flush
	}
	return sh
}

// Shortage is what the archive finds no space for; its Since is zero when it finds some.
func (o *Outputs) Shortage() Shortage {
	s := o.short.get()
	s.Path = o.o.Dir.Join("warc")
	return s
}
