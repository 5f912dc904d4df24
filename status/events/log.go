package events

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/settings/crawldoc"
)

// Kept bounds the events that a node remembers; the oldest are forgotten.
const Kept = 1000

// holdPatience is how long an event may be held back (Hold): a disk that does not answer must not
// hide what happens.
const holdPatience = 2 * time.Second

// seedsTogether is the time within which seeds of several requests make one event.
const seedsTogether = 5 * time.Second

// Log remembers the newest events. New makes it, Begin comes before the first event.
type Log struct {
	node string       // human name of this node, set by Begin
	id   crawl.NodeID // of this node, likewise

	mu     sync.Mutex // guards the rest
	held   bool       // Hold was called
	shown  uint64     // id of the newest event that was released; with held alone
	since  time.Time  // since when an event waits for its release; likewise
	taken  uint64     // id of the newest event that Pending has returned
	last   uint64     // id of the newest event; begins with the boot, see Begin
	events []crawl.Event
	news   chan struct{}      // closed with the next event
	doc    *crawldoc.Document // the last one that was given; nil before
	inView bool               // a view of this process was seen
}

// New makes an empty log.
func New() *Log { return &Log{news: make(chan struct{})} }

// Begin names this node and makes the ids of this boot greater than those of the boots before.
func (l *Log) Begin(name string, id crawl.NodeID, boot crawl.Boot) {
	l.node, l.id = name, id
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = uint64(boot) << 32
}

// StartFrom takes the document that a node starts with; it makes no event.
func (l *Log) StartFrom(d *crawldoc.Document) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doc = d
}

// Add appends e and gives it an id.
func (l *Log) Add(e crawl.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addLocked(e)
}

func (l *Log) addLocked(e crawl.Event) {
	if len(l.events) == 0 || l.shown >= l.last {
		l.since = time.Now()
	}
	l.last++
	e.ID, e.Time = l.last, e.Time.UTC()
	e.UID = fmt.Sprintf("%s-%d", l.id, e.ID)
	if e.Fields == nil {
		e.Fields = map[string]any{}
	}
	if len(l.events) == Kept {
		l.events = slices.Delete(l.events, 0, 1)
	}
	l.events = append(l.events, e)
	l.wakeLocked()
}

func (l *Log) wakeLocked() {
	close(l.news)
	l.news = make(chan struct{})
}

// Hold has After return an event only when it was released, or after two seconds. So who stores
// the events, with Pending and Release, stores each before anybody is shown it. It is called once.
func (l *Log) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
}

// Pending returns the first events after an id, limit at most, whether they are released or not;
// with id 0 from the oldest. So many events between that id and them are forgotten (missed).
func (l *Log) Pending(after uint64, limit int) (events []crawl.Event, missed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.indexLocked(after)
	events = slices.Clone(l.events[i:min(i+limit, len(l.events))])
	if len(events) > 0 {
		l.taken = max(l.taken, events[len(events)-1].ID)
	}
	if after > 0 && i == 0 && len(l.events) == Kept {
		missed = int(l.events[0].ID - after - 1)
	}
	return events, missed
}

// Release has After return the events up to an id.
func (l *Log) Release(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown, l.since = max(l.shown, id), time.Now()
	l.wakeLocked()
}

// releasedLocked are the events that After may return.
func (l *Log) releasedLocked() []crawl.Event {
	if !l.held {
		return l.events
	}
	if time.Since(l.since) > holdPatience {
		return l.events
	}
	return l.events[:l.indexLocked(l.shown)]
}

// indexLocked is where the first event after an id stands.
func (l *Log) indexLocked(id uint64) int {
	i, _ := slices.BinarySearchFunc(l.events, id, func(e crawl.Event, id uint64) int {
		if e.ID <= id {
			return -1
		}
		return 1
	})
	return i
}

// After returns the first events after an id, limit at most; with id 0 the
// newest. The caller may keep the slice, and must not change what the fields hold.
func (l *Log) After(id uint64, limit int) []crawl.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	released := l.releasedLocked()
	if id == 0 {
		return slices.Clone(released[max(len(released)-limit, 0):])
	}
	i := min(l.indexLocked(id), len(released))
	return slices.Clone(released[i:min(i+limit, len(released))])
}

// News returns a channel that is closed with the next event, and when one is released. Take it
// before asking After, so that no event is missed.
func (l *Log) News() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.news
}

// Seeds adds an event of added seeds; those of several requests in a row are one event, unless
// Pending has returned it: what is stored stays, and no seed counts in two events then.
func (l *Log) Seeds(now time.Time, r crawl.SeedReport) {
	sum := map[string]any{"accepted": r.Accepted, "duplicates": r.Duplicates, "out_of_scope": r.OutOfScope, "invalid": len(r.Invalid)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.events); n > 0 && l.events[n-1].Code == crawl.EventSeeds && l.events[n-1].ID > l.taken &&
		now.Sub(l.events[n-1].Time) < seedsTogether {
		for k, v := range l.events[n-1].Fields {
			sum[k] = sum[k].(int) + v.(int)
		}
		l.events = l.events[:n-1]
	}
	l.addLocked(crawl.Event{Time: now, Level: crawl.EventInfo, Code: crawl.EventSeeds, Node: l.node, Fields: sum,
		Message: fmt.Sprintf("seeds were added: %d accepted, %d duplicate, %d out of scope, %d invalid", sum["accepted"], sum["duplicates"], sum["out_of_scope"], sum["invalid"])})
}

// Document adds what a newer document changes; by is who made it. What a joining node takes
// over is no news.
func (l *Log) Document(now time.Time, d *crawldoc.Document, by string, joining bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.doc
	if before != nil && !d.NewerThan(before) {
		return
	}
	l.doc = d
	if before == nil || joining {
		return
	}
	for _, e := range documentEvents(before, d) {
		e.Time, e.Fields["by"] = now, by
		l.addLocked(e)
	}
}

// View adds the events of a view; with the first view of this process, that this node joined
// instead.
func (l *Log) View(now time.Time, v *membership.View, changes []crawl.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.inView {
		l.inView = true
		changes = []crawl.Event{Member(crawl.EventJoined, l.node, 0, 0)}
	}
	for _, e := range changes {
		e.Time, e.Fields["view"], e.Fields["members"] = now, v.Number, len(v.Members)
		l.addLocked(e)
	}
}

// documentEvents are the events between two documents.
func documentEvents(before, after *crawldoc.Document) []crawl.Event {
	var events []crawl.Event
	add := func(code, message string, fields map[string]any) {
		events = append(events, crawl.Event{Level: crawl.EventInfo, Code: code, Message: message, Fields: fields})
	}
	if names := crawldoc.ChangedSettings(&before.Settings, &after.Settings); len(names) > 0 {
		add(crawl.EventSettings, "the crawl's settings were changed: "+strings.Join(names, ", "), map[string]any{"settings": names})
	}
	if before.State == after.State {
		return events
	}
	switch after.State {
	case crawl.CrawlRunning:
		if before.State == crawl.CrawlPaused {
			add(crawl.EventResumed, "the crawl goes on", map[string]any{})
		} else {
			add(crawl.EventStarted, "the crawl runs", map[string]any{"before": before.State})
		}
	case crawl.CrawlIdle:
		add(crawl.EventResumed, "the crawl is not paused any more; it starts with its first seed", map[string]any{})
	case crawl.CrawlPaused:
		add(crawl.EventPaused, "the crawl was paused", map[string]any{})
	case crawl.CrawlFinished:
		add(crawl.EventFinished, "the crawl has ended: "+strings.ReplaceAll(after.Reason, "_", " "),
			map[string]any{"reason": after.Reason, "running_seconds": after.RanFor.Seconds()})
	}
	return events
}
