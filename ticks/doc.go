// Package ticks makes the tickers of a process tick at common moments, so that an idle node is
// woken seldom: waking a process costs some 60 us of processor time, for one tick as much as for
// ten that are due together. It also lets the time limits of many short tasks share one timer.
//
// It reads the wall clock and starts timers, and depends on nothing of the project.
package ticks
