package leases

import (
	"slices"
	"time"
)

// Linger is for how long a waiter that has got a URL waits for the next one before its batch is
// closed as it is.
const Linger = 10 * time.Millisecond

// Line is the line of those who wait for URLs, the first first. One goroutine at a time may use it.
type Line struct {
	waiting []*Waiter
	wanted  int
}

// Waiter waits for a batch of URLs.
type Waiter struct {
	want  int
	until time.Time // when its patience ends
	idle  time.Time // when its batch is closed, once it has a URL
	got   []uint64  // visits
}

// Got are the visits that the waiter got.
func (w *Waiter) Got() []uint64 { return w.got }

// Join puts a waiter for want URLs, at least one, at the end of the line.
func (l *Line) Join(want int, until time.Time) *Waiter {
	w := &Waiter{want: want, until: until}
	l.waiting = append(l.waiting, w)
	l.wanted += want
	return w
}

// Wanted is how many more URLs all waiters together want.
func (l *Line) Wanted() int { return l.wanted }

// Len is how many wait.
func (l *Line) Len() int { return len(l.waiting) }

// Give gives a visit to the first in the line. It returns that waiter if its batch is full, and
// reports false if nobody waits.
func (l *Line) Give(now time.Time, visit uint64) (full *Waiter, ok bool) {
	if len(l.waiting) == 0 {
		return nil, false
	}
	w := l.waiting[0]
	w.got = append(w.got, visit)
	w.idle = now.Add(Linger)
	l.wanted--
	if len(w.got) < w.want {
		return nil, true
	}
	l.waiting = l.waiting[1:]
	return w, true
}

// Due takes those out of the line whose wait is over.
func (l *Line) Due(now time.Time) (over []*Waiter) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w *Waiter) bool {
		if now.Before(w.ends()) {
			return false
		}
		l.wanted -= w.want - len(w.got)
		over = append(over, w)
		return true
	})
	return over
}

// Leave takes a waiter out of the line; false if it is not in it any more.
func (l *Line) Leave(w *Waiter) bool {
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.wanted -= w.want - len(w.got)
	return true
}

// NextDue is when the next wait is over; the zero time: nobody waits.
func (l *Line) NextDue() (at time.Time) {
	for _, w := range l.waiting {
		if e := w.ends(); at.IsZero() || e.Before(at) {
			at = e
		}
	}
	return at
}

func (w *Waiter) ends() time.Time {
	if len(w.got) > 0 && w.idle.Before(w.until) {
		return w.idle
	}
	return w.until
}
