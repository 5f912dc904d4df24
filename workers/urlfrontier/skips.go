package urlfrontier

import (
	"log/slog"
	"sync"
	"time"
)

// skipsEvery and skipsAtOnce bound the lines about skipped items: so many in each such time.
const (
	skipsEvery  = time.Minute
	skipsAtOnce = 20
)

// skipLog logs why items are skipped, and not how a client floods the log. Any goroutine may use
// it.
type skipLog struct {
	to    *slog.Logger
	mu    sync.Mutex // guards the rest
	begun time.Time
	lines int
	left  int // lines that were not written
}

// Warn writes a line, or counts it.
func (l *skipLog) Warn(text string, args ...any) {
	l.mu.Lock()
	now := time.Now()
	if now.Sub(l.begun) >= skipsEvery {
		l.begun, l.lines = now, 0
	}
	l.lines++
	write := l.lines <= skipsAtOnce
	left := l.left
	if l.left++; write {
		l.left = 0
	}
	l.mu.Unlock()
	if !write {
		return
	}
	if left > 0 {
		args = append(args, "not_logged_before", left)
	}
	l.to.Warn(text, args...)
}
