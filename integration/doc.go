// Package integration tests the whole program: real crawlnode processes on loopback
// against four real web sites and a synthetic one, and simulations of whole
// clusters in one testing/synctest bubble, on the network of integration/simnet.
//
// The tests of processes know crawlnode from outside only: its flags, its HTTP
// API, its exit codes and the WARC files that it leaves. Politeness and coverage
// are judged at the web server's side: nginx's log, or simweb's judge.
//
//	cluster      starts the binary, asks it for its status, stops it, keeps its log
//	sites        nginx and dnsmasq with the sites in testdata/sites
//	proxied      Apache httpd, Dante and microsocks, and a web server that is asked over them
//	walk         a crawler of some 80 lines, to check and replace the lists of pages
//	readWARC     reads archives with nothing but gzip and textproto
//	secondReader reads archives with the npm package warcio, in integration/warcio
//	verifiedByOthers verifies signed requests with npm packages, in integration/webbotauth
//	client.mjs   in integration/grpcjs: a URLFrontier client with the npm packages of gRPC
//	storm        StormCrawler with its URLFrontier module, and a judge of the frontier
//	client.mjs   in integration/mcpclient: npm's client of the Model Context Protocol
//	check.mjs    in integration/wabac: the engine of ReplayWeb.page reads the pages of a WACZ file
//	trail        every request as the web server saw it; judges repeats, take-overs and pauses
//	robotsSite   hosts with every kind of robots.txt answer; judges what was fetched, and when
//	trial        one run of a scenario: a cluster on a thin web, a random fault, a verdict
//	politeWeb    slow and failing hosts that share addresses, and a judge of every gap
//	tab          a page in Chromium, with all errors that the browser reports
//	lab          a bridge and a network namespace for each node, cut by iptables; needs root
//	bigWeb       a web of any size without a judge; bigRun and bigStore fill frontiers from it
//	memoryGroup  a control group that bounds the memory of a node; needs root
//	hostileWeb   a web server with an attack for each host name, its name server, and canaries
//	ruleWeb      any host names over http and https, for rules for sites; ruleProxy leads to it
//	shelf        documents of six kinds, hostile ones among them, half of them behind a gate
//	simulation   nodes, a web and a network in memory, with a clock of their own
//
// The simulation is in the files sim*_test.go:
//
//	simtree      the web: each page and host is found by exactly one link
//	simjudge     sees each request, and judges which were wrong, and which are missing
//	simplan      the schedule of a seed: when nodes join, leave, end, are stopped or cut off
//	simscenes    longer scenes of the schedule
//	simedgeplan  the same for addresses, clocks, disks, pauses and flags
//	simcases     schedules drawn by hand, with what must be true when
//	simstrike    faults at the moments at which they do most harm
//	simrun       runs the schedule, and restarts every node at the end
//	simedges     how faults of simedgeplan begin and end, and what must hold meanwhile
//	simend       what must become true after the last fault
//	simcluster   whole nodes on simnet, with disks that outlive them
//	simplaces    addresses, names and flags of the nodes
//	simdisk      slow and faulty disks
//	simhooks     access to the product beyond a node's ordinary methods
//	simseed      one seed, in one bubble
//	simshare     in how many seeds each fault has happened
//	sim          many seeds, each in a process of its own; shrinks failing schedules
//
// The scenarios of TestFaults and TestNetns are two tables. Each check runs the quick
// ones once, with a random seed that is printed; the others name quick tests of the same
// fault. `make nightly` runs each once; `make soak` runs each SOAK_RUNS times,
// also checks the promised times and rates, and appends the worst figures to
// docs/results/faults.md. Each node reaches the web at an address of its own, so a
// request shows which node sent it.
//
// A dependency that is missing fails the test; `make deps` installs them. With
// -short only two simulations run.
package integration
