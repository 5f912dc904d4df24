// Package ticks makes the tickers of a process tick at common moments, so that a node that has nothing to do is woken
// seldom: to wake a process costs some 60 us of processor time, and as much for one tick as for ten that are due
// together. It also lets the time limits of many short tasks share a timer.
//
// It reads the wall clock and starts timers, and knows nothing of the project.
package ticks
