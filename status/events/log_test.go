package events

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/crawldoc"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// told names events by their codes, and their nodes if they have one.
func told(events []crawl.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprint(&b, " ", e.Code)
		if e.Node != "" {
			fmt.Fprint(&b, "=", e.Node)
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

func TestEventLogRemembersTheNewest(t *testing.T) {
	t.Parallel()
	l := New()
	l.Begin("n1", "0123456789abcdef", 3)
	first := uint64(3)<<32 + 1
	if got := l.After(0, 10); len(got) != 0 {
		t.Errorf("a fresh log holds %v", got)
	}
	for i := range Kept + 5 {
		l.Add(crawl.Event{Code: fmt.Sprint(i)})
	}
	for _, c := range []struct {
		after      uint64
		limit      int
		from, much uint64
	}{
		{0, 2, first + Kept + 3, 2}, // the newest
		{0, 5000, first + 5, Kept},
		{1, 3, first + 5, 3}, // of a boot before: whatever there is
		{first, 3, first + 5, 3},
		{first + 7, 3, first + 8, 3},
		{first + Kept + 3, 3, first + Kept + 4, 1},
		{first + Kept + 4, 3, 0, 0},
		{uint64(4) << 32, 3, 0, 0},
	} {
		got := l.After(c.after, c.limit)
		if uint64(len(got)) != c.much || c.much > 0 && (got[0].ID != c.from || got[len(got)-1].ID != c.from+c.much-1) {
			t.Errorf("after %d, %d of them: %d from %v", c.after, c.limit, len(got), got)
		}
	}
}

// Who takes the channel before it asks misses nothing.
func TestEventNews(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 200
	l := New()
	l.Begin("n1", "0123456789abcdef", 1)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				l.Add(crawl.Event{Code: "x"})
			}
		})
	}
	last, seen := uint64(0), 0
	for deadline := time.After(time.Minute); seen < writers*each; {
		news := l.News()
		events := l.After(max(last, 1), 50)
		for _, e := range events {
			if last > 0 && e.ID != last+1 {
				t.Fatalf("event %d after %d", e.ID, last)
			}
			last = e.ID
			seen++
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-news:
		case <-deadline:
			t.Fatalf("%d events of %d", seen, writers*each)
		}
	}
	wg.Wait()
}

func TestSeedsInARowAreOneEvent(t *testing.T) {
	t.Parallel()
	l := New()
	l.Begin("n1", "0123456789abcdef", 1)
	for i, at := range []int{0, 1, 2, 20} {
		l.Seeds(noon.Add(time.Duration(at)*time.Second), crawl.SeedReport{Accepted: 10, Invalid: make([]crawl.SeedError, i)})
	}
	events := l.After(0, 10)
	if len(events) != 2 || events[0].Fields["accepted"] != 30 || events[0].Fields["invalid"] != 3 || events[1].Fields["accepted"] != 10 {
		t.Errorf("%+v", events)
	}
	if events[0].ID >= events[1].ID || !strings.Contains(events[0].Message, "30 accepted") {
		t.Errorf("%+v", events)
	}
}

// TestSeedsAreStoredOnce: who stores the events, with Pending, gets each seed in one of them.
func TestSeedsAreStoredOnce(t *testing.T) {
	t.Parallel()
	l := New()
	l.Begin("n1", "0123456789abcdef", 1)
	l.Hold()
	stored, last := 0, uint64(0)
	for i := range 6 {
		l.Seeds(noon.Add(time.Duration(i)*time.Second), crawl.SeedReport{Accepted: 1})
		if i%2 == 0 {
			continue // the next one joins it
		}
		events, _ := l.Pending(last, 10)
		for _, e := range events {
			stored, last = stored+e.Fields["accepted"].(int), e.ID
		}
		l.Release(last)
	}
	shown := 0
	for _, e := range l.After(0, 10) {
		shown += e.Fields["accepted"].(int)
	}
	if stored != 6 || shown != 6 {
		t.Errorf("of 6 seeds the stored events have %d, those that are shown %d", stored, shown)
	}
}

func TestDocumentEvents(t *testing.T) {
	t.Parallel()
	l := New()
	l.Begin("n1", "0123456789abcdef", 1)
	d := &crawldoc.Document{State: crawl.CrawlIdle}
	l.doc = d
	step := func(joining bool, change func(*crawldoc.Document) *crawldoc.Document) string {
		before := l.last
		d = change(d)
		l.Document(noon, d, "n2", joining)
		return told(l.After(before, 10))
	}
	to := func(state string) func(*crawldoc.Document) *crawldoc.Document {
		return func(d *crawldoc.Document) *crawldoc.Document { return d.Enter(state, "why", "b", noon) }
	}
	slower := func(d *crawldoc.Document) *crawldoc.Document {
		c := *d
		c.Version++
		c.Settings.Delay++
		return &c
	}
	same := func(d *crawldoc.Document) *crawldoc.Document { return d }
	for i, s := range []struct {
		change  func(*crawldoc.Document) *crawldoc.Document
		joining bool
		want    string
	}{
		{to(crawl.CrawlRunning), true, ""}, // taken over, no news
		{to(crawl.CrawlPaused), false, crawl.EventPaused},
		{same, false, ""},
		{slower, false, crawl.EventSettings},
		{to(crawl.CrawlRunning), false, crawl.EventResumed},
		{to(crawl.CrawlFinished), false, crawl.EventFinished},
		{func(d *crawldoc.Document) *crawldoc.Document {
			return slower(d).Enter(crawl.CrawlRunning, "", "b", noon)
		}, false, crawl.EventSettings + " " + crawl.EventStarted},
	} {
		if got := step(s.joining, s.change); got != s.want {
			t.Errorf("%d: %q, want %q", i, got, s.want)
		}
	}
	l.Document(noon, &crawldoc.Document{Version: 1, State: crawl.CrawlPaused}, "n2", false)
	if e := l.After(0, 1)[0]; e.Code != crawl.EventStarted || e.Fields["by"] != "n2" {
		t.Errorf("an older document was told of, or who made the newer one was not: %+v", e)
	}
}

// TestHold: what was not released is not shown, but to who stores it, and not for ever.
func TestHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		l.Begin("n1", "0123456789abcdef", 2)
		l.Hold()
		l.Add(crawl.Event{Code: "a"})
		news := l.News()
		l.Add(crawl.Event{Code: "b"})
		<-news
		if shown := told(append(l.After(0, 10), l.After(1, 10)...)); shown != "" {
			t.Errorf("shown before it was released: %s", shown)
		}
		pending, missed := l.Pending(0, 1)
		if told(pending) != "a" || missed != 0 || pending[0].UID != "0123456789abcdef-8589934593" {
			t.Fatalf("%d missed, pending %+v", missed, pending)
		}
		news = l.News()
		l.Release(pending[0].ID)
		<-news
		if shown := told(l.After(0, 10)) + "," + told(l.After(1, 10)); shown != "a,a" {
			t.Errorf("shown after a was released: %s", shown)
		}
		if pending, _ = l.Pending(pending[0].ID, 10); told(pending) != "b" {
			t.Errorf("pending after a: %+v", pending)
		}
		time.Sleep(holdPatience + time.Millisecond)
		if shown := told(l.After(0, 10)); shown != "a b" {
			t.Errorf("shown after %v: %s", holdPatience, shown)
		}
		l.Release(pending[0].ID)
		l.Add(crawl.Event{Code: "c"})
		if shown := told(l.After(0, 10)); shown != "a b" {
			t.Errorf("shown with c: %s", shown)
		}
	})
}

// TestMissed: who comes too late learns how many events it has missed.
func TestMissed(t *testing.T) {
	t.Parallel()
	l := New()
	l.Begin("n1", "0123456789abcdef", 1)
	l.Hold()
	l.Add(crawl.Event{})
	first, _ := l.Pending(0, 1)
	for range Kept + 6 {
		l.Add(crawl.Event{})
	}
	pending, missed := l.Pending(first[0].ID, 3)
	if missed != 6 || len(pending) != 3 || pending[0].ID != first[0].ID+7 {
		t.Errorf("%d missed, %d from %d after %d", missed, len(pending), pending[0].ID, first[0].ID)
	}
}
