// Package commandtest helps to test terminal output: it opens a
// pseudo-terminal whose output the test can read.
package commandtest
