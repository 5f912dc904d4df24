package disk

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStalls: a wait counts as a stall from stallAfter on, once, and until it is over.
func TestStalls(t *testing.T) {
	t.Parallel()
	var p Stalls
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		wait             time.Duration
		changed, stalled bool
	}{{0, false, false}, {stallAfter - 1, false, false}, {stallAfter, true, true},
		{2 * stallAfter, false, true}, {0, true, false}} {
		if changed := p.judge(now, c.wait, "the writer"); changed != c.changed ||
			(p.Stalled() != nil) != c.stalled {
			t.Errorf("step %d: changed %v, %+v", i, changed, p.Stalled())
		}
		if s := p.Stalled(); s != nil &&
			(!s.Since.Equal(now.Add(-stallAfter)) || !strings.Contains(s.Text(), "the writer waits")) {
			t.Errorf("step %d: %+v: %s", i, s, s.Text())
		}
	}
}

// TestArchiveThatHangs: a sync of the archive that takes too long counts as a wait, and
// ends with it.
func TestArchiveThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Stalls
		answer := make(chan struct{})
		go func() {
			_ = p.During(func() error { <-answer; return nil })
		}()
		for _, c := range []struct {
			after, wait time.Duration
			stalled     bool
		}{{archiveSlack, 0, false}, {stallAfter - 1, stallAfter - 1, false}, {1, stallAfter, true}} {
			time.Sleep(c.after)
			wait, who := p.Longest()
			p.judge(time.Now(), wait, who)
			if wait != c.wait || (p.Stalled() != nil) != c.stalled {
				t.Errorf("it waits for %v, stall %+v; want %v, %v", wait, p.Stalled(), c.wait, c.stalled)
			}
		}
		close(answer)
		synctest.Wait()
		if wait, _ := p.Longest(); wait != 0 {
			t.Errorf("it is over and still waits, %v", wait)
		}
	})
}
