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
//	simulation   nodes, a web and a network in memory, with a clock of their own;
//	             TestSim draws from a seed who joins, leaves and crashes
//
// A dependency that is missing fails the test; `make deps` installs them. With
// -short only one simulation runs.
package integration
