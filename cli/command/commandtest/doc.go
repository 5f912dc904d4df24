// Package commandtest helps to test what is drawn on a terminal: it makes a
// pseudo-terminal whose output the test can read.
package commandtest
