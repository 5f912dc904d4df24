//go:build !linux

package resources

// setSlack is for Linux only.
func setSlack(bool) bool { return false }
