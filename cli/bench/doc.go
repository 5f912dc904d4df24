// Package bench measures the cost of a page. Verb starts a synthetic web in one
// process and a crawler in others, lets the crawler fetch all of it, and reports
// CPU, allocations and memory; with --against it runs two crawlers alternately and compares them.
// WebVerb is the verb simweb, which serves the web: it prints its addresses, serves until its
// standard input ends or it is interrupted, and prints what it saw.
//
//	bench.go    the verb, its flags and its result    variant.go     the crawlers to compare
//	run.go      one run: web, nodes, figures          pairs.go       alternate runs, statistics
//	probe.go    response times during a run           others.go      wget2 and Scrapy
//	traffic.go  calls between the nodes, by method    webprocess.go  the web as a process
//	web.go      the verb simweb
//
// A run owns its processes and waits for their end. The probe's two goroutines end
// with the run. The package has no queue.
package bench
