package membership

import "time"

// Clock is what leases are measured with. It must be safe for concurrent use
// and cheap: it is read at every request.
type Clock interface {
	// BootTime is the time since some fixed moment. It never goes back and
	// counts while the process is stopped and the machine asleep.
	BootTime() time.Duration
	// Wall is the time of day. It may jump.
	Wall() time.Time
}

// systemClock is the machine's.
type systemClock struct{}

func (systemClock) BootTime() time.Duration { return bootTime() }

func (systemClock) Wall() time.Time { return time.Now().Round(0) }
