package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/crawldoc"
	"crawlnode/node/status"
)

// eventsKept bounds the events that a node remembers; the oldest are forgotten.
const eventsKept = 1000

// seedsTogether is within what time seeds that are added in many requests are one
// event.
const seedsTogether = 5 * time.Second

// eventLog remembers the newest events. Everybody may add to it from anywhere: it
// takes a short lock and calls nobody. Nothing of a page's trip does.
type eventLog struct {
	node string // human name of this node, set before the first event

	mu     sync.Mutex // guards the rest
	last   uint64     // id of the newest event; begins with the boot, see begin
	events []crawl.Event
	news   chan struct{}      // closed with the next event
	doc    *crawldoc.Document // as it was told of last; nil before the first
	inView bool               // a view of this process was told of
}

func newEventLog() *eventLog { return &eventLog{news: make(chan struct{})} }

// begin makes the ids of this boot greater than those of the boots before: a
// reader that names the last one that it saw goes on across a restart.
func (l *eventLog) begin(name string, boot crawl.Boot) {
	l.node = name
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = uint64(boot) << 32
}

// add puts e behind the others, with an id.
func (l *eventLog) add(e crawl.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addLocked(e)
}

func (l *eventLog) addLocked(e crawl.Event) {
	l.last++
	e.ID, e.Time = l.last, e.Time.UTC()
	if e.Fields == nil {
		e.Fields = map[string]any{}
	}
	if len(l.events) == eventsKept {
		l.events = slices.Delete(l.events, 0, 1)
	}
	l.events = append(l.events, e)
	close(l.news)
	l.news = make(chan struct{})
}

// after returns the first events behind an id, limit at most; with id 0 the
// newest. The caller may keep the slice, and must not change what fields hold.
func (l *eventLog) after(id uint64, limit int) []crawl.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == 0 {
		return slices.Clone(l.events[max(len(l.events)-limit, 0):])
	}
	i, _ := slices.BinarySearchFunc(l.events, id, func(e crawl.Event, id uint64) int {
		if e.ID <= id {
			return -1
		}
		return 1
	})
	return slices.Clone(l.events[i:min(i+limit, len(l.events))])
}

// watch returns a channel that is closed with the next event.
func (l *eventLog) watch() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.news
}

// seeds tells of added seeds; those of many requests in a row are one event.
func (l *eventLog) seeds(now time.Time, r crawl.SeedReport) {
	sum := map[string]any{"accepted": r.Accepted, "duplicates": r.Duplicates, "out_of_scope": r.OutOfScope, "invalid": len(r.Invalid)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.events); n > 0 && l.events[n-1].Code == crawl.EventSeeds && now.Sub(l.events[n-1].Time) < seedsTogether {
		for k, v := range l.events[n-1].Fields {
			sum[k] = sum[k].(int) + v.(int)
		}
		l.events = l.events[:n-1]
	}
	l.addLocked(crawl.Event{Time: now, Level: crawl.EventInfo, Code: crawl.EventSeeds, Node: l.node, Fields: sum,
		Message: fmt.Sprintf("seeds were added: %d accepted, %d duplicate, %d out of scope, %d invalid", sum["accepted"], sum["duplicates"], sum["out_of_scope"], sum["invalid"])})
}

// document tells what a newer document changes. What is taken over when joining
// is no news.
func (l *eventLog) document(now time.Time, d *crawldoc.Document, by string, joining bool) {
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

// joinedFirst reports, once, that the first view of this process came.
func (l *eventLog) joinedFirst() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.inView
	l.inView = true
	return first
}

// documentEvents are the events between two documents.
func documentEvents(before, after *crawldoc.Document) []crawl.Event {
	var events []crawl.Event
	add := func(level, code, message string, fields map[string]any) {
		events = append(events, crawl.Event{Level: level, Code: code, Message: message, Fields: fields})
	}
	if names := crawldoc.ChangedSettings(&before.Settings, &after.Settings); len(names) > 0 {
		add(crawl.EventInfo, crawl.EventSettings, "the crawl's settings were changed: "+strings.Join(names, ", "), map[string]any{"settings": names})
	}
	if before.State == after.State {
		return events
	}
	switch after.State {
	case crawl.CrawlRunning:
		if before.State == crawl.CrawlPaused {
			add(crawl.EventInfo, crawl.EventResumed, "the crawl goes on", map[string]any{})
		} else {
			add(crawl.EventInfo, crawl.EventStarted, "the crawl runs", map[string]any{"before": before.State})
		}
	case crawl.CrawlPaused:
		add(crawl.EventInfo, crawl.EventPaused, "the crawl was paused", map[string]any{})
	case crawl.CrawlFinished:
		add(crawl.EventInfo, crawl.EventFinished, "the crawl has ended: "+strings.ReplaceAll(after.Reason, "_", " "),
			map[string]any{"reason": after.Reason, "running_seconds": after.RanFor.Seconds()})
	}
	return events
}

// lookAround adds what the status of this moment shows that was not so a second
// ago. It costs as much as a /status.
func (n *Node) lookAround(o *status.Lookout, now time.Time) {
	p := n.picture(now, false)
	for _, e := range o.Look(&p, status.Merge(p)) {
		n.events.add(e)
	}
}

// Events returns the first events behind an id, limit at most, oldest first; with
// id 0 the newest ones. What is older than eventsKept events is forgotten.
func (n *Node) Events(_ context.Context, after uint64, limit int) ([]crawl.Event, error) {
	return n.events.after(after, max(limit, 0)), nil
}

// EventNews returns a channel that is closed with the next event. Who waits takes
// it before asking for Events.
func (n *Node) EventNews() <-chan struct{} { return n.events.watch() }
