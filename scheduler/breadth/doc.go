// Package breadth decides how many pages a node fetches at a time.
//
// A fetch mostly waits for its server, so the concurrency that keeps the processors busy depends on
// how slow the servers are, which is not known beforehand. When an operator gives --fetchers, that
// is the number. Otherwise it begins with the default and is adapted once a second (Breadth.Look):
// while all fetches are under way, more hosts are ready, and neither this process nor the machine
// is short of processor time, it grows by a quarter, up to what memory and open files allow (Most).
// When less than half of it has been used for a while, it shrinks gradually.
//
// No goroutine and no lock: one goroutine calls Look; the other methods may be called from any.
package breadth
