package door

import (
	"log/slog"
	"sync"
	"time"
)

// logEvery is the least time between two lines of a Log.
const logEvery = time.Second

// Log writes warnings that strangers can provoke. It may be used by many goroutines.
type Log struct {
	to *slog.Logger

	mu   sync.Mutex // guards the rest
	next time.Time  // when the next line may be written
	left int        // lines since the last one that were not
}

// NewLog returns a Log that writes to a logger; nil: nowhere.
func NewLog(to *slog.Logger) *Log {
	if to == nil {
		to = slog.New(slog.DiscardHandler)
	}
	return &Log{to: to}
}

// Warn writes a line, unless one was written less than a second ago.
func (l *Log) Warn(text string, args ...any) {
	if left, ok := l.may(time.Now()); ok {
		if left > 0 {
			args = append(args, "not_logged_before", left)
		}
		l.to.Warn(text, args...)
	}
}

// may reports whether a line may be written now, and how many were not before it.
func (l *Log) may(now time.Time) (left int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.next) {
		l.left++
		return 0, false
	}
	left, l.left, l.next = l.left, 0, now.Add(logEvery)
	return left, true
}
