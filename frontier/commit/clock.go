package commit

import (
	"time"

	"crawlnode/frontier/layout"
)

// Clock tells a frontier the time.
type Clock interface {
	// Wall is the time of day. It may be wrong, and jump.
	Wall() time.Time
	// BootTime is the time since the beginning of the machine's run. It never jumps.
	BootTime() time.Duration
}

// processClock is the process's own clock, for frontiers without Options.Clock.
type processClock struct{ start time.Time }

func (c processClock) Wall() time.Time { return time.Now().Round(0) }

func (c processClock) BootTime() time.Duration { return time.Since(c.start) }

func (w *Writer) moment() layout.Moment {
	if _, ok := w.clock.(processClock); ok {
		now := time.Now()
		return layout.Moment{Now: now, Wall: now.Round(0), Boot: 0}
	}
	return layout.Moment{Now: time.Now(), Wall: w.clock.Wall(), Boot: w.clock.BootTime()}
}
