package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/preferences"
)

// Set is all sinks of a node. A nil Set has none.
type Set struct{ feeders []*Feeder }

// Open makes the feeders of targets, as --sink names them; nil: there are none. derived is the
// folder of derived files, dir that of the cursors. obeyed is as in Options.
func Open(
	targets []string,
	derived, dir string,
	obeyed func() preferences.Purposes,
	log *slog.Logger,
) (*Set, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	s := &Set{}
	for _, text := range targets {
		t, err := crawl.ParseSink(text)
		if err == nil {
			var f *Feeder
			if f, err = New(Options{
				Target:  t,
				Derived: derived,
				Dir:     dir,
				Obeyed:  obeyed,
				Log:     log,
			}); err == nil {
				s.feeders = append(s.feeders, f)
				continue
			}
		}
		for _, f := range s.feeders {
			err = errors.Join(err, f.sink.Close())
		}
		return nil, fmt.Errorf("--sink %s: %w", text, err)
	}
	return s, nil
}

// Run feeds all sinks until ctx ends.
func (s *Set) Run(ctx context.Context) {
	if s == nil {
		return
	}
	var all sync.WaitGroup
	for _, f := range s.feeders {
		all.Go(func() { f.Run(ctx) })
	}
	all.Wait()
}

// Finish sends what is left when nothing is written any more, and closes the sinks. Run has ended
// before.
func (s *Set) Finish() error {
	if s == nil {
		return nil
	}
	errs := make([]error, len(s.feeders))
	var all sync.WaitGroup
	for i, f := range s.feeders {
		all.Go(func() { errs[i] = f.Finish() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// State is what is known of each sink.
func (s *Set) State(now time.Time) []crawl.SinkStatus {
	states := []crawl.SinkStatus{}
	if s == nil {
		return states
	}
	for _, f := range s.feeders {
		states = append(states, f.State(now))
	}
	return states
}
