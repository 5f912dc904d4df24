// Package integration tests the whole: real crawlnode processes on loopback
// against four real web sites and a synthetic one, and simulations of whole
// clusters in one testing/synctest bubble, on the network of integration/simnet.
//
// The tests of processes know crawlnode from outside only: its flags, its HTTP
// API, its exit codes and the WARC files that it leaves. Politeness and coverage
// are judged at the web server's side: nginx's log, or simweb's judge.
//
//	cluster      starts the binary, asks it for its status, stops it, keeps its log
//	sites        nginx and dnsmasq with the sites in testdata/sites
//	walk         a crawler of some 80 lines, to check and replace the lists of pages
//	readWARC     reads archives with nothing but gzip and textproto
//	secondReader reads archives with the npm package warcio, in integration/warcio
//	check.mjs    in integration/wabac asks the engine of ReplayWeb.page for the pages of a WACZ file
//	trail        every request as the web server saw it; judges repeats, take-overs and pauses
//	robotsSite   hosts whose robots.txt answer in every way; judges what was fetched of each, and when
//	trial        one run of a scenario: a cluster on a thin web, a fault at a random moment, a verdict
//	politeWeb    hosts with tempers that share addresses, and a judge of every gap; also behind a real name server
//	tab          a page in Chromium, with all that the browser complains of
//	lab          a bridge and a network namespace for each node, cut by iptables; needs root
//	bigWeb       a web of any size without a judge, and the frontiers that are filled with its URLs (bigRun, bigStore)
//	memoryGroup  a control group that bounds the memory of a node; needs root
//	hostileWeb   a web server with a trick for each host name, its name server, and canaries
//	simulation   nodes, a web and a network in memory, with a clock of their own
//
// The simulation stands in the files sim*_test.go:
//
//	simtree      the web: each page and host is found by exactly one link
//	simjudge     sees each request, and judges what was wrong with it, or missing
//	simplan      what a seed means: which node joins, leaves, ends, is stopped or cut off, and when
//	simscenes    its longer scenes
//	simedgeplan  the same for addresses, clocks, disks, pauses and flags
//	simcases     schedules drawn by hand, with what must be true when
//	simstrike    faults that wait for the moment in which they hurt most
//	simrun       runs the schedule, and starts every node again at the end
//	simedges     how edges begin and end, and what is promised meanwhile
//	simend       what must come true after the last fault
//	simcluster   whole nodes on simnet, with disks that outlive them
//	simplaces    where they are, their names, and what they are started with
//	simdisk      the time that a disk takes, and what else is wrong with it
//	simhooks     what it needs of the product beyond a node's everyday methods
//	simseed      one seed, in one bubble
//	simshare     in how many seeds each fault has happened
//	sim          many seeds, each in a process of its own; makes a failing one smaller
//
// The scenarios of TestFaults and TestNetns are two tables. Each check runs the quick
// ones once, with a random seed that is printed; the others name quick tests of the same
// fault. `make nightly` runs each once, `make soak` SOAK_RUNS times,
// judges the promised times and shares as well, and appends the worst figures to
// docs/results/faults.md. Each node enters the web by a door of its own, so a
// request shows which node sent it.
//
// A dependency that is missing fails the test; `make deps` installs them. With
// -short only two simulations run.
package integration
