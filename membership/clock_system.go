//go:build !faultclock

package membership

// SystemClock is the machine's clocks.
func SystemClock() Clock { return systemClock{} }
