package demo

import (
	"sync"
	"time"

	"crawlnode/simweb"
)

// watch sees every request at the web server. Each node reaches the server by an
// address of its own (a door), so the watch knows which node asked.
type watch struct {
	mu    sync.Mutex // guards what follows
	hosts map[string]visit
	pages []answer // in the order of their ends

	dead     int             // the door of the killed node; -1: none yet
	killed   time.Time       // when
	orphans  map[string]bool // the hosts that it was crawling then
	takeover time.Duration   // until another node came to one of them; 0: none yet
}

// visit is the last request to a host.
type visit struct {
	door  int
	start time.Time
}

// answer is a page that was answered.
type answer struct {
	door int
	end  time.Time
}

const (
	// atWork is how recently a node has asked a host that it is crawling.
	atWork = time.Second
	// uncopied is how long the completion of a page may be on the killed node
	// only. A completion follows its page within a second.
	uncopied = time.Second
)

func newWatch() *watch { return &watch{hosts: map[string]visit{}, dead: -1} }

// note is the web's OnRequest.
func (w *watch) note(r simweb.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := w.hosts[r.Host]; r.Start.After(last.start) {
		w.hosts[r.Host] = visit{r.Door, r.Start}
	}
	if r.Answered {
		w.pages = append(w.pages, answer{r.Door, r.End})
	}
	if w.dead >= 0 && w.takeover == 0 && r.Door != w.dead && w.orphans[r.Host] &&
		r.Start.After(w.killed) {
		w.takeover = r.Start.Sub(w.killed)
	}
}

// kill tells the watch that the node at a door has just been killed.
func (w *watch) kill(door int, when time.Time) (orphans int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead, w.killed, w.orphans = door, when, map[string]bool{}
	for host, last := range w.hosts {
		if last.door == door && last.start.After(when.Add(-atWork)) {
			w.orphans[host] = true
		}
	}
	return len(w.orphans)
}

// tookOver returns the time from the kill to the first request of another node
// to a host of the killed one; 0: there was none.
func (w *watch) tookOver() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.takeover
}

// excused counts the pages that may be fetched twice: the killed node had got
// them just before, so that nobody else knows that they are done.
func (w *watch) excused() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for _, p := range w.pages {
		if p.door == w.dead && p.end.After(w.killed.Add(-uncopied)) {
			count++
		}
	}
	return count
}
