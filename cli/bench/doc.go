// Package bench measures what a page costs. Verb starts a synthetic web in one
// process and a crawler in others, lets the crawler fetch all of it, and reports
// CPU, allocations and memory; with --against it compares two crawlers by turns.
// WebVerb is the process with the web, which people can use as well: it prints its addresses, serves until its
// standard input ends or it is interrupted, and prints what it saw.
//
//	bench.go    the verb, its flags and its result    variant.go     what is compared
//	run.go      one run: web, nodes, figures          pairs.go       runs by turns, statistics
//	probe.go    response times during a run           others.go      wget2 and Scrapy
//	web.go      the verb of the web                   webprocess.go  the web as a process
//
// A run owns its processes and waits for their end. The probe's two goroutines end
// with the run. The package has no queue.
package bench
