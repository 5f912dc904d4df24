package integration

import (
	"fmt"
	"sync"
	"time"
)

// simClock is a machine's pair of clocks: each machine has another time since its
// start and another time of day, which drift against the bubble's clock and may be
// stepped. A machine that is paused has both stand still, as a hypervisor does it:
// nothing inside can tell that time has passed. The timers of its processes are the
// bubble's and go on.
type simClock struct {
	mu     sync.Mutex // guards the rest; held for memory only
	at     time.Time  // of the bubble, when boot and wall were right
	boot   time.Duration
	wall   time.Time
	rate   float64 // 1: as fast as the bubble's
	runs   int     // of the machine that have ended
	paused bool
}

// newSimClock is the clock of a machine that was started a while ago.
func newSimClock(uptime time.Duration) *simClock {
	now := time.Now()
	return &simClock{at: now, boot: uptime, wall: now, rate: 1}
}

// settleLocked brings the readings up to now.
func (c *simClock) settleLocked() {
	now := time.Now()
	if !c.paused {
		gone := time.Duration(float64(now.Sub(c.at)) * c.rate)
		c.boot += gone
		c.wall = c.wall.Add(gone)
	}
	c.at = now
}

// BootTime implements membership.Clock.
func (c *simClock) BootTime() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settleLocked()
	return c.boot
}

// Wall implements membership.Clock. It has no monotonic part.
func (c *simClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settleLocked()
	return c.wall.Round(0)
}

func (c *simClock) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settleLocked()
	f()
}

// step moves the time of day.
func (c *simClock) step(d time.Duration) { c.change(func() { c.wall = c.wall.Add(d) }) }

// run sets how fast both clocks go from now on.
func (c *simClock) run(rate float64) { c.change(func() { c.rate = rate }) }

func (c *simClock) pause()  { c.change(func() { c.paused = true }) }
func (c *simClock) resume() { c.change(func() { c.paused = false }) }

// reboot begins a new run of the machine: its time since the start is short.
func (c *simClock) reboot() {
	c.change(func() {
		c.boot, c.paused = time.Second, false
		c.runs++
	})
}

// machine names the present run of a member's machine.
func (c *simClock) machine(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%s, run %d", name, c.runs+1)
}
