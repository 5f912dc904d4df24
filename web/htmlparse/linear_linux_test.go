package htmlparse

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is the processor time for parsing body, whatever else the machine is doing.
func processorTime(t *testing.T, body []byte) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	base := mustURL(t, home)
	var before, after unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &before); err != nil {
		t.Fatal(err)
	}
	Parse(body, "text/html; charset=utf-8", base)
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &after); err != nil {
		t.Fatal(err)
	}
	return time.Duration(after.Nano() - before.Nano())
}

// TestLinear compares the cost of a hostile page with that of one ten times as long. A quadratic
// parser would take a hundred times as much; this one may take forty, as runs differ.
func TestLinear(t *testing.T) {
	short, long := hostilePages(32<<10), hostilePages(320<<10)
	for name := range short {
		least := func(page string) time.Duration {
			return min(processorTime(t, []byte(page)), processorTime(t, []byte(page)))
		}
		if s, l := least(short[name]), least(long[name]); l > 40*s+20*time.Millisecond {
			t.Errorf("%s: %v for 32 KiB, %v for 320 KiB", name, s, l)
		}
	}
}
