package crawldoc

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
)

// The running time is the same on a node whose time of day is hours off.
func TestRunTravelsAsDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := (&Document{Settings: testSettings(), State: crawl.CrawlIdle, RanFor: time.Minute}).Enter(
			crawl.CrawlRunning, "", "a", time.Now())
		time.Sleep(10 * time.Minute)
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // as if the reader's clock were ahead: the message has no time of day
		read := &Document{}
		if err := json.Unmarshal(raw, read); err != nil {
			t.Fatal(err)
		}
		if got := read.RunningFor(time.Now()); got != 11*time.Minute || read.Version != d.Version ||
			read.State != d.State {
			t.Errorf("it has run for %v: %+v", got, read)
		}
		time.Sleep(time.Minute)
		if got := read.RunningFor(time.Now()); got != 12*time.Minute {
			t.Errorf("a minute later it has run for %v", got)
		}
	})
}

// Time in which the node was stopped does not count, whatever the clocks say; what was noted after
// the document was written does.
func TestStoppedTimeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := (&Document{Version: 4, By: "a", Settings: testSettings(), RanFor: time.Hour}).Enter(
			crawl.CrawlRunning, "", "a", time.Now())
		time.Sleep(time.Minute)
		raw, err := encode(d)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		for name, c := range map[string]struct {
			ran  note
			want time.Duration
		}{
			"nothing noted":       {note{}, time.Minute},
			"noted later":         {note{5, "a", 3 * time.Minute}, 3 * time.Minute},
			"noted before":        {note{5, "a", time.Second}, time.Minute},
			"of another document": {note{4, "a", time.Hour}, time.Minute},
			"of another node's":   {note{5, "b", time.Hour}, time.Minute},
		} {
			read, err := decode(raw, c.ran)
			if err != nil {
				t.Fatal(err)
			}
			if got := read.RunningFor(time.Now()) - time.Hour; got != c.want {
				t.Errorf("%s: it has run for %v, want %v", name, got, c.want)
			}
		}
	})
}

// A node that was stopped takes over the running time of who has seen more of the same run, and of
// nothing else.
func TestRunIsCorrected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		since := time.Now().Add(-2 * time.Minute)
		s := &Store{}
		s.book.Store(&Rulebook{Doc: &Document{Version: 5, By: "a", RunSince: &since, guessed: true}})
		ran := func() time.Duration { return s.Current().Doc.RunningFor(time.Now()) }
		s.Correct(6, "a", time.Hour, time.Now())
		s.Correct(5, "b", time.Hour, time.Now())
		s.Correct(5, "a", 0, time.Now())
		s.Correct(5, "a", time.Minute, time.Now())
		if ran() != 2*time.Minute || s.Runs(time.Now()) != 2*time.Minute {
			t.Errorf("mended by who does not know: %v", ran())
		}
		for _, more := range []time.Duration{3 * time.Minute, 4 * time.Minute} {
			if s.Correct(5, "a", more, time.Now()); ran() != more {
				t.Errorf("not mended: %v, want %v", ran(), more)
			}
		}
		known := *s.Current().Doc
		known.guessed = false
		s.book.Store(&Rulebook{Doc: &known})
		if s.Correct(5, "a", time.Hour, time.Now()); ran() != 4*time.Minute {
			t.Errorf("what is known is overruled: %v", ran())
		}
	})
}

// A store that is opened again goes on where it was when it was left, also without a farewell, and
// keeps the greater of two running times when a node that was stopped changes the document.
func TestKeepTime(t *testing.T) {
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	open := func() *Store {
		s, err := Open(dir, testSettings())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	now := time.Now()
	if _, err := s.Change(func(d *Document) *Document {
		return d.Enter(crawl.CrawlRunning, "", "a", now)
	}); err != nil {
		t.Fatal(err)
	}
	s.noteTime(now.Add(time.Hour))
	between := func(s *Store, from time.Duration) {
		t.Helper()
		if got := s.Runs(time.Now()); got < from || got > from+10*time.Minute {
			t.Errorf("it has run for %v, want %v", got, from)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	between(s, time.Hour)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.KeepTime(ended); err != nil {
		t.Fatal(err)
	}
	between(s, time.Hour)

	less := *s.Current().Doc
	less.Version++
	less.RunSince = &now
	if changed, err := s.Merge(&less, time.Now()); err != nil || !changed {
		t.Fatal(changed, err)
	}
	between(s, time.Hour)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Join(ranFile), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open()
	between(s, time.Hour) // the document of the merge had it
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A damaged file of the running time is never a time.
func FuzzNote(f *testing.F) {
	f.Add(note{7, "a", time.Hour}.encode(), 3)
	f.Add([]byte(nil), 0)
	f.Add(bytes.Repeat([]byte{0}, ranBytes), 255)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		n := decodeNote(b)
		if n.Ran < 0 {
			t.Errorf("%+v", n)
		}
		if n == (note{}) || at < 0 || at >= len(b) {
			return
		}
		b = bytes.Clone(b)
		if b[at]++; decodeNote(b) != (note{}) {
			t.Errorf("byte %d is damaged, and it is read", at)
		}
	})
}

// An older document, with a time of day, is read correctly.
func TestRunOfOlderDocument(t *testing.T) {
	t.Parallel()
	d, err := decode([]byte(`{"version":2,"run_since":"2026-01-01T00:00:00Z","ran_for":5}`), note{})
	if err != nil || d.RunSince == nil ||
		!d.RunSince.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || d.RanFor != 5 {
		t.Errorf("%+v, %v", d, err)
	}
}
