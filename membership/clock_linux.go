package membership

import (
	"time"

	"golang.org/x/sys/unix"
)

func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("membership: this system has no CLOCK_BOOTTIME, which leases need (Linux 2.6.39 or later): " + err.Error())
	}
	return time.Duration(ts.Nano())
}
