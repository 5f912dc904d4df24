//go:build !linux

package membership

import "time"

var processStart = time.Now()

// bootTime falls back to the monotonic clock. Where that stands still while the
// machine sleeps, the wall clock's jump ends the lease.
func bootTime() time.Duration { return time.Since(processStart) }
