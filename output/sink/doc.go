// Package sink sends the results of this node to the sinks of --sink: each line of its list of pages, in order.
//
// The list of pages is on disk before a page is done (package output/lists), so it is the queue: nothing is kept
// beside it but a cursor for each sink, in <data-dir>/sinks. A line is sent at least once. After a crash the lines
// since the last save of the cursor come again, 500 at most; a page whose visit is repeated has a second line.
// A sink that is slow or away delays nobody: its lines stay in the files, and the disk's limits are the crawl's as ever.
//
// Each Feeder is one goroutine, Run, which looks for lines every half second and tries again with growing
// pauses, half a second to 30. When a node ends, Finish sends what has come since, for ten seconds at most; the rest goes out at
// the next start. The lines of a host come in order from one node. When its partition moves, the new node begins
// while the old one may still have lines to send.
package sink
