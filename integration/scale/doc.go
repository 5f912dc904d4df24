// Command scale computes placement and traffic in clusters that
// do not fit on one machine. It prints the tables on which docs/scaling.md is based:
//
//	make scale
//	go run ./integration/scale -nodes 10,100 -partitions 1024,4096
//
// It uses the real package ring, and the real package peer for the size of a forwarded
// link. Hosts are names, made from their numbers, with sizes that follow
// Zipf's law; nothing of a host is kept, so memory is that of the tables, some
// megabytes, whatever the number of hosts. The same seed gives the same tables,
// except for measured ones, which -measure=false leaves out.
//
// TestTraffic measures the traffic of gossip, renewals and views: it runs nodes over
// integration/simnet, in the virtual time of a test's bubble, and counts messages and bytes.
//
// # What it does not do
//
// It crawls nothing, and knows neither disks nor pages: docs/scaling.md takes
// those figures from docs/results and docs/performance.md.
package main
