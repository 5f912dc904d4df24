package resources

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// looseBy is how late the timers of an idle process may be. The kernel then wakes it once for all
	// that are due within that time. Messages wake an idle process at once. What must come in time is
	// work, after which timers are exact: what follows a change of members, a fetch under way, a host
	// whose turn is near. All else may be so late; membership counts the units of its time that are
	// (membership.mostUnits).
	looseBy = 300 * time.Millisecond
	// quietLooks is for how many looks, one each second, there was no work when timers become loose.
	// With work they are exact: commits and batches wait for milliseconds.
	quietLooks = 3
	// againLooks is at how many looks its timers are made exact once more: a thread that was in the
	// middle of a system call the first time has kept what it had.
	againLooks = 2
)

// latitude is how late the kernel may be with the timers of the process: looseBy while it is idle,
// else as it began with.
type latitude struct {
	loose  atomic.Bool
	worked atomic.Bool // since the last look

	mu    sync.Mutex // guards what follows
	quiet int        // looks in a row without work
	again int        // how often timers have to be made exact yet
	// set changes the process: loose or exact. False: this system cannot.
	set func(loose bool) bool
}

// timers is the latitude of this process, for all nodes in it.
var timers = latitude{set: setSlack}

// Work tells that a page or a commit is made, or that a member may have come or gone: from now on
// timers are exact. It is cheap while they are.
func (c *Collector) Work() {
	if c != nil {
		c.latitude.work()
	}
}

func (l *latitude) work() {
	if !l.worked.Load() {
		l.worked.Store(true)
	}
	if !l.loose.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loose.Swap(false) {
		l.again = againLooks
		l.set(false)
	}
}

// look is called once a second. busy is work as well: a fetch that is under way, however long ago
// it began, must end in time when the lease ends, and a host that waits for its delay has its turn
// in time.
func (l *latitude) look(busy bool) {
	if busy {
		l.work()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.worked.Swap(false) {
		l.quiet = 0
	} else {
		l.quiet++
	}
	switch {
	case l.again > 0:
		l.again--
		l.set(false)
	case l.quiet >= quietLooks && !l.loose.Load():
		ok := l.set(true)
		if !ok { // some threads may have it
			l.set(false)
		}
		l.loose.Store(ok)
	}
}
