// Command scale works out what placement and traffic come to in clusters that
// do not fit on one machine. It prints the tables that docs/scaling.md rests on:
//
//	make scale
//	go run ./integration/scale -nodes 10,100 -partitions 1024,4096
//
// It uses the real package ring, and the real package peer for what a forwarded
// link weighs. Hosts are names, made from their numbers, with sizes that follow
// Zipf's law; nothing of a host is kept, so memory is that of the tables, some
// megabytes, whatever the number of hosts. The same seed gives the same tables,
// but for those of what is measured, which -measure=false leaves out.
//
// The traffic of gossip, renewals and views is measured beside it, by TestTraffic:
// that needs the virtual time of a test's bubble. TestTraffic runs nodes over
// integration/simnet and counts what goes over it.
//
// # What it does not do
//
// It crawls nothing, and knows neither disks nor pages: docs/scaling.md takes
// those figures from docs/results and docs/performance.md.
package main
