package simnet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/integration/simnet"
)

func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := simnet.NewClock(time.Hour)
		wall := start
		boot := time.Hour
		for _, step := range []struct {
			what       string
			do         func()
			boot, wall time.Duration // that the next ten seconds and the step itself add
		}{
			{"nothing", func() {}, 10 * time.Second, 10 * time.Second},
			{"a step", func() { c.Step(-2 * time.Hour) }, 10 * time.Second, 10*time.Second - 2*time.Hour},
			{"drift", func() { c.Run(1.05) }, 10500 * time.Millisecond, 10500 * time.Millisecond},
			{"a pause", c.Pause, 0, 0},
			{"a step in the pause", func() { c.Step(time.Minute) }, 0, time.Minute},
			{"its end", func() { c.Resume(); c.Run(1) }, 10 * time.Second, 10 * time.Second},
		} {
			step.do()
			time.Sleep(10 * time.Second)
			boot, wall = boot+step.boot, wall.Add(step.wall)
			if got := c.BootTime(); got != boot {
				t.Errorf("after %s: %v since the start, want %v", step.what, got, boot)
			}
			if got := c.Wall(); !got.Equal(wall) {
				t.Errorf("after %s: it is %v, want %v", step.what, got, wall)
			}
		}
		before := c.Machine("a")
		c.Reboot()
		if c.Machine("a") == before || c.BootTime() != time.Second || !c.Wall().Equal(wall) {
			t.Errorf("after a reboot: %q, %v, %v", c.Machine("a"), c.BootTime(), c.Wall())
		}
	})
}
