// Package breadth decides how many pages a node fetches at a time.
//
// A fetch mostly waits for its server, so the number that keeps the processors busy follows from how slow
// servers are, and nobody knows that beforehand. When an operator gives --fetchers, that is the number. Without it the
// number begins with the default and follows what the node sees, once a second (Breadth.Look): while all fetches are
// under way, more hosts are ready, and neither this process nor the machine is short of processors, it grows by a
// quarter, up to what memory and open files allow (Most). When less than half of it has been used for a while, it goes
// back by and by.
//
// No goroutine and no lock: one goroutine calls Look; the others may be called from any.
package breadth
