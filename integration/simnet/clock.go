package simnet

import (
	"fmt"
	"sync"
	"time"
)

// Clock is a machine's pair of clocks: each machine has another time since its start
// and another time of day, which drift against the bubble's clock and may be stepped. A
// machine that is paused has both stand still, as a hypervisor does it: nothing inside
// can tell that time has passed. The timers of its processes are the bubble's and go on.
// It has the methods of membership.Clock; all of them may be called at any time.
type Clock struct {
	mu     sync.Mutex // guards the rest; held for memory only
	at     time.Time  // of the bubble, when boot and wall were right
	boot   time.Duration
	wall   time.Time
	rate   float64 // 1: as fast as the bubble's
	runs   int     // of the machine that have ended
	paused bool
}

// NewClock is the clock of a machine that was started a while ago.
func NewClock(uptime time.Duration) *Clock {
	now := time.Now()
	return &Clock{at: now, boot: uptime, wall: now, rate: 1}
}

// advanceLocked brings the readings up to now.
func (c *Clock) advanceLocked() {
	now := time.Now()
	if !c.paused {
		gone := time.Duration(float64(now.Sub(c.at)) * c.rate)
		c.boot += gone
		c.wall = c.wall.Add(gone)
	}
	c.at = now
}

// BootTime is the time since the machine's start, which is not steady across a Reboot
// only.
func (c *Clock) BootTime() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advanceLocked()
	return c.boot
}

// Wall is the machine's time of day. It has no monotonic part.
func (c *Clock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advanceLocked()
	return c.wall.Round(0)
}

func (c *Clock) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advanceLocked()
	f()
}

// Step moves the time of day.
func (c *Clock) Step(d time.Duration) { c.change(func() { c.wall = c.wall.Add(d) }) }

// Run sets how fast both clocks go from now on; 1 is as fast as the bubble's.
func (c *Clock) Run(rate float64) { c.change(func() { c.rate = rate }) }

// Pause lets both clocks stand still until Resume.
func (c *Clock) Pause() { c.change(func() { c.paused = true }) }

// Resume ends a Pause.
func (c *Clock) Resume() { c.change(func() { c.paused = false }) }

// Reboot begins a new run of the machine: its time since the start is short.
func (c *Clock) Reboot() {
	c.change(func() {
		c.boot, c.paused = time.Second, false
		c.runs++
	})
}

// Machine names the present run of the machine of that name.
func (c *Clock) Machine(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%s, run %d", name, c.runs+1)
}
