// Package frontiertest starts frontiers in memory for the tests of packages that use one. It has no
// goroutine that outlives the test.
package frontiertest
