// Package sink sends the results of this node to the sinks of --sink: each line of its list of
// pages, in order.
//
// The list of pages is on disk before a page is done (package output/lists), so it is the queue:
// the only other state is a cursor for each sink, in <data-dir>/sinks. A line is sent at least
// once. After a crash the lines since the cursor was last saved are sent again, at most 500; a page
// whose visit is repeated has a second line. A sink that is slow or unreachable delays nobody: its
// lines stay in the files, under the crawl's usual limits of the disk.
//
// Each Feeder is one goroutine, Run, which looks for lines every half second and retries after
// pauses that grow from half a second to 30 s. When a node ends, Finish sends the remaining lines,
// for at most ten seconds; the rest is sent at the next start. The lines of a host are sent in
// order by one node. When its partition moves, the new node begins while the old one may still have
// lines to send.
package sink
