package cli

import (
	"sync"
	"time"

	"crawlnode/simweb"
)

// demoWatch sees every request at the web server's side. Each node comes in by a
// door of its own, so that the watch knows who asked.
type demoWatch struct {
	mu    sync.Mutex // guards what follows
	hosts map[string]demoVisit
	pages []demoAnswer // in the order of their ends

	dead     int             // the door of the killed node; -1: none yet
	killed   time.Time       // when
	orphans  map[string]bool // the hosts that it was crawling then
	takeover time.Duration   // until another node came to one of them; 0: none yet
}

// demoVisit is the last request to a host.
type demoVisit struct {
	door  int
	start time.Time
}

// demoAnswer is a page that was answered.
type demoAnswer struct {
	door int
	end  time.Time
}

const (
	// demoAtWork is how recently a node has asked a host that it is crawling.
	demoAtWork = time.Second
	// demoUncopied is how long the completion of a page may be on the killed node
	// only. A completion follows its page within a second.
	demoUncopied = time.Second
)

func newDemoWatch() *demoWatch { return &demoWatch{hosts: map[string]demoVisit{}, dead: -1} }

// note is the web's OnRequest.
func (w *demoWatch) note(r simweb.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := w.hosts[r.Host]; r.Start.After(last.start) {
		w.hosts[r.Host] = demoVisit{r.Door, r.Start}
	}
	if r.Answered {
		w.pages = append(w.pages, demoAnswer{r.Door, r.End})
	}
	if w.dead >= 0 && w.takeover == 0 && r.Door != w.dead && w.orphans[r.Host] && r.Start.After(w.killed) {
		w.takeover = r.Start.Sub(w.killed)
	}
}

// kill tells the watch that the node at a door has just been killed.
func (w *demoWatch) kill(door int, when time.Time) (orphans int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead, w.killed, w.orphans = door, when, map[string]bool{}
	for host, last := range w.hosts {
		if last.door == door && last.start.After(when.Add(-demoAtWork)) {
			w.orphans[host] = true
		}
	}
	return len(w.orphans)
}

// tookOver returns the time from the kill to the first request of another node
// to a host of the killed one; 0: there was none.
func (w *demoWatch) tookOver() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.takeover
}

// excused counts the pages that may be fetched twice: the killed node had got
// them just before, so that nobody else knows that they are done.
func (w *demoWatch) excused() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for _, p := range w.pages {
		if p.door == w.dead && p.end.After(w.killed.Add(-demoUncopied)) {
			count++
		}
	}
	return count
}
