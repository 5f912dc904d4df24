package crawldoc

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
)

// movedClock is a machine's clock with a wrong time of day.
type movedClock struct {
	off    time.Duration
	booted time.Time
}

func (c movedClock) Wall() time.Time         { return time.Now().Add(c.off).Round(0) }
func (c movedClock) BootTime() time.Duration { return time.Since(c.booted) }

// The running time is the same on a node whose time of day is hours off.
func TestRunTravelsAsDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := (&Document{Settings: testSettings(), State: crawl.CrawlIdle, RanFor: time.Minute}).Enter(crawl.CrawlRunning, "", "a", time.Now())
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
		if got := read.RunningFor(time.Now()); got != 11*time.Minute || read.Version != d.Version || read.State != d.State {
			t.Errorf("it has run for %v: %+v", got, read)
		}
		time.Sleep(time.Minute)
		if got := read.RunningFor(time.Now()); got != 12*time.Minute {
			t.Errorf("a minute later it has run for %v", got)
		}
	})
}

// A restart counts the elapsed time by the machine's clock. After a reboot it is estimated from the
// time of day, and a member's value corrects it, for the same document only.
func TestRunOutlivesRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		booted := time.Now()
		before := NewClock(movedClock{0, booted}, "run 1")
		d := (&Document{Version: 4, By: "a", Settings: testSettings()}).Enter(crawl.CrawlRunning, "", "a", time.Now())
		time.Sleep(time.Minute)
		raw, err := before.write(d)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for name, c := range map[string]struct {
			clock   Clock
			want    time.Duration
			guessed bool
		}{
			"the same run, a wrong time of day": {NewClock(movedClock{12 * time.Hour, booted}, "run 1"), 2 * time.Minute, false},
			"another run":                       {NewClock(movedClock{0, time.Now()}, "run 2"), 2 * time.Minute, true},
			"another run, a clock ahead":        {NewClock(movedClock{time.Hour, time.Now()}, "run 2"), 62 * time.Minute, true},
			"another run, a clock behind":       {NewClock(movedClock{-time.Hour, time.Now()}, "run 2"), time.Minute, true},
			"no name for the run":               {NewClock(movedClock{0, booted}, ""), 2 * time.Minute, true},
		} {
			read, err := c.clock.read(raw)
			if err != nil {
				t.Fatal(err)
			}
			if got := read.RunningFor(time.Now()); got != c.want || read.guessed != c.guessed {
				t.Errorf("%s: it has run for %v, want %v; guessed: %v", name, got, c.want, read.guessed)
			}
		}

		read, err := NewClock(movedClock{time.Hour, time.Now()}, "run 2").read(raw)
		if err != nil {
			t.Fatal(err)
		}
		s := &Store{}
		s.book.Store(&Rulebook{Doc: read})
		ran := func() time.Duration { return s.Current().Doc.RunningFor(time.Now()) }
		if s.Runs(time.Now()) != 0 {
			t.Error("a guess is told to others")
		}
		s.Correct(read.Version+1, read.By, 2*time.Minute, time.Now())
		s.Correct(read.Version, read.By, 0, time.Now())
		if ran() != 62*time.Minute {
			t.Errorf("mended by who does not know: %v", ran())
		}
		s.Correct(read.Version, read.By, 2*time.Minute, time.Now())
		if ran() != 2*time.Minute || s.Runs(time.Now()) != 2*time.Minute {
			t.Errorf("not mended: %v, tells %v", ran(), s.Runs(time.Now()))
		}
		s.Correct(read.Version, read.By, 5*time.Minute, time.Now())
		if ran() != 2*time.Minute {
			t.Errorf("what is known is overruled: %v", ran())
		}
	})
}

// An older document, with a time of day, is read correctly.
func TestRunOfOlderDocument(t *testing.T) {
	t.Parallel()
	d, err := Clock{}.read([]byte(`{"version":2,"run_since":"2026-01-01T00:00:00Z","ran_for":5}`))
	if err != nil || d.RunSince == nil || !d.RunSince.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || d.RanFor != 5 {
		t.Errorf("%+v, %v", d, err)
	}
}
