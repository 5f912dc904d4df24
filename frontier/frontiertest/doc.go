// Package frontiertest starts in-memory frontiers for the tests of packages that use one. None of
// its goroutines outlives the test.
package frontiertest
