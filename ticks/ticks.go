package ticks

import (
	"sync"
	"time"
)

// Ticker is a time.Ticker whose ticks come at the same moments as those of all others of its
// interval: at the whole multiples of it by the wall clock. To wake a process costs some 60 us of
// processor time, and as much for one tick as for ten that are due together. A node that has
// nothing to do is woken by its tickers only.
//
// The first tick comes within the interval, not after it. Ticks that send messages to other nodes
// at once have moments of their own (time.Ticker): the members of a cluster would all send at the
// same time.
type Ticker struct {
	C <-chan time.Time
	c chan time.Time // capacity 1: a tick that nobody has taken yet stands for later ones too

	mu      sync.Mutex // guards what follows
	every   time.Duration
	timer   *time.Timer
	stopped bool
}

// New starts a ticker. Stop ends it.
func New(every time.Duration) *Ticker {
	c := make(chan time.Time, 1)
	t := &Ticker{C: c, every: every, c: c}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(Until(time.Now(), every), t.tick)
	return t
}

// Until is how long after now the next common moment of an interval is: more than 0, at most the
// interval. A jump of the wall clock moves the moments, and makes one interval shorter.
func Until(now time.Time, every time.Duration) time.Duration {
	return every - time.Duration(now.UnixNano())%every
}

func (t *Ticker) tick() {
	now := time.Now()
	select {
	case t.c <- now:
	default:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		t.timer.Reset(Until(now, t.every))
	}
}

// Reset changes the interval: the next tick comes at the next common moment of the new one. With
// the interval that the ticker has already it changes nothing. A tick that nobody has taken yet
// stays.
func (t *Ticker) Reset(every time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped || t.every == every {
		return
	}
	t.every = every
	t.timer.Reset(Until(time.Now(), every))
}

// Stop ends the ticks. It does not close C.
func (t *Ticker) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.timer.Stop()
}
