package node

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/node/crawldoc"
)

// TestStalls: a wait counts as a stall from stallAfter on, once, and until it is over.
func TestStalls(t *testing.T) {
	t.Parallel()
	var p progress
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		wait             time.Duration
		changed, stalled bool
	}{{0, false, false}, {stallAfter - 1, false, false}, {stallAfter, true, true}, {2 * stallAfter, false, true}, {0, true, false}} {
		if changed := p.judge(now, c.wait, "the writer"); changed != c.changed || (p.stalled() != nil) != c.stalled {
			t.Errorf("step %d: changed %v, %+v", i, changed, p.stalled())
		}
		if s := p.stalled(); s != nil && (!s.since.Equal(now.Add(-stallAfter)) || !strings.Contains(s.text(), "the writer waits")) {
			t.Errorf("step %d: %+v: %s", i, s, s.text())
		}
	}
}

// TestArchiveThatHangs: a sync of the archive that takes too long counts as a wait, and
// ends with it. Nothing is fetched meanwhile.
func TestArchiveThatHangs(t *testing.T) {
	t.Parallel()
	docs := newTestDocStore(t)
	if _, err := docs.Change(func(d *crawldoc.Document) *crawldoc.Document { return d.Enter(crawl.CrawlRunning, "", "n", time.Now()) }); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		n := &Node{doc: docs}
		n.synced.Store(true)
		answer := make(chan struct{})
		go func() {
			_ = n.progress.during(func() error { <-answer; return nil })
		}()
		for _, c := range []struct {
			after, wait time.Duration
			crawls      bool
		}{{archiveSlack, 0, true}, {stallAfter - 1, stallAfter - 1, true}, {1, stallAfter, false}} {
			time.Sleep(c.after)
			wait := n.progress.archiveWait()
			n.progress.judge(time.Now(), wait, "the archive")
			if wait != c.wait || n.mayCrawl() != c.crawls {
				t.Errorf("it waits for %v, and crawls: %v; want %v, %v", wait, n.mayCrawl(), c.wait, c.crawls)
			}
		}
		close(answer)
		synctest.Wait()
		if wait := n.progress.archiveWait(); wait != 0 {
			t.Errorf("it is over and still waits, %v", wait)
		}
	})
}

// TestFrozenDisk: a node whose disk does not answer says so, goes on when it does, and
// ends in time when it does not.
func TestFrozenDisk(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "frozen")
	c.DrainTimeout = 2 * time.Second
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	store := frontier.NewMemory()
	n, err := Open(Options{Config: c, Logger: slog.New(slog.DiscardHandler), Version: "test", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- n.Run(context.Background()) }()
	says := func(want bool) {
		t.Helper()
		until(t, patience, func() string {
			for _, r := range n.healthReasons() {
				if r.Code == crawl.ReasonDiskStalled {
					if want {
						return ""
					}
					return r.Message
				}
			}
			if want {
				return "nothing is said of the disk"
			}
			return ""
		})
	}
	until(t, patience, func() string { _, why := n.Ready(); return why })
	store.SetTrouble(frontier.Trouble{Frozen: true})
	says(true)
	if why := n.pausedReason(false); !strings.Contains(why, "gets no answer from its disk") {
		t.Errorf("it is paused because %q", why)
	}
	store.SetTrouble(frontier.Trouble{})
	says(false)
	store.SetTrouble(frontier.Trouble{Frozen: true})
	says(true)
	begun := time.Now()
	n.Drain()
	select {
	case err := <-ended:
		if took := time.Since(begun); !errors.Is(err, ErrStorage) || took > c.DrainTimeout+2*time.Second {
			t.Errorf("after %v it ended with %v", took, err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for its disk")
	}
	store.SetTrouble(frontier.Trouble{}) // frees what was left behind
	until(t, patience, func() string {
		if n.front.Stalled() > 0 {
			return "the writer waits"
		}
		return ""
	})
}
